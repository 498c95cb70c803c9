# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes groups of rows and of columns, in blocks of every shape and scales of
every layout, with offsets that are right and offsets that are errors.

Usage: grouped_quantize.py FOLDER
"""

import itertools
import sys

import numpy as np

import values
from ops import SCALE_ELEMENTS, SWIZZLED, Functions, dynamic, tensor
from reference import (
    E2M1,
    E4M3,
    expand_scale,
    from_bf16,
    group_bounds,
    group_fault,
    pack,
    quantize_groups,
    quantize_mx,
    quantize_nvfp4,
    swizzle,
    swizzle_groups,
)

GROUPS = 4
NVFP4 = ("torchao", "mslk", "te", "modelopt")
MX = ("floor", "rceil", "rceil_sat", "ceil", "even")
FOUR_OVER_SIX = ("te_4over6_mae", "te_4over6_mse")
TAKE_TAILS = ("te", "modelopt", *FOUR_OVER_SIX)
# Blocks, transposed, scale_dim.
FORMS = (("row", False, ""), ("column", False, ""), ("column", True, ""), ("square", False, ""),
         ("square", True, ""), ("square", False, "k"), ("square", True, "n"))

random = np.random.default_rng(12)
functions = Functions()


def pick(*choices):
    return choices[random.integers(len(choices))]


def draw_offsets(extent, unit):
    """Ends of groups; the second kind covers part of the extent, and the last one is anything."""
    whole = extent // unit
    ends = np.sort(random.integers(0, whole + 1, GROUPS))
    ends[-1] = whole
    wild = random.integers(-50, extent + 90, GROUPS)
    return [np.asarray(e, np.int32) for e in
            (ends * unit, ends // 2 * unit, np.full(GROUPS, whole * unit), np.zeros(GROUPS), wild)]


class Grouped:
    """A quantization with offsets; `source` is that of a global operand, `each`
    whether it has one value a group."""

    def __init__(self, is_nvfp4, form, dim, layout, rng=False):
        kind, self.transposed, self.scale_dim = form
        size = 16 if is_nvfp4 else 32
        self.block = {"row": (1, size), "column": (size, 1), "square": (size, size)}[kind]
        self.dim, self.layout, self.rng = dim, layout, rng
        recipes = NVFP4 if kind == "square" or rng else (*NVFP4, *FOUR_OVER_SIX)
        self.recipe = pick(*(recipes if is_nvfp4 else MX))
        self.is_nvfp4 = is_nvfp4
        self.source = pick("", "global_scale", "global_amax") if is_nvfp4 and not rng else ""
        self.each = bool(self.source) and pick(True, True, False)
        self.data = "f4E2M1FN" if is_nvfp4 or rng else pick("f4E2M1FN", "f8E4M3FN")
        # The dimension of the scales that counts what `dim` of x does.
        self.scale_axis = 1 - dim if self.transposed or self.scale_dim == "n" else dim
        if self.scale_dim == "k":
            self.scale_axis = dim

    def quantize(self, x, operands):
        form = {"block": self.block, "transposed": self.transposed}
        if self.is_nvfp4:
            return quantize_nvfp4(x, self.recipe, **form, **operands)
        codec = E2M1 if self.data == "f4E2M1FN" else E4M3
        return quantize_mx(x, codec, self.recipe, **form, **operands)

    def results(self, x, offsets, factor, rng):
        values = factor if self.each else None

        def part(piece, value):
            value = value if self.each else factor
            return self.quantize(piece, {self.source: value} if self.source else {})

        codes, scale = quantize_groups(part, x, offsets, self.dim, self.block, self.transposed,
                                       values)
        bounds = group_bounds(offsets, x.shape[self.dim], self.block[self.dim])
        if self.rng:  # bits belong to places in x, so groups change no covered code
            whole, _ = self.quantize(x, {"rng": tuple(rng.tolist())})
            covered = [slice(None), slice(None)]
            covered[1 - self.dim if self.transposed else self.dim] = slice(bounds[-1][1])
            codes[tuple(covered)] = whole[tuple(covered)]
        divisor = self.block[self.dim]
        if self.scale_dim:
            size = x.shape[0 if self.scale_dim == "k" else 1]
            scale = scale.swapaxes(-2, -1) if self.transposed else scale
            scale = expand_scale(scale, self.block[0], self.scale_dim, size)
            divisor = 1 if self.scale_axis == 0 else divisor
        if self.layout == SWIZZLED:
            scale = swizzle(scale)
        elif self.layout:
            ends = [end // divisor for _, end in bounds]
            scale = swizzle_groups(scale, ends, self.scale_axis)
        codes = pack(codes) if self.data == "f4E2M1FN" else codes
        return codes, np.ascontiguousarray(scale)

    def shapes(self):
        if self.recipe in TAKE_TAILS:
            shapes = [(203, 185), (37, 290), (270, 37)]
        else:
            shapes = [(192, 160), (64, 288), (288, 64)]
        return shapes if self.rng else [*shapes, (0, 64), (64, 0)]

    def scale_shape(self, shape):
        rows, cols = (-(-size // step) for size, step in zip(shape, self.block))
        if self.scale_dim:
            return (shape[0], cols) if self.scale_dim == "k" else (shape[1], rows)
        return (cols, rows) if self.transposed else (rows, cols)

    def add(self):
        element = pick("f32", "bf16")
        shapes = self.shapes()
        dims = pick((), (0, 1))
        if not dims:
            shapes = shapes[:1]
        layout = self.layout
        if layout == "grouped":
            layout = (f"#blockscale.layout<swizzle_128x4, groups = {GROUPS}, "
                      f"dim = {self.scale_axis}>")
        cases = []
        for shape in shapes:
            drawn = draw_offsets(shape[self.dim], self.block[self.dim])
            for offsets in drawn if shape == shapes[0] else drawn[:2]:
                stored = values.floats(random, shape,
                                       np.uint16 if element == "bf16" else np.float32)
                limits = (-12, 4) if self.source == "global_scale" else (-4, 20)
                factor = np.exp2(random.uniform(*limits, (GROUPS,) if self.each else ()))
                factor = np.asarray(factor, np.float32)
                rng = random.integers(-2**63, 2**63, 2)
                x = from_bf16(stored) if element == "bf16" else stored
                arguments = [stored, offsets]
                arguments += [factor] if self.source else [rng] if self.rng else []
                fault = group_fault(offsets, shape[self.dim], self.block[self.dim])
                cases.append((arguments, (fault and f"quantize: {fault}")
                              or list(self.results(x, offsets, factor, rng))))
        data_shape = shapes[0][::-1] if self.transposed else shapes[0]
        types = [tensor(dynamic(shapes[0], dims), element), tensor((GROUPS,), "i32")]
        text = f"quantize {{0}} block [{self.block[0]}, {self.block[1]}]"
        text += " transposed" * self.transposed
        text += f" scale_dim {self.scale_dim}" if self.scale_dim else ""
        text += f" recipe {self.recipe}"
        if self.source:
            types.append(tensor((GROUPS,) if self.each else (), "f32"))
            text += f" {self.source}({{2}} : {types[2]})"
        if self.rng:
            types.append(tensor((2,), "i64"))
            text += f" rng({{2}} : {types[2]})"
        text += f" offsets({{1}} : {types[1]})" + f" group_dim {self.dim}" * self.dim
        results = [tensor(dynamic(data_shape, dims), self.data),
                   tensor(dynamic(self.scale_shape(shapes[0]), dims),
                          SCALE_ELEMENTS[max(self.block)], layout)]
        functions.add(f"{text} : {types[0]} -> {', '.join(results)}", types, results, cases)


for is_nvfp4, form, dim, layout in itertools.product(
        (True, False), FORMS, (0, 1), (None, SWIZZLED, "grouped")):
    kind, transposed, scale_dim = form
    if is_nvfp4 and kind == "column" and not transposed:
        continue
    if layout == SWIZZLED and kind != "row":
        continue
    if layout and kind != "row" and not scale_dim and (kind, transposed) != ("column", True):
        continue
    Grouped(is_nvfp4, form, dim, layout).add()
for form, dim in itertools.product(FORMS[:1] + FORMS[2:4], (0, 1)):
    Grouped(True, form, dim, "grouped" if form != FORMS[3] else None, rng=True).add()

# As many groups as the layout has, where only the call tells.
types = [tensor((64, 64), "f32"), tensor(("?",), "i32")]
results = [tensor((64, 64), "f8E4M3FN"),
           tensor((64, 2), "f8E8M0FNU", "#blockscale.layout<swizzle_128x4, groups = 2, dim = 0>")]
x = values.floats(random, (64, 64), np.float32)
functions.add(f"quantize {{0}} block [1, 32] offsets({{1}} : {types[1]}) : {types[0]} -> "
              f"{', '.join(results)}", types, results,
              [([x, np.asarray([10, 20, 64], np.int32)],
                ("expected dimension 0 of offsets to fit the shape of the layout of scale, "
                 "but got 3"))])

functions.check(sys.argv[1], divided=True)
