# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on elements by the names that formats have for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from blockscale._linalg._body import (
    Body,
    Operand,
    emit_elementwise,
    get_inner,
    is_float,
    is_integer,
)
from blockscale._linalg._builder import Array, Builder


def _math(name: str) -> Callable[..., str]:
    return lambda body, x, dtype: body.op(f"math.{name} {x}", dtype)


def relu(body: Body, x: str, dtype: str = "f32") -> str:
    zero = body.constant(0, dtype)
    return body.select(body.compare("lt", x, zero, dtype), zero, x, dtype)


def sigmoid(body: Body, x: str, dtype: str = "f32") -> str:
    exp = body.op(f"math.exp {body.op(f'arith.negf {x}', dtype)}", dtype)
    one = body.constant(1, dtype)
    return body.div(one, body.add(one, exp, dtype), dtype)


def silu(body: Body, x: str, dtype: str = "f32") -> str:
    exp = body.op(f"math.exp {body.op(f'arith.negf {x}', dtype)}", dtype)
    return body.div(x, body.add(body.constant(1, dtype), exp, dtype), dtype)


def softplus(body: Body, x: str, dtype: str = "f32") -> str:
    """log(1 + exp(x)), of which no part overflows."""
    below = body.op(f"arith.negf {_absolute(body, x, dtype)}", dtype)
    small = body.op(f"math.log1p {body.op(f'math.exp {below}', dtype)}", dtype)
    return body.add(body.maximum(x, body.constant(0, dtype), dtype), small, dtype)


def gelu(body: Body, x: str, dtype: str = "f32") -> str:
    erf = body.op(f"math.erf {body.mul(x, body.constant(math.sqrt(0.5), dtype), dtype)}", dtype)
    half = body.mul(x, body.constant(0.5, dtype), dtype)
    return body.mul(half, body.add(body.constant(1, dtype), erf, dtype), dtype)


def gelu_tanh(body: Body, x: str, dtype: str = "f32") -> str:
    cube = body.mul(body.mul(x, x, dtype), x, dtype)
    cubic = body.mul(body.constant(0.044715, dtype), cube, dtype)
    inner = body.mul(body.constant(math.sqrt(2 / math.pi), dtype), body.add(x, cubic, dtype),
                     dtype)
    tanh = body.op(f"math.tanh {inner}", dtype)
    half = body.mul(body.constant(0.5, dtype), x, dtype)
    return body.mul(half, body.add(body.constant(1, dtype), tanh, dtype), dtype)


def _reciprocal(body: Body, x: str, dtype: str) -> str:
    return body.div(body.constant(1, dtype), x, dtype)


def _absolute(body: Body, x: str, dtype: str) -> str:
    return body.op(f"math.abs{'f' if is_float(dtype) else 'i'} {x}", dtype)


def _negate(body: Body, x: str, dtype: str) -> str:
    if is_float(dtype):
        return body.op(f"arith.negf {x}", dtype)
    return body.sub(body.constant(0, dtype), x, dtype)


def _sign(body: Body, x: str, dtype: str) -> str:
    zero, one = body.constant(0, dtype), body.constant(1, dtype)
    minus = body.constant(-1, dtype)
    negative = body.select(body.compare("lt", x, zero, dtype), minus, x, dtype)
    return body.select(body.compare("gt", x, zero, dtype), one, negative, dtype)


def _invert(body: Body, x: str, dtype: str) -> str:
    ones = 1 if dtype == "i1" else -1
    return body.op(f"arith.xori {x}, {body.constant(ones, dtype)}", dtype)


def _square(body: Body, x: str, dtype: str) -> str:
    return body.mul(x, x, dtype)


#: `function(body, x, dtype)` of floating-point numbers.
FLOAT_UNARY: dict[str, Callable[..., str]] = {
    **{name: _math(name) for name in (
        "exp", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos",
        "ceil", "floor", "trunc", "roundeven")},
    "sigmoid": sigmoid, "silu": silu, "softplus": softplus, "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "reciprocal": _reciprocal,
}
#: The same of numbers of any kind.
UNARY: dict[str, Callable[..., str]] = {
    "abs": _absolute, "neg": _negate, "sign": _sign, "relu": relu, "square": _square,
}


def emit_unary(builder: Builder, name: str, x: Array, *, dtype: str | None = None,
               base: str | None = None) -> Array:
    """A function of each element, by a name of FLOAT_UNARY or UNARY, or "not": of truth values,
    or of the bits of integers. `dtype` is the result's; None for that of x."""
    inner = get_inner(x.dtype)
    if name == "not":
        if not is_integer(inner):
            builder.refuse(f"expected not of integers or truth values, but got {x.dtype}")
        compute: Any = _invert
    elif name in FLOAT_UNARY:
        if not is_float(inner):
            builder.refuse(f"expected {name} of floating-point numbers, but got {x.dtype}")
        compute = FLOAT_UNARY[name]
    else:
        compute = UNARY[name]
        if inner == "i1":
            builder.refuse(f"expected {name} of numbers, but got truth values")
    return emit_elementwise(builder, base or name, [x], x.sizes, dtype or x.dtype,
                            lambda body, a: compute(body, a, inner), inner=inner)


