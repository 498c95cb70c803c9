# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes x.npy [3, 32] and w.npy [32, 8], f32, into a folder."""

import sys

import numpy as np

random = np.random.default_rng(1)
for name, shape in (("x", (3, 32)), ("w", (32, 8))):
    np.save(f"{sys.argv[1]}/{name}.npy", random.standard_normal(shape).astype(np.float32))
