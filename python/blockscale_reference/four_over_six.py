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

_ONE, _SIX = np.float32(1), np.float32(6)
_FLT_MAX = np.finfo(np.float32).max


def choose(blocks, amax, encode, total, squared):
    """Scale bytes and scaled elements of blocks [.., bm, bk].

    `encode` is the factor S, `total` the tensor's amax; errors are `squared` or
    absolute.
    """
    base = (amax / _SIX) * encode
    six = _candidate(blocks, base, encode, total, squared)
    four = _candidate(blocks, base * np.float32(1.5), encode, total, squared)
    fours = four[2] < six[2]
    return np.where(fours, four[0], six[0]), np.where(fours, four[1], six[1])


def _candidate(blocks, scale, encode, total, squared):
    scale = E4M3.encode(np.minimum(scale, np.float32(448)))
    decoded = E4M3.decode(scale)
    factor = np.minimum(_ONE / (decoded * (_ONE / encode)), _FLT_MAX)
    scaled = blocks * factor
    values = E2M1.decode(E2M1.encode(scaled)) * decoded * total
    error = values / (LARGEST_SCALE * _SIX) - blocks
    return scale, scaled, _sum(error * error if squared else np.abs(error))


def _sum(errors):
    """Along each row in turn, then rows that are half of them apart."""
    rows = np.zeros(errors.shape[:-1], np.float32)
    for column in np.moveaxis(errors, -1, 0):
        rows = rows + column
    while rows.shape[-1] > 1:
        lower, upper = np.split(rows, 2, axis=-1)
        rows = lower + upper
    return rows[..., None]
