# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of scale_sweep in the emulator.

Usage: gpu_scale_sweep.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

import values
from gpu_calls import Calls
from gpu_forms import DTYPES, Forms

# Those that keep scales in order, and those that do not. Which candidate wins under a
# negative amax is not specified.
GLOBALS = values.GLOBALS[:-1]

random = np.random.default_rng(65)
calls = Calls()
forms = Forms(calls, random)

for element in DTYPES:
    forms.scale_sweep(forms.weights((37, 80), 3.7), 3.7, element)
    # Few elements and equal ones, where losses are equal.
    ties = np.where(random.random((30, 64)) < 0.8, 0, random.integers(-12, 13, (30, 64)) / 4)
    forms.scale_sweep(ties, 3, element, (0,))
    # A block has more than the amax, or all its scales are too large.
    forms.scale_sweep(np.stack([np.full(16, x) for x in (0, 1e-3, 0.4, 7, 100, 1e30, np.inf, np.nan)]), 1,
        element, (0, 1))
    for global_amax in GLOBALS:
        x = values.blocks(random, (4, 9 * 16))
        forms.scale_sweep(x, global_amax, element, (0, 1))
    forms.scale_sweep(np.stack([forms.weights((3, 32), size) for size in (1, 20)]), [1, 20], element, (0, 1))
    forms.scale_sweep(np.zeros((0, 32)), 1, element, (0,))
    factors = random.standard_normal((3, 16, 24))
    forms.scale_sweep(forms.weights((9, 48), 2), 2, element, (0,), factors @ factors.transpose(0, 2, 1))
    # Losses below zero.
    forms.scale_sweep(forms.weights((2, 2, 32), 2), [2, 3], element, (), random.standard_normal((2, 16, 16)))
calls.check()
