# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of swizzle in the emulator.

Usage: gpu_swizzle.py FOLDER
"""

import numpy as np

from gpu_calls import Calls
from ops import SWIZZLED, dynamic, tensor
from reference import group_bounds, swizzle, swizzle_groups

random = np.random.default_rng(63)
calls = Calls()


def random_scales(shape):
    """No zero, so that what belongs to the padding shows."""
    return random.integers(1, 256, shape, dtype=np.uint8)


def add_swizzle(shape, dims):
    type = dynamic(shape, dims)
    linear, tiled = tensor(type, "f8E4M3FN"), tensor(type, "f8E4M3FN", SWIZZLED)
    scales = random_scales(shape)
    calls.add(f"swizzle {{0}} : {linear} -> {tiled}", [linear], [tiled], scales)
    names = ", ".join(f"{{{1 + i}}}" for i in range(len(dims)))
    sizes = f" sizes({names})" if dims else ""
    calls.add(f"swizzle {{0}}{sizes} : {tiled} -> {linear}", [tiled] + ["index"] * len(dims),
              [linear], swizzle(scales, fill=0x77), *(np.int64(shape[dim]) for dim in dims))


def add_grouped_swizzle(shape, dim, block, given, dims=()):
    ends = [end // block for _, end in group_bounds(given, shape[dim] * block, block)]
    type = dynamic(shape, dims)
    linear = tensor(type, "f8E8M0FNU")
    layout = f"#blockscale.layout<swizzle_128x4, groups = {len(given)}, dim = {dim}>"
    tiled, offsets = tensor(type, "f8E8M0FNU", layout), tensor((len(given),), "i32")
    text = f"offsets({{1}} : {offsets})" + (f" block {block}" if block > 1 else "")
    scales, given = random_scales(shape), np.array(given, np.int32)
    calls.add(f"swizzle {{0}} {text} : {linear} -> {tiled}", [linear, offsets], [tiled], scales,
              given)
    names = ", ".join(f"{{{2 + i}}}" for i in range(len(dims)))
    sizes = f" sizes({names})" if dims else ""
    text = f"offsets({{1}} : {offsets}){sizes}" + (f" block {block}" if block > 1 else "")
    calls.add(f"swizzle {{0}} {text} : {tiled} -> {linear}",
              [tiled, offsets] + ["index"] * len(dims), [linear],
              swizzle_groups(scales, ends, dim, fill=0x77), given,
              *(np.int64(shape[dim]) for dim in dims))


# Rows of a multiple of 16, 8, 4, 2 and 1 bytes; several tiles each way, and part of one.
for cols in (16, 80, 8, 24, 4, 2, 6, 1, 9):
    add_swizzle((130, cols), ())
    add_swizzle((33, cols), (0,))
for shape in ((1, 1), (129, 21), (0, 4), (7, 0)):
    add_swizzle(shape, (0, 1))
add_swizzle((2, 2, 130, 9), ())
add_swizzle((3, 40, 16), (0, 1))
for cols in (6, 8, 5):
    add_grouped_swizzle((300, cols), 0, 1, (3, 130, 300))
for ends in ((0, 0, 299), (-7, 500, 20)):
    add_grouped_swizzle((300, 5), 0, 1, ends, (0, 1))
for ends in ((48, 48, 336), (16, 32, 320), (40, -1, 9999)):
    add_grouped_swizzle((130, 21), 1, 16, ends)
add_grouped_swizzle((40, 7), 1, 32, (64, 200), (0, 1))
calls.check()
