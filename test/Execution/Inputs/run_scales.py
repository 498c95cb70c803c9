# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of dequantize, swizzle, amax and global_scale against the reference.

Usage: run_scales.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import values
from kernels import SCALE_ELEMENTS, SWIZZLED, Call, Kernels, bytes_equal, ceildiv
from kernels import dynamic, main, tensor
from blockscale_reference import E2M1, E4M3, E5M2, dequantize_mx, dequantize_nvfp4
from blockscale_reference import from_bf16, global_scale, pack, swizzle, swizzle_groups
from blockscale_reference import to_bf16

ELEMENTS = {"f4E2M1FN": E2M1, "f8E4M3FN": E4M3, "f8E5M2": E5M2}
random = np.random.default_rng(12)
kernels = Kernels()


def random_bytes(shape):
    return random.integers(0, 256, shape, dtype=np.uint8)


def rounded(x, element):
    """In the storage form of a result. The reference's NaN keeps its payload."""
    with np.errstate(all="ignore"):
        bits = np.where(np.isnan(x), 0x7FC0, to_bf16(x)).astype(np.uint16)
        return {"f32": x, "f16": x.astype(np.float16), "bf16": bits}[element]


def add_dequantize(shapes, recipe, data, element, layout=None, dims=(), form=None):
    block = 32 if recipe is None else 16
    type = dynamic(shapes[0], dims)
    k = type[-1]
    scale_type = (*type[:-1], k if k == "?" else ceildiv(k, block))
    types = [tensor(type, data), tensor(scale_type, SCALE_ELEMENTS[block], layout)]
    signature = ", ".join(types)
    text = f" recipe {recipe}" if recipe else ""
    if form:
        types.append("f32")
        text += f" {form}({{2}} : f32)"
    calls = []
    for shape in shapes:
        codes = random.integers(0, 16 if data == "f4E2M1FN" else 256, shape, dtype=np.uint8)
        scale = random_bytes((*shape[:-1], ceildiv(shape[-1], block)))
        arguments = [pack(codes) if data == "f4E2M1FN" else codes,
                     swizzle(scale) if layout else scale]
        factor = None
        if form:
            arguments.append(np.float32(0.37))
            factor = global_scale(0.37, recipe) if form == "global_amax" else arguments[-1]
        with np.errstate(all="ignore"):
            x = (dequantize_nvfp4(codes, scale, recipe, factor) if recipe
                 else dequantize_mx(codes, scale, ELEMENTS[data]))
        calls.append(Call(arguments, bytes_equal(rounded(x, element))))
    result = tensor(type, element)
    kernels.add(f"dequantize {{0}}, {{1}} block [1, {block}]{text} : {signature} -> {result}",
                types, [result], calls)


def add_swizzle(shapes, dims):
    linear = tensor(dynamic(shapes[0], dims), "f8E4M3FN")
    tiled = tensor(dynamic(shapes[0], dims), "f8E4M3FN", SWIZZLED)
    scales = [random_bytes(shape) for shape in shapes]
    kernels.add(f"swizzle {{0}} : {linear} -> {tiled}", [linear], [tiled],
                [Call([s], bytes_equal(swizzle(s))) for s in scales])
    names = ", ".join(f"{{{1 + i}}}" for i in range(len(dims)))
    sizes = f" sizes({names})" if dims else ""
    kernels.add(f"swizzle {{0}}{sizes} : {tiled} -> {linear}",
                [tiled] + ["index"] * len(dims), [linear],
                [Call([swizzle(s, fill=0x77), *(np.int64(s.shape[d]) for d in dims)],
                      bytes_equal(s)) for s in scales])


