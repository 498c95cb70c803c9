# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What block scales tell of their own order.

Some rows of a weight are larger than others, and so are some columns: a matrix of scales is about a
number of the row plus one of the column, in logarithms. Where scales of tiles are read as rows, or
the reverse, these sums fit worse than in the order that the scales have. It takes as many scales as
one order or the other has, so that shapes tell nothing. This is a statistic: it says nothing where
rows and columns are alike.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from blockscale import _native
from blockscale._errors import check
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._layouts import SCALES
from blockscale.checkpoint._tensors import Weight

#: Rows and columns of a tile of swizzle_128x4.
_ROWS, _COLUMNS = 128, 4
_MOST_SCALES = 1 << 20
#: The least share of the variance that the other order explains more, and how many times as much.
_LEAST_GAIN, _LEAST_RATIO = 0.1, 1.5


def get_explained(scales: np.ndarray) -> float:
    """The share of the variance of a matrix that sums of a number of the row and one of the column
    have; 0 where all numbers are alike."""
    rows, columns = scales.shape
    numbers = scales.astype(np.float64)
    numbers -= numbers.mean()
    total = float((numbers ** 2).sum())
    found = columns * float((numbers.mean(1) ** 2).sum()) + rows * float(
        (numbers.mean(0) ** 2).sum())
    return found / total if total > 0 else 0.0


def check_tiles(weight: Weight) -> Iterator[Finding]:
    """Whether scales are in the order that the layout, or torchao's metadata, say."""
    tensor = weight.parts.get(SCALES)
    if tensor is None or not weight.layout.has_block_scales or weight.is_transposed:
        return
    n, k = weight.shape[-2:]
    columns = -(-k // weight.layout.block)
    # Where a tile is not full, tiles have other sizes than rows.
    if n % _ROWS or columns % _COLUMNS or not n or tensor.nbytes % (n * columns):
        return
    rows = min(n, max(_MOST_SCALES // columns // _ROWS, 1) * _ROWS)
    # The bytes of E4M3 and of E8M0 are about logarithms.
    stored = tensor.bytes(0, rows * columns)
    straight = get_explained(stored.reshape(rows, columns))
    undone = get_explained(check(_native.unswizzle(stored, rows, columns))[0])
    tensor.release(0, rows * columns)
    said, other = (undone, straight) if weight.is_swizzled else (straight, undone)
    if other > said + _LEAST_GAIN and other > _LEAST_RATIO * said:
        names = ("tiles", "rows") if weight.is_swizzled else ("rows", "tiles")
        yield find("place-of-scales", tensor.name, f"expected scales in {names[0]}, but rows and "
                   f"columns explain {100 * said:.0f} % of their variance, and {100 * other:.0f} % "
                   f"if they are in {names[1]}")
