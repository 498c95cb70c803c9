# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on elements: activations, arithmetic, truth values, conversions; and plain products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from blockscale._linalg import (
    BINARY,
    BITWISE,
    COMPARISONS,
    FLOAT_UNARY,
    Array,
    Body,
    emit_compare,
    emit_convert,
    emit_elementwise,
    emit_linear,
    emit_matmul,
    emit_unary,
    get_inner,
    is_float,
)
from blockscale.torch import _quantize, _torchao
from blockscale.torch._elements import ELEMENT_OPS
from blockscale.torch._importer import (
    HANDLERS,
    NUMBERS,
    Constant,
    Importer,
    handles,
    sizes_of,
)


def _emit(importer: Importer, compute: Callable[..., str], *operands: Any) -> Array:
    """`compute(body, *names, dtype)` of tensors and numbers: in f32 where the result is a
    floating-point number, else in the result's dtype."""
    dtype = importer.get_dtype()
    arrays = [importer.operand(each) for each in operands]
    if dtype in ("bf16", "f16"):
        wider = [each.dtype for each in arrays if isinstance(each, Array)
                 and is_float(each.dtype) and each.dtype != dtype]
        if wider:
            importer.refuse(f"expected operands of {dtype} for a result of it, but got "
                            f"{wider[0]}; convert them with .to()")
        # Integers are rounded to the result's dtype before.
        arrays = [emit_convert(importer, each, dtype)
                  if isinstance(each, Array) and not is_float(each.dtype) else each
                  for each in arrays]
    inner = get_inner(dtype)
    return emit_elementwise(importer, importer.node.name, arrays, sizes_of(importer.result), dtype,
                            lambda body, *names: compute(body, *names, inner), inner=inner)


def _import_element(importer: Importer, **arguments: Any) -> Array:
    """An op that _elements.py defines."""
    compute, operands = ELEMENT_OPS[str(importer.node.target)](**arguments)
    return _emit(importer, compute, *operands)


# Quantizers take some of them.
handles(*(name for name in ELEMENT_OPS if name not in HANDLERS))(_import_element)


@handles("aten.div.Tensor", "aten.div.Scalar")
def import_div(importer: Importer, input: Any, other: Any) -> Array:
    scale = _quantize.import_global_scale(importer, input, other)
    return scale or _import_element(importer, input=input, other=other)


@handles("aten.floor_divide.default", "aten.floor_divide.Scalar", "aten.remainder.Tensor",
         "aten.remainder.Scalar")
def import_floor_divide(importer: Importer, input: Any, other: Any) -> Array:
    """Of integers, rounded down, or what that leaves."""
    dtype = importer.get_dtype()
    if is_float(dtype):
        importer.refuse(f"expected integers, but got {dtype}, whose quotients PyTorch corrects by "
                        "a remainder")

    def rest(body: Body, a: str, b: str, dtype: str) -> str:
        return body.sub(a, body.mul(BINARY["floor_div"](body, a, b, dtype), b, dtype), dtype)
    is_rest = "remainder" in str(importer.node.target)
    return _emit(importer, rest if is_rest else BINARY["floor_div"], input, other)


