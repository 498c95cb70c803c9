# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that read an x of f16 give the bytes of an x of f32 with the same values, on the
CPU and, with the CPU's bytes, as kernels in the emulator.

Usage: f16_inputs.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

import values
from expect import first_difference
from gpu_calls import Calls
from ops import SWIZZLED, dynamic, tensor, with_one_nan

NVFP4, MX = ("f4E2M1FN", "f8E4M3FN"), "f8E8M0FNU"
# Block, transposed, scale_dim, layout, shape, dynamic dimensions of an x.
FORMS = (((1, 16), False, "", SWIZZLED, (130, 192), ()),
         ((1, 16), False, "", None, (2, 5, 1040), (0, 1)),
         ((16, 16), True, "k", SWIZZLED, (48, 160), (0,)),
         ((16, 1), True, "", None, (64, 96), ()))
MX_FORMS = (((1, 32), False, "", SWIZZLED, (33, 4096), ()),
            ((1, 32), False, "", None, (3, 7, 96), (1,)),
            ((32, 1), True, "", SWIZZLED, (64, 72), (0,)),
            ((32, 32), False, "n", None, (64, 96), ()))


def halves(random, shape):
    """f16 of all magnitudes, subnormal ones too, with ties, zeros, infinities and NaN."""
    def scaled(random):
        return random.standard_normal(values.BLOCK) * 2.0**random.integers(-26, 14)

    def subnormal(random):
        return random.integers(-1000, 1000, values.BLOCK) * 2.0**-24

    kinds = (scaled, scaled, values.ties, subnormal, values.zeros, values.negative_zeros,
             values.infinite, values.nan)
    with np.errstate(over="ignore"):
        return values.blocks(random, shape, kinds).astype(np.float16)


class Pairs(Calls):
    """Calls of which each with an x of f16 stands before its twin with one of f32."""

    def add_both(self, op, types, results, x, *arrays):
        for element, array in (("f16", x), ("f32", x.astype(np.float32))):
            each = [type.replace("ELEMENT", element) for type in types]
            self.add(op.replace("ELEMENT", element), each, results, array, *arrays)

    @staticmethod
    def _compare(expect, calls, runs):
        Calls._compare(expect, calls, runs)
        _, wanted = runs[0]
        if not wanted:
            return
        for (op, types, results, *_), a, b in zip(calls[::2], wanted[::2], wanted[1::2],
                                                  strict=True):
            a, b = ([with_one_nan(array, type) for array, type in zip(each, results)]
                    for each in (a, b))
            expect.record(f"cpu, f16 against f32: {op.format(*types)}", first_difference(a, b))


random = np.random.default_rng(16)
calls = Pairs()


def quantize(form, recipe, data, operand=None):
    block, transposed, scale_dim, layout, shape, dims = form
    *lead, m, k = dynamic(shape, dims)

    def count(size, step):
        return size if size == "?" else -(-size // step)

    rows, cols = count(m, block[0]), count(k, block[1])
    scale = {"k": (m, cols), "n": (k, rows)}.get(scale_dim)
    scale = scale or ((cols, rows) if transposed else (rows, cols))
    x = tensor((*lead, m, k), "ELEMENT")
    results = [tensor((*lead, *((k, m) if transposed else (m, k))), data),
               tensor((*lead, *scale), MX if 32 in block else NVFP4[1], layout)]
    text = f"block [{block[0]}, {block[1]}]" + " transposed" * transposed
    text += f" scale_dim {scale_dim}" if scale_dim else ""
    text += f" recipe {recipe}"
    types, arrays = [x], []
    if operand:
        text += f" {operand}({{1}} : f32)"
        types.append("f32")
        arrays.append(np.float32(0.01 if operand == "global_scale" else 3.7))
    calls.add_both(f"quantize {{0}} {text} : {x} -> {', '.join(results)}", types, results,
                   halves(random, shape), *arrays)


for form in FORMS:
    for recipe in ("torchao", "mslk", "te", "modelopt"):
        quantize(form, recipe, NVFP4[0], random.choice(("", "global_scale", "global_amax")))
    if form[0] == (1, 16):
        quantize(form, "te_4over6_mse", NVFP4[0], "global_amax")
        quantize(form, "te_4over6_mae", NVFP4[0], "global_amax")
for form in MX_FORMS:
    for recipe, data in (("floor", "f8E4M3FN"), ("rceil", "f4E2M1FN"), ("rceil_sat", "f8E5M2"),
                         ("ceil", "f6E2M3FN"), ("even", "f6E3M2FN")):
        quantize(form, recipe, data)

for shape, leading, dims in (((1, 1), 0, ()), ((5, 63), 0, (0, 1)), ((2, 67, 520), 1, ()),
                             ((9, 130), 1, (0,)), ((16, 4096), 0, ())):
    type = tensor(dynamic(shape, dims), "ELEMENT")
    result = tensor(dynamic(shape, dims)[:leading], "f32")
    for x in (halves(random, shape), random.standard_normal(shape).astype(np.float16)):
        calls.add_both(f"amax {{0}} : {type} -> {result}", [type], [result], x)
for shape in ((3, 32), (17, 256)):
    type = tensor(shape, "ELEMENT")
    result = tensor((shape[0], shape[1] // 16), "f32")
    weights = (random.standard_normal(shape) * 0.02).astype(np.float16)
    weights[0, :8] = (0, -0.0, 2.0**-24, -(2.0**-24), 6e-5, 0.5, -0.25, 0.1)
    calls.add_both(f"scale_sweep {{0}} global_amax({{1}} : tensor<f32>) : {type} -> {result}",
                   [type, "tensor<f32>"], [result], weights,
                   np.abs(weights).max().astype(np.float32).reshape(()))
calls.check()
