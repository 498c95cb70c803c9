# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of swizzle in the emulator.

Usage: gpu_swizzle.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

from gpu_calls import Calls
from gpu_forms import Forms

random = np.random.default_rng(63)
calls = Calls()
forms = Forms(calls, random)

# Rows of a multiple of 16, 8, 4, 2 and 1 bytes; several tiles each way, and part of one.
for cols in (16, 80, 8, 24, 4, 2, 6, 1, 9):
    forms.swizzle((130, cols), ())
    forms.swizzle((33, cols), (0,))
for shape in ((1, 1), (129, 21), (0, 4), (7, 0)):
    forms.swizzle(shape, (0, 1))
forms.swizzle((2, 2, 130, 9), ())
forms.swizzle((3, 40, 16), (0, 1))
for cols in (16, 6, 9):
    forms.swizzle((33, cols), (), "swizzle_8x4")
    forms.swizzle((2, 7, cols), (1, 2), "swizzle_8x4")
forms.swizzle((0, 4), (0, 1), "swizzle_8x4")
for cols in (6, 8, 5):
    forms.group_swizzle((300, cols), 0, 1, (3, 130, 300))
for ends in ((0, 0, 299), (7, 20, 20)):
    forms.group_swizzle((300, 5), 0, 1, ends, (0, 1))
for ends in ((48, 48, 336), (16, 32, 320), (0, 32, 48)):
    forms.group_swizzle((130, 21), 1, 16, ends)
forms.group_swizzle((40, 7), 1, 32, (64, 192), (0, 1))
calls.check()
