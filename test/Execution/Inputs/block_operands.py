# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes with what decides more than the elements of a block do: 4over6 recipes,
given block amaxes, one global scale a row, random bits. Layouts, leading dimensions
and element types are drawn at random for each function.

Usage: block_operands.py FOLDER
"""

import itertools
import sys

import numpy as np

import values
from ops import SCALE_ELEMENTS, SWIZZLED, Functions, dynamic, tensor
from reference import (
    E2M1,
    dequantize_nvfp4,
    expand_scale,
    from_bf16,
    global_scale,
    pack,
    quantize_mx,
    quantize_nvfp4,
    swizzle,
)

NVFP4 = ("torchao", "mslk", "te", "modelopt")
MX = ("floor", "rceil", "rceil_sat", "ceil", "even")
FOUR_OVER_SIX = ("te_4over6_mae", "te_4over6_mse")
TAKE_TAILS = ("te", "modelopt", *FOUR_OVER_SIX)
LEADS = ((), (2,))
# Blocks, transposed, scale_dim.
RANDOM_FORMS = (("row", False, ""), ("column", False, ""), ("column", True, ""),
                ("square", False, ""), ("square", True, "k"))

random = np.random.default_rng(11)
functions = Functions()


def pick(*choices):
    return choices[random.integers(len(choices))]


def floats(shape, element):
    return values.floats(random, shape, np.uint16 if element == "bf16" else np.float32)


def quantize(stored, element, recipe, **operands):
    x = from_bf16(stored) if element == "bf16" else stored
    if recipe in MX:
        return quantize_mx(x, E2M1, recipe, **operands)
    return quantize_nvfp4(x, recipe, **operands)


def factors(shape, operand):
    limits = (-12, 4) if operand == "global_scale" else (-4, 20)
    return np.exp2(random.uniform(*limits, shape)).astype(np.float32)


def add(recipe, shapes, is_dynamic, make, block=(1, 16), transposed=False, scale_dim="",
        any_layout=True):
    """A function of x with operands. `make` gives, for a shape, arrays by operand;
    what stands for an operand in the op and as an argument of the reference is its
    name. The dimensions of the first of `shapes` are those of the types, unless
    dynamic."""
    element = pick("f32", "bf16")
    layout = pick(None, SWIZZLED) if any_layout else None
    dims = range(len(shapes[0])) if is_dynamic else ()
    cases, first = [], None
    for shape in shapes:
        stored, operands = floats(shape, element), make(shape)
        rng = operands.get("rng")
        passed = dict(operands, **({} if rng is None else {"rng": tuple(rng.tolist())}))
        codes, scale = quantize(stored, element, recipe, block=block, transposed=transposed,
                                **passed)
        if scale_dim:
            scale = scale.swapaxes(-2, -1) if transposed else scale
            scale = expand_scale(scale, block[0], scale_dim, shape[-2 if scale_dim == "k" else -1])
        first = first or (codes.shape, scale.shape, operands)
        scale = swizzle(scale) if layout else np.ascontiguousarray(scale)
        cases.append(([stored, *operands.values()], [pack(codes), scale]))
    codes_shape, scale_shape, operands = first
    types = [tensor(dynamic(shapes[0], dims), element)]
    text = f"quantize {{0}} block [{block[0]}, {block[1]}]" + " transposed" * transposed
    text += f" scale_dim {scale_dim}" if scale_dim else ""
    text += f" recipe {recipe}"
    for i, (name, array) in enumerate(operands.items(), 1):
        kept = () if name == "rng" else range(array.ndim) if is_dynamic else ()
        types.append(tensor(dynamic(array.shape, kept), "i64" if name == "rng" else "f32"))
        text += f" {name}({{{i}}} : {types[-1]})"
    results = [tensor(dynamic(codes_shape, dims), "f4E2M1FN"),
               tensor(dynamic(scale_shape, dims), SCALE_ELEMENTS[max(block)], layout)]
    functions.add(f"{text} : {types[0]} -> {', '.join(results)}", types, results, cases)


def shapes_for(recipe, lead, block):
    """One that is static in some functions, then others for dynamic dimensions."""
    tails = (37, 83) if recipe in TAKE_TAILS else (64, 96)
    large = tuple(-(-size // step) * step for size, step in zip((130, 544), block))
    return [(*lead, *tails), (*lead, *large), (*lead, *block)]


def rng_of(shape):
    return {"rng": random.integers(-2**63, 2**63, 2)}


# 4over6 recipes, whose scale is one of two, along rows and columns.
for recipe, source, (block, transposed) in itertools.product(
        FOUR_OVER_SIX, ("", "global_scale", "global_amax"),
        (((1, 16), False), ((16, 1), True))):
    lead = pick(*LEADS)
    is_dynamic = pick(True, False)

    def make(shape, source=source):
        return {source: factors(shape[:-2], source)} if source else {}
    shapes = shapes_for(recipe, lead, block)
    add(recipe, shapes if is_dynamic else shapes[:1], is_dynamic, make, block, transposed)

# What a 4over6 recipe quantized to, as numbers.
for recipe, source in itertools.product(FOUR_OVER_SIX, ("global_scale", "global_amax")):
    codes = values.codes(random, (37, 83))
    scale = values.e4m3(random, (37, 6))
    factor = factors((), source)
    wanted = dequantize_nvfp4(codes, scale, recipe,
                              factor if source == "global_scale" else global_scale(factor, recipe))
    types = [tensor((37, 83), "f4E2M1FN"), tensor((37, 6), "f8E4M3FN"), tensor((), "f32")]
    result = tensor((37, 83), "f32")
    functions.add(f"dequantize {{0}}, {{1}} block [1, 16] recipe {recipe} {source}({{2}} : "
                  f"{types[2]}) : {types[0]}, {types[1]} -> {result}", types, [result],
                  [([pack(codes), scale, factor], [wanted])])

# Given block amaxes, which may be those of no element.
for recipe, source in itertools.product(NVFP4, ("", "global_scale", "global_amax")):
    lead = pick(*LEADS)

    def make(shape, source=source):
        amaxes = np.abs(values.blocks(random, (*shape[:-1], -(-shape[-1] // 16))))
        found = {source: factors(shape[:-2], source)} if source else {}
        return {**found, "block_amax": amaxes}

    is_dynamic = pick(True, False)
    shapes = shapes_for(recipe, lead, (1, 16))
    add(recipe, shapes if is_dynamic else shapes[:1], is_dynamic, make)

# One global scale or amax a row.
for recipe, source, lead in itertools.product(NVFP4, ("global_scale", "global_amax"), LEADS):
    is_dynamic = pick(True, False)

    def make(shape, source=source):
        return {source: factors(shape[:-1], source)}
    shapes = shapes_for(recipe, lead, (1, 16))
    add(recipe, shapes if is_dynamic else shapes[:1], is_dynamic, make)

# Random bits, in blocks of every shape: an element has its bits wherever it goes.
for recipe, (kind, transposed, scale_dim) in itertools.product((*NVFP4, *MX), RANDOM_FORMS):
    size = 32 if recipe in MX else 16
    block = {"row": (1, size), "column": (size, 1), "square": (size, size)}[kind]
    if kind == "column" and not transposed and recipe in NVFP4:
        continue
    is_dynamic = pick(True, False)
    shapes = shapes_for(recipe, pick(*LEADS), block)
    add(recipe, shapes if is_dynamic else shapes[:1], is_dynamic, rng_of, block, transposed,
        scale_dim, any_layout=kind == "row" or bool(scale_dim) or (kind == "column" and transposed))

functions.check(sys.argv[1], divided=True)
