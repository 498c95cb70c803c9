# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes NaNs of every sign and of payloads in every byte, beside blocks of
numbers.

Usage: nan_payloads.py FOLDER
"""

import sys

import numpy as np

from ops import SCALE_ELEMENTS, Functions, tensor
from reference import E2M1, E3M2, E4M3, E5M2, from_bf16, pack, quantize_mx, to_bf16

CODECS = {"f4E2M1FN": E2M1, "f6E3M2FN": E3M2, "f8E4M3FN": E4M3, "f8E5M2": E5M2}
# Rounded up and saturating, whose codes are limited in different places.
RECIPES = ("rceil", "floor")
# Blocks, transposed.
FORMS = (((1, 32), False), ((32, 1), False), ((32, 1), True), ((32, 32), False))
SHAPE = (64, 1024)  # rows of whole groups of blocks
NAN_COLS = 320
NANS = np.array([0x7FC00000, 0x7F800001, 0x7F8000FF, 0x7F80FF00, 0x7FBFFFFF, 0x7FFFFFFF],
                np.uint32)

random = np.random.default_rng(7)
functions = Functions()


def numbers_and_nans(element):
    """A NaN in every third column, to NAN_COLS."""
    bits = random.standard_normal(SHAPE).astype(np.float32).view(np.uint32)
    for col in range(0, NAN_COLS, 3):
        nan = NANS[random.integers(len(NANS))] | np.uint32(random.integers(2) << 31)
        bits[random.integers(SHAPE[0]), col] = nan
    if element == "f32":
        return bits.view(np.float32)
    return np.where(np.isnan(bits.view(np.float32)), (bits >> 16) | 1,
                    to_bf16(bits.view(np.float32))).astype(np.uint16)


for block, transposed in FORMS:
    for data, codec in CODECS.items():
        for recipe in RECIPES:
            for element in ("f32", "bf16"):
                stored = numbers_and_nans(element)
                x = from_bf16(stored) if element == "bf16" else stored
                codes, scale = quantize_mx(x, codec, recipe, block=block, transposed=transposed)
                types = [tensor(SHAPE, element)]
                results = [tensor(codes.shape, data), tensor(scale.shape, SCALE_ELEMENTS[32])]
                text = (f"quantize {{0}} block [{block[0]}, {block[1]}]"
                        f"{' transposed' * transposed} recipe {recipe} : {types[0]} -> "
                        f"{', '.join(results)}")
                wanted = [pack(codes) if data == "f4E2M1FN" else codes, scale]
                functions.add(text, types, results, [([stored], wanted)])

functions.check(sys.argv[1], divided=True)
