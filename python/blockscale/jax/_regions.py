# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the regions of reductions and sorts compute, as expressions that can be compared."""

from __future__ import annotations

from typing import Any, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from blockscale.jax._graph import Node
from blockscale.jax._importer import DTYPES, read_elements

#: An argument by its number, or the name of an op and its operands. The name of a comparison has
#: its direction and, where it is in total order, that, and a constant has its number as text.
Expression: TypeAlias = tuple[Any, ...]
_TOTAL = "TOTALORDER"


def _get_name(op: Any) -> tuple[str, ...]:
    name = str(op.name).partition(".")[2]
    if name == "compare":
        direction = stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
        kind = op.attributes.get("compare_type")
        is_total = kind is not None and stablehlo.ComparisonTypeAttr(kind).value == _TOTAL
        return (name, direction, "total" if is_total else "")
    if name == "constant":
        attribute = op.attributes["value"]
        element = str(op.results[0].type.element_type)
        if isinstance(attribute, ir.DenseElementsAttr) and element in DTYPES:
            return (name, str(read_elements(attribute, (1,), DTYPES[element][1])[0]))
    return (name,)


def _describe_outside(value: Any) -> Expression:
    """A value that a region reads: a constant, or another one."""
    owner = value.owner
    if isinstance(value, ir.OpResult) and owner.name == "stablehlo.constant":
        return (*_get_name(owner), 0)
    return ("outside", str(value.type))


def describe(node: Node) -> list[Expression]:
    """The results of a node's region."""
    block = node.op.regions[0].blocks[0]
    values: dict[Any, Expression] = {value: ("argument", number)
                                     for number, value in enumerate(block.arguments)}
    for view in block.operations:
        op = view.operation
        operands = tuple(values[value] if value in values else _describe_outside(value)
                         for value in op.operands)
        if op.name == "stablehlo.return":
            return list(operands)
        for number, result in enumerate(op.results):
            values[result] = (*_get_name(op), number, *operands)
    return []


def make(name: str, *operands: Any) -> Expression:
    """The expression of an op; "compare" has its direction behind it, as "compare GT"."""
    head, _, direction = name.partition(" ")
    return (head, direction, "", 0, *operands) if direction else (head, 0, *operands)


def list_names(expressions: list[Expression]) -> str:
    """The ops of expressions, for messages."""
    found: list[str] = []

    def walk(expression: Any) -> None:
        if isinstance(expression, tuple):
            for each in expression[1:]:
                walk(each)
            if expression[0] not in ("argument", *found):
                found.append(expression[0])
    for expression in expressions:
        walk(expression)
    return ", ".join(found) or "none"
