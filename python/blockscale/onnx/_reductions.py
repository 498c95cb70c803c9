# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, softmax and norms. Sums are in f32 and rounded once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from blockscale._linalg import (
    Array,
    emit_binary,
    emit_compare,
    emit_convert,
    emit_cumulative_sum,
    emit_extremum_index,
    emit_layer_norm,
    emit_reduce,
    emit_reshape,
    emit_select,
    emit_softmax,
    emit_unary,
    is_integer,
)
from blockscale.onnx._importer import Importer, Operand, get_input, handles
from blockscale.onnx._nodes import get_type_name
from blockscale.onnx._shapes import read_axes, take_axes

_KINDS = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min",
          "ReduceProd": "prod"}


#: The function of each element, the reduction, and the function of its result.
_OF_FUNCTIONS = {"ReduceL1": ("abs", None), "ReduceSumSquare": ("square", None),
                 "ReduceL2": ("square", "sqrt")}


@handles(*_KINDS)
def import_reduce(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]) -> Any:
    x = importer.plain(inputs[0])
    axes = take_axes(importer, inputs, 1, attributes)
    if not axes and attributes.get("noop_with_empty_axes", 0):
        return x
    return _reduce(importer, _KINDS[importer.node.op], x, axes, attributes)


def _reduce(importer: Importer, kind: str, x: Array, axes: Sequence[int] | None,
            attributes: dict[str, Any], dtype: str | None = None) -> Array:
    return emit_reduce(importer, kind, x, read_axes(importer, axes, x.rank) if axes else None,
                       keepdims=bool(attributes.get("keepdims", 1)), dtype=dtype)


@handles(*_OF_FUNCTIONS)
def import_norm_of_axes(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                        ) -> Any:
    x = importer.number(inputs[0])
    before, after = _OF_FUNCTIONS[importer.node.op]
    axes = take_axes(importer, inputs, 1, attributes)
    result = emit_unary(importer, before, x, dtype="f32")
    if axes or not attributes.get("noop_with_empty_axes", 0):
        result = _reduce(importer, "sum", result, axes, attributes)
    if after:
        result = emit_unary(importer, after, result)
    return emit_convert(importer, result, x.dtype)


@handles("ReduceLogSumExp")
def import_log_sum_exp(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                       ) -> Array:
    """The largest element before the others, so that no exponential overflows."""
    x = importer.plain(inputs[0])
    axes = take_axes(importer, inputs, 1, attributes)
    if not axes and attributes.get("noop_with_empty_axes", 0):
        return x
    wide = "f64" if x.dtype == "f64" or is_integer(x.dtype) else "f32"
    numbers = emit_convert(importer, x, wide)
    largest = _reduce(importer, "max", numbers, axes, {})
    is_infinite = emit_compare(importer, "eq", emit_unary(importer, "abs", largest), math.inf)
    largest = emit_select(importer, is_infinite, 0.0, largest)
    powers = emit_unary(importer, "exp", emit_binary(importer, "sub", numbers, largest))
    total = emit_unary(importer, "log", _reduce(importer, "sum", powers, axes, attributes))
    largest = emit_reshape(importer, largest, total.sizes)
    return emit_convert(importer, emit_binary(importer, "add", total, largest), x.dtype)


@handles("ArgMax", "ArgMin")
def import_arg_max(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                   ) -> Array:
    x = importer.plain(inputs[0])
    axis, = read_axes(importer, [attributes.get("axis", 0)], x.rank)
    found = emit_extremum_index(importer, "max" if importer.node.op == "ArgMax" else "min", x,
                                axis, last=bool(attributes.get("select_last_index", 0)))
    if not attributes.get("keepdims", 1):
        return found
    return emit_reshape(importer, found, [*x.sizes[:axis], 1, *x.sizes[axis + 1:]])


@handles("CumSum")
def import_cumsum(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                  ) -> Array:
    x = importer.plain(inputs[0])
    axis, = read_axes(importer, [int(importer.known_number(inputs[1], "the axis"))], x.rank)
    return emit_cumulative_sum(importer, x, axis, exclusive=bool(attributes.get("exclusive", 0)),
                               reverse=bool(attributes.get("reverse", 0)))


@handles("Softmax", "LogSoftmax")
def import_softmax(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                   ) -> Array:
    return emit_softmax(importer, importer.number(inputs[0]), attributes.get("axis", -1),
                        logarithm=importer.node.op == "LogSoftmax")


@handles("LayerNormalization", "RMSNormalization")
def import_norm(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]) -> Array:
    x, weight = importer.number(inputs[0]), importer.number(inputs[1], "scale")
    bias = get_input(inputs, 2)
    bias = None if bias is None else importer.number(bias, "bias")
    kind = attributes.get("stash_type", 1)
    if kind != 1:
        importer.refuse(f"expected stash_type 1 (float), but got {get_type_name(kind)}")
    axis, = read_axes(importer, [attributes.get("axis", -1)], x.rank)
    return emit_layer_norm(importer, x, range(axis, x.rank), attributes.get("epsilon", 1e-5),
                           weight, bias,
                           centered=importer.node.op == "LayerNormalization")


@handles("InstanceNormalization")
def import_instance_norm(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                         ) -> Array:
    x, weight, bias = (importer.number(each, what)
                       for each, what in zip(inputs, ("operand", "scale", "bias")))
    if x.rank < 3 or any(each.sizes != x.sizes[1:2] for each in (weight, bias)):
        importer.refuse("expected an operand of rank 3 or more, and a scale and a bias of a number "
                        f"for each channel, but got {list(x.sizes)}, {list(weight.sizes)} and "
                        f"{list(bias.sizes)}")
    weight, bias = (emit_reshape(importer, each, (*each.sizes, *[1] * (x.rank - 2)))
                    for each in (weight, bias))
    return emit_layer_norm(importer, x, range(2, x.rank), attributes.get("epsilon", 1e-5), weight,
                           bias)
