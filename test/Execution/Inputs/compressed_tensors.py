# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recipe compressed_tensors for every type of x, element and form of blocks gives the
bytes of the numpy reference on the CPU and, with the CPU's bytes, as kernels in the
emulator; what it quantized is dequantized likewise.

Usage: compressed_tensors.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

import values
from expect import first_difference
from gpu_calls import Calls
from ops import SWIZZLED, dynamic, tensor, with_one_nan
from reference import (
    E2M1,
    E2M3,
    E4M3,
    dequantize_mx,
    dequantize_nvfp4,
    expand_scale,
    from_bf16,
    pack,
    quantize_mx,
    quantize_nvfp4,
    swizzle,
    to_bf16,
)

RECIPE = "compressed_tensors"
CODECS = {"f4E2M1FN": E2M1, "f6E2M3FN": E2M3, "f8E4M3FN": E4M3}
# Block, transposed, scale_dim, layout, shape, dynamic dimensions.
FORMS = (((1, 16), False, "", SWIZZLED, (130, 192), ()),
         ((1, 16), False, "", None, (2, 5, 1040), (0, 1)),
         ((16, 16), True, "k", SWIZZLED, (48, 160), (0,)),
         ((16, 1), True, "", None, (64, 96), ()))
MX_FORMS = (((1, 32), False, "", SWIZZLED, (33, 4096), ()),
            ((1, 32), False, "", None, (3, 7, 96), (1,)),
            ((32, 1), True, "", SWIZZLED, (64, 72), (0,)),
            ((32, 32), False, "n", None, (64, 96), ()))


class Checked(Calls):
    """Calls whose results on the CPU are also compared with those of the reference."""

    def __init__(self):
        super().__init__()
        self._expected = []

    def add_expecting(self, expected, *call):
        self._expected.append(expected)
        self.add(*call)

    def _compare(self, expect, calls, runs):
        Calls._compare(expect, calls, runs)
        _, wanted = runs[0]
        expected, self._expected = self._expected[:len(calls)], self._expected[len(calls):]
        for (op, types, results, *_), want, got in zip(calls, expected, wanted or []):
            want, got = ([with_one_nan(array, type) for array, type in zip(each, results)]
                         for each in (want, got))
            expect.record(f"cpu against the reference: {op.format(*types)}",
                          first_difference(want, got))


def store(x, element):
    """Values as they are stored, and what is stored as f32."""
    if element == "bf16":
        stored = to_bf16(x)
        return stored, from_bf16(stored)
    stored = x.astype(np.float16 if element == "f16" else np.float32)
    return stored, stored.astype(np.float32)


def draw(random, shape):
    """Blocks of all magnitudes, with ties, zeros of both signs, infinities and NaN."""
    def scaled(random):
        return random.standard_normal(values.BLOCK) * 2.0**random.integers(-20, 12)

    kinds = (scaled, scaled, values.ties, values.zeros, values.negative_zeros, values.infinite,
             values.nan)
    with np.errstate(over="ignore"):
        return values.blocks(random, shape, kinds)


random = np.random.default_rng(18)
calls = Checked()


def add(form, data, element, operand=""):
    block, transposed, scale_dim, layout, shape, dims = form
    is_mx = 32 in block
    stored, x = store(draw(random, shape), element)
    factor = np.float32(0.013) if operand == "global_scale" else np.float32(3.7)
    if is_mx:
        codes, scale = quantize_mx(x, CODECS[data], RECIPE, block=block, transposed=transposed)
    else:
        codes, scale = quantize_nvfp4(x, RECIPE, block=block, transposed=transposed,
                                      x_type=element, **({operand: factor} if operand else {}))
    if scale_dim:
        compact = scale.swapaxes(-2, -1) if transposed else scale
        scale = expand_scale(compact, block[0], scale_dim,
                             x.shape[-2 if scale_dim == "k" else -1])

    def typed(array, type, encoding=None):
        sizes = dynamic(array.shape, dims if not transposed and not scale_dim else
                        list(range(array.ndim)) if dims else ())
        return tensor(sizes, type, encoding)

    x_type = tensor(dynamic(shape, dims), element)
    results = [typed(codes, data), typed(scale, "f8E8M0FNU" if is_mx else "f8E4M3FN", layout)]
    text = f"block [{block[0]}, {block[1]}]" + " transposed" * transposed
    text += f" scale_dim {scale_dim}" if scale_dim else ""
    text += f" recipe {RECIPE}" + (f" {operand}({{1}} : f32)" if operand else "")
    op = f"quantize {{0}} {text} : {x_type} -> {', '.join(results)}"
    types = [x_type, "f32"][:2 if operand else 1]
    data_bytes = pack(codes) if data == "f4E2M1FN" else codes
    scale_bytes = swizzle(scale) if layout else np.ascontiguousarray(scale)
    calls.add_expecting([data_bytes, scale_bytes], op, types, results, stored,
                        *([factor] if operand else []))
    if block[0] != 1 or operand == "global_amax":
        return
    result = tensor(dynamic(shape, dims), "f32")
    text = f"block [{block[0]}, {block[1]}] recipe {RECIPE}"
    text += f" {operand}({{2}} : f32)" if operand else ""
    op = f"dequantize {{0}}, {{1}} {text} : {', '.join(results)} -> {result}"
    back = (dequantize_mx(codes, scale, CODECS[data], block) if is_mx else
            dequantize_nvfp4(codes, scale, RECIPE, factor if operand else None, block))
    types = [*results, "f32"][:3 if operand else 2]
    calls.add_expecting([back], op, types, [result], data_bytes, scale_bytes,
                        *([factor] if operand else []))


for element in ("f32", "bf16", "f16"):
    for form in FORMS:
        for operand in ("", "global_scale", "global_amax"):
            add(form, "f4E2M1FN", element, operand)
    for form in MX_FORMS:
        for data in CODECS:
            add(form, data, element)
calls.check()
