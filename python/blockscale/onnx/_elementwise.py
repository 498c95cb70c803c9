# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on elements. bf16 and f16 are computed in f32 and rounded once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from blockscale._linalg import (
    Array,
    Body,
    emit_binary,
    emit_compare,
    emit_convert,
    emit_elementwise,
    emit_select,
    emit_unary,
    is_float,
    is_integer,
)
from blockscale.onnx._importer import NARROW, Importer, Operand, get_input, handles
from blockscale.onnx._nodes import NAMES, TYPES, get_type_name
from blockscale.onnx._operands import Bytes, Constant


def take(importer: Importer, operand: Operand, rank: int = 0) -> Array | int | float:
    """A tensor of numbers, or a number: one that is known and broadcasts to any tensor of
    `rank` or more without changing its shape."""
    if (isinstance(operand, Constant) and (is_float(operand.dtype) or is_integer(operand.dtype))
            and operand.value.size == 1 and operand.value.ndim <= rank):
        value = operand.value.reshape(-1)[0]
        return float(value) if is_float(operand.dtype) else int(value)
    return importer.plain(operand)


def get_rank(operands: Sequence[Operand]) -> int:
    """The highest rank among operands that are not constants; -1 where all are."""
    return max((len(each.sizes) for each in operands
                if each is not None and not isinstance(each, Constant)), default=-1)


def _take_all(importer: Importer, inputs: Sequence[Operand]) -> list[Any]:
    importer.check_types(inputs)
    rank = get_rank(inputs)
    return [take(importer, each, rank) for each in inputs]


_UNARY = {
    "Abs": "abs", "Neg": "neg", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Tanh": "tanh",
    "Erf": "erf", "Sigmoid": "sigmoid", "Relu": "relu", "Ceil": "ceil", "Floor": "floor",
    "Round": "roundeven", "Sign": "sign", "Sin": "sin", "Cos": "cos", "Not": "not",
    "Reciprocal": "reciprocal", "Softplus": "softplus",
}


