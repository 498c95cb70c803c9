# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes by a global scale of each call, and by one that a sample gave."""

import ml_dtypes
import numpy as np

import blockscale as bs


@bs.jit
def dynamic(x: bs.Spec((None, 64), "bf16")):
    return bs.quantize(x, global_scale=bs.global_scale(bs.amax(x)))

x = np.random.default_rng(0).standard_normal((128, 64)).astype(ml_dtypes.bfloat16)
static = bs.calibrate(dynamic.trace(), [(x,)])
for a, b in zip(dynamic(x), bs.compile(static)(x)):
    assert a.tobytes() == b.tobytes()
print(static)
