# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on elements: arithmetic, functions, comparisons, conversions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo

from blockscale._linalg import (
    BINARY,
    BITWISE,
    FLOAT_UNARY,
    INTEGERS,
    UNARY,
    Array,
    Body,
    emit_convert,
    get_inner,
    is_float,
)
from blockscale.jax import _narrow
from blockscale.jax._graph import Node, Ref
from blockscale.jax._importer import DTYPES, Codes, Importer, Known, Literal, get_sizes, handles

#: `compute(body, *names, dtype)`.
Compute = Callable[..., str]


def _emit(importer: Importer, node: Node, compute: Compute, *, made: str | None = None) -> Known:
    """`compute` of all operands in their own dtype, or f32 for narrower floats."""
    for ref in node.operands:
        if ref.element in _narrow.NARROW:
            importer.refuse(f"expected no arithmetic on {ref.element}; convert it before")
    kinds = [get_inner(importer.dtype_of(ref)) for ref in node.operands]
    inner = kinds[-1]
    return importer.compute(node.name.split(".")[1], node.operands, kinds,
                            importer.dtype_of(importer.result),
                            lambda body, *names: compute(body, *names, inner), made or inner)


def _check_float(importer: Importer) -> None:
    if not is_float(importer.dtype_of(importer.result)):
        importer.refuse(f"expected floating-point numbers, but got {importer.result.element}")


# Functions of one number.

_FUNCTIONS = {
    "stablehlo.exponential": "exp", "stablehlo.exponential_minus_one": "expm1",
    "stablehlo.log": "log", "stablehlo.log_plus_one": "log1p", "stablehlo.logistic": "sigmoid",
    "stablehlo.rsqrt": "rsqrt", "stablehlo.sqrt": "sqrt", "stablehlo.tanh": "tanh",
    "stablehlo.sine": "sin", "stablehlo.cosine": "cos", "stablehlo.floor": "floor",
    "stablehlo.ceil": "ceil", "stablehlo.round_nearest_even": "roundeven", "chlo.erf": "erf",
}


@handles(*_FUNCTIONS, elementwise=True)
def import_function(importer: Importer, node: Node) -> Known:
    _check_float(importer)
    accuracy = node.attribute("result_accuracy")
    if accuracy is not None and "DEFAULT" not in str(accuracy):
        importer.refuse(f"expected result_accuracy to be the default, but got {accuracy}")
    return _emit(importer, node, FLOAT_UNARY[_FUNCTIONS[node.name]])


@handles("stablehlo.abs", elementwise=True)
def import_abs(importer: Importer, node: Node) -> Known:
    if importer.result.is_unsigned:
        return importer.get(node.operands[0])
    return _emit(importer, node, UNARY["abs"])


@handles("stablehlo.negate", elementwise=True)
def import_negate(importer: Importer, node: Node) -> Known:
    return _emit(importer, node, UNARY["neg"])


@handles("stablehlo.sign", elementwise=True)
def import_sign(importer: Importer, node: Node) -> Known:
    return _emit(importer, node, UNARY["sign"])


@handles("stablehlo.not", elementwise=True)
def import_not(importer: Importer, node: Node) -> Known:
    return _emit(importer, node, lambda body, x, dtype: body.op(
        f"arith.xori {x}, {body.constant(1 if dtype == 'i1' else -1, dtype)}", dtype))


@handles("stablehlo.is_finite", elementwise=True)
def import_is_finite(importer: Importer, node: Node) -> Known:
    def compute(body: Body, x: str, dtype: str) -> str:
        size = UNARY["abs"](body, x, dtype)
        return body.compare("lt", size, body.constant(float("inf"), dtype), dtype)
    return _emit(importer, node, compute, made="i1")


# Of two and three numbers.


def _or_bits(of_bits: str, compute: Compute) -> Compute:
    """`compute` of numbers; of truth values, an op of BITWISE."""
    return lambda body, a, b, dtype: (BITWISE[of_bits] if dtype == "i1" else compute)(
        body, a, b, dtype)


_BINARY: dict[str, Compute] = {
    "stablehlo.add": _or_bits("or", Body.add), "stablehlo.subtract": Body.sub,
    "stablehlo.multiply": _or_bits("and", Body.mul),
    "stablehlo.maximum": Body.maximum, "stablehlo.minimum": Body.minimum,
}
_UNSIGNED = {"stablehlo.maximum": "maxui", "stablehlo.minimum": "minui"}


