# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests named after requirements share (see docs/Testing.md)."""

import numpy as np

from expect import Expectations, first_difference
from reference import E4M3

f32 = np.float32


class Requirements(Expectations):
    def holds(self, what, condition, detail="does not hold"):
        self.record(what, None if condition else detail)

    def told(self, what, got, want, other):
        """`want` is what is computed, and what the formula's neighbour gives, `other`,
        is something else: else the inputs could not tell the two."""
        self.equal(what, [got], [want])
        self.holds(f"{what}: inputs", first_difference([want], [other]),
                   "do not tell it from its neighbour")


def around(values, steps):
    """f32 values and their `steps` neighbours on both sides."""
    bits = np.asarray(values, f32).view(np.uint32).astype(np.int64)
    bits = bits[:, None] + np.arange(-steps, steps + 1)
    return bits.ravel().astype(np.uint32).view(f32)


def scale_boundaries(first_byte=1):
    """Halfway between each E4M3 scale from `first_byte` on and the one before it."""
    scales = E4M3.decode(np.arange(first_byte - 1, 0x7F, dtype=np.uint8))
    return (scales[1:] + scales[:-1]) / 2


def blocks_of(amax, size=16):
    """A block for each amax, of zeros beside it."""
    x = np.zeros((len(amax), size), f32)
    x[:, 0] = amax
    return x


def tensor(shape, element, layout=""):
    """A type; sizes may be '?'."""
    dims = "".join(f"{size}x" for size in shape)
    return f"tensor<{dims}{element}{layout}>"


SWIZZLED = ", #blockscale.layout<swizzle_128x4>"
