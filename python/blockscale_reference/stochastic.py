# ===- stochastic.py - Stochastic rounding --------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Random bits of elements, and E2M1 codes that they round.

Every element of x [.., M, K] has 8 bits of its own. Row r (all leading dimensions
count as rows) has ceil(K / 16) groups of 16 elements; group c of it is number
r * ceil(K / 16) + c. Philox4x32-10 of the counter (group, offset) under the key
seed, each split in two 32-bit words, lower first, gives the group four words, one
for each 4 elements, which take its bytes 0, 2, 1, 3 (0 is the lowest).
"""

import numpy as np

from .codecs import E2M1

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_BYTES = (0, 2, 1, 3)


def philox4x32(counter, key, rounds=10):
    """Four words (a list of uint64 below 2^32) of a counter of four and a key of two."""
    a, b, c, d = (np.asarray(word, np.uint64) for word in counter)
    k0, k1 = (int(word) for word in key)
    for _ in range(rounds):
        left, right = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b = (right >> _HALF) ^ b ^ np.uint64(k0), right & _MASK
        c, d = (left >> _HALF) ^ d ^ np.uint64(k1), left & _MASK
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return [a, b, c, d]


def random_bytes(shape, seed, offset, first=0, per_row=None):
    """The 8 bits (uint8) of each element of an x of `shape`, which may be a part of a larger
    tensor, with the number of its first group there and the groups of a row of that one."""
    *leading, cols = shape
    rows = int(np.prod(leading, dtype=np.int64))
    held = -(-cols // 16)
    numbers = np.arange(rows)[:, None] * (held if per_row is None else per_row) + np.arange(held)
    groups = (numbers + first).astype(np.uint64).reshape(-1)
    seed, offset = int(seed) % 2**64, int(offset) % 2**64
    words = philox4x32(
        (groups & _MASK, groups >> _HALF, offset & 0xFFFFFFFF, offset >> 32),
        (seed & 0xFFFFFFFF, seed >> 32),
    )
    columns = [word >> np.uint64(8 * b) & np.uint64(255) for word in words for b in _BYTES]
    elements = np.stack(columns, axis=-1).astype(np.uint8)
    return elements.reshape(rows, -1)[:, :cols].reshape(shape)


def encode_stochastic(values, randoms):
    """E2M1 codes of f32 values under 8 random bits each.

    |x| (6 at most) gains randoms / 256 of the step at |x|, exactly, and is rounded
    down; NaN becomes 7.
    """
    values = np.asarray(values, np.float32)
    exact = np.minimum(np.abs(values), np.float32(6)).astype(np.float64)
    exact = np.where(np.isnan(exact), 6, exact)
    exact += randoms / 256.0 * _step(exact)
    down = np.minimum(np.floor(exact / _step(exact)) * _step(exact), 6)
    codes = E2M1.encode(np.copysign(down, values))
    return np.where(np.isnan(values), np.uint8(E2M1.nan_code), codes)


def _step(magnitude):
    return np.where(magnitude < 2, 0.5, np.where(magnitude < 4, 1.0, 2.0))
