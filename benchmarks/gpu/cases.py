# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is timed on a GPU: functions, their shapes and their bars."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

SWIZZLED = "#blockscale.layout<swizzle_128x4>"


@dataclass(frozen=True)
class Case:
    """A function of x, bf16 and of the last two or three dimensions of `shape`, or of
    `tensors` of them.

    `columns` vectors of as many bf16 as x has columns follow, then `scalar`, or nothing. `bar` is
    the least share of the rate of a copy of the same bytes, or None. With `weights`, x is normal,
    and `scalar` its amax.
    """

    name: str
    text: str
    shape: tuple
    bar: float = None
    scalar: float = None
    group: str = ""
    results: int = 2
    weights: bool = False
    tensors: int = 1
    columns: int = 0

    @property
    def module(self):
        return f"func.func @{self.name}{self.text}"

    @property
    def label(self):
        data = ", normal weights" if self.weights else ""
        return f"{self.group}{data}, {'x'.join(map(str, self.shape))}"

    def arguments(self):
        if self.weights:
            x = normal_bits(self.shape)
            amax = (x & 0x7FFF).max().astype(np.uint32) << 16
            return [x, np.array(amax.view(np.float32))]
        x = bf16_bits(self.shape)
        # The same elements at other places.
        inputs = [x] + [np.roll(x, 7 * i) for i in range(1, self.tensors)]
        inputs += [x.reshape(-1)[:self.shape[-1]]] * self.columns
        return inputs if self.scalar is None else [*inputs, np.array(self.scalar, np.float32)]


