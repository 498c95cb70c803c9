# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on numbers: activations, arithmetic, plain products, reshapes, conversions."""

from __future__ import annotations

from typing import Any, Callable

from blockscale._linalg import Array, Body, emit_elementwise, emit_linear, emit_reshape
from blockscale._linalg._elementwise import gelu, gelu_tanh, relu, sigmoid, silu
from blockscale._types import element_name
from blockscale.torch import _quantize, _torchao
from blockscale.torch._importer import NARROW, Constant, Importer, Narrow, handles, sizes_of


def _get_dtype(importer: Importer) -> str:
    dtype = element_name(importer.result.dtype)
    if dtype not in ("f32", "bf16", "f16"):
        importer.refuse("expected a result of float32, bfloat16 or float16, but got "
                        f"{importer.result.dtype}")
    return dtype


def _emit(importer: Importer, compute: Callable[..., str], *operands: Any) -> Array:
    """An elementwise op on tensors and numbers."""
    arrays = [each if isinstance(each, (int, float)) else importer.array(each)
              for each in operands]
    dtype = _get_dtype(importer)
    wider = [each.dtype for each in arrays if isinstance(each, Array) and each.dtype != dtype]
    if dtype != "f32" and wider:
        importer.refuse(f"expected operands of {dtype} for a result of it, but got {wider[0]}; "
                        "convert them with .to()")
    return emit_elementwise(importer, importer.node.name, arrays, sizes_of(importer.result),
                            dtype, compute)


@handles("aten.relu.default")
def import_relu(importer: Importer, input: Any) -> Array:
    return _emit(importer, relu, input)


@handles("aten.silu.default")
def import_silu(importer: Importer, input: Any) -> Array:
    return _emit(importer, silu, input)


@handles("aten.sigmoid.default")
def import_sigmoid(importer: Importer, input: Any) -> Array:
    return _emit(importer, sigmoid, input)


@handles("aten.tanh.default")
def import_tanh(importer: Importer, input: Any) -> Array:
    return _emit(importer, lambda body, x: body.op(f"math.tanh {x}"), input)


@handles("aten.gelu.default")
def import_gelu(importer: Importer, input: Any, approximate: str) -> Array:
    return _emit(importer, gelu_tanh if approximate == "tanh" else gelu, input)


@handles("aten.neg.default")
def import_neg(importer: Importer, input: Any) -> Array:
    return _emit(importer, lambda body, x: body.op(f"arith.negf {x}"), input)


@handles("aten.mul.Tensor", "aten.mul.Scalar")
def import_mul(importer: Importer, input: Any, other: Any) -> Array:
    scaled = _quantize.import_scaling(importer, input, other)
    if scaled:
        return scaled
    result = _emit(importer, Body.mul, input, other)
    if isinstance(other, (int, float)):
        return result
    return _quantize.note_pair(importer, result, input, other)


@handles("aten.div.Tensor", "aten.div.Scalar")
def import_div(importer: Importer, input: Any, other: Any) -> Array:
    scale = _quantize.import_global_scale(importer, input, other)
    return scale or _emit(importer, Body.div, input, other)


def _scale(alpha: float, combine: Callable[..., str]) -> Callable[..., str]:
    if alpha == 1:
        return combine
    return lambda body, a, b: combine(body, a, body.mul(b, body.constant(alpha)))


@handles("aten.add.Tensor", "aten.add.Scalar")
def import_add(importer: Importer, input: Any, other: Any, alpha: float) -> Array:
    biased = _quantize.import_bias(importer, input, other) if alpha == 1 else None
    return biased or _emit(importer, _scale(alpha, Body.add), input, other)


@handles("aten.sub.Tensor", "aten.sub.Scalar")
def import_sub(importer: Importer, input: Any, other: Any, alpha: float) -> Array:
    return _emit(importer, _scale(alpha, Body.sub), input, other)


# Reshapes and conversions.


