# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on f4, f6 and f8 without a recipe: each form of op with each type, on the CPU and as
kernels in the emulator, gives the numbers of a search in tables (narrow_numbers.py).

Usage: narrow_casts.py FOLDER [--all] [--only GLOB] [--seed SEED]

Every form runs on the CPU and for one chip of five, and with --all for each of them.
"""

import argparse
import fnmatch
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_module
from narrow_numbers import BITS, TYPES, all_codes, decode, edges, encode, encode_to, one_nan, store
from ops import with_one_nan
from reference import quantize_nvfp4

CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
WIDE = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
#: Those besides to_nearest_even.
MODES = ("to_nearest_away", "toward_zero", "downward", "upward")
#: What tosa_reference_model casts all f32 with a low half of 0 to (test/Data/make_tosa_cases.py).
MODEL = dict(np.load(Path(__file__).resolve().parents[2] / "Data/tosa/casts.npz"))
ROWS, COLUMNS = 96, 51
FORMS = {}


@dataclass
class Form:
    """A function's arguments and body, where `return` ends it; its arguments as (type, array in
    storage form), its results in the same way as they have to be."""

    body: str
    arguments: list
    results: list
    is_on_gpus: bool = True
    #: Whether the function has to be the module's own, as its scalars are of no call.
    is_alone: bool = False


def tensor(type, shape=(ROWS, COLUMNS)):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{type}>"


def elementwise(op, sources, result, shape=(ROWS, COLUMNS)):
    """A linalg.generic whose body is `op` of %x0, %x1, .."""
    rank = len(shape)
    dims = ", ".join(f"d{i}" for i in range(rank))
    maps = ", ".join([f"affine_map<({dims}) -> ({dims})>"] * (len(sources) + 1))
    loops = ", ".join(['"parallel"'] * rank)
    ins = (f"ins({', '.join(f'%a{i}' for i in range(len(sources)))} : "
           f"{', '.join(tensor(type, shape) for type in sources)})" if sources else "")
    names = ", ".join([f"%x{i}: {type}" for i, type in enumerate(sources)] + [f"%o: {result}"])
    out = tensor(result, shape)
    return (f"  %e = tensor.empty() : {out}\n"
            f"  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{loops}]}} "
            f"{ins} outs(%e : {out}) {{\n  ^bb0({names}):\n    {op}\n"
            f"    linalg.yield %y : {result}\n  }} -> {out}\n  return %r : {out}\n")


def on_tensors(op, result, shape=(ROWS, COLUMNS)):
    return f"  %r = {op}\n  return %r : {tensor(result, shape)}\n"


def wide(x, type):
    """Numbers of f64 in storage form."""
    with np.errstate(all="ignore"):
        x = np.asarray(x).astype(WIDE[type])
    return x.view(np.uint16) if type == "bf16" else x


def is_wider(source, result):
    def bits(type):
        return BITS.get(type) or int(re.sub(r"\D", "", type))
    return (bits(result) > bits(source)) - (bits(result) < bits(source))


def draw_codes(random, type, shape=(ROWS, COLUMNS)):
    """All codes, in some order, as often as they fit."""
    codes = np.resize(all_codes(type), int(np.prod(shape)))
    random.shuffle(codes)
    return codes.reshape(shape)


def add_casts(random):
    x = edges()
    assert x.size == ROWS * COLUMNS
    x = x.reshape(ROWS, COLUMNS)
    # Numbers of f64 around the middles, which are middles in f32.
    exact = np.where(np.isfinite(x), x * (1 + random.choice([-1, 0, 1], x.shape) * 2.0 ** -40), x)
    for type in TYPES:
        codes = draw_codes(random, type)
        for other in WIDE:
            FORMS[f"extf {type} {other}"] = Form(
                elementwise(f"%y = arith.extf %x0 : {type} to {other}", [type], other),
                [(tensor(type), store(codes, type))],
                [(tensor(other), wide(decode(codes, type), other))])
            source = exact if other == "f64" else x
            source = wide(source, other)
            numbers = source.view(WIDE[other]).astype(np.float64)
            FORMS[f"truncf {type} {other}"] = Form(
                elementwise(f"%y = arith.truncf %x0 : {other} to {type}", [other], type),
                [(tensor(other), source)], [(tensor(type), store(encode(numbers, type), type))])
        FORMS[f"tensor.extf {type}"] = Form(
            on_tensors(f"arith.extf %a0 : {tensor(type)} to {tensor('f32')}", "f32"),
            [(tensor(type), store(codes, type))],
            [(tensor("f32"), wide(decode(codes, type), "f32"))])
        FORMS[f"tensor.truncf {type}"] = Form(
            on_tensors(f"arith.truncf %a0 : {tensor('f32')} to {tensor(type)}", type),
            [(tensor("f32"), x)], [(tensor(type), store(encode(x, type), type))])
        for mode in MODES:
            for other, numbers in (("f32", x), ("f64", exact)):
                numbers = wide(numbers, other)
                FORMS[f"truncf {mode} {type} {other}"] = Form(
                    elementwise(f"%y = arith.truncf %x0 {mode} : {other} to {type}", [other], type),
                    [(tensor(other), numbers)],
                    [(tensor(type), store(encode_to(numbers, type, mode), type))])
        for other in TYPES:
            op = {1: "extf", -1: "truncf", 0: None}[is_wider(type, other)]
            if op:
                FORMS[f"{op} {type} {other}"] = Form(
                    elementwise(f"%y = arith.{op} %x0 : {type} to {other}", [type], other),
                    [(tensor(type), store(codes, type))],
                    [(tensor(other), store(encode(decode(codes, type), other), other))])


def round_to(x, type, mode):
    """Numbers of f64 as those of bf16, f16 or f32 in storage form, in a rounding mode of MLIR, by
    a search in all magnitudes of the type, or among the neighbours of the nearest number."""
    magnitude = np.abs(np.where(np.isnan(x), 0, x))
    if type == "f32":
        with np.errstate(over="ignore"):
            near = magnitude.astype(np.float32)
            below = np.where(near > magnitude, np.nextafter(near, np.float32(0)), near)
            above = np.where(near < magnitude, np.nextafter(near, np.float32(np.inf)), near)
        is_odd = (below.view(np.uint32) & 1).astype(bool)
    else:
        bits = np.arange(1 << 15, dtype=np.uint16)
        with np.errstate(invalid="ignore"):
            values = bits.view(WIDE[type]).astype(np.float64)
        values = values[~np.isnan(values)]
        place = np.searchsorted(values, magnitude)
        above = values[place]
        below = np.where(above == magnitude, above, values[np.maximum(place - 1, 0)])
        is_odd = ((place - (below != above)) & 1).astype(bool)
    low, high = (each.astype(np.float64) for each in (below, above))
    # To the nearest, numbers go on above the largest one.
    largest = float(ml_dtypes.finfo(WIDE[type]).max)
    end = 2.0 ** np.ceil(np.log2(largest))
    is_negative = np.signbit(x)
    with np.errstate(invalid="ignore"):
        up, down = np.where(np.isinf(high), end, high) - magnitude, magnitude - low
        is_above = {None: (up < down) | ((up == down) & is_odd), "to_nearest_away": up <= down,
                    "toward_zero": np.zeros_like(is_negative), "downward": is_negative,
                    "upward": ~is_negative}[mode]
    rounded = np.where(is_above, high, low)
    return wide(np.where(np.isnan(x), x, np.copysign(rounded, x)), type)


def add_directions(random):
    """Casts to bf16, f16 and f32 in each direction."""
    for type, others in (("bf16", ("f32", "f64")), ("f16", ("f32", "f64")), ("f32", ("f64",))):
        bits = np.uint32 if type == "f32" else np.uint16
        count = 1 << (8 * bits().itemsize)
        drawn = random.integers(0, count, ROWS * COLUMNS).astype(bits)
        # Around zero and infinity, of both signs.
        infinity = int(wide(np.array(np.inf), type).view(bits))
        for place, number in enumerate((0, infinity - 2)):
            for sign in (0, count // 2):
                first = 8 * place + (4 if sign else 0)
                drawn[first:first + 4] = number + sign + np.arange(4)
        with np.errstate(all="ignore"):
            value, next = (each.view(WIDE[type]).astype(np.float64)
                           for each in (drawn, drawn + bits(1)))
            middle = np.where(np.isfinite(value) & np.isfinite(next), (value + next) / 2, value)
            steps = random.choice([-1, 0, 0, 1], middle.shape)
            near = middle * (1 + steps * 2.0 ** (-40 if type == "f32" else -20))
        for other in others:
            source = wide(near.reshape(ROWS, COLUMNS), other)
            numbers = source.view(WIDE[other]).astype(np.float64)
            for mode in (None, *MODES):
                op = f"%y = arith.truncf %x0 {mode or ''} : {other} to {type}"
                FORMS[f"truncf {mode or 'nearest'} {type} {other}"] = Form(
                    elementwise(op, [other], type), [(tensor(other), source)],
                    [(tensor(type), round_to(numbers, type, mode))])
        FORMS[f"tensor.truncf upward {type}"] = Form(
            on_tensors(f"arith.truncf %a0 upward : {tensor(other)} to {tensor(type)}", type),
            [(tensor(other), source)], [(tensor(type), round_to(numbers, type, "upward"))])


def add_integers(random):
    for type in TYPES:
        for name, dtype, element in (("sitofp", np.int32, "i32"), ("uitofp", np.uint8, "i8"),
                                     ("sitofp", np.int64, "i64"), ("uitofp", np.uint16, "i16")):
            info = np.iinfo(dtype)
            n = np.concatenate([
                np.arange(0, 600), 2 ** np.arange(0, info.bits - 1), 3 * 2 ** np.arange(
                    0, info.bits - 2) + 1, 3 * 2 ** np.arange(0, info.bits - 2) - 1,
                random.integers(info.min, info.max, 2000)]).astype(np.int64)
            n = np.resize(np.clip(n, info.min, info.max), (ROWS, COLUMNS)).astype(dtype)
            # f64 has not all of i64: a number that it rounds up to a middle is below it.
            numbers = n.astype(np.float64)
            above = np.array([int(f) > int(i) for f, i in zip(numbers.flat, n.flat)])
            numbers = np.where(above.reshape(n.shape), np.nextafter(numbers, 0), numbers)
            FORMS[f"{name} {type} {element}"] = Form(
                elementwise(f"%y = arith.{name} %x0 : {element} to {type}", [element], type),
                [(tensor(element), n.view(np.uint8) if element == "i8" else
                  n.view(np.int16) if element == "i16" else n)],
                [(tensor(type), store(encode(numbers, type), type))])
        codes = draw_codes(random, type)
        for name, element in (("fptosi", "i32"), ("fptoui", "i32")):
            value = decode(codes, type)
            fits = np.isfinite(value) & (np.abs(value) < 2.0 ** 31) & (
                (value > -1) | (name == "fptosi"))
            kept = np.where(fits, codes, np.uint8(1))
            FORMS[f"{name} {type}"] = Form(
                elementwise(f"%y = arith.{name} %x0 : {type} to {element}", [type], element),
                [(tensor(type), store(kept, type))],
                [(tensor(element), np.trunc(decode(kept, type)).astype(np.int32))])


def add_arithmetic(random):
    f32 = np.float32
    ops = {"addf": lambda a, b: a + b, "subf": lambda a, b: a - b, "mulf": lambda a, b: a * b,
           "divf": lambda a, b: a / b,
           "maximumf": lambda a, b: np.where(np.isnan(a) | np.isnan(b), f32(np.nan),
                                             np.where((a > b) | ((a == b) & ~np.signbit(a)), a, b)),
           "minnumf": lambda a, b: np.where(np.isnan(a), b, np.where(
               np.isnan(b), a, np.where((a < b) | ((a == b) & np.signbit(a)), a, b)))}
    for type in TYPES:
        a, b = draw_codes(random, type), draw_codes(random, type)
        x, y = (decode(codes, type).astype(f32) for codes in (a, b))
        both = [(tensor(type), store(a, type)), (tensor(type), store(b, type))]
        with np.errstate(all="ignore"):
            for name, compute in ops.items():
                FORMS[f"{name} {type}"] = Form(
                    elementwise(f"%y = arith.{name} %x0, %x1 : {type}", [type, type], type), both,
                    [(tensor(type), store(encode(compute(x, y), type), type))])
            FORMS[f"negf {type}"] = Form(
                on_tensors(f"arith.negf %a0 : {tensor(type)}", type), both[:1],
                [(tensor(type), store(encode(-x, type), type))])
            FORMS[f"absf {type}"] = Form(
                elementwise(f"%y = math.absf %x0 : {type}", [type], type), both[:1],
                [(tensor(type), store(encode(np.abs(x), type), type))])
            FORMS[f"cmpf {type}"] = Form(
                elementwise(f"%y = arith.cmpf olt, %x0, %x1 : {type}", [type, type], "i1"), both,
                [(tensor("i1"), x < y)])
        chosen = random.random((ROWS, COLUMNS)) < 0.5
        FORMS[f"select {type}"] = Form(
            on_tensors(f"arith.select %a0, %a1, %a2 : {tensor('i1')}, {tensor(type)}", type),
            [(tensor("i1"), chosen), *both], [(tensor(type), store(np.where(chosen, a, b), type))])
        bits = f"i{BITS[type]}"
        FORMS[f"bitcast {type}"] = Form(
            elementwise(f"%c = arith.bitcast %x0 : {type} to {bits}\n"
                        f"    %y = arith.extui %c : {bits} to i32", [type], "i32"), both[:1],
            [(tensor("i32"), a.astype(np.int32))])


def add_scales(random):
    scale = "f8E8M0FNU"
    for type in TYPES:
        if type == scale:
            continue
        codes = draw_codes(random, type)
        scales = random.integers(100, 150, codes.shape).astype(np.uint8)
        powers = decode(scales, scale).astype(np.float32)
        scales_of = (tensor(scale), scales)
        for other in ("f32", "bf16"):
            FORMS[f"scaling_extf {type} {other}"] = Form(
                on_tensors(f"arith.scaling_extf %a0, %a1 : {tensor(type)}, {tensor(scale)} to "
                           f"{tensor(other)}", other),
                [(tensor(type), store(codes, type)), scales_of],
                [(tensor(other), wide(decode(codes, type) * powers, other))])
        x = (random.standard_normal(codes.shape) * powers * 4).astype(np.float32)
        FORMS[f"scaling_truncf {type}"] = Form(
            elementwise(f"%y = arith.scaling_truncf %x0, %x1 : f32, {scale} to {type}",
                        ["f32", scale], type),
            [(tensor("f32"), x), scales_of],
            [(tensor(type), store(encode(x / powers, type), type))])
        FORMS[f"scaling_truncf toward_zero {type}"] = Form(
            elementwise(f"%y = arith.scaling_truncf %x0, %x1 toward_zero : f32, {scale} to {type}",
                        ["f32", scale], type), [(tensor("f32"), x), scales_of],
            [(tensor(type), store(encode_to(x / powers, type, "toward_zero"), type))])
        # A scale of another type becomes a power of two first.
        FORMS[f"scaling_extf {type} of f32"] = Form(
            elementwise(f"%y = arith.scaling_extf %x0, %x1 : {type}, f32 to f32", [type, "f32"],
                        "f32"), [(tensor(type), store(codes, type)), (tensor("f32"), np.abs(x))],
            [(tensor("f32"), (decode(codes, type) * decode(encode(np.abs(x), scale), scale)).astype(
                np.float32))])


def add_tensors(random):
    for type in TYPES:
        codes = draw_codes(random, type)
        value = decode(codes, type)
        argument = (tensor(type), store(codes, type))
        code = encode(np.float64(2), type)
        full = np.full((ROWS, COLUMNS), code, np.uint8)
        FORMS[f"fill {type}"] = Form(
            f"  %c = arith.constant 2.0 : {type}\n  %e = tensor.empty() : {tensor(type)}\n"
            f"  %r = linalg.fill ins(%c : {type}) outs(%e : {tensor(type)}) -> {tensor(type)}\n"
            f"  return %r : {tensor(type)}\n", [], [(tensor(type), store(full, type))])
        FORMS[f"constant {type}"] = Form(
            f"  %c = arith.constant dense<2.0> : {tensor(type)}\n"
            f"  %r = arith.extf %c : {tensor(type)} to {tensor('f32')}\n"
            f"  return %r : {tensor('f32')}\n", [],
            [(tensor("f32"), np.full((ROWS, COLUMNS), 2, np.float32))])
        # Casts of constants, which MLIR folds to code 0 or to no number of the type.
        special = np.float32([np.inf, -np.inf, np.nan, -4, 0, 3, 1e9, -1e9])
        casts = "".join(
            f"  %c{i} = arith.constant 0x{bits:08X} : f32\n"
            f"  %s{i} = arith.truncf %c{i} : f32 to {type}\n"
            for i, bits in enumerate(special.view(np.uint32)))
        row = tensor(type, special.shape)
        FORMS[f"truncf {type} of constants"] = Form(
            f"{casts}  %r = tensor.from_elements {', '.join(f'%s{i}' for i in range(8))} : {row}\n"
            f"  return %r : {row}\n", [], [(row, store(encode(special, type), type))])
        FORMS[f"tensor.extract {type}"] = Form(
            "  %i = arith.constant 5 : index\n  %j = arith.constant 7 : index\n"
            f"  %s = tensor.extract %a0[%i, %j] : {tensor(type)}\n"
            f"  %w = arith.extf %s : {type} to f32\n"
            "  %r = tensor.from_elements %w : tensor<1xf32>\n  return %r : tensor<1xf32>\n",
            [argument], [("tensor<1xf32>", value[5:6, 7].astype(np.float32))])
        FORMS[f"tensor.insert {type}"] = Form(
            "  %i = arith.constant 5 : index\n  %j = arith.constant 7 : index\n"
            f"  %s = arith.constant 2.0 : {type}\n"
            f"  %r = tensor.insert %s into %a0[%i, %j] : {tensor(type)}\n"
            f"  return %r : {tensor(type)}\n", [argument],
            [(tensor(type), store(_with(codes, (5, 7), code), type))])
        FORMS[f"tensor.generate {type}"] = Form(
            f"  %r = tensor.generate {{\n  ^bb0(%i: index, %j: index):\n"
            f"    %s = tensor.extract %a0[%i, %j] : {tensor(type)}\n    tensor.yield %s : {type}\n"
            f"  }} : {tensor(type)}\n  return %r : {tensor(type)}\n", [argument], [argument])
        FORMS[f"tensor.splat {type}"] = Form(
            f"  %s = arith.constant 2.0 : {type}\n  %r = tensor.splat %s : {tensor(type)}\n"
            f"  return %r : {tensor(type)}\n", [], [(tensor(type), store(full, type))])
        turned = tensor(type, (COLUMNS, ROWS))
        FORMS[f"transpose {type}"] = Form(
            f"  %e = tensor.empty() : {turned}\n"
            f"  %r = linalg.transpose ins(%a0 : {tensor(type)}) outs(%e : {turned}) "
            f"permutation = [1, 0]\n  return %r : {turned}\n", [argument],
            [(turned, store(np.ascontiguousarray(codes.T), type))])
        # Numbers whose sums f32 has exactly.
        first, end = (0x30, 0x40) if BITS[type] == 8 else (0, 1 << (BITS[type] - 1))
        small = random.integers(first, end, (16, 33)).astype(np.uint8)
        other = random.integers(first, end, (33, 8)).astype(np.uint8)
        if type != "f8E8M0FNU":
            a, b = (decode(each, type) for each in (small, other))
            FORMS[f"matmul {type}"] = Form(
                "  %z = arith.constant 0.0 : f32\n  %e = tensor.empty() : tensor<16x8xf32>\n"
                "  %f = linalg.fill ins(%z : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>\n"
                f"  %r = linalg.matmul ins(%a0, %a1 : tensor<16x33x{type}>, tensor<33x8x{type}>) "
                "outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>\n  return %r : tensor<16x8xf32>\n",
                [(f"tensor<16x33x{type}>", store(small, type)),
                 (f"tensor<33x8x{type}>", store(other, type))],
                [("tensor<16x8xf32>", (a @ b).astype(np.float32))])


def _with(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def add_tosa(random):
    """Ops of TOSA's extensions for FP8. Products have numbers whose sums f16 has exactly."""
    for type in ("f8E4M3FN", "f8E5M2"):
        a, b = (random.integers(0x34, 0x40, shape).astype(np.uint8)
                for shape in ((1, 4, 8), (1, 8, 6)))
        x, y = decode(a, type), decode(b, type)
        first, second = (f"tensor<1x4x8x{type}>", a), (f"tensor<1x8x6x{type}>", b)
        codes = draw_codes(random, type)
        numbers = edges().reshape(ROWS, COLUMNS)
        zero = (f'  %z = "tosa.const"() <{{values = dense<0.0> : tensor<1x{type}>}}> : () -> '
                f"tensor<1x{type}>\n")

        def tosa(name, body, arguments, results):
            FORMS[f"tosa.{name} {type}"] = Form(body, arguments, results)

        for other in ("f32", "bf16", "f16"):
            tosa(f"cast to {other}",
                 on_tensors(f"tosa.cast %a0 : ({tensor(type)}) -> {tensor(other)}", other),
                 [(tensor(type), codes)], [(tensor(other), wide(decode(codes, type), other))])
            source = wide(numbers, other)
            tosa(f"cast from {other}",
                 on_tensors(f"tosa.cast %a0 : ({tensor(other)}) -> {tensor(type)}", type),
                 [(tensor(other), source)],
                 [(tensor(type), encode(source.view(WIDE[other]).astype(np.float64), type))])
        # Rounded to the nearest, and at most the largest integer.
        real = np.where(np.isnan(decode(codes, type)), np.uint8(0), codes)
        for other, dtype in (("i8", np.int8), ("i16", np.int16), ("i32", np.int32)):
            info = np.iinfo(dtype)
            whole = np.clip(np.rint(decode(real, type)), info.min, info.max).astype(dtype)
            tosa(f"cast to {other}",
                 on_tensors(f"tosa.cast %a0 : ({tensor(type)}) -> {tensor(other)}", other),
                 [(tensor(type), real)],
                 [(tensor(other), whole.view(np.uint8) if other == "i8" else whole)])
        image = draw_codes(random, type, (1, 8, 8, 4)) & 0xF7
        pooled = decode(image, type).reshape(4, 2, 4, 2, 4).max(axis=(1, 3))[None]
        tosa("max_pool2d", "  %r = tosa.max_pool2d %a0 {kernel = array<i64: 2, 2>, pad = "
             f"array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}} : (tensor<1x8x8x4x{type}>) -> "
             f"tensor<1x4x4x4x{type}>\n  return %r : tensor<1x4x4x4x{type}>\n",
             [(f"tensor<1x8x8x4x{type}>", image)],
             [(f"tensor<1x4x4x4x{type}>", encode(pooled, type))])
        tosa("matmul", f"{zero}  %r = tosa.matmul %a0, %a1, %z, %z : ({first[0]}, {second[0]}, "
             f"tensor<1x{type}>, tensor<1x{type}>) -> tensor<1x4x6xf16>\n"
             "  return %r : tensor<1x4x6xf16>\n", [first, second],
             [("tensor<1x4x6xf16>", (x @ y).astype(np.float16))])
        tosa("concat", f"  %r = tosa.concat %a0, %a0 {{axis = 1 : i32}} : ({first[0]}, {first[0]}) "
             f"-> tensor<1x8x8x{type}>\n  return %r : tensor<1x8x8x{type}>\n", [first],
             [(f"tensor<1x8x8x{type}>", np.concatenate([a, a], axis=1))])
        tosa("transpose", f"  %r = tosa.transpose %a0 {{perms = array<i32: 0, 2, 1>}} : "
             f"({first[0]}) -> tensor<1x8x4x{type}>\n  return %r : tensor<1x8x4x{type}>\n", [first],
             [(f"tensor<1x8x4x{type}>", np.ascontiguousarray(a.transpose(0, 2, 1)))])
        tosa("pad", f"{zero}  %s = tosa.const_shape {{values = dense<[0, 0, 1, 0, 0, 2]> : "
             f"tensor<6xindex>}} : () -> !tosa.shape<6>\n  %r = tosa.pad %a0, %s, %z : "
             f"({first[0]}, !tosa.shape<6>, tensor<1x{type}>) -> tensor<1x5x10x{type}>\n"
             f"  return %r : tensor<1x5x10x{type}>\n", [first],
             [(f"tensor<1x5x10x{type}>", np.pad(a, ((0, 0), (1, 0), (0, 2))))])
        tosa("reshape", "  %s = tosa.const_shape {values = dense<[2, 16]> : tensor<2xindex>} : () "
             f"-> !tosa.shape<2>\n  %r = tosa.reshape %a0, %s : ({first[0]}, !tosa.shape<2>) -> "
             f"tensor<2x16x{type}>\n  return %r : tensor<2x16x{type}>\n", [first],
             [(f"tensor<2x16x{type}>", a.reshape(2, 16))])
        tosa("gather", f"  %r = tosa.gather %a0, %a1 : ({first[0]}, tensor<1x3xi32>) -> "
             f"tensor<1x3x8x{type}>\n  return %r : tensor<1x3x8x{type}>\n",
             [first, ("tensor<1x3xi32>", np.array([[3, 0, 2]], np.int32))],
             [(f"tensor<1x3x8x{type}>", a[:, [3, 0, 2]])])


