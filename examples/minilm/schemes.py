# ===- schemes.py - How a whole model is quantized ------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Ways to compute a model's linear layers, and the module of each.

A module serves layers of every size. @weight quantizes a weight once; @linear
quantizes the tokens it is given, by their own amax where there is a global scale,
multiplies, and adds the bias.
"""

from dataclasses import dataclass, replace

import numpy as np

import blockscale_reference as reference
from formats import FORMATS, Format

NVFP4_GLOBAL, NVFP4, MXFP8 = FORMATS


@dataclass(frozen=True)
class Scheme:
    """`format` is None where bf16 is multiplied. A sweep needs a global scale."""

    name: str
    format: Format = None
    transform: bool = False  # Hadamard, of tokens and weights along K
    sweep: bool = False  # of the weights' block amaxes

    def weight_like(self, n, k):
        """Empty arrays for what @weight returns: data, swizzled scales, global scale."""
        packed = 2 if self.format.data == "f4E2M1FN" else 1
        tiles = -(-n // 128), -(-k // self.format.block // 4), 32, 4, 4
        arrays = [np.empty((n, k // packed), np.uint8), np.empty(tiles, np.uint8)]
        return arrays + [np.empty((), np.float32)] * self.format.has_global

    def quantize_weight(self, w):
        """The reference's `Quantized` of bf16 bits [N, K]."""
        if self.transform:
            w = reference.to_bf16(reference.hadamard(reference.from_bf16(w)))
        if not self.sweep:
            return self.format.quantize(w)
        amax = np.abs(reference.from_bf16(w)).max()
        blocks = reference.scale_sweep(reference.from_bf16(w), amax)
        return replace(self.format, recipe=SWEPT).quantize(w, blocks)

    def quantize_tokens(self, x):
        """The same of bf16 bits [T, K], which no sweep is for."""
        return replace(self, sweep=False).quantize_weight(x)

    def module(self):
        return _BF16 if self.format is None else _quantized(self)


# The recipe that knows what to do with an amax that a sweep has chosen.
SWEPT = "modelopt"

SCHEMES = (
    Scheme("bf16"),
    Scheme("MXFP8", MXFP8),
    Scheme("NVFP4", NVFP4),
    Scheme("NVFP4+global", NVFP4_GLOBAL),
    Scheme("NVFP4+global+RHT", NVFP4_GLOBAL, transform=True),
    Scheme("NVFP4+global+sweep", NVFP4_GLOBAL, sweep=True),
)

_X = "tensor<?x?xbf16>"

# One product in f32, k after k, then the bias, then one rounding.
_BF16 = """
#of_x = affine_map<(m, n, k) -> (m, k)>
#of_w = affine_map<(m, n, k) -> (n, k)>
#of_y = affine_map<(m, n, k) -> (m, n)>
#element = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>

func.func @linear(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>, %bias: tensor<?xf32>)
    -> tensor<?x?xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %n = tensor.dim %w, %c0 : tensor<?x?xbf16>
  %sums = tensor.empty(%m, %n) : tensor<?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%sums : tensor<?x?xf32>) -> tensor<?x?xf32>
  %product = linalg.generic {indexing_maps = [#of_x, #of_w, #of_y],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%zeros : tensor<?x?xf32>) {
  ^bb0(%a: bf16, %b: bf16, %sum: f32):
    %a0 = arith.extf %a : bf16 to f32
    %b0 = arith.extf %b : bf16 to f32
    %p = arith.mulf %a0, %b0 : f32
    %next = arith.addf %sum, %p : f32
    linalg.yield %next : f32
  } -> tensor<?x?xf32>
  %old = tensor.empty(%m, %n) : tensor<?x?xbf16>
  %y = linalg.generic {indexing_maps = [#element, #column, #element],
      iterator_types = ["parallel", "parallel"]}
      ins(%product, %bias : tensor<?x?xf32>, tensor<?xf32>) outs(%old : tensor<?x?xbf16>) {
  ^bb0(%p: f32, %b: f32, %o: bf16):
    %s = arith.addf %p, %b : f32
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
"""


def _quantized(scheme):
    format = scheme.format
    data = f"tensor<?x?x{format.data}>"
    scale = f"tensor<?x?x{format.scale}, #swizzled>"
    quantized = [data, scale] + ["tensor<f32>"] * format.has_global

    def quantize(x, swept):
        """Ops from %x to %qx, %sx and %gx."""
        lines, source, recipe = [], f"%{x}", SWEPT if swept else format.recipe
        options = f"block [1, {format.block}] recipe {recipe}"
        if scheme.transform:
            lines.append(f"%t{x} = blockscale.hadamard {source} dim 1 : {_X}")
            source = f"%t{x}"
        if format.has_global:
            lines += [
                f"%a{x} = blockscale.amax {source} : {_X} -> tensor<f32>",
                f"%g{x} = blockscale.global_scale %a{x} recipe {recipe} : tensor<f32>",
            ]
            options += f" global_scale(%g{x} : tensor<f32>)"
        if swept:
            lines.append(
                f"%b{x} = blockscale.scale_sweep {source} "
                f"global_amax(%a{x} : tensor<f32>) : {_X} -> tensor<?x?xf32>"
            )
            options += f" block_amax(%b{x} : tensor<?x?xf32>)"
        lines.append(
            f"%q{x}, %s{x} = blockscale.quantize {source} {options} "
            f": {_X} -> {data}, {scale}"
        )
        return lines

    names = ["%qw", "%sw"] + ["%gw"] * format.has_global
    given = ", ".join(f"{n}: {t}" for n, t in zip(names, quantized))
    factors = " ".join(
        f"global_scale_{side}(%g{x} : tensor<f32>)"
        for side, x in (("a", "x"), ("b", "w"))
        if format.has_global
    )
    multiply = (
        f"%y = blockscale.scaled_mm %qx, %qw scales(%sx, %sw) block [1, {format.block}] "
        f"{factors} bias(%bias : tensor<?xf32>) "
        f": {data}, {data}, {scale}, {scale} -> {_X}"
    )
    weight = "\n  ".join(quantize("w", scheme.sweep))
    linear = "\n  ".join([*quantize("x", False), multiply])
    return f"""#swizzled = #blockscale.layout<swizzle_128x4>

func.func @weight(%w: {_X}) -> ({", ".join(quantized)}) {{
  {weight}
  return {", ".join(names)} : {", ".join(quantized)}
}}

func.func @linear(%x: {_X}, {given}, %bias: tensor<?xf32>) -> {_X} {{
  {linear}
  return %y : {_X}
}}
"""
