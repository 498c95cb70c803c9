# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of dequantize in the emulator.

Usage: gpu_dequantize.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

from gpu_calls import Calls
from gpu_forms import BITS, Forms
from ops import SWIZZLED

RECIPES = ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse",
           "torchao_training")

random = np.random.default_rng(64)
calls = Calls()
forms = Forms(calls, random)

# Every recipe with every global scale.
for i, recipe in enumerate(RECIPES):
    element = ("bf16", "f32", "f16")[i % 3]
    for operand in ("global_scale", "global_amax"):
        for of in ("scalar", "tensor", "batch", "row"):
            forms.dequantize((2, 3, 48), recipe, element=element, dims=(0, 1), operand=operand,
                             of=of)
    forms.dequantize((9, 64), recipe, element=element, layout=SWIZZLED, dims=(0,),
                     operand="global_scale",
        of="row")
    forms.dequantize((2, 48, 32), recipe, element=element, block=(16, 16), operand="global_amax",
                     of="batch")
    # Memory does not tell whether the size of packed rows is odd.
    takes_tails = recipe not in ("torchao", "mslk", "torchao_training")
    forms.dequantize((3, 80), recipe, element=element, dims=(0,) if takes_tails else (0, 1))
# Elements of a thread: 32, 16, and those of rows that end within a block.
for k, recipe in ((96, "torchao"), (272, "mslk"), (40, "te"), (20, "te"), (34, "modelopt"),
                  (31, "te"), (0, "te")):
    forms.dequantize((131, k) if k == 96 else (5, k), recipe, layout=SWIZZLED, dims=(0,))
# Every format, linear and swizzled, rows, columns and squares.
for i, (data, bits) in enumerate(BITS.items()):
    element = ("f32", "bf16", "f16")[i % 3]
    forms.dequantize((130, 160), data=data, element=element, layout=SWIZZLED)
    forms.dequantize((2, 3, 256), data=data, element=element, dims=(0, 1))
    forms.dequantize((2, 3, 96), data=data, element=element, dims=(0, 1, 2), layout=SWIZZLED)
    for k in (64, 24, 7):
        forms.dequantize((64, k), data=data, element=element, block=(32, 1), dims=(0,))
    if bits != 4:
        forms.dequantize((2, 32, 9), data=data, element=element, block=(32, 1), dims=(0, 2))
    forms.dequantize((3, 64, 96), data=data, element=element, block=(32, 32), dims=(0, 1))
# Tails of both dimensions.
for k in (47, 32):
    for m in (1, 33, 0):
        forms.dequantize((2, m, k), "te", block=(16, 16), dims=(1,), operand="global_scale",
                         of="batch")
        forms.dequantize((m, k), "modelopt", block=(16, 1), dims=(0,), operand="global_scale",
                         of="scalar")
calls.check()