@handles("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
         "aten.flatten.using_ints", "aten.unflatten.int", "aten.unsqueeze.default",
         "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze.default")
def import_reshape(importer: Importer, input: Any, **_: Any) -> Any:
    if isinstance(input, Narrow):
        return input  # The op that takes it checks its shape.
    return emit_reshape(importer, importer.array(input), sizes_of(importer.result))


@handles("aten.alias.default", "aten.detach.default", "aten.clone.default",
         "aten.contiguous.default", "aten.dropout.default", "aten.lift_fresh_copy.default")
def import_alias(importer: Importer, input: Any, train: bool = False, **_: Any) -> Any:
    if train:
        importer.refuse("expected a model in evaluation mode, but got dropout in training; "
                        "call model.eval()")
    return input


@handles("aten.t.default", "aten.transpose.int")
def import_transpose(importer: Importer, input: Any, dim0: int = 0, dim1: int = 1) -> Narrow:
    rank = importer.result.dim()
    if not isinstance(input, Narrow) or {dim0 % rank, dim1 % rank} != {rank - 2, rank - 1}:
        importer.refuse("expected a transpose of the matrices of codes or weights, but got one "
                        f"of dimensions {dim0} and {dim1} of {importer.result.dtype}")
    return Narrow(input.source, input.dtype, not input.is_transposed)


@handles("aten.view.dtype")
def import_view_dtype(importer: Importer, input: Any, dtype: Any) -> Narrow:
    if not isinstance(input, Narrow) or dtype not in NARROW:
        importer.refuse(f"expected a view of bytes as bytes, but got one as {dtype}")
    return Narrow(input.source, dtype, input.is_transposed)


@handles("aten._to_copy.default", "aten.to.dtype")
def import_convert(importer: Importer, input: Any, dtype: Any = None, **_: Any) -> Array:
    x = importer.array(input)
    if _get_dtype(importer) == x.dtype:
        return x
    result = emit_elementwise(importer, importer.node.name, [x], x.sizes, _get_dtype(importer),
                              lambda _, a: a)
    return _quantize.note_rounding(importer, result, x)


# Products of numbers, or with a weight that torchao quantized.


def _import_linear(importer: Importer, x: Any, weight: Any, bias: Any) -> Array:
    """`weight` is [N, K]."""
    if isinstance(weight, Constant) and _torchao.is_quantized(weight.value):
        return _torchao.import_linear(importer, x, weight, bias)
    x = importer.array(x, "input")
    weight = importer.array(weight, "weight")
    bias = None if bias is None else importer.array(bias, "bias")
    if len(weight.sizes) != 2:
        importer.refuse(f"expected a weight of rank 2, but got {weight.sizes}")
    return emit_linear(importer, x, weight, bias, _get_dtype(importer))


@handles("aten.linear.default")
def import_linear(importer: Importer, input: Any, weight: Any, bias: Any) -> Array:
    return _import_linear(importer, input, weight, bias)


def _transpose_weight(importer: Importer, weight: Any) -> Constant:
    if not isinstance(weight, Constant) or weight.value.dim() != 2:
        importer.refuse("expected the second operand of a product of numbers to be a weight of "
                        "rank 2 that is known at import")
    transposed = weight.value.t()
    if not _torchao.is_quantized(transposed):
        transposed = transposed.contiguous()
    return Constant(transposed, weight.name)


@handles("aten.mm.default", "aten.matmul.default")
def import_mm(importer: Importer, input: Any, mat2: Any = None, other: Any = None) -> Array:
    weight = other if mat2 is None else mat2
    return _import_linear(importer, input, _transpose_weight(importer, weight), None)


@handles("aten.addmm.default")
def import_addmm(importer: Importer, input: Any, mat1: Any, mat2: Any, beta: float,
                 alpha: float) -> Array:
    if beta != 1 or alpha != 1:
        importer.refuse(f"expected beta and alpha of 1, but got {beta} and {alpha}")
    return _import_linear(importer, mat1, _transpose_weight(importer, mat2), input)
