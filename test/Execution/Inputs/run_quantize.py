# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantize kernels of every recipe, static and dynamic, against the reference.

Usage: run_quantize.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import values
from kernels import SCALE_ELEMENTS, SWIZZLED, Call, Kernels, bytes_equal, ceildiv
from kernels import dynamic, main, tensor
from blockscale_reference import E2M1, E4M3, E5M2, from_bf16, pack
from blockscale_reference import quantize_mx, quantize_nvfp4, swizzle

ELEMENTS = {"f4E2M1FN": E2M1, "f8E4M3FN": E4M3, "f8E5M2": E5M2}
NVFP4_RECIPES = ("torchao", "mslk", "te", "modelopt")
MX_RECIPES = ("floor", "rceil", "rceil_sat", "ceil", "even")
TAILS = {"te": (1, 7), "modelopt": (9, 15)}
random = np.random.default_rng(11)
kernels = Kernels()


def reference(x, recipe, data, layout, **globals):
    x = from_bf16(x) if x.dtype == np.uint16 else x
    if recipe in NVFP4_RECIPES:
        codes, scale = quantize_nvfp4(x, recipe, **globals)
    else:
        codes, scale = quantize_mx(x, ELEMENTS[data], recipe)
    return (pack(codes) if data == "f4E2M1FN" else codes,
            swizzle(scale) if layout else scale)


def add(shapes, element, recipe, data="f4E2M1FN", layout=None, dims=(), form=None):
    """`form` is None or (global_scale or global_amax, one value for each of the
    batch elements or for all, the values to try)."""
    block = 16 if recipe in NVFP4_RECIPES else 32
    type = dynamic(shapes[0], dims)
    k = type[-1]
    scale_type = (*type[:-1], k if k == "?" else ceildiv(k, block))
    kind, each, tried = form or (None, False, [None])
    types, text = [tensor(type, element)], ""
    if form:
        types.append(tensor(type[:-2], "f32") if each else "f32")
        text = f" {kind}({{1}} : {types[1]})"
    calls = []
    for shape in shapes:
        for value in tried:
            dtype = np.dtype("uint16" if element == "bf16" else "float32")
            x = values.floats(random, shape, dtype)
            arguments, globals = [x], {}
            if form:
                value = np.float32(value)
                if each:
                    value = value * random.uniform(0.5, 2, shape[:-2]).astype(np.float32)
                arguments.append(value)
                globals[kind] = value
            calls.append(Call(arguments, bytes_equal(
                *reference(x, recipe, data, layout, **globals))))
    results = [tensor(type, data), tensor(scale_type, SCALE_ELEMENTS[block], layout)]
    kernels.add(f"quantize {{0}} block [1, {block}] recipe {recipe}{text} : {types[0]} -> "
                + ", ".join(results), types, results, calls)


for recipe in NVFP4_RECIPES:
    tails = TAILS.get(recipe, (0, 0))
    rows = [(m, 16 * blocks + tail) for tail in {0, *tails}
            for m, blocks in ((1, 1), (3, 5), (130, 16), (257, 21))]
    add([*rows, (0, 16), (5, 0)], "bf16", recipe, dims=(0, 1))
    add(rows, "f32", recipe, layout=SWIZZLED, dims=(0, 1),
        form=("global_scale", False, [2.0**-9, 0.37]))
    add([(2, 3, 140, 32 + tails[1])], "bf16", recipe, layout=SWIZZLED, dims=(0,),
        form=("global_amax", True, [1.0, 1e38, 1e-30]))
    add([(37, 272 + tails[0])], "bf16", recipe, form=("global_amax", False, [2.5, 0.0]))

for i, recipe in enumerate(MX_RECIPES):
    for j, data in enumerate(ELEMENTS):
        layout = SWIZZLED if (i + j) % 2 else None
        shapes = [(m, 32 * blocks) for m, blocks in ((1, 1), (131, 3), (9, 8), (3, 19))]
        add([*shapes, (0, 32)], ("bf16", "f32")[i % 2], recipe, data, layout, dims=(0, 1))
    add([(2, 129, 288)], ("f32", "bf16")[i % 2], recipe, list(ELEMENTS)[i % 3], SWIZZLED)

main(kernels, Path(sys.argv[1]))