def add_fused(random):
    """Bodies before a quantization, which its kernel computes: x rounded to a narrow type."""
    shape = (ROWS, 64)
    for type in TYPES:
        x = (random.standard_normal(shape) * np.exp2(random.integers(-6, 6, shape))).astype(
            np.float32)
        x = np.abs(x) if type == "f8E8M0FNU" else x
        codes, scale = quantize_nvfp4(decode(encode(x, type), type).astype(np.float32))
        data, scales = tensor("f4E2M1FN", shape), tensor("f8E4M3FN", (ROWS, 4))
        body = elementwise(f"%n = arith.truncf %x0 : f32 to {type}\n"
                           f"    %y = arith.extf %n : {type} to f32", ["f32"], "f32", shape)
        FORMS[f"fused {type}"] = Form(
            body[:body.rindex("  return")] +
            f"  %q, %s = blockscale.quantize %r block [1, 16] : {tensor('f32', shape)} -> "
            f"{data}, {scales}\n  return %q, %s : {data}, {scales}\n",
            [(tensor("f32", shape), x)],
            [(data, store(codes, "f4E2M1FN")), (scales, scale)])


def add_hosts(random):
    """What the CPU alone takes: vectors, and arguments that are scalars."""
    for type in TYPES:
        codes = draw_codes(random, type)
        if BITS[type] == 8:
            FORMS[f"vector {type}"] = Form(
                "  %z = arith.constant 0 : index\n"
                f"  %p = arith.constant 1.0 : {type}\n  %q = arith.constant 0.0 : f32\n"
                f"  %v = vector.transfer_read %a0[%z, %z], %p : {tensor(type)}, "
                f"vector<4x8x{type}>\n  %w = arith.extf %v : vector<4x8x{type}> to "
                "vector<4x8xf32>\n  %e = tensor.empty() : tensor<4x8xf32>\n"
                "  %r = vector.transfer_write %w, %e[%z, %z] {in_bounds = [true, true]} : "
                "vector<4x8xf32>, tensor<4x8xf32>\n  return %r : tensor<4x8xf32>\n",
                [(tensor(type), codes)],
                [("tensor<4x8xf32>", decode(codes[:4, :8], type).astype(np.float32))],
                is_on_gpus=False)
        code = np.array(all_codes(type)[-3])
        FORMS[f"scalar {type}"] = Form(
            f"  %w = arith.extf %a0 : {type} to f32\n"
            "  %r = tensor.from_elements %w : tensor<1xf32>\n"
            f"  return %r, %a0 : tensor<1xf32>, {type}\n", [(type, code)],
            [("tensor<1xf32>", decode(code[None], type).astype(np.float32)), (type, code)],
            is_on_gpus=False, is_alone=True)
        every = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32).reshape(256, 256)
        shape = (256, 256)
        if type in MODEL:
            FORMS[f"tosa.cast {type} of the reference model"] = Form(
                on_tensors(f"tosa.cast %a0 : ({tensor('f32', shape)}) -> {tensor(type, shape)}",
                           type,
                           shape),
                [(tensor("f32", shape), every)],
                [(tensor(type, shape), MODEL[type].reshape(shape))], is_on_gpus=False)
        FORMS[f"truncf {type} all of bf16"] = Form(
            elementwise(f"%y = arith.truncf %x0 : bf16 to {type}", ["bf16"], type, shape),
            [(tensor("bf16", shape), (every.view(np.uint32) >> 16).astype(np.uint16))],
            [(tensor(type, shape), store(encode(every, type), type))], is_on_gpus=False)


