# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of scale_sweep in the emulator.

Usage: gpu_scale_sweep.py FOLDER
"""

import numpy as np

import values
from gpu_calls import Calls
from ops import dynamic, tensor

DTYPES = {"bf16": np.uint16, "f32": np.float32}
# Those that keep scales in order, and those that do not. Which candidate wins under a
# negative amax is not specified.
GLOBALS = values.GLOBALS[:-1]

random = np.random.default_rng(65)
calls = Calls()


def weights(shape, scale):
    """Blocks of all sizes up to `scale`, the largest 4 times smaller on average."""
    blocks = (*shape[:-1], shape[-1] // values.BLOCK, values.BLOCK)
    sizes = np.exp2(-random.exponential(2, blocks[:-1]))[..., None]
    return (np.clip(random.standard_normal(blocks) / 3, -1, 1) * sizes * scale).reshape(shape)


def add(x, global_amax, element, dims=(), hessian=None):
    """Of the shape of `x`, `dims` are dynamic."""
    if element == "bf16":
        x = values.to_bf16(x.astype(np.float32))
    shape = dynamic(x.shape, dims)
    result = (*shape[:-1], "?" if shape[-1] == "?" else shape[-1] // 16)
    types = [tensor(shape, element), "f32"]
    if np.ndim(global_amax) or not dims:
        types[1] = tensor(shape[:np.ndim(global_amax)], "f32")
    text = ""
    arrays = [x.astype(DTYPES[element]), np.asarray(global_amax, np.float32)]
    if hessian is not None:
        types.append(tensor((result[-1], 16, 16), "f32"))
        text = f" hessian({{2}} : {types[2]})"
        arrays.append(hessian.astype(np.float32))
    calls.add(f"scale_sweep {{0}} global_amax({{1}} : {types[1]}){text} : {types[0]} -> "
              f"{tensor(result, 'f32')}", types, [tensor(result, "f32")], *arrays)


for element in DTYPES:
    add(weights((37, 80), 3.7), 3.7, element)
    # Few elements and equal ones, where losses are equal.
    ties = np.where(random.random((30, 64)) < 0.8, 0, random.integers(-12, 13, (30, 64)) / 4)
    add(ties, 3, element, (0,))
    # A block has more than the amax, or all its scales are too large.
    add(np.stack([np.full(16, x) for x in (0, 1e-3, 0.4, 7, 100, 1e30, np.inf, np.nan)]), 1,
        element, (0, 1))
    for global_amax in GLOBALS:
        x = values.blocks(random, (4, 9 * 16))
        add(x, global_amax, element, (0, 1))
    add(np.stack([weights((3, 32), size) for size in (1, 20)]), [1, 20], element, (0, 1))
    add(np.zeros((0, 32)), 1, element, (0,))
    factors = random.standard_normal((3, 16, 24))
    add(weights((9, 48), 2), 2, element, (0,), factors @ factors.transpose(0, 2, 1))
    # Losses below zero.
    add(weights((2, 2, 32), 2), [2, 3], element, (), random.standard_normal((2, 16, 16)))
calls.check()
