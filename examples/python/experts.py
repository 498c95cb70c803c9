# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes an array and multiplies it by groups, on this CPU and in the emulator; prints
the IR, the PTX and why kernels are as they are."""

import ml_dtypes
import numpy as np

import blockscale as bs


@bs.jit
def experts(x, w, ends):                          # [M, K], [G, N, K], [G] -> [M, N]
    xq, xs = bs.quantize(x, offsets=ends, layout="swizzle_128x4")
    wq, ws = bs.quantize(w, layout="swizzle_128x4")
    return bs.scaled_grouped_mm(xq, wq, xs, ws, ends)

random = np.random.default_rng(0)
x, w = (random.standard_normal(shape).astype(ml_dtypes.bfloat16)
        for shape in ((96, 64), (3, 48, 64)))
arrays = x, w, np.array([32, 60, 96], np.int32)
y = experts(*arrays)                              # on this CPU
module = experts.trace(*arrays)                   # or Specs: bs.Spec((None, 64), "bf16"), ...
compiled = bs.compile(module, target="sm_100a")
print(module, compiled.ptx, *compiled.remarks, sep="\n")
z = compiled(*arrays)                             # in the emulator
np.testing.assert_allclose(z.astype(np.float32), y.astype(np.float32), rtol=0.01)
