# ===- hadamard.py - The random Hadamard transform ------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""16 values at a time: y = v diag(sign) H / 4, H[i][j] = (-1)^popcount(i & j)."""

import numpy as np

from .bits import from_bf16, to_bf16

SIGN_MASK = 0xD7E8  # bit i set: sign i is -1


def hadamard(x, dim=1, sign_mask=SIGN_MASK):
    """bf16 values (as f32) of x [.., M, K], which holds bf16 values.

    Groups run down the rows (`dim` 0) or along them (1). The sums are rounds of
    butterflies over the bits of the index, lowest first.
    """
    x = np.asarray(x, np.float32)
    axis = dim - 2
    if x.shape[axis] % 16:
        name = "MK"[dim]
        raise ValueError(
            f"expected {name} to be a multiple of 16, but got {x.shape[axis]}"
        )
    moved = np.moveaxis(x, axis, -1)
    signs = [-1 if sign_mask >> i & 1 else 1 for i in range(16)]
    with np.errstate(all="ignore"):
        v = moved.reshape(-1, 16) * np.array(signs, np.float32) * np.float32(0.25)
        v = v + np.float32(0)  # No -0 among the terms, nor among their sums.
        # One axis for each bit of the index, the lowest last.
        v = v.reshape(-1, 2, 2, 2, 2)
        for bit in (4, 3, 2, 1):
            low, high = np.take(v, 0, bit), np.take(v, 1, bit)
            v = np.stack([low + high, low - high], axis=bit)
    y = from_bf16(to_bf16(v)).reshape(moved.shape)
    return np.ascontiguousarray(np.moveaxis(y, -1, axis))
