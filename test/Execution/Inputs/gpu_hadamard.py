# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of hadamard in the emulator.

Usage: gpu_hadamard.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

from gpu_calls import Calls
from gpu_forms import Forms

random = np.random.default_rng(61)
calls = Calls()
forms = Forms(calls, random)

every_bf16 = random.permutation(1 << 16).astype(np.uint16)
for mask in (None, 0, 0x8001, 0xFFFF):
    forms.hadamard((5, 48), 1, (0, 1), mask)
    forms.hadamard((48, 5), 0, (0, 1), mask)
forms.hadamard((2048, 32), 1, (0,), None, every_bf16.reshape(2048, 32))
forms.hadamard((32, 2048), 0, (0,), None, every_bf16.reshape(32, 2048))
zeros = random.choice(np.array([0, 0x8000], np.uint16), 1 << 14)
forms.hadamard((512, 32), 1, (0,), None, zeros.reshape(512, 32))
forms.hadamard((32, 512), 0, (0,), None, zeros.reshape(32, 512))
# The columns of a thread: 8, 4, 2, 1.
for cols in (72, 12, 6, 7):
    forms.hadamard((2, 32, cols), 0, (0, 1))
forms.hadamard((3, 5, 272), 1, ())
for shape in ((0, 16), (16, 0)):
    for dim in (0, 1):
        forms.hadamard(shape, dim, (0, 1))
calls.check()
