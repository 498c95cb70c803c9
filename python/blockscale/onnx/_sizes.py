# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that compute with the sizes of inputs, which shapes of later nodes are made of.

They are evaluated at import, on arrays of expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from blockscale._errors import ArgumentError
from blockscale._linalg import Size, simplify
from blockscale.onnx._model import Node
from blockscale.onnx._nodes import NAMES, TYPES
from blockscale.onnx._operands import Constant, Sizes


def make_sizes(values: Any, dtype: str = "i64") -> Constant | Sizes:
    """A list of sizes or one of them: a constant where all are known."""
    array = np.empty(np.shape(values), object)
    array[...] = values
    flat = [simplify(each) for each in array.flat]
    if all(isinstance(each, int) for each in flat):
        kind = np.int32 if dtype == "i32" else np.int64
        return Constant(np.array(flat, kind).reshape(array.shape), "sizes")
    for place, each in zip(np.ndindex(array.shape), flat):
        array[place] = each
    return Sizes(array, dtype)


#: Exporters write numbers from here on for the end of a dimension, which never has as many
#: elements.
_END = 10 ** 9


def place_end(size: Size, position: Size, step: int, *, is_last: bool) -> Size:
    """Where a slice begins or ends, from 0 to the size. With steps back it begins at an element,
    and -1 is an end before the first one."""
    before = -1 if step < 0 and is_last else 0
    if isinstance(position, int) and abs(position) >= _END:
        if position < 0:
            return before
        return simplify(size - 1) if step < 0 and not is_last else size
    if isinstance(position, int) and position < 0:
        position = simplify(position + size)
    if isinstance(size, int) and isinstance(position, int):
        return min(max(position, before), size - 1 if step < 0 else size)
    return position


def list_places(size: int, start: int, end: int, step: int) -> range:
    """The elements of a slice of a dimension whose size is known."""
    first, last = (place_end(size, position, step, is_last=is_last)
                   for position, is_last in ((start, False), (end, True)))
    return range(first, last, step)


def _decide(relation: Any) -> bool | None:
    if isinstance(relation, (bool, np.bool_)):
        return bool(relation)
    return bool(relation) if relation in (sympy.true, sympy.false) else None


def _compare(relation: Callable[[Any, Any], Any], inputs: list[Any]) -> Constant | None:
    a, b = np.broadcast_arrays(*inputs)
    found = [_decide(relation(x, y)) for x, y in zip(a.flat, b.flat)]
    if None in found:
        return None
    return Constant(np.array(found, bool).reshape(a.shape), "relation")


def _divide(a: Any, b: Any) -> Any:
    """A quotient of sizes, where it is whole."""
    quotient = sympy.sympify(a) / b
    return quotient if quotient.is_integer else None


def _map(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(inputs: list[Any]) -> Any:
        arrays = np.broadcast_arrays(*inputs)
        results = np.empty(arrays[0].shape, object)
        for place in np.ndindex(results.shape):
            found = function(*[each[place] for each in arrays])
            if found is None:
                return None
            results[place] = found
        return results
    return apply


def _to_axes(value: Any, rank: int) -> tuple[int, ...]:
    return tuple(int(axis) % rank for axis in np.atleast_1d(value))


def _fold(node: Node, inputs: list[Any]) -> Any:
    """The result as an array, or None where it is not of sizes."""
    attributes, first = node.attributes, inputs[0]
    if node.op in _ARITHMETIC:
        return _ARITHMETIC[node.op](inputs)
    if node.op in ("Identity", "Cast"):
        return first if attributes.get("to", TYPES["i64"]) in (TYPES["i64"], TYPES["i32"]) else None
    if node.op == "Concat":
        return np.concatenate(inputs, attributes["axis"])
    if node.op == "Gather":
        return np.take(first, inputs[1].astype(np.int64), attributes.get("axis", 0))
    if node.op == "Unsqueeze":
        return np.expand_dims(first, _to_axes(inputs[1], first.ndim + inputs[1].size))
    if node.op == "Squeeze":
        return np.squeeze(first, _to_axes(inputs[1], first.ndim) if len(inputs) > 1 else None)
    if node.op == "Reshape" and inputs[1].dtype != object:
        return np.reshape(first, inputs[1])
    if node.op == "Slice" and first.ndim == 1 and all(each.dtype != object
                                                      for each in inputs[1:]):
        start, end = (int(each.reshape(-1)[0]) for each in inputs[1:3])
        step = int(inputs[4].reshape(-1)[0]) if len(inputs) > 4 else 1
        return first[list_places(first.size, start, end, step)]
    if node.op == "Where" and inputs[0].dtype == bool:
        return np.where(*inputs)
    if node.op == "ReduceProd" and first.ndim == 1:
        total = sympy.prod(first.tolist())
        return np.array([total] if attributes.get("keepdims", 1) else total, object)
    return None


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "Add": _map(lambda a, b: a + b), "Sub": _map(lambda a, b: a - b),
    "Mul": _map(lambda a, b: a * b), "Div": _map(_divide),
    "Min": _map(sympy.Min), "Max": _map(sympy.Max), "Neg": _map(lambda a: -a),
}


_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "Equal": sympy.Eq, "Less": sympy.Lt, "LessOrEqual": sympy.Le, "Greater": sympy.Gt,
    "GreaterOrEqual": sympy.Ge,
}


def fold_sizes(node: Node, inputs: list[Any]) -> Constant | Sizes | None:
    """The result of a node of sizes and constants, if it is one of sizes."""
    if node.domain or not all(isinstance(each, Sizes) or (
            isinstance(each, Constant) and each.value.dtype.kind in "biu") for each in inputs):
        return None
    # Indices past int64's range, as the end of a slice, stay numbers of NumPy.
    arrays = [each.value for each in inputs]
    try:
        if node.op in _RELATIONS:
            return _compare(_RELATIONS[node.op], arrays)
        if node.op == "Cast" and node.attributes["to"] == TYPES["i1"]:
            return _compare(sympy.Ne, [*arrays, np.array(0)])
        found = _fold(node, arrays)
    except (ValueError, TypeError, LookupError, ZeroDivisionError) as error:
        raise ArgumentError(
            f"expected sizes of inputs that can be computed, but {error}") from error
    return None if found is None else make_sizes(found, _get_dtype(node, inputs))


def _get_dtype(node: Node, inputs: list[Any]) -> str:
    """The type of the result of a node of sizes."""
    if node.op == "Cast":
        return NAMES[node.attributes["to"]]
    dtype: str = inputs[1 if node.op == "Where" else 0].dtype
    return dtype
