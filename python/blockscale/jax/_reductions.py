# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions: of whole axes, of windows, and of numbers with their places."""

from __future__ import annotations

from blockscale._linalg import (
    BITWISE,
    COMBINE,
    Body,
    Windows,
    emit_convert,
    emit_elementwise,
    emit_extremum_index,
    emit_pool,
    emit_reduce,
    emit_reduction,
    emit_reshape,
    get_inner,
    get_start,
    is_float,
    is_integer,
)
from blockscale.jax._graph import Node, Ref
from blockscale.jax._importer import Importer, Known, Literal, get_sizes, handles, to_number
from blockscale.jax._orders import check_numbers, is_iota
from blockscale.jax._regions import Expression, describe, list_names, make
from blockscale.jax._shapes import get_integers, get_padding

#: By the op of the region, the reduction of numbers: a name of COMBINE or BITWISE.
_KINDS = {"stablehlo.add": "sum", "stablehlo.maximum": "max", "stablehlo.minimum": "min",
          "stablehlo.multiply": "prod", "stablehlo.and": "and", "stablehlo.or": "or"}


def _get_combination(importer: Importer, node: Node) -> str:
    """The op of the region of a reduction, which has its two arguments."""
    block = node.op.regions[0].blocks[0]
    ops = [view.operation for view in block.operations]
    if (len(ops) == 2 and ops[0].name in _KINDS
            and list(ops[1].operands) == list(ops[0].results)
            and set(ops[0].operands) == set(block.arguments)):
        name: str = ops[0].name
        return name
    return importer.refuse("expected a reduction by one of "
                           f"{', '.join(_KINDS)} of its two arguments, but got "
                           f"{', '.join(op.name for op in ops[:-1]) or 'none'}")


def _get_kind(importer: Importer, source: Ref, op: str) -> str:
    """The reduction by an op, as truth values have it where they are reduced."""
    kind, dtype = _KINDS[op], importer.dtype_of(source)
    if kind in ("max", "min"):
        importer.check_signed(source)
    if not (is_float(dtype) or is_integer(dtype)):
        importer.refuse(f"expected numbers of 16 bits or more, or integers, but got {dtype}")
    if dtype == "i1":
        return {"sum": "or", "max": "or", "prod": "and", "min": "and"}.get(kind, kind)
    return kind


def _is_neutral(importer: Importer, start: Ref, kind: str, dtype: str) -> bool:
    """Whether a reduction starts from what changes no number."""
    known = importer.get(start)
    return isinstance(known, Literal) and to_number(known.number) == _get_neutral(kind, dtype)


@handles("stablehlo.reduce")
def import_reduce(importer: Importer, node: Node) -> Known | list[Known]:
    axes = get_integers(node, "dimensions")
    if len(node.operands) == 4:
        return _import_extreme(importer, node, axes)
    if len(node.operands) != 2:
        importer.refuse("expected a reduction of one tensor, or of two, but got one of "
                        f"{len(node.operands) // 2}")
    source, start = node.operands
    kind = _get_kind(importer, source, _get_combination(importer, node))
    dtype = importer.dtype_of(source)
    inner = get_inner(dtype)
    compute = COMBINE.get(kind) or BITWISE[kind]

    def combine(body: Body, old: str, new: str) -> str:
        return compute(body, old, new, inner)
    known = importer.get(start)
    neutral = _get_neutral(kind, inner)
    first = to_number(known.number) if isinstance(known, Literal) else neutral
    sizes = get_sizes(source)
    total = emit_reduction(importer, kind, [importer.array(source)], sizes, axes, inner, first,
                           lambda _, x: x, combine)
    if not isinstance(known, Literal):
        total = emit_elementwise(importer, kind, [total, importer.array(start)], total.sizes,
                                 inner, combine, inner=inner)
    return emit_convert(importer, total, dtype, base=kind)


def _get_neutral(kind: str, dtype: str) -> float:
    if kind == "or":
        return 0
    if kind == "and":
        return 1 if dtype == "i1" else -1
    return get_start(kind, dtype)


# Extremes and their places.


def _make_extreme(direction: str) -> list[Expression]:
    """What JAX's argmax (GT) and argmin (LT) compute of a number and its place, and of others."""
    old, old_place, new, new_place = (("argument", number) for number in range(4))
    is_beyond = make("or", make(f"compare {direction}", old, new), make("compare NE", old, old))
    is_first = make("and", make("compare EQ", old, new), make("compare LT", old_place, new_place))
    return [make("select", is_beyond, old, new),
            make("select", make("or", is_beyond, is_first), old_place, new_place)]


_EXTREMES = (("max", _make_extreme("GT")), ("min", _make_extreme("LT")))


def _import_extreme(importer: Importer, node: Node, axes: list[int]) -> list[Known]:
    """A reduction of numbers and their places, as jnp.argmax and jnp.argmin have it."""
    source, places, start, _ = node.operands
    found = describe(node)
    kind = next((name for name, wanted in _EXTREMES if found == wanted), None)
    if kind is None or len(axes) != 1 or not is_iota(places, axes[0]):
        importer.refuse("expected a reduction of one tensor, or of numbers and their places as "
                        f"argmax and argmin have it, but got one of two by {list_names(found)}")
    check_numbers(importer, source)
    if not _is_neutral(importer, start, kind, importer.dtype_of(source)):
        importer.refuse(f"expected a reduction by {kind} that starts from what no number changes")
    x = importer.array(source)
    place = emit_extremum_index(importer, kind, x, axes[0])
    return [emit_reduce(importer, kind, x, axes),
            emit_convert(importer, place, importer.dtype_of(places))]


# Windows.


@handles("stablehlo.reduce_window")
def import_reduce_window(importer: Importer, node: Node) -> Known:
    """A reduction of the elements of each window, as pools and sums up to each place are."""
    if len(node.operands) != 2:
        importer.refuse("expected windows of one tensor, but got those of "
                        f"{len(node.operands) // 2}")
    source, start = node.operands
    op = _get_combination(importer, node)
    kind, dtype = _get_kind(importer, source, op), importer.dtype_of(source)
    if kind not in COMBINE:
        importer.refuse(f"expected windows of numbers, but got {kind} of {source.element}")
    if not _is_neutral(importer, start, kind, get_inner(dtype)):
        importer.refuse("expected windows that start from what "
                        f"{op.removeprefix('stablehlo.')} leaves as it is")
    rank = len(get_sizes(source))
    kernel, strides, dilations, gaps = (
        get_integers(node, name, [1] * rank)
        for name in ("window_dimensions", "window_strides", "window_dilations", "base_dilations"))
    if any(each != 1 for each in gaps):
        importer.refuse(f"expected windows without base_dilations, but got {gaps}")
    low, high = get_padding(node, rank)
    if min(*low, *high, 0) < 0:
        importer.refuse(f"expected padding of 0 or more, but got {low} and {high}")
    x = importer.array(source)
    wide = emit_reshape(importer, x, (1, 1, *x.sizes))
    y = emit_pool(importer, kind, wide, Windows.make(kernel, strides, dilations, low, high))
    return emit_reshape(importer, y, get_sizes(importer.result))