def bf16_bits(shape):
    """Equal on every machine and for every version of NumPy: only the stream of the bit
    generator is guaranteed. Magnitudes between 2^-9 and 2^7, signs and mantissas
    uniform."""
    count = int(np.prod(shape))
    raw = np.random.PCG64(2026).random_raw((count + 3) // 4).view(np.uint16)[:count]
    bits = (raw & 0x807F) + (((raw >> 7 & 15) + 118) << 7)
    return bits.astype(np.uint16).reshape(shape)


def normal_bits(shape):
    """As equal as bf16_bits: sums of two normal numbers, each one of 65536 quantiles."""
    count = int(np.prod(shape))
    raw = np.random.PCG64(2026).random_raw((count + 1) // 2).view(np.uint16)[: 2 * count]
    part = NormalDist(0, 0.02 / 2**0.5)
    quantiles = np.array([part.inv_cdf((i + 0.5) / 65536) for i in range(65536)], np.float32)
    bits = (quantiles[raw[:count]] + quantiles[raw[count:]]).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).reshape(shape)


def quantize(shape, block, recipe, data, scale, scale_shape, swizzled, given=None):
    """`given`: `global_scale` or `global_amax`, where that is an operand."""
    sizes = "x".join(map(str, shape))
    layout = f", {SWIZZLED}" if swizzled else ""
    result = (f"tensor<{sizes}x{data}>, "
              f"tensor<{'x'.join(map(str, scale_shape))}x{scale}{layout}>")
    argument = ", %g: tensor<f32>" if given else ""
    operand = f"{given}(%g : tensor<f32>)" if given else ""
    return (f"(%x: tensor<{sizes}xbf16>{argument}) -> ({result}) {{\n"
            f"  %q, %s = blockscale.quantize %x block [{block[0]}, {block[1]}] recipe {recipe} "
            f"{operand}\n      : tensor<{sizes}xbf16> -> {result}\n"
            f"  return %q, %s : {result}\n}}\n")


def mxfp8_rows(shape, swizzled=True, bar=None, recipe="rceil"):
    m, k = shape
    name = f"mxfp8_1x32_{recipe}{'_swizzled' if swizzled else ''}"
    text = quantize(shape, (1, 32), recipe, "f8E4M3FN", "f8E8M0FNU", (m, k // 32), swizzled)
    return Case(f"{name}_{m}x{k}", text, shape, bar,
                group=f"MXFP8 1x32 {recipe}{', swizzled' if swizzled else ''}")


def nvfp4_rows(shape, swizzled=True, bar=None):
    m, k = shape
    text = quantize(shape, (1, 16), "torchao", "f4E2M1FN", "f8E4M3FN", (m, k // 16), swizzled,
                    "global_scale")
    name = f"nvfp4_1x16_two_level{'_swizzled' if swizzled else ''}"
    return Case(f"{name}_{m}x{k}", text, shape, bar, scalar=2.0**-6,
                group=f"NVFP4 1x16, global scale given{', swizzled' if swizzled else ''}")


def mxfp8_columns(shape, block, bar=None):
    *batch, m, k = shape
    scales = (*batch, m // 32, k // block[1])
    text = quantize(shape, block, "rceil", "f8E4M3FN", "f8E8M0FNU", scales, False)
    name = f"mxfp8_{block[0]}x{block[1]}_{'x'.join(map(str, shape))}"
    return Case(name, text, shape, bar, group=f"MXFP8 {block[0]}x{block[1]} rceil")


# The element types of data and scales, and the elements of a block, by the bits of an element.
FORMATS = {4: ("f4E2M1FN", "f8E4M3FN", 16), 8: ("f8E4M3FN", "f8E8M0FNU", 32)}


def rows_and_columns(shape, bits, transforms=False):
    """Both from one read of x, the columns transposed, all scales swizzled. `transforms`:
    the columns after a random Hadamard transform."""
    m, k = shape
    data, scale, side = FORMATS[bits]
    operand = "global_scale(%g : tensor<f32>)" if bits == 4 else ""
    types = [f"tensor<{a}x{b}x{data}>, tensor<{a}x{b // side}x{scale}, {SWIZZLED}>"
             for a, b in ((m, k), (k, m))]
    result = ", ".join(types)
    given = ", %g: tensor<f32>" if bits == 4 else ""
    x = f"tensor<{m}x{k}xbf16>"
    text = (f"(%x: {x}{given}) -> ({result}) {{\n"
            f"  %q, %s = blockscale.quantize %x block [1, {side}] {operand} : {x} -> {types[0]}\n"
            + (f"  %h = blockscale.hadamard %x dim 0 : {x}\n" if transforms else "") +
            f"  %p, %t = blockscale.quantize {'%h' if transforms else '%x'} "
            f"block [{side}, 1] transposed {operand}\n"
            f"      : {x} -> {types[1]}\n"
            f"  return %q, %s, %p, %t : {result}\n}}\n")
    name = "nvfp4" if bits == 4 else "mxfp8"
    columns = "transformed_columns" if transforms else "columns"
    return Case(f"{name}_rows_and_{columns}_{m}x{k}", text, shape, results=4,
                scalar=2.0**-6 if bits == 4 else None,
                group=f"{name.upper()} rows and {columns.replace('_', ' ')}, swizzled")


def scale_sweep(shape, weights=False, bar=None):
    m, k = shape
    name = f"scale_sweep_{'weights_' if weights else ''}{m}x{k}"
    result = f"tensor<{m}x{k // 16}xf32>"
    text = (f"(%x: tensor<{m}x{k}xbf16>, %a: tensor<f32>) -> {result} {{\n"
            f"  %w = blockscale.scale_sweep %x global_amax(%a : tensor<f32>)\n"
            f"      : tensor<{m}x{k}xbf16> -> {result}\n  return %w : {result}\n}}\n")
    return Case(name, text, shape, bar, scalar=255.0, group="scale sweep", results=1,
                weights=weights)


def swiglu(shape, bits, bar):
    """silu(a) * b, whose two factors are rounded to bf16, quantized in rows."""
    m, k = shape
    data, scale, side = FORMATS[bits]
    recipe = "torchao global_scale(%s : tensor<f32>)" if bits == 4 else "rceil"
    given = ", %s: tensor<f32>" if bits == 4 else ""
    x = f"tensor<{m}x{k}xbf16>"
    result = f"tensor<{m}x{k}x{data}>, tensor<{m}x{k // side}x{scale}, {SWIZZLED}>"
    text = (f"(%a: {x}, %b: {x}{given}) -> ({result}) {{\n"
            f"  %one = arith.constant 1.0 : f32\n  %e = tensor.empty() : {x}\n"
            "  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,\n"
            "      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],\n"
            "      iterator_types = [\"parallel\", \"parallel\"]}\n"
            f"      ins(%a, %b : {x}, {x}) outs(%e : {x}) {{\n"
            "  ^bb0(%ai: bf16, %bi: bf16, %old: bf16):\n"
            "    %af = arith.extf %ai : bf16 to f32\n    %bf = arith.extf %bi : bf16 to f32\n"
            "    %n = arith.negf %af : f32\n    %ex = math.exp %n : f32\n"
            "    %d = arith.addf %ex, %one : f32\n    %s0 = arith.divf %af, %d : f32\n"
            "    %s1 = arith.truncf %s0 : f32 to bf16\n    %s2 = arith.extf %s1 : bf16 to f32\n"
            "    %p = arith.mulf %s2, %bf : f32\n    %y = arith.truncf %p : f32 to bf16\n"
            f"    linalg.yield %y : bf16\n  }} -> {x}\n"
            f"  %q, %t = blockscale.quantize %x block [1, {side}] recipe {recipe}\n"
            f"      : {x} -> {result}\n  return %q, %t : {result}\n}}\n")
    name = "nvfp4" if bits == 4 else "mxfp8"
    return Case(f"swiglu_{name}_{m}x{k}", text, shape, bar, tensors=2,
                scalar=2.0**-6 if bits == 4 else None,
                group=f"SwiGLU, {name.upper()} 1x{side}, swizzled")


def rms_norm(shape, bits, bar):
    """x / sqrt(mean(x^2) + epsilon) * w, in f32 and rounded to bf16, quantized in rows."""
    m, k = shape
    data, scale, side = FORMATS[bits]
    recipe = "torchao global_scale(%s : tensor<f32>)" if bits == 4 else "rceil"
    given = ", %s: tensor<f32>" if bits == 4 else ""
    x, row, column = f"tensor<{m}x{k}xbf16>", f"tensor<{m}xf32>", f"tensor<{k}xbf16>"
    result = f"tensor<{m}x{k}x{data}>, tensor<{m}x{k // side}x{scale}, {SWIZZLED}>"
    element, of_row, of_column = (f"affine_map<(i, j) -> ({place})>"
                                  for place in ("i, j", "i", "j"))
    text = (f"(%x: {x}, %w: {column}{given}) -> ({result}) {{\n"
            "  %zero = arith.constant 0.0 : f32\n"
            f"  %k = arith.constant {float(k)} : f32\n  %epsilon = arith.constant 1.0e-6 : f32\n"
            f"  %d = tensor.empty() : {x}\n  %e = tensor.empty() : {row}\n"
            f"  %f = linalg.fill ins(%zero : f32) outs(%e : {row}) -> {row}\n"
            f"  %sum = linalg.generic {{indexing_maps = [{element}, {of_row}],\n"
            "      iterator_types = [\"parallel\", \"reduction\"]}\n"
            f"      ins(%x : {x}) outs(%f : {row}) {{\n  ^bb0(%xi: bf16, %old: f32):\n"
            "    %xf = arith.extf %xi : bf16 to f32\n    %p = arith.mulf %xf, %xf : f32\n"
            f"    %r = arith.addf %old, %p : f32\n    linalg.yield %r : f32\n  }} -> {row}\n"
            f"  %inverse = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>,\n"
            "      affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]}\n"
            f"      ins(%sum : {row}) outs(%e : {row}) {{\n  ^bb0(%xi: f32, %old: f32):\n"
            "    %mean = arith.divf %xi, %k : f32\n    %v = arith.addf %mean, %epsilon : f32\n"
            f"    %r = math.rsqrt %v : f32\n    linalg.yield %r : f32\n  }} -> {row}\n"
            f"  %y = linalg.generic {{indexing_maps = [{element}, {of_row},\n"
            f"      {of_column}, {element}],\n"
            "      iterator_types = [\"parallel\", \"parallel\"]}\n"
            f"      ins(%x, %inverse, %w : {x}, {row}, {column}) outs(%d : {x}) {{\n"
            "  ^bb0(%xi: bf16, %i: f32, %wi: bf16, %old: bf16):\n"
            "    %xf = arith.extf %xi : bf16 to f32\n    %n = arith.mulf %xf, %i : f32\n"
            "    %wf = arith.extf %wi : bf16 to f32\n    %p = arith.mulf %n, %wf : f32\n"
            "    %r = arith.truncf %p : f32 to bf16\n"
            f"    linalg.yield %r : bf16\n  }} -> {x}\n"
            f"  %q, %t = blockscale.quantize %y block [1, {side}] recipe {recipe}\n"
            f"      : {x} -> {result}\n  return %q, %t : {result}\n}}\n")
    name = "nvfp4" if bits == 4 else "mxfp8"
    return Case(f"rms_norm_{name}_{m}x{k}", text, shape, bar, columns=1,
                scalar=2.0**-6 if bits == 4 else None,
                group=f"RMSNorm, {name.upper()} 1x{side}, swizzled")


LARGE = [(8192, 5120), (14336, 16384)]
EXPERTS = [(8, 8192, 5120), (8, 7168, 2048)]
# From 2^20 to 2^24 elements, where launches count: at most 1.25 times the copy's time.
SMALL = [(256, 4096), (1024, 4096), (4096, 4096)]
# A fourth of the 5.2 ms that ModelOpt's Triton kernel takes on an H200.
SWEEP_BAR = 0.018
# 1.15 times the time of the quantizer alone for as many bytes.
FUSED_BARS = {8: 0.92 / 1.15, 4: 0.85 / 1.15}
OTHERS = [(8192, 11328), (11328, 8192)]

CASES = (
    [mxfp8_rows(shape, bar=0.92) for shape in LARGE]
    + [nvfp4_rows(shape, bar=0.85) for shape in LARGE]
    + [mxfp8_rows(shape, swizzled=False) for shape in LARGE]
    + [nvfp4_rows(shape, swizzled=False) for shape in LARGE]
    + [mxfp8_columns(shape, block, bar=0.75) for block in [(32, 1), (32, 32)] for shape in EXPERTS]
    + [make(shape, bar=0.8) for make in (mxfp8_rows, nvfp4_rows) for shape in SMALL]
    + [make(shape) for make in (mxfp8_rows, nvfp4_rows) for shape in OTHERS]
    + [rows_and_columns(shape, bits) for bits in (8, 4) for shape in LARGE]
    + [rows_and_columns(shape, 4, transforms=True) for shape in LARGE + OTHERS]
    + [swiglu(shape, bits, round(bar, 2)) for bits, bar in FUSED_BARS.items()
       for shape in LARGE]
    + [rms_norm(shape, bits, round(bar, 2)) for bits, bar in FUSED_BARS.items()
       for shape in ((8192, 5120), (8192, 4096))]
    + [scale_sweep((8192, 4096)), scale_sweep((8192, 4096), weights=True, bar=SWEEP_BAR)]
)
