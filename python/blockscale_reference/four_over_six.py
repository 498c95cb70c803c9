# ===- four_over_six.py - Two candidate scales for a block ----------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""NVFP4 blocks whose amax becomes 6, or 4 under a scale 1.5 times as large.

Each block keeps the scale that leaves the smaller error in f32, the 6 on ties.
"""

import numpy as np

from .codecs import E2M1, E4M3

LARGEST_SCALE = np.float32(256)  # of the 6; the 4 has room above it

_SIX = np.float32(6)


def choose(rules, blocks, six, factors):
    """What the scales of blocks [.., bm, bk] are rounded from: `six` or 1.5 times that.

    The rules say how both are rounded, and whether errors are squared or absolute.
    """
    four = six * np.float32(1.5)
    fours = _error(rules, blocks, four, factors) < _error(rules, blocks, six, factors)
    return np.where(fours, four, six)


def _error(rules, blocks, value, factors):
    scale = E4M3.decode(rules.rounded_scale(value))
    codes = rules.round_element(rules.scaled(blocks, scale, factors))
    values = E2M1.decode(codes) * scale * factors.total
    error = values / (LARGEST_SCALE * _SIX) - blocks
    return _sum(error * error if rules.squared else np.abs(error))


def _sum(errors):
    """Along each row in turn, then rows that are half of them apart."""
    rows = np.zeros(errors.shape[:-1], np.float32)
    for column in np.moveaxis(errors, -1, 0):
        rows = rows + column
    while rows.shape[-1] > 1:
        lower, upper = np.split(rows, 2, axis=-1)
        rows = lower + upper
    return rows[..., None]
