# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of amax and global_scale in the emulator.

Usage: gpu_amax.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

from gpu_calls import Calls
from gpu_forms import DTYPES, Forms
from ops import tensor

# Within a vector, within a CTA, matrices that begin within a vector, a
# whole block of elements and some of the next, nothing.
SHAPES = ((1, 1, 1), (2, 5, 63), (2, 16, 1024), (1, 67, 520), (2, 0, 4), (2, 4, 0), (0, 3, 3))
RECIPES = ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse",
           "torchao_training")

random = np.random.default_rng(62)
calls = Calls()
forms = Forms(calls, random)

for element in DTYPES:
    for leading in (0, 1, 2):
        for shape in SHAPES:
            forms.amax(shape, element, leading, (0, 1, 2))
        forms.amax((2, 9, 130), element, leading, ())
    forms.amax((33, 8), element, 0, (0,))
    # Empty groups, and those before the end.
    for dim, extent in ((0, 30), (1, 210)):
        for ends in ((7, 9, extent), (0, 5, 5), (4, 20, 22)):
            forms.group_amax((30, 210), element, dim, (), ends)
        for ends in ((), (1,), tuple(range(0, extent, extent // 10))):
            forms.group_amax((30, 210), element, dim, (0,), ends)
    forms.group_amax((130, 300), element, 0, (0,), (70, 100, 130))
    forms.group_amax((70, 300), element, 1, (0,), (70, 100, 300))
    for shape in ((0, 8), (8, 0)):
        forms.group_amax(shape, element, 0, (0,), (shape[0] // 2, shape[0]))
for recipe in RECIPES:
    x = np.array([[0, 1e-45, 1e-40], [1e-9, 1e-8, 0.37], [2688, 3e38, np.inf],
                  [np.nan, 1e-38, 2.0**-118]], np.float32)
    type = tensor(("?", 3), "f32")
    calls.add(f"global_scale {{0}} recipe {recipe} : {type}", [type], [type], x)
    calls.add(f"global_scale {{0}} recipe {recipe} : tensor<f32>", ["tensor<f32>"],
              ["tensor<f32>"], np.float32(3.7).reshape(()))
calls.check()