@handles(*_BINARY, elementwise=True)
def import_binary(importer: Importer, node: Node) -> Known:
    compute = _BINARY[node.name]
    if node.name in _UNSIGNED and importer.result.is_unsigned:
        op = _UNSIGNED[node.name]
        return _emit(importer, node,
                     lambda body, a, b, dtype: body.op(f"arith.{op} {a}, {b}", dtype))
    return _emit(importer, node, compute)


@handles("stablehlo.divide", "stablehlo.remainder", elementwise=True)
def import_divide(importer: Importer, node: Node) -> Known:
    importer.check_signed(importer.result)
    return _emit(importer, node, Body.div if node.name.endswith("divide") else Body.rem)


@handles("stablehlo.power", elementwise=True)
def import_power(importer: Importer, node: Node) -> Known:
    _check_float(importer)
    return _emit(importer, node, BINARY["pow"])


@handles(*(f"stablehlo.{name}" for name in BITWISE), elementwise=True)
def import_bits(importer: Importer, node: Node) -> Known:
    return _emit(importer, node, BITWISE[node.name.removeprefix("stablehlo.")])


_SHIFTS = {"stablehlo.shift_left": "shli", "stablehlo.shift_right_logical": "shrui",
           "stablehlo.shift_right_arithmetic": "shrsi"}


@handles(*_SHIFTS, elementwise=True)
def import_shift(importer: Importer, node: Node) -> Known:
    op = _SHIFTS[node.name]

    def compute(body: Body, x: str, count: str, dtype: str) -> str:
        # A shift by the width or more has no value in MLIR; in StableHLO no bit is left, but
        # that of the sign.
        width = body.constant(INTEGERS[dtype], dtype)
        within = body.op(f"arith.cmpi ult, {count}, {width}", dtype)
        last = body.constant(INTEGERS[dtype] - 1, dtype)
        shifted = body.op(f"arith.{op} {x}, {body.select(within, count, last, dtype)}", dtype)
        if op == "shrsi":
            return shifted
        return body.select(within, shifted, body.constant(0, dtype), dtype)
    return _emit(importer, node, compute)


@handles("stablehlo.compare", elementwise=True)
def import_compare(importer: Importer, node: Node) -> Known:
    direction = stablehlo.ComparisonDirectionAttr(node.attribute("comparison_direction")).value
    kind = node.attribute("compare_type")
    if kind is not None and stablehlo.ComparisonTypeAttr(kind).value == "TOTALORDER":
        importer.refuse("expected a comparison in which NaN is unequal to every number, but got "
                        "one in total order")
    predicate = direction.lower()
    if node.operands[0].is_unsigned and predicate not in ("eq", "ne"):
        return _emit(importer, node, lambda body, a, b, dtype: body.op(
            f"arith.cmpi u{predicate}, {a}, {b}", dtype), made="i1")
    return _emit(importer, node,
                 lambda body, a, b, dtype: body.compare(predicate, a, b, dtype), made="i1")


@handles("stablehlo.select", elementwise=True)
def import_select(importer: Importer, node: Node) -> Known:
    result = importer.result
    if result.element in _narrow.NARROW:
        importer.refuse(f"expected no choice of {result.element}; convert it before")
    return _emit(importer, node, lambda body, c, a, b, dtype: body.select(c, a, b, dtype))


@handles("stablehlo.clamp", elementwise=True)
def import_clamp(importer: Importer, node: Node) -> Known:
    importer.check_signed(importer.result)
    return _emit(importer, node, lambda body, low, x, high, dtype: body.minimum(
        body.maximum(low, x, dtype), high, dtype))


# Conversions.


def _convert_integer(body: Body, x: str, source: Ref, dtype: str, target: str) -> str:
    """An integer as another one or as a float; unsigned ones keep their value."""
    if target == "i1" or not source.is_unsigned:
        return body.convert(x, dtype, target)
    if is_float(target):
        wide = target if target == "f64" else "f32"
        return body.convert(body.op(f"arith.uitofp {x}", f"{dtype} to {wide}"), wide, target)
    if INTEGERS[dtype] < INTEGERS[target]:
        return body.op(f"arith.extui {x}", f"{dtype} to {target}")
    return body.convert(x, dtype, target)


