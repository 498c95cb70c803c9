# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random data in both orders."""

import numpy as np

from reference import pack, prepack

PREPACKED = "#blockscale.data_layout<fragments_64x64>"
#: Bits that memory has for an element.
BITS = {"f4E2M1FN": 4, "f6E2M3FN": 8, "f6E3M2FN": 8, "f8E4M3FN": 8, "f8E5M2": 8, "i8": 8}
#: The largest code, and for scales the codes of positive numbers near 1.
CODES = {"f4E2M1FN": (0, 16), "f6E2M3FN": (0, 64), "f6E3M2FN": (0, 64), "f8E4M3FN": (1, 0x78),
         "f8E5M2": (1, 0x78), "i8": (0, 256), "f8E8M0FNU": (120, 135)}


def noise(random, shape, element):
    """Codes of numbers."""
    return random.integers(*CODES[element], shape, dtype=np.uint8)


def stored(codes, element):
    """Row-major data as memory has it."""
    return pack(codes) if BITS[element] == 4 else codes


def prepacked_storage(codes, element):
    """Prepacked data as memory has it, with other codes than 0 in the rows of the padding,
    which nobody reads."""
    *_, rows, cols = codes.shape
    fill = np.zeros((*codes.shape[:-2], -(-rows // 64) * 64, cols), np.uint8)
    fill[..., rows:, :] = 1
    fill[..., :rows, :] = codes
    return prepack(fill, BITS[element])
