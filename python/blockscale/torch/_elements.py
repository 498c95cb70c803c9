# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops of aten that compute a number of numbers at the same place, each of which stands here
once: for programs that are imported, and for the regions of models that are compiled.

An entry of ELEMENT_OPS takes the arguments that the op's schema names, tensors or numbers, and
gives the function of an element, `compute(body, *names, dtype)`, and its operands. It raises
ArgumentError for arguments that it does not take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockscale._errors import ArgumentError
from blockscale._linalg import BITWISE, FLOAT_UNARY, UNARY, Body, is_float

Compute = Callable[..., str]
Element = tuple[Compute, list[Any]]
ELEMENT_OPS: dict[str, Callable[..., Element]] = {}
#: Ops that leave numbers as they are, but for their type.
COPY_OPS = ("aten._to_copy.default", "aten.clone.default")
#: Factors of x of the largest power that is a product.
_LARGEST_POWER = 8


def _defines(*names: str) -> Callable[[Callable[..., Element]], Callable[..., Element]]:
    def add(function: Callable[..., Element]) -> Callable[..., Element]:
        ELEMENT_OPS.update({f"aten.{name}": function for name in names})
        return function
    return add


def _leave_integers(compute: Compute) -> Compute:
    return lambda body, x, dtype: compute(body, x, dtype) if is_float(dtype) else x


def _sign(body: Body, x: str, dtype: str) -> str:
    """0 of NaN."""
    zero, one, minus = (body.constant(number, dtype) for number in (0, 1, -1))
    below = body.select(body.compare("lt", x, zero, dtype), minus, zero, dtype)
    return body.select(body.compare("gt", x, zero, dtype), one, below, dtype)


_UNARY: dict[str, Compute] = {
    **{name: UNARY[name] for name in ("abs", "neg", "relu", "square")},
    "sign": _sign,
    **{name: FLOAT_UNARY[name] for name in (
        "silu", "sigmoid", "tanh", "exp", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt",
        "erf", "sin", "cos", "reciprocal")},
    **{name: _leave_integers(FLOAT_UNARY[op]) for name, op in (
        ("ceil", "ceil"), ("floor", "floor"), ("trunc", "trunc"), ("round", "roundeven"))},
}


def _define_unary(name: str, compute: Compute) -> None:
    _defines(f"{name}.default")(lambda input: (compute, [input]))


for _name, _compute in _UNARY.items():
    _define_unary(_name, _compute)


@_defines("gelu.default")
def gelu(input: Any, approximate: str = "none") -> Element:
    return FLOAT_UNARY["gelu_tanh" if approximate == "tanh" else "gelu"], [input]


def _of_truth_too(combine: Compute, bitwise: str) -> Compute:
    """An op that of truth values is one of bits."""
    return lambda body, a, b, dtype: (BITWISE[bitwise] if dtype == "i1" else combine)(
        body, a, b, dtype)


@_defines("mul.Tensor", "mul.Scalar")
def mul(input: Any, other: Any) -> Element:
    return _of_truth_too(Body.mul, "and"), [input, other]


@_defines("div.Tensor", "div.Scalar")
def div(input: Any, other: Any) -> Element:
    return Body.div, [input, other]


def _scale(alpha: float, combine: Compute) -> Compute:
    if alpha == 1:
        return combine
    return lambda body, a, b, dtype: combine(
        body, a, body.mul(b, body.constant(alpha, dtype), dtype), dtype)


@_defines("add.Tensor", "add.Scalar")
def add(input: Any, other: Any, alpha: float = 1) -> Element:
    return _scale(alpha, _of_truth_too(Body.add, "or")), [input, other]


@_defines("sub.Tensor", "sub.Scalar")
def sub(input: Any, other: Any, alpha: float = 1) -> Element:
    return _scale(alpha, Body.sub), [input, other]


@_defines("rsub.Tensor", "rsub.Scalar")
def rsub(input: Any, other: Any, alpha: float = 1) -> Element:
    return _scale(alpha, Body.sub), [other, input]


@_defines("maximum.default", "max.other")
def maximum(input: Any, other: Any) -> Element:
    return Body.maximum, [input, other]


@_defines("minimum.default", "min.other")
def minimum(input: Any, other: Any) -> Element:
    return Body.minimum, [input, other]


@_defines("clamp.default", "clamp_min.default")
def clamp(input: Any, min: Any = None, max: Any = None) -> Element:
    if any(each is not None and not isinstance(each, (int, float)) for each in (min, max)):
        raise ArgumentError(f"expected limits that are numbers, but got {min} and {max}")

    def compute(body: Body, x: str, dtype: str) -> str:
        if min is not None:
            x = body.maximum(x, body.constant(min, dtype), dtype)
        return x if max is None else body.minimum(x, body.constant(max, dtype), dtype)
    return compute, [input]


@_defines("clamp.Tensor")
def clamp_tensor(input: Any, min: Any = None, max: Any = None) -> Element:
    def compute(body: Body, x: str, *limits_and_dtype: str) -> str:
        *limits, dtype = limits_and_dtype
        if min is not None:
            x = body.maximum(x, limits[0], dtype)
        return x if max is None else body.minimum(x, limits[-1], dtype)
    return compute, [input, *(each for each in (min, max) if each is not None)]


@_defines("clamp_max.default")
def clamp_max(input: Any, max: Any) -> Element:
    return clamp(input, None, max)


@_defines("pow.Tensor_Scalar")
def pow(input: Any, exponent: Any) -> Element:
    roots = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
    if not isinstance(exponent, (int, float)) or (
            exponent not in roots and exponent not in range(1, _LARGEST_POWER + 1)):
        raise ArgumentError(f"expected an exponent of 0.5, -0.5, -1 or 1 to {_LARGEST_POWER}, but "
                            f"got {exponent}")
    if exponent in roots:
        def root(body: Body, x: str, dtype: str) -> str:
            if not is_float(dtype):
                raise ArgumentError("expected an exponent of 0 or more for integers, but got "
                                    f"{exponent}")
            return FLOAT_UNARY[roots[exponent]](body, x, dtype)
        return root, [input]

    def compute(body: Body, x: str, dtype: str) -> str:
        power = x
        for _ in range(int(exponent) - 1):
            power = body.mul(power, x, dtype)
        return power
    return compute, [input]
