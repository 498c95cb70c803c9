# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Valid calls of one op each, what the sizes of their operands have to do with each other, and
whether other sizes fit.

A call's sizes are stated here once more, apart from the compiler, so that a check which that lacks
on every target is missed, too.
"""

import math
import re
from dataclasses import dataclass, field

import numpy as np

import products
import values
from differential import INTEGERS
from gpu_forms import DTYPES
from ops import SCALE_ELEMENTS, SWIZZLED, function_of, tensor
from prepacked import PREPACKED, noise, prepacked_storage, stored
from quantizers import MX_RECIPES, NVFP4_RECIPES, TAKES_TAILS
from reference import swizzle

NVFP4, MXFP4 = ("f8E4M3FN", "f4E2M1FN"), ("f8E8M0FNU", "f4E2M1FN")
#: Scales and data of an operand, by the name of the format.
FORMATS = {"nvfp4": NVFP4, "mxfp4": MXFP4, "mxfp6_e2m3": (MXFP4[0], "f6E2M3FN"),
           "mxfp6_e3m2": (MXFP4[0], "f6E3M2FN"), "mxfp8_e4m3": (MXFP4[0], "f8E4M3FN"),
           "mxfp8_e5m2": (MXFP4[0], "f8E5M2")}
#: NVFP4 is half of what is drawn, since it alone has global scales.
DRAWN_FORMATS = (*FORMATS, *("nvfp4",) * 4)
#: Codes of 1/2, 1 and 2.
SCALES = {"f8E4M3FN": (0x30, 0x38, 0x40), "f8E8M0FNU": (126, 127, 128)}
SIZE = re.compile(r"([A-Z])(?:([/%])(\d+))?(?:\^(\d+))?$")


@dataclass
class Operand:
    """`sizes` tells what each dimension of the array in storage form is: "M" the size M itself,
    "K/16" that in blocks of 16, which have to be whole, "K%16" in blocks of which the last may be
    a part, "M^128" in tiles of 128, "" a size that the type has, "?" one that follows from
    several. `role` is data, scale, global, ends, size (a scalar that is a size: `sizes` has its
    one letter) or other. `element` is the type of the elements, and `layout` that of scales in
    tiles; `logical` is the shape of these before."""

    name: str
    array: np.ndarray
    sizes: tuple
    role: str
    element: str
    layout: str = ""
    logical: tuple = ()


@dataclass
class Subject:
    """A function of one op. `ends` says of groups what they divide: how many there are of that
    and the multiple at which groups end."""

    op: str
    format: str
    text: str
    operands: list
    results: list  # types
    fixed: dict = field(default_factory=dict)  # letters whose size the type has
    multiples: dict = field(default_factory=dict)
    ends: tuple = ()

    def fits(self, arrays):
        """Whether some sizes have these arrays."""
        bounds, steps = {}, dict(self.multiples)
        for letter, size in self.fixed.items():
            bounds[letter] = (size - 1, size)
        for operand, array in zip(self.operands, arrays, strict=True):
            shape = (int(array),) if operand.role == "size" else np.shape(array)
            if len(shape) != len(operand.sizes):
                return False
            valid = (int(operand.array),) if operand.role == "size" else np.shape(operand.array)
            for size, found, before in zip(operand.sizes, shape, valid):
                if size == "?":
                    continue
                if not size:
                    if found != before:
                        return False
                    continue
                letter, how, block, tile = SIZE.match(size).groups()
                block, tile = int(block or 1), int(tile or 1)
                low, high = ((found - 1) * tile, found * tile)
                step = block if how == "/" else 1
                low, high = (low * block, high * block)
                if found < 0:
                    return False
                least, most = bounds.get(letter, (-math.inf, math.inf))
                bounds[letter] = (max(least, low), min(most, high))
                steps[letter] = math.lcm(steps.get(letter, 1), step)
        return all(low < high and (high // steps.get(letter, 1)) * steps.get(letter, 1) > low
                   for letter, (low, high) in bounds.items())


def integers(random, element, shape):
    """Small integers, whose products are exact: codes in storage form, or a plain type."""
    if element in products.PLAIN:
        drawn = random.integers(-4, 5, shape).astype(np.float32)
        return values.to_bf16(drawn) if element == "bf16" else drawn.astype(np.float16)
    return random.choice(INTEGERS[element], shape).astype(np.uint8)


def data_sizes(letters, element):
    last = letters[-1] + "/2" if element == "f4E2M1FN" else letters[-1]
    return (*letters[:-1], last)


def scale_sizes(letters, block, layout, how="/"):
    last = f"{letters[-1]}{how}{block}"
    if not layout:
        return (*letters[:-1], last)
    return (*letters[:-2], f"{letters[-2]}^128", f"{last}^4", "", "", "")


def global_operand(random, name, array_shape, sizes, form):
    """A global scale that is a power of two."""
    array = np.asarray(np.exp2(random.integers(-1, 2, array_shape)), np.float32)
    return Operand(name, array, () if form in ("scalar", "rank_0") else sizes, "global", "f32")


def make_product(random, kind):
    """A product of two scaled operands, or of a plain and a scaled one."""
    pick = lambda *choices: choices[random.integers(len(choices))]  # noqa: E731
    format = pick(*DRAWN_FORMATS)
    scale, data = FORMATS[format]
    plain = pick("", "", "", "a", "b") if kind != "columns" else ""
    elements = {side: pick("bf16", "f16") if side == plain else data for side in "ab"}
    if format.startswith("mxfp8") and not plain and pick(True, False):
        elements["b"] = pick("f8E4M3FN", "f8E5M2")
    block = products.BLOCKS[scale]
    lead = (2,) if kind == "mm" and pick(True, False) else ()
    # K that is no whole tile of scales has padding, and some of it no whole step.
    k = block * int(pick(1, 2, 3, 5, 6, 8)) * (2 if kind == "columns" else 1)
    shape = {"B": lead, "M": int(pick(5, 16, 70, 130)), "N": int(pick(8, 24, 136)), "K": k}
    ends, unit = (), 1
    if kind != "mm":
        shape["G"] = 3
        extent = shape["M"] if kind == "rows" else k // block
        ends = np.sort(random.integers(0, extent + 1, 3))
        ends[-1] = extent
        unit = 1 if kind == "rows" else block
        ends = ends * unit
    # Those that kernels take, and others.
    choices = {"mm": ("linear", "swizzled"), "rows": ("linear", "swizzled", "swizzled"),
               "columns": ("linear", "grouped", "grouped")}[kind]
    layouts = {side: "" if side == plain else pick(*choices) for side in "ab"}
    if kind == "rows" and plain != "a":
        layouts["a"] = pick("linear", "grouped", "grouped")
    forms = ("", "scalar", "rank_0", "each", "each", *(("row",) if kind == "mm" else ()))
    globals_ = {side: "" if side == plain or scale != "f8E4M3FN" else pick(*forms)
                for side in "ab"}
    # Layouts of groups have their number.
    static = "G" if "grouped" in layouts.values() else ""
    dynamic = "".join(letter for letter in "BMNKG"
                      if random.random() < 0.85 and letter not in static)
    bias = pick("", "", "f32")
    op = products.Op(
        "f", kind, scale, elements["a"], elements["b"], pick("f32", "bf16", "f16"),
        layouts["a"] or "linear", layouts["b"] or "linear", globals_["a"], globals_["b"], bias,
        dynamic=dynamic, shape=shape)
    of_b = {"mm": lead, "rows": (3,), "columns": ()}[kind]
    a, b = (integers(random, elements[side], (*leading, shape[rows], k))
            for side, rows, leading in (("a", "M", lead), ("b", "N", of_b)))
    scales = {side: random.choice(SCALES[scale], (*leading, shape[rows], k // block)).astype(
        np.uint8) for side, rows, leading in (("a", "M", lead), ("b", "N", of_b)) if side != plain}
    case = products.Case(op, random, ends, a=a, b=b, sa=scales.get("a"), sb=scales.get("b"))
    batch, groups = ("B",) * len(lead), ("G",) if kind == "rows" else ()
    letters = {"a": (*batch, "M", "K"), "b": (*(batch if kind == "mm" else groups), "N", "K")}
    arrays = iter(case.arguments)
    operands = [Operand(f"data_{side}", next(arrays), data_sizes(letters[side], elements[side]),
                        "data", elements[side]) for side in "ab"]
    if kind != "mm":
        operands.append(Operand("offsets", next(arrays), ("G",), "ends", "i32"))
    for side in "ab":
        if side == plain:
            continue
        layout = layouts[side].replace("linear", "")
        sizes = ("?", "", "", "") if layout == "grouped" else \
            scale_sizes(letters[side], block, layout)
        operands.append(Operand(f"scale_{side}", next(arrays), sizes, "scale", scale, layout,
                                scales[side].shape))
    for side, rows in (("a", "M"), ("b", "N")):
        if form := globals_[side]:
            array = next(arrays)
            sizes = {"each": batch if kind == "mm" else ("G",), "row": (*batch, rows)}
            operands.append(global_operand(random, f"global_scale_{side}", array.shape,
                                           sizes.get(form), form))
    if bias:
        next(arrays)
        operands.append(Operand("bias", random.integers(-8, 9, shape["N"]).astype(np.float32),
                                ("N",), "other", "f32"))
    fixed = {letter: shape[letter] for letter in "MNKG" if letter in shape and
             letter not in dynamic}
    if lead and "B" not in dynamic:
        fixed["B"] = 2
    name = "scaled_mm" if kind == "mm" else f"scaled_grouped_mm_{kind}"
    text = op.text()
    return Subject(name, f"{format}{'_plain_' + plain if plain else ''}", text, operands,
                   [re.search(r"-> (tensor<.*>) \{", text)[1]], fixed, {"K": block},
                   (shape["M"] if kind == "rows" else k, unit) if kind != "mm" else ())


def of_op(op, format, text, operands, types, results, **more):
    return Subject(op, format, function_of("f", text, types, results), operands, results, **more)


def make_quantize(random, with_groups=False):
    pick = lambda *choices: choices[random.integers(len(choices))]  # noqa: E731
    is_nvfp4 = pick(True, False)
    recipe = pick(*NVFP4_RECIPES[:4]) if is_nvfp4 else pick(*MX_RECIPES)
    data = "f4E2M1FN" if is_nvfp4 else pick("f4E2M1FN", "f6E2M3FN", "f8E4M3FN", "f8E5M2")
    block, x = (16 if is_nvfp4 else 32), pick("bf16", "f32")
    lead = (2,) if pick(True, False) and not with_groups else ()
    rows, k = int(pick(4, 33, 130)), block * int(pick(1, 3, 5, 8))
    stored_x = values.floats(random, (*lead, rows, k), DTYPES[x], values.TAME)
    letters = (*("B" for _ in lead), "M", "K")
    q = ("?",) * len(lead)
    each = "G" if with_groups else "B"
    source = pick("", "global_scale", "global_amax") if is_nvfp4 else ""
    form = pick("scalar", "rank_0", "each", "each", *(() if with_groups else ("row",)))
    # Kernels take f32, and scales of each row, of a static K alone.
    fixed = with_groups or x == "f32" or bool(source and form == "row")
    last = k if fixed else "?"
    layout = None if with_groups else pick(None, SWIZZLED)
    types = [tensor((*q, "?", last), x)]
    operands = [Operand("x", stored_x, letters, "other", x)]
    text = f"quantize {{0}} block [1, {block}] recipe {recipe}"
    if source:
        shape = {"each": (3,) if with_groups else lead, "row": (*lead, rows)}.get(form, ())
        types.append("f32" if form == "scalar" else tensor("?" * len(shape), "f32"))
        sizes = letters[:-1] if form == "row" else (each,) * len(shape)
        operand = global_operand(random, source, shape, sizes, "each" if shape else form)
        operands.append(operand)
        text += f" {source}({{1}} : {types[1]})"
    ends = ()
    if with_groups:
        bounds = np.sort(random.integers(0, rows + 1, 3)).astype(np.int32)
        bounds[-1] = rows
        text += f" offsets({{{len(types)}}} : tensor<?xi32>)"
        types.append("tensor<?xi32>")
        operands.append(Operand("offsets", bounds, ("G",), "ends", "i32"))
        ends = (rows, 1)
    results = [tensor((*q, "?", last), data),
               tensor((*q, "?", k // block if fixed else "?"), SCALE_ELEMENTS[block],
                      layout)]
    tails = recipe in TAKES_TAILS
    multiples = {"K": 1 if tails else block}
    return of_op("quantize_groups" if with_groups else "quantize", f"{recipe}_{data}",
                 f"{text} : {types[0]} -> {', '.join(results)}", operands, types, results,
                 fixed={"K": k} if fixed else {}, multiples=multiples, ends=ends)


def make_dequantize(random):
    pick = lambda *choices: choices[random.integers(len(choices))]  # noqa: E731
    format = pick(*DRAWN_FORMATS)
    scale, data = FORMATS[format]
    recipe = pick(*NVFP4_RECIPES[:4]) if format == "nvfp4" else ""
    block = products.BLOCKS[scale]
    lead = (2,) if pick(True, False) else ()
    shape = (*lead, int(pick(4, 33, 130)), block * int(pick(1, 3, 5, 8)))
    letters = (*("B" for _ in lead), "M", "K")
    is_tiled, q = pick(True, False), ("?",) * len(shape)
    codes = noise(random, shape, data)
    drawn = products.scales(random, scale, (*shape[:-1], shape[-1] // block))
    # Memory does not tell the size of codes of which the last byte may hold one or two.
    tails = recipe in TAKES_TAILS
    known = "f4" in data and tails
    of_codes, of_blocks = ((*q[:-1], size if known else "?")
                           for size in (shape[-1], drawn.shape[-1]))
    types = [tensor(of_codes, data), tensor(of_blocks, scale, SWIZZLED if is_tiled else None)]
    operands = [Operand("data", stored(codes, data), data_sizes(letters, data), "data", data),
                Operand("scale", swizzle(drawn) if is_tiled else drawn,
                        scale_sizes(letters, block, is_tiled, "%" if tails else "/"), "scale",
                        scale, "swizzled" if is_tiled else "", drawn.shape)]
    text = f"dequantize {{0}}, {{1}} block [1, {block}]" + (f" recipe {recipe}" if recipe else "")
    if recipe and (of := pick("", "rank_0", "each", "row")):
        lead_of = {"rank_0": 0, "each": len(lead), "row": len(shape) - 1}[of]
        types.append(tensor(q[:lead_of], "f32"))
        name = pick("global_scale", "global_amax")
        text += f" {name}({{2}} : {types[2]})"
        operands.append(global_operand(random, name, shape[:lead_of],
                                       letters[:lead_of], "each"))
    results = [tensor(of_codes, pick("f32", "bf16"))]
    return of_op("dequantize", format, f"{text} : {types[0]}, {types[1]} -> {results[0]}",
                 operands, types, results, fixed={"K": shape[-1]} if known else {},
                 multiples={} if tails else {"K": block})


def make_amax(random, with_groups=False):
    pick = lambda *choices: choices[random.integers(len(choices))]  # noqa: E731
    element, shape = pick("bf16", "f32"), (int(pick(5, 33)), int(pick(16, 70)))
    x = values.floats(random, shape, DTYPES[element], values.TAME)
    operands, types = [Operand("x", x, ("M", "K"), "other", element)], [tensor("??", element)]
    if not with_groups:
        result = tensor("", "f32")
        return of_op("amax", element, f"amax {{0}} : {types[0]} -> {result}", operands, types,
                     [result])
    dim = pick(0, 1)
    ends = np.sort(random.integers(0, shape[dim] + 1, 3)).astype(np.int32)
    ends[-1] = shape[dim]
    operands.append(Operand("offsets", ends, ("G",), "ends", "i32"))
    types.append("tensor<?xi32>")
    text = (f"amax {{0}} offsets({{1}} : tensor<?xi32>) group_dim {dim} : {types[0]} -> "
            "tensor<?xf32>")
    return of_op("amax_groups", element, text, operands, types, ["tensor<?xf32>"],
                 ends=(shape[dim], 1))


def make_global_scale(random):
    recipe = NVFP4_RECIPES[random.integers(4)]
    amax = np.exp2(random.uniform(-8, 8, (4, 3))).astype(np.float32)
    type = tensor("??", "f32")
    return of_op("global_scale", recipe, f"global_scale {{0}} recipe {recipe} : {type}",
                 [Operand("amax", amax, ("M", "N"), "other", "f32")], [type], [type])


def make_scale_sweep(random):
    pick = lambda *choices: choices[random.integers(len(choices))]  # noqa: E731
    element, k = pick("bf16", "f32"), 16 * int(pick(1, 3, 4))
    x = random.standard_normal((2, 5, k)).astype(np.float32)
    types = [tensor("???", element), tensor("?", "f32")]
    operands = [Operand("x", values.to_bf16(x) if element == "bf16" else x, ("B", "M", "K"),
                        "other", element),
                Operand("global_amax", np.abs(x).max((1, 2)).astype(np.float32), ("B",), "global",
                        "f32")]
    text = f"scale_sweep {{0}} global_amax({{1}} : {types[1]})"
    if pick(True, False):
        factors = random.standard_normal((k // 16, 16, 24))
        types.append("tensor<?x16x16xf32>")
        operands.append(Operand("hessian", (factors @ factors.transpose(0, 2, 1)).astype(
            np.float32), ("K/16", "", ""), "other", "f32"))
        text += f" hessian({{2}} : {types[2]})"
    return of_op("scale_sweep", element, f"{text} : {types[0]} -> tensor<?x?x?xf32>", operands,
                 types, ["tensor<?x?x?xf32>"], multiples={"K": 16})


def make_hadamard(random):
    dim, rows = int(random.integers(2)), int(random.choice((5, 32)))
    shape = (rows, 48) if dim else (48, rows)
    x = values.floats(random, shape, np.uint16, values.TAME)
    type = tensor("??", "bf16")
    return of_op("hadamard", "bf16", f"hadamard {{0}} dim {dim} : {type}",
                 [Operand("x", x, ("M", "K"), "other", "bf16")], [type], [type],
                 multiples={"MK"[dim]: 16})


def make_swizzle(random):
    """To tiles, or back, where the sizes are operands."""
    rows, cols = int(random.choice((7, 130))), int(random.choice((3, 9, 16)))
    scales = random.integers(1, 128, (rows, cols), dtype=np.uint8)
    linear, tiled = tensor("??", "f8E4M3FN"), tensor("??", "f8E4M3FN", SWIZZLED)
    if random.integers(2):
        return of_op("swizzle", "to_tiles", f"swizzle {{0}} : {linear} -> {tiled}",
                     [Operand("source", scales, ("M", "K"), "scale", "f8E4M3FN")], [linear],
                     [tiled])
    return of_op("swizzle", "from_tiles",
                 f"swizzle {{0}} sizes({{1}}, {{2}}) : {tiled} -> {linear}",
                 [Operand("source", swizzle(scales), ("M^128", "K^4", "", "", ""), "scale",
                          "f8E4M3FN", "swizzled", scales.shape),
                  Operand("rows", np.int64(rows), ("M",), "size", "index"),
                  Operand("columns", np.int64(cols), ("K",), "size", "index")],
                 [tiled, "index", "index"], [linear])


def make_expand_scale(random):
    block = int(random.choice((16, 32)))
    size, across = int(random.choice((48, 70))), int(random.choice((5, 8)))
    element = SCALE_ELEMENTS[block]
    layout = (None, SWIZZLED)[random.integers(2)]
    source, result = tensor("??", element), tensor("??", element, layout)
    text = (f"expand_scale {{0}} block [{block}, {block}] scale_dim k sizes({{1}}) : {source} -> "
            f"{result}")
    scales = random.integers(1, 127, (-(-size // block), across), dtype=np.uint8)
    return of_op("expand_scale", element, text,
                 [Operand("source", scales, (f"M%{block}", "K"), "scale", element),
                  Operand("size", np.int64(size), ("M",), "size", "index")],
                 [source, "index"], [result])


def make_prepack(random):
    element = ("f4E2M1FN", "f8E4M3FN", "f6E3M2FN")[random.integers(3)]
    shape = (int(random.choice((20, 64, 70))), int(random.choice((34, 64, 96))))
    codes = noise(random, shape, element)
    rows, blocks = tensor("??", element), tensor("??", element, PREPACKED)
    if random.integers(2):
        return of_op("prepack", f"{element}_to_blocks", f"prepack {{0}} : {rows} -> {blocks}",
                     [Operand("source", stored(codes, element), data_sizes(("M", "K"), element),
                              "data", element)], [rows], [blocks])
    array = prepacked_storage(codes, element)
    sizes = ("M^64", "K^64", *("" for _ in array.shape[2:]))
    return of_op("prepack", f"{element}_from_blocks",
                 f"prepack {{0}} sizes({{1}}, {{2}}) : {blocks} -> {rows}",
                 [Operand("source", array, sizes, "data", element),
                  Operand("rows", np.int64(shape[0]), ("M",), "size", "index"),
                  Operand("columns", np.int64(shape[1]), ("K",), "size", "index")],
                 [blocks, "index", "index"], [rows])


MAKERS = (
    lambda random: make_product(random, "mm"), lambda random: make_product(random, "rows"),
    lambda random: make_product(random, "columns"), make_quantize,
    lambda random: make_quantize(random, with_groups=True), make_dequantize, make_amax,
    lambda random: make_amax(random, with_groups=True), make_global_scale, make_scale_sweep,
    make_hadamard, make_swizzle, make_expand_scale, make_prepack)


def make_subject(seed, number):
    """The function of a number; all ops take turns."""
    return MAKERS[number % len(MAKERS)](np.random.default_rng((seed, number)))