@handles("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def import_div_mode(importer: Importer, input: Any, other: Any, rounding_mode: Any) -> Array:
    if rounding_mode == "floor":
        return import_floor_divide(importer, input, other)
    if rounding_mode is None:
        return _emit(importer, Body.div, input, other)

    def divide(body: Body, a: str, b: str, dtype: str) -> str:
        quotient = body.div(a, b, dtype)
        return FLOAT_UNARY["trunc"](body, quotient, dtype) if is_float(dtype) else quotient
    return _emit(importer, divide, input, other)


@handles("aten.isnan.default")
def import_isnan(importer: Importer, input: Any) -> Array:
    x = importer.tensor(input)
    return emit_compare(importer, "ne", x, x)


# Truth values.


def _round(importer: Importer, operands: list[Any], number: Any) -> Any:
    """A number as comparisons with tensors of narrow floating-point numbers take it."""
    dtypes = {each.dtype for each in operands if isinstance(each, Array)}
    if isinstance(number, Array) or not dtypes <= {"bf16", "f16"}:
        return number
    dtype = next(key for key, name in NUMBERS.items() if {name} == dtypes)
    return torch.tensor(number, dtype=dtype).item()


@handles(*(f"aten.{name}.{kind}" for name in COMPARISONS for kind in ("Tensor", "Scalar")))
def import_compare(importer: Importer, input: Any, other: Any) -> Array:
    operands = [importer.operand(each) for each in (input, other)]
    operands = [_round(importer, operands, each) for each in operands]
    name = str(importer.node.target).split(".")[1]
    return emit_compare(importer, name, *operands)


_LOGICAL = {
    "and": ("logical_and", "bitwise_and", "__and__"), "or": ("logical_or", "bitwise_or", "__or__"),
    "xor": ("logical_xor", "bitwise_xor", "__xor__"),
}
_LOGICAL_NAMES = {name: op for op, names in _LOGICAL.items() for name in names}


@handles(*(f"aten.{name}.{kind}" for name in _LOGICAL_NAMES
           for kind in ("default", "Tensor", "Scalar")))
def import_logical(importer: Importer, input: Any, other: Any) -> Array:
    name = str(importer.node.target).split(".")[1]
    operands = [importer.operand(each) for each in (input, other)]
    if name.startswith("logical"):
        operands = [emit_convert(importer, each, "i1") if isinstance(each, Array) else bool(each)
                    for each in operands]
    return _emit(importer, BITWISE[_LOGICAL_NAMES[name]], *operands)


@handles("aten.logical_not.default", "aten.bitwise_not.default")
def import_not(importer: Importer, input: Any) -> Array:
    x = importer.tensor(input)
    if str(importer.node.target) == "aten.logical_not.default":
        x = emit_convert(importer, x, "i1")
    return emit_unary(importer, "not", x)


@handles("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def import_where(importer: Importer, condition: Any, input: Any, other: Any) -> Array:
    return _emit_choice(importer, importer.tensor(condition, "condition"), input, other)


@handles("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def import_masked_fill(importer: Importer, input: Any, mask: Any, value: Any) -> Array:
    return _emit_choice(importer, importer.tensor(mask, "mask"), value, input)


def _emit_choice(importer: Importer, condition: Array, a: Any, b: Any) -> Array:
    if condition.dtype != "i1":
        importer.refuse(f"expected a condition of bool, but got {condition.dtype}")
    operands = [importer.operand(each) for each in (a, b)]
    dtype = importer.get_dtype()
    inner = get_inner(dtype)
    return emit_elementwise(importer, importer.node.name, [condition, *operands],
                            sizes_of(importer.result), dtype,
                            lambda body, c, x, y: body.select(c, x, y, inner),
                            inner=("i1", inner, inner), made=inner)


@handles("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device",
         "aten.type_as.default")
def import_convert(importer: Importer, input: Any, **_: Any) -> Array:
    x, dtype = importer.tensor(input), importer.get_dtype()
    return x if x.dtype == dtype else emit_convert(importer, x, dtype)


# Products of numbers, or with a weight that torchao quantized.


def _take(importer: Importer, operand: Any, what: str = "operand") -> Array:
    """An operand of a product, which is computed in f64 where one is of it."""
    return importer.array(operand, what, takes_f64=True)


def _import_linear(importer: Importer, x: Any, weight: Any, bias: Any) -> Array:
    """`weight` is [N, K]."""
    if isinstance(weight, Constant) and _torchao.is_quantized(weight.value):
        return _torchao.import_linear(importer, x, weight, bias)
    x = _take(importer, x, "input")
    weight = _take(importer, weight, "weight")
    bias = None if bias is None else _take(importer, bias, "bias")
    return emit_linear(importer, x, weight, bias, importer.get_dtype())


@handles("aten.linear.default")
def import_linear(importer: Importer, input: Any, weight: Any, bias: Any) -> Array:
    return _import_linear(importer, input, weight, bias)


def _transpose_weight(weight: Constant) -> Constant:
    transposed = weight.value.t()
    if not _torchao.is_quantized(transposed):
        transposed = transposed.contiguous()
    return Constant(transposed, weight.name)


@handles("aten.mm.default", "aten.matmul.default", "aten.bmm.default")
def import_mm(importer: Importer, input: Any, mat2: Any = None, other: Any = None) -> Array:
    weight = other if mat2 is None else mat2
    if isinstance(weight, Constant) and weight.value.dim() == 2:
        return _import_linear(importer, input, _transpose_weight(weight), None)
    return emit_matmul(importer, _take(importer, input, "input"), _take(importer, weight, "other"),
                       dtype=importer.get_dtype())


@handles("aten.baddbmm.default")
def import_baddbmm(importer: Importer, input: Any, batch1: Any, batch2: Any, beta: float,
                   alpha: float) -> Array:
    return _emit_sum(importer, input, batch1, batch2, beta, alpha)


def _emit_sum(importer: Importer, input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Array:
    """beta * input + alpha * a @ b, rounded once. Where beta is 0, nothing of input counts."""
    factors = [importer.scalar(each) for each in (beta, alpha)]
    a, b, dtype = _take(importer, a), _take(importer, b), importer.get_dtype()
    if beta == 0 and alpha == 1:
        return emit_matmul(importer, a, b, dtype=dtype)
    if beta == 1 and alpha == 1:
        return emit_matmul(importer, a, b, bias=_take(importer, input), dtype=dtype)
    inner = get_inner(a.dtype, b.dtype)
    product = emit_matmul(importer, a, b, dtype=inner)

    def add(body: Body, beta: str, alpha: str, y: str, *x: str) -> str:
        y = body.mul(alpha, y, inner)
        return body.add(body.mul(beta, x[0], inner), y, inner) if x else y
    added = [] if beta == 0 else [_take(importer, input)]
    return emit_elementwise(importer, "y", [*factors, product, *added], product.sizes, dtype, add,
                            inner=inner)


@handles("aten.addmm.default")
def import_addmm(importer: Importer, input: Any, mat1: Any, mat2: Any, beta: float,
                 alpha: float) -> Array:
    if isinstance(mat2, Constant) and beta == alpha == 1:
        return _import_linear(importer, mat1, _transpose_weight(mat2), input)
    if isinstance(mat2, Constant) and _torchao.is_quantized(mat2.value):
        importer.refuse("expected beta and alpha of 1 beside a weight that is quantized, but got "
                        f"{beta} and {alpha}")
    return _emit_sum(importer, input, mat1, mat2, beta, alpha)
