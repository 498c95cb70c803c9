# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes in blocks of every shape, with results in every form that the shape
has, on random sizes, and compares every byte with the numpy reference."""

import argparse
from dataclasses import dataclass

import numpy as np

import values
from expect import Expectations
from module import Module
from ops import function_of
from reference import (
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
    INT8,
    expand_scale,
    from_bf16,
    pack,
    quantize_mx,
    quantize_nvfp4,
    swizzle,
)

CODECS = {"f4E2M1FN": E2M1, "f8E4M3FN": E4M3, "f8E5M2": E5M2, "f6E2M3FN": E2M3, "f6E3M2FN": E3M2,
          "i8": INT8}
NVFP4_RECIPES = ("torchao", "mslk", "te", "modelopt")
MX_RECIPES = ("floor", "rceil", "rceil_sat", "ceil", "even")
TAKES_TAILS = ("te", "modelopt")
# Block, transposed, scale_dim; linear or any layout.
NVFP4_FORMS = (((16, 16), False, "", False), ((16, 16), False, "k", True),
               ((16, 16), False, "n", True), ((16, 16), True, "", False),
               ((16, 16), True, "k", True), ((16, 16), True, "n", True),
               ((16, 1), True, "", True))
MX_FORMS = (*(((32, 32), *form[1:]) for form in NVFP4_FORMS[:-1]),
            ((32, 1), False, "", False), ((32, 1), True, "", True), ((1, 32), False, "", True))
RANGE_SIZES = (0, 1, 3)  # of parallel loops
SWIZZLED = ", #blockscale.layout<swizzle_128x4>"


@dataclass
class Op:
    """A function that quantizes x [.., M, K]. `source` is the attribute of a global
    operand, `form` its type: scalar, rank_0 or one value for each batch element (each)
    or row (row); `dynamic` says which dimensions are."""

    name: str
    recipe: str
    data: str
    block: tuple
    transposed: bool
    scale_dim: str
    swizzled: bool
    x: str
    source: str
    form: str
    dynamic: tuple
    shape: tuple

    def scale_shape(self, shape):
        """Of an x of `shape`, where unknown sizes are None."""
        *batch, m, k = shape
        rows, cols = (None if size is None else -(-size // step)
                      for size, step in zip((m, k), self.block))
        if self.scale_dim:
            return (*batch, m, cols) if self.scale_dim == "k" else (*batch, k, rows)
        return (*batch, cols, rows) if self.transposed else (*batch, rows, cols)

    def operands(self, shape):
        """Attribute and type of each argument after x, where x has this shape."""
        shapes = {"rank_0": (), "each": shape[:-2], "row": shape[:-1]}
        value = "f32" if self.form == "scalar" else tensor(shapes[self.form], "f32")
        return [(self.source, value)] if self.source else []

    def encoding(self):
        """Of the scales."""
        return SWIZZLED if self.swizzled else ""

    def signature(self):
        """The op with {0}, {1}, .. for its arguments, their types, those of its results."""
        shape = tuple(None if is_dynamic else size
                      for is_dynamic, size in zip(self.dynamic, self.shape))
        *batch, m, k = shape
        x = tensor(shape, self.x)
        data = tensor((*batch, k, m) if self.transposed else shape, self.data)
        scale = tensor(self.scale_shape(shape),
                       "f8E8M0FNU" if self.recipe in MX_RECIPES else "f8E4M3FN",
                       self.encoding())
        attributes = f"block [{self.block[0]}, {self.block[1]}]" + " transposed" * self.transposed
        attributes += f" scale_dim {self.scale_dim}" if self.scale_dim else ""
        attributes += f" recipe {self.recipe}"
        operands = self.operands(shape)
        for i, (name, type) in enumerate(operands, 1):
            attributes += f" {name}({{{i}}} : {type})"
        return (f"quantize {{0}} {attributes} : {x} -> {data}, {scale}",
                [x, *(type for _, type in operands)], [data, scale])

    def text(self):
        return function_of(self.name, *self.signature())

    def arguments(self, random, shape):
        x = values.floats(random, shape, np.uint16 if self.x == "bf16" else np.float32)
        if not self.source:
            return [x]
        limits = (-12, 4) if self.source == "global_scale" else (-4, 20)
        batch = shape[:-2] if self.form == "each" else ()
        return [x, np.asarray(np.exp2(random.uniform(*limits, batch)), np.float32)]

    def results(self, stored, *factor):
        x = from_bf16(stored) if self.x == "bf16" else stored
        form = {"block": self.block, "transposed": self.transposed}
        if self.recipe in NVFP4_RECIPES:
            operand = {self.source: factor[0]} if self.source else {}
            codes, scale = quantize_nvfp4(x, self.recipe, **operand, **form)
        else:
            codes, scale = quantize_mx(x, CODECS[self.data], self.recipe, **form)
        if self.scale_dim:
            scale = scale.swapaxes(-2, -1) if self.transposed else scale
            size = x.shape[-2 if self.scale_dim == "k" else -1]
            scale = expand_scale(scale, self.block[0], self.scale_dim, size)
        return [pack(codes) if self.data == "f4E2M1FN" else codes,
                swizzle(scale) if self.swizzled else np.ascontiguousarray(scale)]


def tensor(shape, element, encoding=""):
    dims = "".join("?x" if size is None else f"{size}x" for size in shape)
    return f"tensor<{dims}{element}{encoding}>"


def draw_shape(random, op_block, recipe, batch):
    """Mostly small; sometimes more than a tile of scales, or nothing."""
    def size(step, limit):
        count = int(random.choice((0, 1, limit), p=(0.03, 0.07, 0.9)))
        count = count and int(random.integers(1, limit))
        return count if recipe in TAKES_TAILS else -(-count // step) * step

    limit = 600 if random.random() < 0.3 else 150
    m, k = (size(step, limit) for step in op_block)
    # Kernels read rows of whole steps in place.
    k = -(-k // 64) * 64 if random.random() < 0.3 else k
    return (*(int(random.integers(1, 4)) for _ in range(batch)), m, k)


def kinds():
    """Form, recipe and data type: every pair of two of them."""
    for form in NVFP4_FORMS:
        for recipe in NVFP4_RECIPES:
            yield form, recipe, "f4E2M1FN"
    data_types = tuple(CODECS)
    for i, form in enumerate(MX_FORMS):
        for j, recipe in enumerate(MX_RECIPES):
            yield form, recipe, data_types[(i + j) % len(data_types)]


def draw_ops(random, fraction):
    """A fraction of the kinds, and all else at random."""
    def pick(*choices):
        return choices[random.integers(len(choices))]

    for i, ((block, transposed, scale_dim, any_layout), recipe, data) in enumerate(kinds()):
        if random.random() >= fraction:
            continue
        batch = pick(0, 0, 1, 2)
        source = pick("", "global_scale", "global_amax") if recipe in NVFP4_RECIPES else ""
        yield Op(f"f{i}", recipe, data, block, transposed, scale_dim,
                 any_layout and pick(True, True, False), pick("f32", "bf16"), source,
                 pick("each", "rank_0"), tuple(random.random(batch + 2) < 0.6),
                 draw_shape(random, block, recipe, batch))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where to compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fraction", type=float, default=1.0, help="of the kinds, at random")
    parser.add_argument("--shapes", type=int, default=4, help="of each function")
    parser.add_argument("--cpu", default="host")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    expect = Expectations()
    ops = list(draw_ops(random, options.fraction))
    module = Module("".join(op.text() for op in ops), options.folder, cpu=options.cpu)
    for op in ops:
        for _ in range(options.shapes):
            drawn = draw_shape(random, op.block, op.recipe, len(op.shape) - 2)
            shape = tuple(new if is_dynamic else old
                          for is_dynamic, new, old in zip(op.dynamic, drawn, op.shape))
            arguments = op.arguments(random, shape)
            got = module.call(op.name, *arguments,
                              range_size=RANGE_SIZES[random.integers(len(RANGE_SIZES))])
            expect.equal(f"seed {options.seed}: {shape} of {op}", got, op.results(*arguments))
    expect.finish()


if __name__ == "__main__":
    main()
