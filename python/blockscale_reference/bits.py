# ===- bits.py - bf16 and f32 bit patterns --------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""bf16 is the upper half of an f32; numpy has no such type, so bits travel."""

import numpy as np


def from_bf16(bits):
    """f32 values of bf16 bits (uint16); exact."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)


def to_bf16(values):
    """bf16 bits (uint16) of f32 values, to nearest, ties to even; NaN stays NaN."""
    values = np.asarray(values, np.float32)
    bits = values.view(np.uint32)
    # Adding 0x7FFF, or 0x8000 where the kept part is odd, carries exactly when
    # the discarded half rounds up.
    rounded = (bits + (0x7FFF + ((bits >> 16) & 1))) >> 16
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)
