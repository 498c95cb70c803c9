# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers and truth values of rank 0 that constants decide, as the counters of loops are."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

_KINDS = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
          "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64}
#: Of integers and of truth values.
_OPS: dict[str, Callable[..., Any]] = {
    "stablehlo.minimum": min, "stablehlo.maximum": max, "stablehlo.and": operator.and_,
    "stablehlo.or": operator.or_, "stablehlo.xor": operator.xor,
    "stablehlo.select": lambda condition, a, b: a if condition else b,
    "stablehlo.broadcast_in_dim": lambda a: a, "stablehlo.reshape": lambda a: a,
}
#: Of integers alone.
_INTEGER_OPS: dict[str, Callable[..., Any]] = {
    **_OPS, "stablehlo.add": operator.add, "stablehlo.subtract": operator.sub,
    "stablehlo.multiply": operator.mul, "stablehlo.convert": lambda a: a,
}
#: What is not 0 is true.
_TRUTH_OPS: dict[str, Callable[..., Any]] = {**_OPS, "stablehlo.convert": bool}


def _get_kind(type: Any) -> Any:
    """The dtype of NumPy of an integer or a truth value of rank 0, or None."""
    if not isinstance(type, ir.RankedTensorType) or type.rank != 0:
        return None
    return _KINDS.get(str(type.element_type))


def _compute(op: Any, operands: Sequence[Any], kind: Any) -> int | None:
    if op.name == "stablehlo.constant":
        attribute = op.attributes["value"]
        if not isinstance(attribute, ir.DenseElementsAttr):
            return None
        number = int(ir.IntegerAttr(attribute.get_splat_value()).value)
        return abs(number) if kind is np.bool_ else number
    if any(each is None for each in operands):
        return None
    numbers = [int(each) for each in operands]
    if op.name == "stablehlo.compare":
        direction = stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
        return int(getattr(operator, direction.lower())(*numbers))
    compute = (_TRUTH_OPS if kind is np.bool_ else _INTEGER_OPS).get(op.name)
    return None if compute is None else int(compute(*numbers))


def fold(op: Any, operands: Sequence[Any]) -> Any:
    """The number that an op gives where its operands are such numbers, or None."""
    kind = _get_kind(op.results[0].type) if len(op.results) == 1 else None
    if kind is None:
        return None
    found = _compute(op, operands, kind)
    if found is None:
        return None
    if kind is np.bool_:
        return np.bool_(found)
    bits = np.dtype(kind).itemsize * 8
    # Integers keep their low bits.
    return np.array(found % (1 << bits), f"u{bits // 8}").view(kind)[()]


def evaluate(block: Any, known: Mapping[Any, Any]) -> Any:
    """The first result of a block, where `known` has numbers of values; None where constants do not
    decide it."""
    values = dict(known)
    for view in block.operations:
        op = view.operation
        operands = [values.get(value) for value in op.operands]
        if op.name == "stablehlo.return":
            return operands[0]
        if len(op.results) == 1:
            values[op.results[0]] = fold(op, operands)
    return None
