# ===- norms.py - Norms and quantizers as one kernel ----------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The norms of the model's activations: its LayerNorm, and an RMSNorm by the same
weights.
"""

from blockscale_reference import to_bf16
from fused import SWIZZLED, quantize

LAYER, RMS = "LayerNorm", "RMSNorm"
NORMS = (LAYER, RMS)
_ELEMENT, _ROW, _COLUMN = (f"affine_map<(i, j) -> ({e})>" for e in ("i, j", "i", "j"))


def inputs(model, name, x):
    weight, bias = (to_bf16(model.tensors[f"{name}.{p}"]) for p in ("weight", "bias"))
    return {"x": to_bf16(x), "w": weight, "b": bias}


def write(norm, model, format):
    """A module whose @f is the norm of x, quantized where there is a format."""
    k = model.config["hidden_size"]
    x, rows, column = f"tensor<?x{k}xbf16>", "tensor<?xf32>", f"tensor<{k}xbf16>"
    body, results, given = quantize(format, k)

    def reduce(result, inputs, types, arguments, lines):
        maps = ", ".join([_ELEMENT, _ROW][: len(inputs)] + [_ROW])
        return f"""
  %{result} = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "reduction"]}}
      ins({", ".join(inputs)} : {", ".join(types)}) outs(%zeros : {rows}) {{
  ^bb0(%a: bf16, {arguments}%sum: f32):
    %f = arith.extf %a : bf16 to f32
{lines}
    %next = arith.addf %sum, %v : f32
    linalg.yield %next : f32
  }} -> {rows}"""

    def of_rows(result, source, lines):
        return f"""
  %{result} = linalg.generic {{
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}}
      ins({source} : {rows}) outs(%rows : {rows}) {{
  ^bb0(%a: f32, %old: f32):
    %n = arith.divf %a, %k : f32
{lines}
    linalg.yield %v : f32
  }} -> {rows}"""

    inverse = """    %e = arith.addf %n, %epsilon : f32
    %v = math.rsqrt %e : f32"""
    centred = "    %d = arith.subf %f, %m : f32"
    square = "    %v = arith.mulf {0}, {0} : f32"
    if norm == RMS:
        sums = reduce("squares", ["%x"], [x], "", square.format("%f"))
        mean, of_mean = "%inverse", "    %d = arith.addf %f, %none : f32"
    else:
        sums = reduce("sums", ["%x"], [x], "", "    %v = arith.addf %f, %none : f32")
        sums += of_rows("mean", "%sums", "    %v = arith.addf %n, %none : f32")
        squares = centred + "\n" + square.format("%d")
        sums += reduce("squares", ["%x", "%mean"], [x, rows], "%m: f32, ", squares)
        mean, of_mean = "%mean", centred
    maps = f"{_ELEMENT}, {_ROW}, {_ROW}, {_COLUMN}, {_COLUMN}, {_ELEMENT}"
    return f"""{SWIZZLED}
func.func @f(%x: {x}, %w: {column}, %b: {column}{given}) -> {results} {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant -0.0 : f32
  %k = arith.constant {float(k)} : f32
  %epsilon = arith.constant {model.config["layer_norm_eps"]:e} : f32
  %size = tensor.dim %x, %c0 : {x}
  %rows = tensor.empty(%size) : {rows}
  %zeros = linalg.fill ins(%zero : f32) outs(%rows : {rows}) -> {rows}{sums}
{of_rows("inverse", "%squares", inverse)}
  %old = tensor.empty(%size) : {x}
  %y = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel"]}}
      ins(%x, {mean}, %inverse, %w, %b : {x}, {rows}, {rows}, {column}, {column})
      outs(%old : {x}) {{
  ^bb0(%a: bf16, %m: f32, %i: f32, %w0: bf16, %b0: bf16, %o: bf16):
    %f = arith.extf %a : bf16 to f32
{of_mean}
    %n = arith.mulf %d, %i : f32
    %w1 = arith.extf %w0 : bf16 to f32
    %p = arith.mulf %n, %w1 : f32
    %b1 = arith.extf %b0 : bf16 to f32
    %t = arith.addf %p, %b1 : f32
    %r = arith.truncf %t : f32 to bf16
    linalg.yield %r : bf16
  }} -> {x}
{body}}}
"""
