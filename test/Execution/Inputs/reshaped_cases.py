# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases of reshaped_products.py: functions in which ops that only move elements lie between
products and others."""

from dataclasses import dataclass


@dataclass
class Case:
    """A function `f`. `shapes` are those of its arguments, which are bf16; `launches` those of
    fused kernels, on all chips or by chip."""

    text: str
    shapes: tuple
    launches: int | dict
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
# One number for each of twenty rows of two by three matrices.
ROW_SCALES = [[[1 + (7 * i + 3 * j + k) % 16 / 8 for k in range(20)] for j in range(3)]
              for i in range(2)]

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
    # The heads of attention: rows of matrices that alternate in memory are read where they lie, of
    # A and B, of any number of sentences, and so are the lines of an MN-major B. The result is
    # written so.
    "attention": Case("""func.func @f(%q: tensor<?x70x3x32xbf16>, %k: tensor<?x67x3x32xbf16>, %v: tensor<?x80x3x40xbf16>, %p: tensor<?x3x70x80xbf16>) -> (tensor<?x3x70x67xf32>, tensor<?x70x120xbf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %q, %c0 : tensor<?x70x3x32xbf16>
  %nv = tensor.dim %v, %c0 : tensor<?x80x3x40xbf16>
  %eq = tensor.empty(%n) : tensor<?x3x70x32xbf16>
  %tq = linalg.transpose ins(%q : tensor<?x70x3x32xbf16>) outs(%eq : tensor<?x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  %ek = tensor.empty(%n) : tensor<?x3x67x32xbf16>
  %tk = linalg.transpose ins(%k : tensor<?x67x3x32xbf16>) outs(%ek : tensor<?x3x67x32xbf16>) permutation = [0, 2, 1, 3]
  %ev = tensor.empty(%nv) : tensor<?x3x80x40xbf16>
  %tv = linalg.transpose ins(%v : tensor<?x80x3x40xbf16>) outs(%ev : tensor<?x3x80x40xbf16>) permutation = [0, 2, 1, 3]
  %jq = tensor.collapse_shape %tq [[0, 1], [2], [3]] : tensor<?x3x70x32xbf16> into tensor<?x70x32xbf16>
  %jk = tensor.collapse_shape %tk [[0, 1], [2], [3]] : tensor<?x3x67x32xbf16> into tensor<?x67x32xbf16>
  %s = blockscale.scaled_mm %jq, %jk scales(none, none) block [1, 16] : tensor<?x70x32xbf16>, tensor<?x67x32xbf16> -> tensor<?x70x67xf32>
  %xs = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [%n, 3, 70, 67] : tensor<?x70x67xf32> into tensor<?x3x70x67xf32>
  %jp = tensor.collapse_shape %p [[0, 1], [2], [3]] : tensor<?x3x70x80xbf16> into tensor<?x70x80xbf16>
  %jv = tensor.collapse_shape %tv [[0, 1], [2], [3]] : tensor<?x3x80x40xbf16> into tensor<?x80x40xbf16>
  %o = blockscale.scaled_mm %jp, %jv mn_major_b scales(none, none) block [1, 16] : tensor<?x70x80xbf16>, tensor<?x80x40xbf16> -> tensor<?x70x40xbf16>
  %xo = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [%nv, 3, 70, 40] : tensor<?x70x40xbf16> into tensor<?x3x70x40xbf16>
  %eo = tensor.empty(%nv) : tensor<?x70x3x40xbf16>
  %to = linalg.transpose ins(%xo : tensor<?x3x70x40xbf16>) outs(%eo : tensor<?x70x3x40xbf16>) permutation = [0, 2, 1, 3]
  %r = tensor.collapse_shape %to [[0], [1], [2, 3]] : tensor<?x70x3x40xbf16> into tensor<?x70x120xbf16>
  return %xs, %r : tensor<?x3x70x67xf32>, tensor<?x70x120xbf16>
}
""", ((2, 70, 3, 32), (2, 67, 3, 32), (2, 80, 3, 40), (2, 3, 70, 80)), 2, results=2),
    # Any length of rows and number of matrices whose rows alternate, without other matrices; an op
    # behind the product takes a tensor that is not interleaved, and its rows are scattered.
    "any_length": Case(f"""func.func @f(%x: tensor<?x?x48xbf16>, %w: tensor<?x?x48xbf16>, %z: tensor<?x?x72xbf16>) -> tensor<?x?x72xbf16> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?x48xbf16>
  %h = tensor.dim %x, %c1 : tensor<?x?x48xbf16>
  %ex = tensor.empty(%h, %m) : tensor<?x?x48xbf16>
  %tx = linalg.transpose ins(%x : tensor<?x?x48xbf16>) outs(%ex : tensor<?x?x48xbf16>) permutation = [1, 0, 2]
  %cw = tensor.cast %w : tensor<?x?x48xbf16> to tensor<?x72x48xbf16>
  %y = blockscale.scaled_mm %tx, %cw scales(none, none) block [1, 16] : tensor<?x?x48xbf16>, tensor<?x72x48xbf16> -> tensor<?x?x72xbf16>
  %e = tensor.empty(%h, %m) : tensor<?x?x72xbf16>
  %g = {generic(3, [("%y", "tensor<?x?x72xbf16>", ""), ("%z", "tensor<?x?x72xbf16>", "")], "%e",
                "tensor<?x?x72xbf16>", JOIN)}
  %er = tensor.empty(%m, %h) : tensor<?x?x72xbf16>
  %r = linalg.transpose ins(%g : tensor<?x?x72xbf16>) outs(%er : tensor<?x?x72xbf16>) permutation = [1, 0, 2]
  return %r : tensor<?x?x72xbf16>
}}
""", ((37, 5, 48), (5, 72, 48), (5, 37, 72)), 1),
    # Rows whose bytes are no multiple of a copy are moved apart first, in their order; both
    # operands are MN-major, and two dimensions alternate.
    "moved_apart": Case("""func.func @f(%x: tensor<3x48x2x2x36xbf16>, %w: tensor<3x48x2x2x20xbf16>) -> tensor<3x36x2x2x20xf32> {
  %ex = tensor.empty() : tensor<3x2x2x48x36xbf16>
  %tx = linalg.transpose ins(%x : tensor<3x48x2x2x36xbf16>) outs(%ex : tensor<3x2x2x48x36xbf16>) permutation = [0, 2, 3, 1, 4]
  %ew = tensor.empty() : tensor<3x2x2x48x20xbf16>
  %tw = linalg.transpose ins(%w : tensor<3x48x2x2x20xbf16>) outs(%ew : tensor<3x2x2x48x20xbf16>) permutation = [0, 2, 3, 1, 4]
  %y = blockscale.scaled_mm %tx, %tw mn_major_a mn_major_b scales(none, none) block [1, 16] : tensor<3x2x2x48x36xbf16>, tensor<3x2x2x48x20xbf16> -> tensor<3x2x2x36x20xf32>
  %e = tensor.empty() : tensor<3x36x2x2x20xf32>
  %r = linalg.transpose ins(%y : tensor<3x2x2x36x20xf32>) outs(%e : tensor<3x36x2x2x20xf32>) permutation = [0, 3, 1, 2, 4]
  return %r : tensor<3x36x2x2x20xf32>
}
""", ((3, 48, 2, 2, 36), (3, 48, 2, 2, 20)), 3),
    # Parts of a long K, whose sums another kernel, or the CTAs of a cluster, add.
    "splits": Case("""func.func @f(%x: tensor<2x20x3x2048xbf16>, %w: tensor<2x24x3x2048xbf16>) -> tensor<2x20x3x24xbf16> {
  %ex = tensor.empty() : tensor<2x3x20x2048xbf16>
  %tx = linalg.transpose ins(%x : tensor<2x20x3x2048xbf16>) outs(%ex : tensor<2x3x20x2048xbf16>) permutation = [0, 2, 1, 3]
  %ew = tensor.empty() : tensor<2x3x24x2048xbf16>
  %tw = linalg.transpose ins(%w : tensor<2x24x3x2048xbf16>) outs(%ew : tensor<2x3x24x2048xbf16>) permutation = [0, 2, 1, 3]
  %y = blockscale.scaled_mm %tx, %tw scales(none, none) block [1, 16] {blockscale.schedule = #blockscale.gemm_schedule<rows = 64, cols = 128, stages = 3, band = 1, ctas = 4, splits = 2>} : tensor<2x3x20x2048xbf16>, tensor<2x3x24x2048xbf16> -> tensor<2x3x20x24xbf16>
  %e = tensor.empty() : tensor<2x20x3x24xbf16>
  %r = linalg.transpose ins(%y : tensor<2x3x20x24xbf16>) outs(%e : tensor<2x20x3x24xbf16>) permutation = [0, 2, 1, 3]
  return %r : tensor<2x20x3x24xbf16>
}
""", ((2, 20, 3, 2048), (2, 24, 3, 2048)), {"sm_80": 2, "sm_90a": 1, "sm_100a": 2}),
    # Global scales of matrices whose rows alternate, and of the rows themselves.
    "global_scales": Case(f"""func.func @f(%x: tensor<2x20x3x48xbf16>, %w: tensor<2x24x3x48xbf16>) -> tensor<2x20x3x24xbf16> {{
  %gx = arith.constant dense<{ROW_SCALES}> : tensor<2x3x20xf32>
  %gw = arith.constant dense<[[0.5, 1.25, 3.0], [1.5, 0.75, 2.5]]> : tensor<2x3xf32>
  %ex = tensor.empty() : tensor<2x3x20x48xbf16>
  %tx = linalg.transpose ins(%x : tensor<2x20x3x48xbf16>) outs(%ex : tensor<2x3x20x48xbf16>) permutation = [0, 2, 1, 3]
  %ew = tensor.empty() : tensor<2x3x24x48xbf16>
  %tw = linalg.transpose ins(%w : tensor<2x24x3x48xbf16>) outs(%ew : tensor<2x3x24x48xbf16>) permutation = [0, 2, 1, 3]
  %y = blockscale.scaled_mm %tx, %tw scales(none, none) block [1, 16] global_scale_a(%gx : tensor<2x3x20xf32>) global_scale_b(%gw : tensor<2x3xf32>) : tensor<2x3x20x48xbf16>, tensor<2x3x24x48xbf16> -> tensor<2x3x20x24xbf16>
  %e = tensor.empty() : tensor<2x20x3x24xbf16>
  %r = linalg.transpose ins(%y : tensor<2x3x20x24xbf16>) outs(%e : tensor<2x20x3x24xbf16>) permutation = [0, 2, 1, 3]
  return %r : tensor<2x20x3x24xbf16>
}}
""", ((2, 20, 3, 48), (2, 24, 3, 48)), 1),
}
