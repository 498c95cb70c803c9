# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of scaled_mm and scaled_grouped_mm against exact products.

Usage: run_matmul.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from kernels import SCALE_ELEMENTS, SWIZZLED, Call, Kernels, dynamic, main, tensor
from blockscale_reference import E2M1, E4M3, E5M2, decode_e8m0, from_bf16, pack
from blockscale_reference import scaled_grouped_matmul, scaled_matmul, swizzle
from blockscale_reference import swizzle_groups

ELEMENTS = {"f4E2M1FN": E2M1, "f8E4M3FN": E4M3, "f8E5M2": E5M2}
# Half a unit in the last place, relative and, where subnormal, absolute.
HALF_ULP = {"f32": (2.0**-24, 2.0**-150), "bf16": (2.0**-8, 2.0**-134),
            "f16": (2.0**-11, 2.0**-25)}
random = np.random.default_rng(13)
kernels = Kernels()


class Operand:
    """Random codes and scales of `shape`, their values, and what memory holds."""

    def __init__(self, shape, data, block, wild=False):
        codes = random.integers(0, 16 if data == "f4E2M1FN" else 256, shape, dtype=np.uint8)
        values = ELEMENTS[data].decode(codes)
        codes[~np.isfinite(values)] = 0
        values[~np.isfinite(values)] = 0
        low, high = {16: (0, 0x7F), 32: (110, 145)}[block]
        if wild and block == 32:  # products of what f32 holds may leave it
            low, high = 0, 255
        scale = random.integers(low, high, (*shape[:-1], shape[-1] // block), dtype=np.uint8)
        decoded = E4M3.decode(scale) if block == 16 else decode_e8m0(scale)
        self.stored = pack(codes) if data == "f4E2M1FN" else codes
        self.scale = scale
        self.values = values.astype(np.float64) * np.repeat(
            decoded.astype(np.float64), block, axis=-1)


def judge(product, element, bias=0.0):
    def check(results):
        [y] = results
        got = (from_bf16(y) if element == "bf16" else y).astype(np.float64)
        want = product.value + bias
        relative, absolute = HALF_ULP[element]
        bound = product.bound() + 2.0**-23 * np.abs(bias)
        bound = bound + relative * (np.abs(want) + bound) + absolute
        largest = {"f32": 3.4e38, "bf16": 3.38e38, "f16": 65500.0}[element]
        beyond = (np.abs(want) > largest) & (np.sign(got) == np.sign(want)) & (
            np.abs(got) > largest)
        nan = np.isnan(want) & np.isnan(got)
        with np.errstate(invalid="ignore"):
            wrong = ~((np.abs(got - want) <= bound) | beyond | nan)
        if not wrong.any():
            return None
        at = tuple(np.argwhere(wrong)[0].tolist())
        return (f"{wrong.sum()} of {wrong.size} elements are off, first at {at}: {got[at]}, "
                f"not {want[at]} within {bound[at]}")
    return check


def scale_type(shape, block, layout):
    k = shape[-1]
    return tensor((*shape[:-1], k if k == "?" else k // block), SCALE_ELEMENTS[block], layout)


def add_mm(sizes, data, element, layouts=(None, None), batch=(), dims=(), globals=(),
           bias=None, wild=False, nan=False):
    """`sizes` are M, N, K, of which `dims` are dynamic."""
    block = 16 if data == "nvfp4" else 32
    data = ("f4E2M1FN", "f4E2M1FN") if data == "nvfp4" else data
    m, n, k = dynamic(sizes[0], dims)
    shapes = [(*batch, m, k), (*batch, n, k)]
    types = [tensor(s, d) for s, d in zip(shapes, data)]
    types += [scale_type(s, block, layout) for s, layout in zip(shapes, layouts)]
    signature = ", ".join(types)
    text = ""
    for name in globals:
        text += f" global_scale_{name}({{{len(types)}}} : {tensor(batch, 'f32')})"
        types.append(tensor(batch, "f32"))
    if bias:
        text += f" bias({{{len(types)}}} : {tensor((n,), bias)})"
        types.append(tensor((n,), bias))
    calls = []
    for m_, n_, k_ in sizes:
        a, b = (Operand((*batch, rows, k_), d, block, wild) for rows, d in zip((m_, n_), data))
        if nan:
            a.scale[..., -1, -1] = 0x7F if block == 16 else 0xFF
            a.values[..., -1, -block:] = np.nan
        arguments = [a.stored, b.stored]
        arguments += [swizzle(o.scale) if layout else o.scale
                      for o, layout in zip((a, b), layouts)]
        factor = np.ones(batch)
        for _ in globals:
            arguments.append(random.uniform(-2, 2, batch).astype(np.float32))
            factor = factor * arguments[-1]
        added = np.zeros(n_)
        if bias:
            added = random.integers(-8, 8, n_) / 4
            stored = added.astype(np.float32)
            arguments.append((stored.view(np.uint32) >> 16).astype(np.uint16)
                             if bias == "bf16" else stored.astype({"f16": "f2"}.get(bias, "f4")))
        product = scaled_matmul(a.values, b.values, factor[..., None, None])
        calls.append(Call(arguments, judge(product, element, added)))
    result = tensor((*batch, m, n), element)
    kernels.add(f"scaled_mm {{0}}, {{1}} scales({{2}}, {{3}}) block [1, {block}]{text} : "
                f"{signature} -> {result}", types, [result], calls)


def add_grouped(form, data, element, m, n, k, offsets, layouts=("", ""), globals=""):
    """A layout is '', swizzled or grouped."""
    block = 16 if data == "nvfp4" else 32
    data = ("f4E2M1FN", "f4E2M1FN") if data == "nvfp4" else data
    groups, along_k = len(offsets[0]), form == "2d-2d"
    b_shape = (n, k) if along_k else (groups, n, k)
    grouped = f"#blockscale.layout<swizzle_128x4, groups = {groups}, dim = {int(along_k)}>"
    encodings = [{"": None, "swizzled": SWIZZLED, "grouped": grouped}[layout]
                 for layout in layouts]
    ends_type = tensor((groups,), "i32")
    types = [tensor((m, k), data[0]), tensor(b_shape, data[1]), ends_type]
    types += [scale_type(s, block, e) for s, e in zip(((m, k), b_shape), encodings)]
    signature = ", ".join(types)
    text = ""
    if globals:
        text = f" global_scale_{globals}({{5}} : {tensor((groups,), 'f32')})"
        types.append(tensor((groups,), "f32"))
    calls = []
    for given in offsets:
        given = np.array(given, np.int32)
        unit, extent = (block, k // block) if along_k else (1, m)
        ends = np.maximum.accumulate(np.clip(given // unit, 0, extent))
        a, b = Operand((m, k), data[0], block), Operand(b_shape, data[1], block)
        scales = []
        for operand, layout in zip((a, b), layouts):
            scales.append({"": lambda s: s, "swizzled": swizzle,
                           "grouped": lambda s: swizzle_groups(s, ends, int(along_k), fill=0x55)}
                          [layout](operand.scale))
        arguments = [a.stored, b.stored, given, *scales]
        factors = np.ones(groups)
        if globals:
            arguments.append(random.uniform(0.5, 2, groups).astype(np.float32))
            factors = arguments[-1].astype(np.float64)
        product = scaled_grouped_matmul(a.values, b.values, (ends * unit).tolist(), factors)
        calls.append(Call(arguments, judge(product, element)))
    result = tensor((groups, m, n) if along_k else (m, n), element)
    kernels.add(f"scaled_grouped_mm {{0}}, {{1}} offsets({{2}}) scales({{3}}, {{4}}) "
                f"block [1, {block}]{text} : {signature} -> {result}", types, [result], calls)


E4M3_PAIR, MIXED = ("f8E4M3FN", "f8E4M3FN"), ("f8E5M2", "f4E2M1FN")
sizes = [(1, 1, 96), (33, 17, 96), (70, 40, 96), (0, 3, 96), (3, 0, 96)]
add_mm(sizes, "nvfp4", "f32", (SWIZZLED, None), dims=(0, 1))
add_mm([(5, 9, 1600)], "nvfp4", "bf16", (None, SWIZZLED), (2, 3), globals="ab", bias="f32")
add_mm([(3, 11, 16)], "nvfp4", "f16", globals="a", bias="bf16")
add_mm([(4, 4, 48)], "nvfp4", "f32", nan=True)
mx_sizes = [(33, 17, 32), (40, 9, 416), (2, 3, 800), (3, 2, 0)]
add_mm(mx_sizes, E4M3_PAIR, "f32", (None, SWIZZLED), dims=(0, 1, 2), bias="f16")
add_mm([(17, 33, 96)], MIXED, "bf16", (SWIZZLED, SWIZZLED), (3,), nan=True)
add_mm([(40, 40, 64)], MIXED[::-1], "f32", wild=True)
rows = [(20, 20, 75), (0, 75, 75), (30, 10, 50), (-5, 99, 80)]
add_grouped("2d-3d", "nvfp4", "f32", 75, 20, 80, rows, ("grouped", "swizzled"), "a")
add_grouped("2d-3d", E4M3_PAIR, "bf16", 75, 7, 64, rows, ("", ""))
add_grouped("2d-3d", MIXED, "f16", 140, 9, 96, [(128, 139)], ("grouped", ""))
columns = [(64, 64, 320), (16, 48, 320), (40, 30, 999), (0, 0, 0)]
add_grouped("2d-2d", "nvfp4", "f32", 35, 20, 320, columns, ("grouped", "grouped"), "b")
add_grouped("2d-2d", "nvfp4", "bf16", 5, 130, 320, columns, ("swizzled", ""))
add_grouped("2d-2d", E4M3_PAIR, "f32", 130, 9, 160, [(32, 160)], ("", "grouped"))

main(kernels, Path(sys.argv[1]))
