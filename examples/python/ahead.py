# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a function into a file, and calls it from there."""

import pathlib
import tempfile

import numpy as np

import blockscale as bs


@bs.jit
def quantize(x: bs.Spec((None, 64), "f32")):
    return bs.quantize(x, layout="swizzle_128x4")

file = pathlib.Path(tempfile.mkdtemp()) / "quantize.bsz"
bs.compile_ahead(quantize.trace(), file, targets=["cpu", "sm_90a"], cpu="x86-64-v2")

x = np.random.default_rng(0).standard_normal((128, 64)).astype(np.float32)
loaded = bs.load(file)                            # compiles nothing; on="cuda" for a GPU
for a, b in zip(loaded(x), quantize(x)):
    assert a.tobytes() == b.tobytes()
print(loaded.target, loaded.is_loaded)