def _convert_to_unsigned(body: Body, x: str, source: str, target: str) -> str:
    """A float rounded towards 0, and saturated to what `target` has without a sign."""
    wide = body.convert(x, source, "i64")
    limit = body.constant(2 ** INTEGERS[target] - 1, "i64")
    within = body.minimum(body.maximum(wide, body.constant(0, "i64"), "i64"), limit, "i64")
    return body.convert(within, "i64", target)


def _convert_number(number: np.generic, kind: Any) -> np.generic:
    """A number in another type of NumPy. NumPy says nothing of NaN and of numbers beyond an
    integer's range, which become 0 and the end of the range."""
    dtype = np.dtype(kind)
    with np.errstate(all="ignore"):
        if dtype.kind in "iu" and number.dtype.kind not in "iub":
            wide, limits = float(number), np.iinfo(dtype)
            is_inside = limits.min < wide < limits.max
            nearest = limits.max if wide > 0 else limits.min
            found = int(wide) if is_inside else 0 if math.isnan(wide) else nearest
            converted: np.generic = dtype.type(found)
        else:
            converted = number.astype(kind)
    return converted


@handles("stablehlo.convert", elementwise=True)
def import_convert(importer: Importer, node: Node) -> Known:
    source, = node.operands
    result = importer.result
    known = importer.get(source)
    target = importer.dtype_of(result)
    if source.element == result.element:
        return known
    if isinstance(known, Literal):
        return Literal(_convert_number(known.number, DTYPES[result.element][1]), known.sizes)
    if source.element in _narrow.FLOATS8:
        return _finish(importer, _narrow.emit_decode(importer, importer.make(known)), result)
    if source.element == "f4E2M1FN":
        return _finish(importer, importer.make(known), result)
    if result.element in _narrow.NARROW:
        return _narrow_down(importer, source, result)
    dtype = importer.dtype_of(source)
    if is_float(dtype) and result.is_unsigned and target == "i64":
        importer.refuse("expected a conversion of floating-point numbers to at most 32 bits "
                        f"without a sign, but got one to {result.element}")

    def compute(body: Body, x: str) -> str:
        if not is_float(dtype):
            return _convert_integer(body, x, source, dtype, target)
        if result.is_unsigned:
            return _convert_to_unsigned(body, x, dtype, target)
        return body.convert(x, dtype, target)
    return importer.compute("converted", [source], [dtype], target, compute, target)


def _finish(importer: Importer, numbers: Array, result: Ref) -> Known:
    """f32 numbers that were narrower, in the type of a result."""
    target = importer.dtype_of(result)
    if result.element == "f4E2M1FN":
        return Codes(numbers.sizes, numbers=numbers)
    if result.element in _narrow.FLOATS8:
        return _narrow.emit_encode(importer, numbers, result.element)
    if not is_float(target):
        importer.refuse(f"expected a conversion to floating-point numbers, but got one to "
                        f"{result.element}")
    return emit_convert(importer, numbers, target)


def _narrow_down(importer: Importer, source: Ref, result: Ref) -> Known:
    dtype = importer.dtype_of(source)
    if dtype not in ("f32", "bf16", "f16"):
        importer.refuse(f"expected a conversion of f32, bf16 or f16 to {result.element}, but got "
                        f"one of {source.element}")
    return _finish(importer, emit_convert(importer, importer.array(source), "f32"), result)


@handles("stablehlo.bitcast_convert", elementwise=True)
def import_bitcast(importer: Importer, node: Node) -> Known:
    source, = node.operands
    result = importer.result
    if get_sizes(source) != get_sizes(result) or "f4E2M1FN" in (source.element, result.element):
        importer.refuse("expected elements of as many bits, of 8 or more, but got "
                        f"{source.type} and {result.type}")
    known = importer.get(source)
    if isinstance(known, Literal):
        return Literal(known.number.view(DTYPES[result.element][1]), known.sizes)
    dtype, target = importer.dtype_of(source), importer.dtype_of(result)
    if dtype == target:
        return known
    return importer.compute("bits", [source], [dtype], target, lambda body, x: body.op(
        f"arith.bitcast {x}", f"{dtype} to {target}"), target)


@handles("stablehlo.constant")
def import_constant(importer: Importer, node: Node) -> Known:
    return importer.import_constant(importer.result, node)


@handles("stablehlo.optimization_barrier")
def import_barrier(importer: Importer, node: Node) -> list[Known]:
    return [importer.get(ref) for ref in node.operands]