def _bits(name: str) -> Callable[..., str]:
    return lambda body, a, b, dtype: body.op(f"arith.{name} {a}, {b}", dtype)


def _power(body: Body, a: str, b: str, dtype: str) -> str:
    return body.op(f"math.powf {a}, {b}", dtype)


def _floor_divide(body: Body, a: str, b: str, dtype: str) -> str:
    if is_float(dtype):
        return body.op(f"math.floor {body.div(a, b, dtype)}", dtype)
    quotient, rest = body.div(a, b, dtype), body.rem(a, b, dtype)
    zero = body.constant(0, dtype)
    differs = body.op(f"arith.xori {rest}, {b}", dtype)
    is_below = body.op(f"arith.andi {body.compare('lt', differs, zero, dtype)}, "
                       f"{body.compare('ne', rest, zero, dtype)}", "i1")
    return body.select(is_below, body.sub(quotient, body.constant(1, dtype), dtype), quotient,
                       dtype)


#: `function(body, a, b, dtype)`.
BINARY: dict[str, Callable[..., str]] = {
    "add": Body.add, "sub": Body.sub, "mul": Body.mul, "div": Body.div, "rem": Body.rem,
    "max": Body.maximum, "min": Body.minimum, "pow": _power, "floor_div": _floor_divide,
}
#: Of truth values and the bits of integers.
BITWISE: dict[str, Callable[..., str]] = {
    "and": _bits("andi"), "or": _bits("ori"), "xor": _bits("xori"),
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _get_dtype(*operands: Operand) -> str:
    """What operands are computed in; numbers of Python take the tensors' dtype, and make
    integers beside a float to f32."""
    inner = get_inner(*[each.dtype for each in operands if isinstance(each, Array)])
    if is_float(inner):
        return inner
    return "f32" if any(isinstance(each, float) for each in operands) else inner


def emit_binary(builder: Builder, name: str, a: Operand, b: Operand, *,
                dtype: str | None = None) -> Array:
    """A function of two elements, by a name of BINARY or BITWISE, broadcast as in numpy; one
    operand may be a number. `dtype` is the result's; None for the operands' common one."""
    inner = _get_dtype(a, b)
    compute = BINARY.get(name) or BITWISE[name]
    if name in BITWISE and is_float(inner):
        builder.refuse(f"expected {name} of integers or truth values, but got {inner}")
    if name == "pow" and not is_float(inner):
        builder.refuse(f"expected {name} of floating-point numbers, but got {inner}")
    if name in ("sub", "div", "rem", "floor_div") and inner == "i1":
        builder.refuse(f"expected {name} of numbers, but got truth values")
    if inner == "i1" and name in ("add", "mul"):
        compute = BITWISE["or" if name == "add" else "and"]
    if dtype is None:
        found = {each.dtype for each in (a, b) if isinstance(each, Array)}
        dtype = found.pop() if len(found) == 1 and get_inner(*found) == inner else inner
    return emit_elementwise(builder, name, [a, b], None, dtype,
                            lambda body, x, y: compute(body, x, y, inner), inner=inner)


def emit_compare(builder: Builder, predicate: str, a: Operand, b: Operand) -> Array:
    """i1, broadcast as in numpy; `predicate` is one of COMPARISONS."""
    inner = _get_dtype(a, b)
    return emit_elementwise(builder, predicate, [a, b], None, "i1",
                            lambda body, x, y: body.compare(predicate, x, y, inner),
                            inner=inner, made="i1")


def emit_select(builder: Builder, condition: Array, a: Operand, b: Operand, *,
                dtype: str | None = None) -> Array:
    """a where the condition, i1, is true, else b; all broadcast as in numpy."""
    if condition.dtype != "i1":
        builder.refuse(f"expected a condition of truth values, but got {condition.dtype}")
    found = [each.dtype for each in (a, b) if isinstance(each, Array)]
    if dtype is None:
        if not found:
            builder.refuse("expected a dtype for a choice of two numbers")
        dtype = found[0] if len(set(found)) == 1 else get_inner(*found)
    return emit_elementwise(builder, "chosen", [condition, a, b], None, dtype,
                            lambda body, c, x, y: body.select(c, x, y, dtype),
                            inner=("i1", dtype, dtype), made=dtype)


def emit_convert(builder: Builder, x: Array, dtype: str, *, base: str = "converted") -> Array:
    """Elements in another dtype, as Body.convert has it."""
    if x.dtype == dtype:
        return x
    return emit_elementwise(builder, base, [x], x.sizes, dtype, lambda _, a: a, inner=x.dtype)