@handles(*_UNARY)
def import_unary(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    return emit_unary(importer, _UNARY[importer.node.op], importer.plain(inputs[0]))


@handles("Gelu")
def import_gelu(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                ) -> Array:
    kind = importer.choose(attributes, "approximate", "none", ("none", "tanh"))
    return emit_unary(importer, "gelu_tanh" if kind == "tanh" else "gelu",
                      importer.number(inputs[0]))


@handles("IsNaN")
def import_is_nan(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    x = importer.number(inputs[0])
    return emit_compare(importer, "ne", x, x)


_BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "And": "and", "Or": "or",
           "Xor": "xor"}
_VARIADIC = {"Max": "max", "Min": "min", "Sum": "add"}
_COMPARE = {"Equal": "eq", "Less": "lt", "LessOrEqual": "le", "Greater": "gt",
            "GreaterOrEqual": "ge"}


@handles(*_BINARY)
def import_binary(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    return emit_binary(importer, _BINARY[importer.node.op], *_take_all(importer, inputs))


@handles(*_COMPARE)
def import_compare(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    return emit_compare(importer, _COMPARE[importer.node.op], *_take_all(importer, inputs))


@handles(*_VARIADIC)
def import_variadic(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    name = _VARIADIC[importer.node.op]
    first, *others = sorted(_take_all(importer, inputs),
                            key=lambda each: not isinstance(each, Array))
    result: Array = functools.reduce(lambda a, b: emit_binary(importer, name, a, b), others,
                                     first)
    return result


@handles("Mod")
def import_mod(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]) -> Array:
    a, b = _take_all(importer, inputs)
    rest = emit_binary(importer, "rem", a, b)
    if attributes.get("fmod", 0):
        return rest
    if is_float(rest.dtype):
        importer.refuse("expected fmod of 1 for floating-point numbers, but got 0")
    # The sign of b, where there is a rest.
    moved = emit_binary(importer, "add", rest, b)
    differs = emit_compare(importer, "lt", emit_binary(importer, "xor", rest, b), 0)
    is_inexact = emit_compare(importer, "ne", rest, 0)
    return emit_select(importer, emit_binary(importer, "and", differs, is_inexact), moved, rest)


@handles("Pow")
def import_pow(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    x, exponent = importer.number(inputs[0]), take(importer, inputs[1], len(inputs[0].sizes))
    if exponent == 2:
        return emit_unary(importer, "square", x)
    if exponent == 0.5:
        return emit_unary(importer, "sqrt", x)
    if isinstance(exponent, Array) and not is_float(exponent.dtype):
        exponent = emit_convert(importer, exponent, "f32")
    if isinstance(exponent, int):
        exponent = float(exponent)
    return emit_binary(importer, "pow", x, exponent, dtype=x.dtype)


@handles("Clip")
def import_clip(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    x, *limits = inputs
    result = importer.plain(x)
    for name, limit in zip(("max", "min"), limits):
        if limit is not None:
            result = emit_binary(importer, name, result, take(importer, limit, 0))
    return result


@handles("LeakyRelu")
def import_leaky_relu(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                      ) -> Array:
    x, slope = importer.number(inputs[0]), attributes.get("alpha", 0.01)

    def compute(body: Body, a: str) -> str:
        is_negative = body.compare("lt", a, body.constant(0))
        return body.select(is_negative, body.mul(a, body.constant(slope)), a)
    return emit_elementwise(importer, "leaky", [x], x.sizes, x.dtype, compute)


def compute_hard_sigmoid(slope: float, shift: float) -> Callable[[Body, str], str]:
    """A line between 0 and 1, of an element in f32."""
    def compute(body: Body, a: str) -> str:
        line = body.add(body.mul(a, body.constant(slope)), body.constant(shift))
        return body.maximum(body.minimum(line, body.constant(1)), body.constant(0))
    return compute


@handles("HardSigmoid")
def import_hard_sigmoid(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                        ) -> Array:
    x = importer.number(inputs[0])
    return emit_elementwise(importer, "hard_sigmoid", [x], x.sizes, x.dtype, compute_hard_sigmoid(
        attributes.get("alpha", 0.2), attributes.get("beta", 0.5)))


@handles("Where")
def import_where(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    condition = importer.array(inputs[0], "condition")
    a, b = inputs[1:]
    importer.check_types((a, b))
    rank = max(condition.rank, get_rank([a, b]))
    return emit_select(importer, condition, take(importer, a, rank), take(importer, b, rank),
                       dtype=a.dtype)


@handles("Cast", "CastLike")
def import_cast(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]) -> Any:
    from blockscale.onnx._quantize import cast_narrow, cast_wide
    x, source = inputs[0], inputs[0].dtype
    dtype = inputs[1].dtype if len(inputs) > 1 else NAMES.get(attributes["to"])
    if dtype not in TYPES:
        found = dtype or get_type_name(attributes["to"])
        importer.refuse(f"expected a cast to one of {', '.join(map(get_type_name, NAMES))}, but "
                        f"got {found}")
    if source == dtype:
        return x
    if dtype in NARROW:
        return cast_narrow(importer, x, dtype, attributes)
    if source in NARROW:
        return cast_wide(importer, x, dtype)
    array = x.array if isinstance(x, Bytes) else importer.array(x)
    return cast_wide(importer, array, dtype) or emit_convert(importer, array, dtype)


@handles("Identity")
def import_identity(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Any:
    return inputs[0]


# onnx.reference would draw what is left of constants.
@handles("Dropout", of_constants=True)
def import_dropout(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Any:
    training = get_input(inputs, 2)
    if training is not None and importer.known(training, "training_mode").any():
        importer.refuse("expected dropout that is not in training, but got training_mode of true")
    return inputs[0]
