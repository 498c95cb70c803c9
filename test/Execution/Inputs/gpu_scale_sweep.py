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

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def lattice(count, scales):
    """Blocks that a scale loses little or nothing of. Each third has an element that it
    clips, each third a few that are small, so that winners are below and above where the
    largest element is 6."""
    x = E2M1[random.integers(0, 8, (count, 16))] * random.choice(scales, (count, 1))
    x[::3, 0] = x[::3].max(1) * random.uniform(1, 1.6, x[::3, 0].shape)
    x[1::3, :12] = x[1::3, :12] * random.uniform(0, 0.4, x[1::3, :12].shape)
    return x * random.choice([-1, 1], x.shape)


for element in DTYPES:
    # Amaxes of the tensor from below the largest element to far above it: the search
    # starts beyond the candidates, ends at the last one, or below the first ones.
    for factor in (0.3, 1, 3, 100, 1e5):
        forms.scale_sweep(random.standard_normal((24, 64)) * 0.02, 0.07 * factor, element, (0,))
        forms.scale_sweep(random.uniform(-1, 1, (8, 64)), factor, element, (0,))
    # Scales are E4M3 values, in which quotients and losses are exact.
    codes = 2.0 ** np.arange(-5, 5)[:, None] * (1 + np.arange(8) / 8)
    forms.scale_sweep(lattice(200, codes.ravel()), 2688, element, (0,))
    forms.scale_sweep(lattice(200, codes.ravel() * 1.1), 2688, element, (0,))
    # A scale of 1 would be best, and is above all.
    above = E2M1[random.integers(0, 6, (40, 16))]
    above[:, 0] = 3
    forms.scale_sweep(above, 2.9, element, (0,))
    # Equal elements have many scales without a loss, of which the least wins.
    equal = np.repeat(random.choice(codes.ravel(), (50, 1)), 16, 1)
    forms.scale_sweep(equal, 2688, element, (0,))
    forms.scale_sweep(forms.weights((37, 80), 3.7), 3.7, element)
    # Few elements and equal ones, where losses are equal.
    ties = np.where(random.random((30, 64)) < 0.8, 0, random.integers(-12, 13, (30, 64)) / 4)
    forms.scale_sweep(ties, 3, element, (0,))
    # A block has more than the amax, or all its scales are too large.
    forms.scale_sweep(np.stack([np.full(16, x)
                                for x in (0, 1e-3, 0.4, 7, 100, 1e30, np.inf, np.nan)]), 1,
        element, (0, 1))
    for global_amax in GLOBALS:
        x = values.blocks(random, (4, 9 * 16))
        forms.scale_sweep(x, global_amax, element, (0, 1))
    forms.scale_sweep(np.stack([forms.weights((3, 32), size) for size in (1, 20)]), [1, 20],
                      element, (0, 1))
    forms.scale_sweep(np.zeros((0, 32)), 1, element, (0,))
    factors = random.standard_normal((3, 16, 24))
    forms.scale_sweep(forms.weights((9, 48), 2), 2, element, (0,),
                      factors @ factors.transpose(0, 2, 1))
    # Elements of any size, whose weighed losses may be finite.
    forms.scale_sweep(values.blocks(random, (8, 80)), 2, element, (),
        random.standard_normal((5, 16, 16)) * 1e-36)
    # Losses below zero.
    forms.scale_sweep(forms.weights((2, 2, 32), 2), [2, 3], element, (),
                      random.standard_normal((2, 16, 16)))
calls.check()
