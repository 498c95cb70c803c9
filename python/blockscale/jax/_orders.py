# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorts, and places along an axis."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from blockscale._linalg import (
    INTEGERS,
    Array,
    Body,
    emit_convert,
    emit_elementwise,
    emit_sort,
    emit_take_along,
    is_float,
)
from blockscale.jax import _narrow
from blockscale.jax._graph import Node, Ref
from blockscale.jax._importer import Importer, Known, get_sizes, handles
from blockscale.jax._regions import Expression, describe, list_names, make
from blockscale.jax._shapes import move_value


def is_iota(ref: Ref, axis: int) -> bool:
    """Whether a value has the place of each element along an axis."""
    node = ref.node
    return (node is not None and node.name == "stablehlo.iota"
            and ir.IntegerAttr(node.attribute("iota_dimension")).value == axis)


def check_numbers(importer: Importer, ref: Ref) -> None:
    """Refuses what has no order here."""
    if ref.is_unsigned or ref.element in _narrow.NARROW:
        importer.refuse("expected an order of signed integers or of floating-point numbers of 16 "
                        f"bits or more, but got {ref.element}")


# Sorts.


def _strip(expression: Any, argument: Expression) -> bool | None:
    """Whether an expression is the argument with equal zeros and one NaN, as JAX compares it; False
    where it is the argument itself, and None for others."""
    if expression == argument:
        return False
    if len(expression) != 5 or expression[:2] != ("select", 0):
        return None
    is_nan, nan, rest = expression[2:]
    is_zero = make("compare EQ", argument, rest[3]) if len(rest) == 5 else None
    is_same = (is_nan == make("compare NE", argument, argument)
               and nan[:2] == ("constant", "nan") and rest[:2] == ("select", 0)
               and rest[3][:1] == ("constant",) and float(rest[3][1]) == 0
               and rest == make("select", is_zero, rest[3], argument))
    return True if is_same else None


def _find_order(importer: Importer, node: Node) -> tuple[int, bool, bool]:
    """The operand that a sort compares, whether in descending order, and whether -0 comes before
    0 and NaN have signs."""
    results = describe(node)
    result = results[0] if len(results) == 1 else ()
    if len(result) == 6 and result[0] == "compare" and result[1] in ("LT", "GT"):
        for key in range(len(node.operands)):
            pair = [("argument", 2 * key), ("argument", 2 * key + 1)]
            forms = [_strip(each, argument) for each, argument in zip(result[4:], pair)]
            if None not in forms and forms[0] == forms[1]:
                is_total = result[2] == "total" and not forms[0]
                return key, result[1] == "GT", is_total
    return importer.refuse("expected a sort by one operand in ascending or descending order, but "
                           f"got one by {list_names(results)}")


def _emit_keys(importer: Importer, x: Array) -> Array:
    """Integers in the order of the bits of floating-point numbers: that of the numbers, with -0
    before 0 and NaN at both ends."""
    inner, bits = ("f64", "i64") if x.dtype == "f64" else ("f32", "i32")

    def compute(body: Body, a: str) -> str:
        number = body.op(f"arith.bitcast {a}", f"{inner} to {bits}")
        last = body.constant(INTEGERS[bits] - 1, bits)
        sign = body.op(f"arith.shrsi {number}, {last}", bits)
        mask = body.constant((1 << (INTEGERS[bits] - 1)) - 1, bits)
        flipped = body.op(f"arith.andi {sign}, {mask}", bits)
        return body.op(f"arith.xori {number}, {flipped}", bits)
    return emit_elementwise(importer, "keys", [x], x.sizes, bits, compute, inner=inner, made=bits)


@handles("stablehlo.sort")
def import_sort(importer: Importer, node: Node) -> list[Known]:
    axis = ir.IntegerAttr(node.attribute("dimension")).value
    key, descending, is_total = _find_order(importer, node)
    check_numbers(importer, node.operands[key])
    x = importer.array(node.operands[key])
    if is_total and is_float(x.dtype):
        x = _emit_keys(importer, x)
    axis %= x.rank
    _, places = emit_sort(importer, x, axis, descending=descending)
    return [emit_convert(importer, places, importer.dtype_of(ref)) if is_iota(ref, axis) else
            move_value(importer, ref, get_sizes(ref),
                       lambda each: emit_take_along(importer, each, places, axis))
            for ref in node.operands]
