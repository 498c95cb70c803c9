# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scales that all matter: a row or a block of a product is larger than another one by a
few binades at most, so that no scale is so small that a result hides a wrong one."""

import numpy as np

from reference import E4M3

E8M0_ONE = 127
OFFSETS = range(-1, 2)  # exponents, of rows and of blocks


def scales(random, element, shape, powers):
    """Scale bytes: a power of two of all, its exponent one of `powers`, times that of the
    row, times that of the block. E4M3 scales have a mantissa of their own each, and the
    smallest are subnormal."""
    def draw(exponents, shape):
        return random.integers(exponents.start, exponents.stop, shape)

    exponents = (draw(powers, ()) + draw(OFFSETS, (*shape[:-1], 1)) + draw(OFFSETS, shape))
    if element == "f8E8M0FNU":
        return (E8M0_ONE + exponents).astype(np.uint8)
    return E4M3.encode(2.0**exponents * (1 + random.integers(0, 8, shape) / 8))
