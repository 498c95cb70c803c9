# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What some rows of each weight tell of it: whether they were written, and whether another layer
has the same.

A weight that was loaded in part, or a layer that was copied over another one, has numbers that are
all valid. Some hundred rows of each matrix tell it, so that few bytes are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._layouts import DATA
from blockscale.checkpoint._tensors import Weight

#: Rows of a matrix that are looked at, and bytes of those of all matrices of a stack.
_ROWS, _LEAST_ROWS, _ALL_BYTES = 128, 16, 8 << 20
#: A weight whose fewest rows have more is not looked at: it would be in memory several times.
_MOST_BYTES = 32 << 20
#: The share of rows, or of columns, without a number that no trained weight has, of so many; and
#: the share of matrices of a stack.
_EMPTY, _LEAST, _EMPTY_MATRICES = 0.25, 16, 0.5
#: The golden ratio: its multiples are spread evenly, and are as often odd as even.
_STEP = 0.6180339887498949
#: Bytes of rows that stand for a weight, and the least number of their values.
_BYTES, _VALUES = 1 << 16, 8


def choose_rows(rows: int, count: int) -> np.ndarray:
    """About `count` rows of a matrix, spread over it; always the same."""
    if rows <= count:
        return np.arange(rows)
    return np.unique(((np.arange(count) + 0.5) * _STEP % 1 * rows).astype(np.int64))


def read_rows(weight: Weight) -> np.ndarray | None:
    """Some rows of codes or numbers of each matrix [E, rows, ..], without signs and without what
    is no number; None where a weight has no rows, or too long ones."""
    data, count = weight.parts[DATA], max(weight.num_matrices, 1)
    rows = weight.shape[-1] if weight.is_transposed else weight.shape[-2]
    if not rows or not data.nbytes or data.nbytes % (count * rows):
        return None
    if min(rows, _LEAST_ROWS) * (data.nbytes // rows) > _MOST_BYTES:
        return None
    chosen = choose_rows(rows, max(_LEAST_ROWS, min(_ROWS, _ALL_BYTES * rows // data.nbytes)))
    found = data.bytes().reshape(count, rows, -1)[:, chosen]
    data.release()
    if weight.layout.is_plain:
        found = found.view(np.uint16 if weight.dtype != "f32" else np.uint32)
        bits: Any = found.dtype.type((1 << (8 * found.itemsize - 1)) - 1)
    else:
        bits = np.uint8(0x77 if weight.layout.is_fp4 else 0x7F)
    if weight.layout.holds_scales:
        size, scales = (36, 4) if weight.format == "nvfp4" else (17, 1)
        found = found.reshape(*found.shape[:2], -1, size)[..., scales:].reshape(
            *found.shape[:2], -1)
    without_sign: np.ndarray = found & bits
    return without_sign


def check_contents(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Rows and columns without a number, and weights that two layers have."""
    first: dict[tuple[object, ...], str] = {}
    for name, weight in checkpoint.weights.items():
        if checkpoint.names.is_embedding(name) or checkpoint.names.is_head(name):
            continue  # Tokens that a text never has may have no number, and heads may be copies.
        rows = read_rows(weight)
        if rows is None:
            continue
        yield from _check_empty(weight, rows)
        chosen = rows.reshape(-1)[:_BYTES]
        if len(np.unique(chosen[:4096])) < _VALUES:
            continue
        key = (name.rpartition(".")[2], weight.layout.name, weight.shape,
               hashlib.blake2b(np.ascontiguousarray(chosen).data, digest_size=16).digest())
        if key in first:
            yield find("own-weights", name, "expected numbers of its own, but got those of "
                       f"'{first[key]}'")
        first.setdefault(key, name)


def _check_empty(weight: Weight, rows: np.ndarray) -> Iterator[Finding]:
    """A matrix of zeros alone is one that training never reached; rows of zeros are none."""
    filled = rows != 0
    lines, columns = filled.any(-1), filled.any(-2)
    whole = lines.any(-1)
    if len(whole) > 1 and whole.any() and 1 - whole.mean() >= _EMPTY_MATRICES:
        yield find("rows-are-there", weight.parts[DATA].name, "expected numbers in most matrices, "
                   f"but got zeros alone in {len(whole) - int(whole.sum())} of {len(whole)}")
        return
    for share, what in ((1 - lines.mean(-1), "rows"), (1 - columns.mean(-1), "columns")):
        bad = np.flatnonzero(whole & (share >= _EMPTY))
        if bad.size and rows.shape[1 if what == "rows" else 2] >= _LEAST:
            which = f" of matrix {bad[0]}" if len(weight.shape) > 2 else ""
            yield find("rows-are-there", weight.parts[DATA].name, f"expected numbers in most "
                       f"{what}, but got zeros alone in {100 * share[bad[0]]:.0f} % of them{which}")
            return
