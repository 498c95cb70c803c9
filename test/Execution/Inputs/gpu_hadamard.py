# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of hadamard in the emulator.

Usage: gpu_hadamard.py FOLDER
"""

import numpy as np

import values
from gpu_calls import Calls
from ops import dynamic, tensor

random = np.random.default_rng(61)
calls = Calls()


def add(shape, dim, dims, mask=None, x=None):
    """Of `shape`, `dims` are dynamic."""
    x = values.floats(random, shape, np.uint16) if x is None else x
    type = tensor(dynamic(shape, dims), "bf16")
    text = "" if mask is None else f" sign_mask {mask}"
    calls.add(f"hadamard {{0}} dim {dim}{text} : {type}", [type], [type], x)


every_bf16 = random.permutation(1 << 16).astype(np.uint16)
for mask in (None, 0, 0x8001, 0xFFFF):
    add((5, 48), 1, (0, 1), mask)
    add((48, 5), 0, (0, 1), mask)
add((2048, 32), 1, (0,), None, every_bf16.reshape(2048, 32))
add((32, 2048), 0, (0,), None, every_bf16.reshape(32, 2048))
# The columns of a thread: 8, 4, 2, 1.
for cols in (72, 12, 6, 7):
    add((2, 32, cols), 0, (0, 1))
add((3, 5, 272), 1, ())
for shape in ((0, 16), (16, 0)):
    for dim in (0, 1):
        add(shape, dim, (0, 1))
calls.check()
