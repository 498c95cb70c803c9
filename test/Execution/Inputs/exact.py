# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands whose products f32 holds exactly, in whatever order they are added.

Their scales are powers of two that differ between operands, matrices, rows and blocks,
so that a kernel that multiplies a block by the scale of another one computes another
result. Since sums are exact, results are compared byte for byte.
"""

import numpy as np

F32_BITS = 24
E4M3_ONE = 0x38  # the byte of a scale of 1
E8M0_ONE = 127
MATRICES, ROWS, BLOCKS = range(-1, 1), range(-1, 2), range(-2, 1)  # exponents


def scales(random, element, shape, matrices=MATRICES, rows=ROWS, blocks=BLOCKS):
    """Scale bytes of powers of two: that of the matrix, times that of its row, times
    that of the block, with exponents of these ranges."""
    def draw(exponents, shape):
        return random.integers(exponents.start, exponents.stop, shape)

    exponents = (draw(matrices, (*shape[:-2], 1, 1)) + draw(rows, (*shape[:-1], 1))
                 + draw(blocks, shape))
    bytes = E4M3_ONE + 8 * exponents if element == "f8E4M3FN" else E8M0_ONE + exponents
    return bytes.astype(np.uint8)


def grain(values):
    """Of each row, the largest power of two that divides its values."""
    integers = (values * 2.0**40).astype(np.int64)
    assert np.array_equal(integers * 2.0**-40, values), "values are finer than 2^-40"
    lowest = np.where(integers == 0, 2**62, integers & -integers)
    return lowest.min(axis=-1, initial=2**62) * 2.0**-40


def demand(a, b):
    """Ends the test if a sum of products of rows of a [.., M, K] and b [.., N, K] may
    have more digits than f32 has, in any order of its terms."""
    absdot = np.abs(a) @ np.swapaxes(np.abs(b), -1, -2)
    limit = 2.0**F32_BITS * grain(a)[..., :, None] * grain(b)[..., None, :]
    assert (absdot <= limit).all(), "sums of these operands are not exact in f32"
