# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of expand_scale in the emulator.

Usage: gpu_expand_scale.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

from gpu_calls import Calls
from gpu_forms import Forms
from ops import SWIZZLED

calls = Calls()
forms = Forms(calls, np.random.default_rng(71))

# Blocks of 16 and 32; rows that are whole blocks, or end within one; scales of whole
# words, or not; of one tile, several, and part of one.
for scale_dim in "kn":
    for layout in (None, SWIZZLED):
        for lead, size, across, block in (((), 48, 8, 16), ((), 270, 5, 32), ((), 1, 1, 16),
                                          ((2,), 128, 12, 32), ((3, 2), 140, 9, 16)):
            for is_dynamic in (False, True):
                forms.expand_scale(lead, size, across, block, scale_dim, layout, is_dynamic)
        forms.expand_scale((), 0, 4, 16, scale_dim, layout, is_dynamic=True)
calls.check()
