# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs dequantize, every format, block and global scale, on all codes and scale
bytes, and compares every bit with numpy.

Usage: dequantize.py FOLDER
"""

import sys

import numpy as np

from ops import SCALE_ELEMENTS, SWIZZLED, Functions, dynamic, tensor
from reference import (
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
    dequantize_mx,
    dequantize_nvfp4,
    global_scale,
    pack,
    swizzle,
    to_bf16,
)

CODECS = {"f4E2M1FN": E2M1, "f6E2M3FN": E2M3, "f6E3M2FN": E3M2, "f8E4M3FN": E4M3, "f8E5M2": E5M2}
RECIPES = ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse",
           "torchao_training")

random = np.random.default_rng(64)
functions = Functions()


def rounded(x, element):
    """In the storage form of a result."""
    with np.errstate(all="ignore"):
        return {"f32": x, "f16": x.astype(np.float16), "bf16": to_bf16(x)}[element]


def scale_shape(shape, block):
    """Sizes in blocks; '?' stays."""
    matrix = [size if size == "?" else -(-size // step) for size, step in zip(shape[-2:], block)]
    return (*shape[:-2], *matrix)


def add(shapes, recipe=None, data="f4E2M1FN", element="f32", block=None, layout=None, dims=(),
        operand=None, of=""):
    """Shapes of which `dims` are dynamic. Without a recipe the format is MX. The
    `operand`, a global scale or amax, has a value for each "batch" element or
    "row", or is a scalar."""
    block = block or (1, 16 if recipe else 32)
    type = dynamic(shapes[0], dims)
    types = [tensor(type, data),
             tensor(scale_shape(type, block), SCALE_ELEMENTS[max(block)], layout)]
    signature = ", ".join(types)
    text = f" recipe {recipe}" if recipe else ""
    if operand:
        types.append(tensor(type[: {"batch": -2, "row": -1}[of]], "f32") if of else "f32")
        text += f" {operand}({{2}} : {types[2]})"
    cases = []
    for shape in shapes:
        bits = {"f4E2M1FN": 4, "f6E2M3FN": 6, "f6E3M2FN": 6}.get(data, 8)
        codes = random.integers(0, 1 << bits, shape, dtype=np.uint8)
        scale = random.integers(0, 256, scale_shape(shape, block), dtype=np.uint8)
        arguments = [pack(codes) if bits == 4 else codes, swizzle(scale) if layout else scale]
        factor = None
        if operand:
            lead = shape[: {"batch": -2, "row": -1}[of]] if of else ()
            value = np.exp2(random.uniform(-8, 8, lead)).astype(np.float32)
            arguments.append(value)
            factor = global_scale(value, recipe) if operand == "global_amax" else value
        with np.errstate(all="ignore"):
            x = (dequantize_nvfp4(codes, scale, recipe, factor, block) if recipe
                 else dequantize_mx(codes, scale, CODECS[data], block))
        cases.append((arguments, [rounded(x, element)]))
    result = tensor(type, element)
    functions.add(f"dequantize {{0}}, {{1}} block [{block[0]}, {block[1]}]{text} : {signature} -> "
                  f"{result}", types, [result], cases)


# Rows. Memory does not tell whether the size of packed rows is odd, so it is static.
add([(m, 80) for m in (0, 1, 130)], "torchao", dims=(0,))
add([(m, 272) for m in (3, 200)], "mslk", element="f16", layout=SWIZZLED, dims=(0,),
    operand="global_scale")
add([(m, 31) for m in (0, 129)], "te", element="bf16", layout=SWIZZLED, dims=(0,),
    operand="global_amax")
add([(2, 3, 47)], "modelopt", operand="global_scale")
add([(5, 0)], "te")
add([(7, 160)], element="f16", layout=SWIZZLED)
for data, element in (("f8E4M3FN", "f32"), ("f8E5M2", "bf16"), ("f6E2M3FN", "f16"),
                      ("f6E3M2FN", "f32")):
    shapes = [(1, 32), (131, 96), (2, 512), (0, 32), (5, 0)]
    add(shapes, data=data, element=element, layout=SWIZZLED, dims=(0, 1))
    add([(2, 3, 160)], data=data, element=element)

# Every recipe with every global scale.
for recipe in RECIPES:
    for operand in ("global_scale", "global_amax"):
        for of in ("", "batch", "row"):
            add([(2, 3, 48), (1, 130, 48)], recipe, dims=(0, 1), operand=operand, of=of)
        add([(9, 33 if recipe in ("te", "modelopt") else 32)], recipe, layout=SWIZZLED,
            operand=operand, of="row")
        add([(2, 48, 32)], recipe, block=(16, 16), operand=operand, of="batch")

# Blocks of several rows; tails of both dimensions where the recipe takes them.
for recipe in ("te", "modelopt", "te_4over6_mse"):
    add([(m, 47) for m in (40, 1, 0, 33)], recipe, block=(16, 16), dims=(0,),
        operand="global_scale")
    add([(m, 21) for m in (40, 1, 0, 33)], recipe, block=(16, 1), dims=(0,), operand="global_scale")
add([(m, 80) for m in (16, 48)], "torchao", element="bf16", block=(16, 16), dims=(0,))
for data in CODECS:
    dims = (0,) if data == "f4E2M1FN" else (0, 1)
    element = ("f32", "bf16", "f16")[list(CODECS).index(data) % 3]
    shapes = [(m, k) for m in (64, 0) for k in ((7,) if data == "f4E2M1FN" else (7, 1, 300, 0))]
    add(shapes, data=data, element=element, block=(32, 1), dims=dims)
    add([(96, 140)], data=data, element=element, block=(32, 1))
    shapes = [(m, k) for m in (64, 0) for k in ((96,) if data == "f4E2M1FN" else (96, 32, 0))]
    add(shapes, data=data, element=element, block=(32, 32), dims=dims)
    add([(3, 2, 32, 160)], data=data, element=element, block=(32, 32), dims=(0,))
functions.check(sys.argv[1])
