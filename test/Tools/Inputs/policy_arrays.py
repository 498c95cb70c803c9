# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes arrays of f32 into a folder: `policy_arrays.py FOLDER NAME=ROWSxCOLUMNS...`."""

import sys

import numpy as np

random = np.random.default_rng(1)
for argument in sys.argv[2:]:
    name, _, shape = argument.partition("=")
    array = random.standard_normal([int(size) for size in shape.split("x")])
    np.save(f"{sys.argv[1]}/{name}.npy", array.astype(np.float32))