def write(forms):
    """The text of a module whose function @calls is all forms, and its arrays and results."""
    functions, lines, arrays, arguments, names, results = [], [], [], [], [], []
    for i, form in enumerate(forms.values()):
        parameters = ", ".join(f"%a{j}: {type}" for j, (type, _) in enumerate(form.arguments))
        out = f"({', '.join(type for type, _ in form.results)})"
        functions.append(f"func.func private @form{i}({parameters}) -> {out} {{\n{form.body}}}\n")
        operands = [f"%b{len(arrays) + j}" for j in range(len(form.arguments))]
        types = [type for type, _ in form.arguments]
        arguments += [f"{operand}: {type}" for operand, type in zip(operands, types)]
        arrays += [array for _, array in form.arguments]
        names += [f"%r{i}#{j}" for j in range(len(form.results))]
        results += form.results
        lines.append(f"  %r{i}:{len(form.results)} = func.call @form{i}({', '.join(operands)}) : "
                     f"({', '.join(types)}) -> {out}\n")
    types = ", ".join(type for type, _ in results)
    return (f"{''.join(functions)}func.func @calls({', '.join(arguments)}) -> ({types}) {{\n"
            f"{''.join(lines)}  return {', '.join(names)} : {types}\n}}\n"), arrays, results


def normal(array, type):
    """An array with every NaN the same."""
    element = re.sub(r"tensor<(\d+x)*|>", "", type)
    return one_nan(array, element) if element in TYPES else with_one_nan(array, type)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--all", action="store_true", help="run every form for every chip")
    parser.add_argument("--only", default="*", help="glob of the names of forms")
    parser.add_argument("--seed", type=int, default=0, help="of codes at random")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    for add in (add_casts, add_integers, add_arithmetic, add_scales, add_tensors,
                add_tosa, add_fused, add_hosts, add_directions):
        add(random)
    forms = {name: form for name, form in FORMS.items() if fnmatch.fnmatch(name, options.only)}
    jobs = [(ON_CPU, {name: form for name, form in forms.items() if not form.is_alone})]
    jobs += [(ON_CPU, {name: form}) for name, form in forms.items() if form.is_alone]
    portable = [name for name, form in forms.items() if form.is_on_gpus]
    for i, chip in enumerate(CHIPS):
        place = ("--on=emulator", f"--target={chip}", *SCHEDULES[i % 2])
        names = portable if options.all else portable[i::len(CHIPS)]
        jobs.append((place, {name: forms[name] for name in names}))
    expect = Expectations()

    def run(number, place, some):
        text, arrays, results = write(some)
        return results, run_module(text, arrays, len(results), options.folder / f"{number}", place)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(run, i, *job) for i, job in enumerate(jobs) if job[1]]
        for (place, some), done in zip([job for job in jobs if job[1]], runs):
            results, (problem, got) = done.result()
            if problem:
                expect.record(" ".join(place), problem)
                continue
            got = iter(zip(results, got, strict=True))
            for name, form in some.items():
                pairs = [next(got) for _ in form.results]
                expect.record(f"{place[1]}: {name}", first_difference(
                    [normal(array, type) for (type, _), array in pairs],
                    [normal(np.asarray(wanted), type) for (type, wanted), _ in pairs]))
    expect.finish()


if __name__ == "__main__":
    main()
