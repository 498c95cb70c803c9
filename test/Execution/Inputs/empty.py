# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every op on matrices of 2^60 rows without elements, which take no memory and
must take no time.

Usage: empty.py FOLDER
"""

import sys

import numpy as np

from ops import SWIZZLED, Functions, tensor

ROWS = 1 << 60
TILE_ROWS = ROWS // 128

functions = Functions()


def array(dtype, *shape):
    return np.zeros(shape, dtype)


def matrix(element, layout=None):
    return tensor(("?", "?"), element, layout)


def add(op, arguments, results, given, wanted):
    functions.add(op, arguments, results, [(given, wanted)])


x, y = array(np.float32, ROWS, 0), array(np.uint16, ROWS, 0)
scale = array(np.uint8, ROWS, 0)
tiles = array(np.uint8, TILE_ROWS, 0, 32, 4, 4)
ends = np.array([7, 9], np.int32)
f32, bf16 = matrix("f32"), matrix("bf16")
e4m3, e8m0 = matrix("f8E4M3FN"), matrix("f8E8M0FNU")

for dim in (0, 1):
    add(f"hadamard {{0}} dim {dim} : {bf16}", [bf16], [bf16], [y], [y])
    add(f"amax {{0}} offsets({{1}} : tensor<2xi32>) group_dim {dim} : {f32} -> tensor<2xf32>",
        [f32, "tensor<2xi32>"], ["tensor<2xf32>"], [x, ends * (1 - dim)], [array(np.float32, 2)])
add(f"amax {{0}} : {f32} -> tensor<f32>", [f32], ["tensor<f32>"], [x], [array(np.float32)])

for recipe, block in (("te", "[1, 16]"), ("te", "[16, 16]"), ("te_4over6_mae", "[1, 16]")):
    add(f"quantize {{0}} block {block} recipe {recipe} : {f32} -> {matrix('f4E2M1FN')}, {e4m3}",
        [f32], [matrix("f4E2M1FN"), e4m3], [x],
        [scale, scale[: ROWS // int(block[1:].split(',')[0])]])
add(f"quantize {{0}} block [1, 32] : {f32} -> {e4m3}, {matrix('f8E8M0FNU', SWIZZLED)}",
    [f32], [e4m3, matrix("f8E8M0FNU", SWIZZLED)], [x], [scale, tiles])
for block in ("[1, 32]", "[32, 1]", "[32, 32]"):
    scales = scale[: ROWS // int(block[1:].split(",")[0])]
    add(f"dequantize {{0}}, {{1}} block {block} : {e4m3}, {e8m0} -> {f32}", [e4m3, e8m0], [f32],
        [scale, scales], [x])

swizzled = matrix("f8E4M3FN", SWIZZLED)
add(f"swizzle {{0}} : {e4m3} -> {swizzled}", [e4m3], [swizzled], [scale], [tiles])
add(f"swizzle {{0}} sizes({{1}}, {{2}}) : {swizzled} -> {e4m3}", [swizzled, "index", "index"],
    [e4m3], [tiles, np.int64(ROWS), np.int64(0)], [scale])
for result, wanted in ((e4m3, scale), (swizzled, tiles)):
    add(f"expand_scale {{0}} block [16, 16] scale_dim k sizes({{1}}) : {e4m3} -> {result}",
        [e4m3, "index"], [result], [scale[: ROWS // 16], np.int64(ROWS)], [wanted])
add(f"scale_sweep {{0}} global_amax({{1}} : f32) : {f32} -> {f32}", [f32, "f32"], [f32],
    [x, np.float32(1)], [x])
functions.check(sys.argv[1])
