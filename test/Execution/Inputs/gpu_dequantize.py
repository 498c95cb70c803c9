# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of dequantize in the emulator.

Usage: gpu_dequantize.py FOLDER
"""

import numpy as np

from gpu_calls import Calls
from ops import SCALE_ELEMENTS, SWIZZLED, dynamic, tensor
from reference import pack, swizzle

RECIPES = ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse")
BITS = {"f4E2M1FN": 4, "f6E2M3FN": 6, "f6E3M2FN": 6, "f8E4M3FN": 8, "f8E5M2": 8}

random = np.random.default_rng(64)
calls = Calls()


def scale_shape(shape, block):
    """Sizes in blocks; '?' stays."""
    matrix = [size if size == "?" else -(-size // step) for size, step in zip(shape[-2:], block)]
    return (*shape[:-2], *matrix)


def add(shape, recipe=None, data="f4E2M1FN", element="f32", block=None, layout=None, dims=(),
        operand=None, of=None):
    """Of `shape`, `dims` are dynamic. Without a recipe the format is MX. The `operand`, a
    global scale or amax, is a "scalar", a "tensor" of one value, or has a value for
    each "batch" element or "row"."""
    block = block or (1, 16 if recipe else 32)
    type = dynamic(shape, dims)
    types = [tensor(type, data),
             tensor(scale_shape(type, block), SCALE_ELEMENTS[max(block)], layout)]
    signature = ", ".join(types)
    text = f" recipe {recipe}" if recipe else ""
    codes = random.integers(0, 1 << BITS[data], shape, dtype=np.uint8)
    scale = random.integers(0, 128 if recipe else 256, scale_shape(shape, block), dtype=np.uint8)
    arrays = [pack(codes) if BITS[data] == 4 else codes, swizzle(scale) if layout else scale]
    if operand:
        lead = {"scalar": 0, "tensor": 0, "batch": len(shape) - 2, "row": len(shape) - 1}[of]
        types.append("f32" if of == "scalar" else tensor(type[:lead], "f32"))
        text += f" {operand}({{2}} : {types[2]})"
        arrays.append(np.exp2(random.uniform(-8, 8, shape[:lead])).astype(np.float32))
    result = tensor(type, element)
    calls.add(f"dequantize {{0}}, {{1}} block [{block[0]}, {block[1]}]{text} : {signature} -> "
              f"{result}", types, [result], *arrays)


# Every recipe with every global scale.
for i, recipe in enumerate(RECIPES):
    element = ("bf16", "f32", "f16")[i % 3]
    for operand in ("global_scale", "global_amax"):
        for of in ("scalar", "tensor", "batch", "row"):
            add((2, 3, 48), recipe, element=element, dims=(0, 1), operand=operand, of=of)
    add((9, 64), recipe, element=element, layout=SWIZZLED, dims=(0,), operand="global_scale",
        of="row")
    add((2, 48, 32), recipe, element=element, block=(16, 16), operand="global_amax", of="batch")
    # Memory does not tell whether the size of packed rows is odd.
    takes_tails = recipe not in ("torchao", "mslk")
    add((3, 80), recipe, element=element, dims=(0,) if takes_tails else (0, 1))
# Elements of a thread: 32, 16, and those of rows that end within a block.
for k, recipe in ((96, "torchao"), (272, "mslk"), (40, "te"), (20, "te"), (34, "modelopt"),
                  (31, "te"), (0, "te")):
    add((131, k) if k == 96 else (5, k), recipe, layout=SWIZZLED, dims=(0,))
# Every format, linear and swizzled, rows, columns and squares.
for i, (data, bits) in enumerate(BITS.items()):
    element = ("f32", "bf16", "f16")[i % 3]
    add((130, 160), data=data, element=element, layout=SWIZZLED)
    add((2, 3, 256), data=data, element=element, dims=(0, 1))
    add((2, 3, 96), data=data, element=element, dims=(0, 1, 2), layout=SWIZZLED)
    for k in (64, 24, 7):
        add((64, k), data=data, element=element, block=(32, 1), dims=(0,))
    if bits != 4:
        add((2, 32, 9), data=data, element=element, block=(32, 1), dims=(0, 2))
    add((3, 64, 96), data=data, element=element, block=(32, 32), dims=(0, 1))
# Tails of both dimensions.
for k in (47, 32):
    for m in (1, 33, 0):
        add((2, m, k), "te", block=(16, 16), dims=(1,), operand="global_scale", of="batch")
        add((m, k), "modelopt", block=(16, 1), dims=(0,), operand="global_scale", of="scalar")
calls.check()
