# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of reshaped_products.py: functions in which ops that only move elements lie between
products and others."""

from dataclasses import dataclass


@dataclass
class Case:
    """A function `f`. `shapes` are those of its arguments, which are bf16; `launches` those of
    fused kernels."""

    text: str
    shapes: tuple
    launches: int
    results: int = 1


def generic(rank, inputs, outputs, result, body):
    """An elementwise linalg.generic; of `inputs` the last ones are rows of columns where their
    text says `columns`."""
    dims = ", ".join(f"d{i}" for i in range(rank))
    maps = [f"affine_map<({dims}) -> ({f'd{rank - 1}' if kind == 'columns' else dims})>"
            for _, _, kind in inputs] + [f"affine_map<({dims}) -> ({dims})>"]
    names = ", ".join(name for name, _, _ in inputs)
    types = ", ".join(each for _, each, _ in inputs)
    kinds = ", ".join(['"parallel"'] * rank)
    return (f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}} "
            f"ins({names} : {types}) outs({outputs} : {result}) {{\n{body}\n  }} -> {result}")


BIAS = """  ^bb0(%p: f32, %q: bf16, %o: bf16):
    %0 = arith.extf %q : bf16 to f32
    %1 = arith.addf %p, %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    linalg.yield %2 : bf16"""
JOIN = """  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = math.tanh %0 : f32
    %3 = arith.mulf %2, %1 : f32
    %4 = arith.truncf %3 : f32 to bf16
    linalg.yield %4 : bf16"""

CASES = {
    # A linear layer as frontends write it, of any number of sentences, and an op with another
    # tensor behind it, whose rows are quantized: one kernel.
    "linear": Case(f"""func.func @f(%x: tensor<?x19x48xbf16>, %w: tensor<96x48xbf16>, %b: tensor<96xbf16>, %z: tensor<?x19x96xbf16>) -> (tensor<?x96xf8E4M3FN>, tensor<?x19x3xf8E8M0FNU>) {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x19x48xbf16>
  %j = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x19x48xbf16> into tensor<?x48xbf16>
  %m = tensor.dim %j, %c0 : tensor<?x48xbf16>
  %y = blockscale.scaled_mm %j, %w scales(none, none) block [1, 16] : tensor<?x48xbf16>, tensor<96x48xbf16> -> tensor<?x96xf32>
  %e = tensor.empty(%m) : tensor<?x96xbf16>
  %t = {generic(2, [("%y", "tensor<?x96xf32>", ""), ("%b", "tensor<96xbf16>", "columns")], "%e",
                "tensor<?x96xbf16>", BIAS)}
  %s = tensor.expand_shape %t [[0, 1], [2]] output_shape [%n, 19, 96] : tensor<?x96xbf16> into tensor<?x19x96xbf16>
  %e3 = tensor.empty(%n) : tensor<?x19x96xbf16>
  %g = {generic(3, [("%s", "tensor<?x19x96xbf16>", ""), ("%z", "tensor<?x19x96xbf16>", "")], "%e3",
                "tensor<?x19x96xbf16>", JOIN)}
  %q, %u = blockscale.quantize %g block [1, 32] : tensor<?x19x96xbf16> -> tensor<?x19x96xf8E4M3FN>, tensor<?x19x3xf8E8M0FNU>
  %r = tensor.collapse_shape %q [[0, 1], [2]] : tensor<?x19x96xf8E4M3FN> into tensor<?x96xf8E4M3FN>
  return %r, %u : tensor<?x96xf8E4M3FN>, tensor<?x19x3xf8E8M0FNU>
}}
""", ((3, 19, 48), (96, 48), (96,), (3, 19, 96)), 1, results=2),
    # Matrices of a batch whose rows follow each other behind the product.
    "batch": Case(f"""func.func @f(%x: tensor<3x70x32xbf16>, %w: tensor<3x72x32xbf16>, %z: tensor<210x72xbf16>) -> tensor<210x72xbf16> {{
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<3x70x32xbf16>, tensor<3x72x32xbf16> -> tensor<3x70x72xbf16>
  %s = tensor.collapse_shape %y [[0, 1], [2]] : tensor<3x70x72xbf16> into tensor<210x72xbf16>
  %e = tensor.empty() : tensor<210x72xbf16>
  %g = {generic(2, [("%s", "tensor<210x72xbf16>", ""), ("%z", "tensor<210x72xbf16>", "")], "%e",
                "tensor<210x72xbf16>", JOIN)}
  return %g : tensor<210x72xbf16>
}}
""", ((3, 70, 32), (3, 72, 32), (210, 72)), 1),
    # Two products of one x, reshaped alike, and what is made of both.
    "twins": Case(f"""func.func @f(%x: tensor<38x48xbf16>, %w: tensor<64x48xbf16>, %v: tensor<64x48xbf16>) -> tensor<2x19x64xbf16> {{
  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16] : tensor<38x48xbf16>, tensor<64x48xbf16> -> tensor<38x64xbf16>
  %z = blockscale.scaled_mm %x, %v scales(none, none) block [1, 16] : tensor<38x48xbf16>, tensor<64x48xbf16> -> tensor<38x64xbf16>
  %s = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 19, 64] : tensor<38x64xbf16> into tensor<2x19x64xbf16>
  %t = tensor.expand_shape %z [[0, 1], [2]] output_shape [2, 19, 64] : tensor<38x64xbf16> into tensor<2x19x64xbf16>
  %e = tensor.empty() : tensor<2x19x64xbf16>
  %g = {generic(3, [("%s", "tensor<2x19x64xbf16>", ""), ("%t", "tensor<2x19x64xbf16>", "")], "%e",
                "tensor<2x19x64xbf16>", JOIN)}
  return %g : tensor<2x19x64xbf16>
}}
""", ((38, 48), (64, 48), (64, 48)), 1),
}
