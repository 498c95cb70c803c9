# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the scales of FP8: one number for a tensor, a row or a block of 128 x 128."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from blockscale.checkpoint._candidates import Candidate
from blockscale.checkpoint._check._numbers import list_numbers
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._layouts import DATA, FP8_BLOCK, FP8_BLOCKS, SCALES, get_fp8_scales

#: The largest number of E4M3, and the largest weight of a model.
_LARGEST, _LARGEST_WEIGHT = 448.0, 2.0e3
#: Scales of a weight of zeros: packages have 0, 1, or what keeps them from dividing by 0.
_LEAST = 1.0e-9
#: Stacks of experts with a scale for each row have not as many scales.
_MOST = 1 << 22
#: So many scales of 0 are looked at.
_SHOWN = 64


def check_fp8_scales(candidate: Candidate, has_codes: bool) -> Iterator[Finding]:
    """Scales that are no positive numbers, or that codes speak against."""
    scales = candidate.get(SCALES)
    if scales is None or candidate.layout is None or not candidate.layout.accepts(
            SCALES, scales.dtype) or not scales.nbytes:
        return
    total, bad, negative = math.prod(scales.shape), 0, 0
    for part in list_numbers(scales):
        bad += int((~np.isfinite(part)).sum())
        negative += int((part < 0).sum())
    for count, rule in ((bad, "scales-are-numbers"), (negative, "scales-are-positive")):
        if count:
            yield find(rule, scales.name, f"expected none, but got {count} of {total}")
    if bad or negative or total > _MOST:
        return
    values = scales.numpy().astype(np.float32)
    if not has_codes:
        if (np.abs(values - 1) > 0).any() and float(values.max()) > _LEAST:
            yield find("codes-are-there", scales.name, "expected the scale of a weight of zeros, "
                       f"since all codes are 0, but got {values.max():.4g}")
        return
    lost = _count_lost(candidate, values)
    if lost:
        yield find("no-lost-blocks", scales.name, "expected a scale above 0 of codes, but got 0 "
                   f"for {lost} of {values.size}")
    amax = float(values.max()) * _LARGEST
    other = _LARGEST / float(values.max()) if values.max() > 0 else math.inf
    if amax > _LARGEST_WEIGHT and other < _LARGEST_WEIGHT:
        yield find("direction-of-global-scale", scales.name, "expected amax / 448, but got "
                   f"{values.max():.6g}, which would be an amax of {amax:.4g}; the reciprocal is "
                   f"one of {other:.4g}")


def _count_lost(candidate: Candidate, values: np.ndarray) -> int:
    """How many scales of 0 have codes that are not 0."""
    data, shape, layout = candidate.get(DATA), candidate.shape, candidate.layout
    if data is None or shape is None or layout is None or (values != 0).all():
        return 0
    *batch, n, k = shape
    tall, wide = get_fp8_scales(layout.format, n, k)
    if values.size == 1:
        return 1
    if values.size != math.prod(batch) * tall * wide:
        return 0
    codes = data.bytes().reshape(-1, n, k)
    height, width = ((FP8_BLOCK, FP8_BLOCK) if layout.format == FP8_BLOCKS else
                     (-(-n // tall), k))
    count = 0
    for matrix, row, column in np.argwhere(values.reshape(-1, tall, wide) == 0)[:_SHOWN]:
        part = codes[matrix, row * height:(row + 1) * height, column * width:(column + 1) * width]
        count += bool((part & 0x7F).any())
    return count
