# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of prepack in the emulator.

Usage: gpu_prepack.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

from gpu_calls import Calls
from gpu_forms import Forms

calls = Calls()
forms = Forms(calls, np.random.default_rng(65))

for element in ("f4E2M1FN", "f8E4M3FN"):
    # Whole blocks, several of them and parts of one, an odd number of columns, none at all.
    for shape in ((64, 64), (65, 127), (130, 34), (1, 1), (0, 4), (7, 0)):
        forms.prepack(shape, element, (0,) if shape[0] % 2 else ())
    forms.prepack((2, 2, 70, 96), element)
for element in ("f6E2M3FN", "f6E3M2FN", "f8E5M2", "i8"):
    forms.prepack((3, 20, 70), element, (1,))
calls.check()
