# ===- packing.py - Two E2M1 codes to a byte ------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Element 2i is the low nibble of byte i, element 2i + 1 the high one."""

import numpy as np


def pack(codes):
    """[.., K] codes to [.., ceil(K / 2)] bytes; an odd K leaves a zero nibble."""
    if codes.shape[-1] % 2:
        codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, 1)])
    return codes[..., 0::2] | (codes[..., 1::2] << 4)


def unpack(data):
    """[.., B] bytes to [.., 2 B] codes."""
    codes = np.stack([data & 15, data >> 4], axis=-1)
    return codes.reshape(*data.shape[:-1], 2 * data.shape[-1])
