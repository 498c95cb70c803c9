# ===- activations.py - Activation functions ------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Functions of what the model's layers activate: its GELU, and the SwiGLU of halves."""

from blockscale_reference import to_bf16
from fused import SWIZZLED, quantize

GELU, SWIGLU = "GELU", "SwiGLU"
ACTIVATIONS = (GELU, SWIGLU)


def inputs(activation, x):
    x = to_bf16(x)
    if activation == GELU:
        return {"a": x}
    half = x.shape[1] // 2
    return {"a": x[:, :half].copy(), "b": x[:, half:].copy()}


# silu(a) * b, whose factors are rounded to bf16.
_SWIGLU = """
    %n = arith.negf %f : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %s = arith.divf %f, %d : f32
    %r = arith.truncf %s : f32 to bf16
    %s2 = arith.extf %r : bf16 to f32
    %g = arith.extf %b0 : bf16 to f32
    %p = arith.mulf %s2, %g : f32"""

_GELU = """
    %x = arith.mulf %f, %root : f32
    %e = math.erf %x : f32
    %d = arith.addf %e, %one : f32
    %h = arith.mulf %f, %half : f32
    %p = arith.mulf %h, %d : f32"""


def write(activation, k, format):
    """A module whose @f is the activation of tensors of K columns, quantized where there is
    a format."""
    x = f"tensor<?x{k}xbf16>"
    body, results, given = quantize(format, k)
    is_gelu = activation == GELU
    names = ["%a"] if is_gelu else ["%a", "%b"]
    arguments = ", ".join(f"{name}: {x}" for name in names)
    elements = ", ".join(f"{name}0: bf16" for name in names)
    maps = ", ".join(["affine_map<(i, j) -> (i, j)>"] * (len(names) + 1))
    return f"""{SWIZZLED}
func.func @f({arguments}{given.replace("%g", "%scale")}) -> {results} {{
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %root = arith.constant 0.707106769 : f32
  %size = tensor.dim %a, %c0 : {x}
  %old = tensor.empty(%size) : {x}
  %y = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel"]}}
      ins({", ".join(names)} : {", ".join([x] * len(names))}) outs(%old : {x}) {{
  ^bb0({elements}, %o: bf16):
    %f = arith.extf %a0 : bf16 to f32{_GELU if is_gelu else _SWIGLU}
    %y0 = arith.truncf %p : f32 to bf16
    linalg.yield %y0 : bf16
  }} -> {x}
{body.replace("%g ", "%scale ")}}}
"""