def add_grouped_swizzle(shape, dim, block, offsets):
    """Offsets are moved into their range, as the dialect says."""
    groups = len(offsets[0])
    linear = tensor(shape, "f8E8M0FNU")
    layout = f"#blockscale.layout<swizzle_128x4, groups = {groups}, dim = {dim}>"
    tiled = tensor(shape, "f8E8M0FNU", layout)
    ends_type = tensor((groups,), "i32")
    text = f"offsets({{1}} : {ends_type})" + (f" block {block}" if block > 1 else "")
    scale = random.integers(1, 256, shape, dtype=np.uint8)
    to, back = [], []
    for given in offsets:
        given = np.array(given, np.int32)
        ends = np.maximum.accumulate(np.clip(given // block, 0, shape[dim]))
        kept = np.arange(shape[dim]) < ends[-1]
        covered = np.where(kept[:, None] if dim == 0 else kept, scale, 0).astype(np.uint8)
        to.append(Call([scale, given], bytes_equal(swizzle_groups(scale, ends, dim))))
        back.append(Call([swizzle_groups(scale, ends, dim, fill=0x77), given],
                         bytes_equal(covered)))
    kernels.add(f"swizzle {{0}} {text} : {linear} -> {tiled}", [linear, ends_type],
                [tiled], to)
    kernels.add(f"swizzle {{0}} {text} : {tiled} -> {linear}", [tiled, ends_type],
                [linear], back)


def add_amax(shapes, element, each):
    type = tensor(dynamic(shapes[0], range(len(shapes[0]))), element)
    result = tensor(("?",) * (len(shapes[0]) - 2) if each else (), "f32")
    calls = []
    for kinds in (values.TAME, values.TAME + values.WILD):
        for shape in shapes:
            dtype = np.dtype("uint16" if element == "bf16" else "float32")
            x = values.floats(random, shape, dtype, kinds)
            magnitude = np.abs(from_bf16(x) if element == "bf16" else x)
            want = magnitude.max(axis=(-2, -1) if each else None, initial=0)
            calls.append(Call([x], bytes_equal(np.asarray(want, np.float32))))
    kernels.add(f"amax {{0}} : {type} -> {result}", [type], [result], calls)


def add_global_scale(recipe):
    type = tensor(("?", 3), "f32")
    amax = np.array([[0, 1e-45, 1e-40], [1e-9, 1e-8, 0.37], [2688, 3e38, np.inf],
                     [np.nan, 1e-38, 2.0**-118]], np.float32)
    kernels.add(f"global_scale {{0}} recipe {recipe} : {type}", [type], [type],
                [Call([amax], bytes_equal(global_scale(amax, recipe)))])


# Memory does not tell whether the size of packed rows is odd, so it is static.
add_dequantize([(m, 80) for m in (0, 1, 130)], "torchao", "f4E2M1FN", "f32", dims=(0,))
add_dequantize([(m, 272) for m in (3, 200)], "mslk", "f4E2M1FN", "f16", SWIZZLED, (0,),
               "global_scale")
add_dequantize([(m, 31) for m in (0, 129)], "te", "f4E2M1FN", "bf16", SWIZZLED, (0,),
               "global_amax")
add_dequantize([(2, 3, 47)], "modelopt", "f4E2M1FN", "f32", form="global_scale")
add_dequantize([(5, 0)], "te", "f4E2M1FN", "f32")
add_dequantize([(7, 160)], None, "f4E2M1FN", "f16", SWIZZLED)
for data, element in (("f8E4M3FN", "f32"), ("f8E5M2", "bf16")):
    add_dequantize([(1, 32), (131, 96), (2, 512), (0, 32), (5, 0)], None, data, element,
                   SWIZZLED, (0, 1))
add_dequantize([(2, 3, 160)], None, "f8E5M2", "f16")
add_swizzle([(1, 1), (128, 4), (129, 5), (300, 70), (0, 4), (7, 0)], (0, 1))
add_swizzle([(2, 2, 130, 9)], ())
add_grouped_swizzle((300, 6), 0, 1, [(3, 130, 300), (0, 0, 299), (-7, 500, 20)])
add_grouped_swizzle((130, 21), 1, 16, [(48, 48, 336), (16, 32, 320), (40, -1, 9999)])
shapes = [(1, 1, 1), (2, 5, 63), (3, 7, 200), (2, 0, 4)]
for element in ("bf16", "f32"):
    for each in (False, True):
        add_amax(shapes, element, each)
for recipe in ("torchao", "mslk", "te", "modelopt"):
    add_global_scale(recipe)

main(kernels, Path(sys.argv[1]))
