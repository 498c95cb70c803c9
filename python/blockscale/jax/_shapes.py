# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move elements, reductions, and products of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from blockscale._linalg import (
    Array,
    Body,
    emit_broadcast,
    emit_concat,
    emit_convert,
    emit_dot_general,
    emit_elementwise,
    emit_iota,
    emit_pad,
    emit_reads,
    emit_reduction,
    emit_reshape,
    emit_reverse,
    emit_slice,
    emit_transpose,
    get_inner,
    is_float,
    is_integer,
)
from blockscale.jax import _narrow
from blockscale.jax._graph import Node, Ref
from blockscale.jax._importer import (
    Codes,
    Importer,
    Known,
    Literal,
    Spread,
    get_sizes,
    handles,
    to_number,
)


def _get_integers(node: Node, name: str) -> list[int]:
    return [int(each) for each in ir.DenseI64ArrayAttr(node.attribute(name))]


def _move(importer: Importer, ref: Ref, sizes: tuple[int, ...],
          move: Callable[[Array], Array]) -> Known:
    """An op that only moves elements, on any kind of value."""
    known = importer.get(ref)
    if isinstance(known, Literal):
        return Literal(known.number, sizes)
    if isinstance(known, Codes):
        return importer.move_codes(known, sizes, move)
    return move(importer.make(known))


@handles("stablehlo.reshape")
def import_reshape(importer: Importer, node: Node) -> Known:
    source, = node.operands
    sizes = get_sizes(importer.result)
    known = importer.get(source)
    if isinstance(known, Codes):
        return importer.reshape_codes(known, sizes)
    return _move(importer, source, sizes, lambda x: emit_reshape(importer, x, sizes))


@handles("stablehlo.transpose")
def import_transpose(importer: Importer, node: Node) -> Known:
    order = _get_integers(node, "permutation")

    def move(x: Array) -> Array:
        made = emit_transpose(importer, x, order)
        importer.transposes[made.value.name] = x, tuple(order)
        return made
    return _move(importer, node.operands[0], get_sizes(importer.result), move)


@handles("stablehlo.broadcast_in_dim")
def import_broadcast(importer: Importer, node: Node) -> Known:
    source, = node.operands
    dims = _get_integers(node, "broadcast_dimensions")
    sizes = get_sizes(importer.result)
    known = importer.get(source)
    if isinstance(known, Literal):
        return Literal(known.number, sizes)
    if isinstance(known, Codes):
        return importer.move_codes(known, sizes,
                                   lambda x: emit_broadcast(importer, x, sizes, dims))
    if isinstance(known, Spread):
        return Spread(known.array, tuple(dims[dim] for dim in known.dims), sizes)
    array = importer.make(known)
    kept = [size for size in sizes if size != 1]
    if dims == sorted(dims) and kept == [size for size in array.sizes if size != 1]:
        return emit_reshape(importer, array, sizes)  # It only adds dimensions of 1.
    return Spread(array, tuple(dims), sizes)


@handles("stablehlo.slice")
def import_slice(importer: Importer, node: Node) -> Known:
    starts = _get_integers(node, "start_indices")
    strides = _get_integers(node, "strides")
    sizes = get_sizes(importer.result)
    return _move(importer, node.operands[0], sizes,
                 lambda x: emit_slice(importer, x, starts, sizes, strides))


@handles("stablehlo.concatenate")
def import_concatenate(importer: Importer, node: Node) -> Known:
    axis = ir.IntegerAttr(node.attribute("dimension")).value
    if importer.result.element == "f4E2M1FN":
        importer.refuse("expected no concatenation of f4E2M1FN; convert it before")
    return emit_concat(importer, [importer.array(ref) for ref in node.operands], axis)


@handles("stablehlo.pad")
def import_pad(importer: Importer, node: Node) -> Known:
    source, padding = node.operands
    value = importer.get(padding)
    low, high, interior = (_get_integers(node, name) for name in (
        "edge_padding_low", "edge_padding_high", "interior_padding"))
    if not isinstance(value, Literal) or source.element in _narrow.NARROW:
        importer.refuse("expected padding of numbers of 16 bits or more by a constant, but got "
                        f"{source.element}")
    x = importer.array(source)
    # A negative padding takes elements away.
    low_cut, high_cut = ([max(0, -each) for each in ends] for ends in (low, high))
    low, high = ([max(0, each) for each in ends] for ends in (low, high))
    padded = emit_pad(importer, x, low, high, to_number(value.number), interior)
    sizes = [size - a - b for size, a, b in zip(padded.sizes, low_cut, high_cut)]
    return emit_slice(importer, padded, low_cut, sizes)


@handles("stablehlo.reverse")
def import_reverse(importer: Importer, node: Node) -> Known:
    axes = _get_integers(node, "dimensions")
    return _move(importer, node.operands[0], get_sizes(importer.result),
                 lambda x: emit_reverse(importer, x, axes))


@handles("stablehlo.iota")
def import_iota(importer: Importer, node: Node) -> Array:
    axis = ir.IntegerAttr(node.attribute("iota_dimension")).value
    return emit_iota(importer, get_sizes(importer.result), axis,
                     importer.dtype_of(importer.result))


# Reductions.

#: By the op of the region: numbers of the type, and truth values.
_COMBINE = {"stablehlo.add": "add", "stablehlo.maximum": "max", "stablehlo.minimum": "min",
            "stablehlo.multiply": "mul", "stablehlo.and": "and", "stablehlo.or": "or"}
_METHODS = {"add": Body.add, "max": Body.maximum, "min": Body.minimum, "mul": Body.mul}


def _get_combination(importer: Importer, node: Node) -> str:
    """What the region of a reduction computes of its two arguments."""
    block = node.op.regions[0].blocks[0]
    ops = [view.operation for view in block.operations]
    if (len(ops) == 2 and ops[0].name in _COMBINE
            and list(ops[1].operands) == list(ops[0].results)
            and set(ops[0].operands) == set(block.arguments)):
        return _COMBINE[ops[0].name]
    return importer.refuse("expected a reduction by one of "
                           f"{', '.join(_COMBINE)} of its two arguments, but got "
                           f"{', '.join(op.name for op in ops[:-1]) or 'none'}")


@handles("stablehlo.reduce")
def import_reduce(importer: Importer, node: Node) -> Known:
    if len(node.operands) != 2:
        importer.refuse("expected a reduction of one tensor, but got one of "
                        f"{len(node.operands) // 2}")
    source, start = node.operands
    kind = _get_combination(importer, node)
    axes = _get_integers(node, "dimensions")
    dtype = importer.dtype_of(source)
    if source.element.startswith("ui") and kind in ("max", "min"):
        importer.refuse("expected signed or floating-point numbers, but got unsigned ones")
    if not (is_float(dtype) or is_integer(dtype)):
        importer.refuse(f"expected numbers of 16 bits or more, or integers, but got {dtype}")
    if dtype == "i1":
        kind = {"add": "or", "max": "or", "mul": "and", "min": "and"}.get(kind, kind)
    inner = get_inner(dtype)

    def combine(body: Body, old: str, new: str) -> str:
        if kind in ("and", "or"):
            return body.op(f"arith.{kind}i {old}, {new}", inner)
        return _METHODS[kind](body, old, new, inner)
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
    if kind in ("add", "or"):
        return 0
    if kind == "mul":
        return 1
    if kind == "and":
        return 1 if dtype == "i1" else -1
    if is_float(dtype):
        return -math.inf if kind == "max" else math.inf
    limit = 1 << (int(dtype[1:]) - 1)
    return -limit if kind == "max" else limit - 1


# Products of numbers.


def _widen(importer: Importer, ref: Ref) -> Array:
    """An operand of a product of numbers."""
    if ref.element in _narrow.FLOATS8:
        return _narrow.emit_decode(importer, importer.array(ref))
    if ref.element.startswith("ui") or ref.element == "i1":
        importer.refuse(f"expected signed or floating-point numbers, but got {ref.element}")
    return importer.array(ref)


def _see_through(importer: Importer, array: Array, summed: list[int],
                 batch: list[int]) -> tuple[Array, list[int], list[int]]:
    """A tensor and its dimensions before a transpose, where that leaves the order of those
    that the product keeps."""
    if array.value.name not in importer.transposes:
        return array, summed, batch
    source, order = importer.transposes[array.value.name]
    kept = [order[dim] for dim in range(array.rank) if dim not in summed and dim not in batch]
    if kept != sorted(kept):
        return array, summed, batch
    return source, [order[dim] for dim in summed], [order[dim] for dim in batch]


@handles("stablehlo.dot_general")
def import_dot_general(importer: Importer, node: Node) -> Array:
    algorithm = node.attribute("algorithm")
    if algorithm is not None:
        importer.refuse(f"expected a product without an algorithm of its own, but got {algorithm}")
    numbers = stablehlo.DotDimensionNumbers(node.attribute("dot_dimension_numbers"))
    dtype = importer.dtype_of(importer.result)
    operands = [
        _see_through(importer, _widen(importer, ref), list(summed), list(batch))
        for ref, summed, batch in zip(
            node.operands,
            (numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions),
            (numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions))]
    (a, summed_a, batch_a), (b, summed_b, batch_b) = operands
    if is_float(a.dtype) != is_float(dtype):
        importer.refuse(f"expected a result like the operands, but got {importer.result.element}")
    if not is_float(dtype):
        # Integers are multiplied in the type of the sum.
        a, b = emit_convert(importer, a, dtype), emit_convert(importer, b, dtype)
    return emit_dot_general(importer, a, b, (summed_a, summed_b), (batch_a, batch_b),
                            dtype=dtype)


# Reads at indices.


def _clamp(body: Body, index: str, largest: int) -> str:
    low = body.op(f"arith.maxsi {index}, {body.op('arith.constant 0', 'index')}", "index")
    return body.op(f"arith.minsi {low}, {body.op(f'arith.constant {largest}', 'index')}", "index")


def _to_index(body: Body, name: str, ref: Ref, dtype: str) -> str:
    if ref.element.startswith("ui") and dtype != "i64":
        return body.op(f"arith.index_castui {name}", f"{dtype} to index")
    return body.op(f"arith.index_cast {name}", f"{dtype} to index")


@handles("stablehlo.gather")
def import_gather(importer: Importer, node: Node) -> Known:
    source, indices = node.operands
    numbers = stablehlo.GatherDimensionNumbers(node.attribute("dimension_numbers"))
    slices = _get_integers(node, "slice_sizes")
    rank = len(get_sizes(importer.result))
    offsets = list(numbers.offset_dims)
    batch = [dim for dim in range(rank) if dim not in offsets]
    dropped = [*numbers.collapsed_slice_dims, *numbers.operand_batching_dims]
    if any(size == 0 for size in get_sizes(source)):
        importer.refuse(f"expected elements to read, but got {source.type}")
    starts = importer.array(indices)
    vector = numbers.index_vector_dim
    paired = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims))

    def place(body: Body, x: Array) -> list[str]:
        positions = [body.index(dim) for dim in batch]
        inside = iter(offsets)
        places = []
        for dim, size in enumerate(x.sizes):
            parts = []
            if dim in paired:
                at = paired[dim]
                parts.append(positions[at - (at > vector)])
            if dim in numbers.start_index_map:
                number = list(numbers.start_index_map).index(dim)
                where = list(positions)
                if vector < starts.rank:
                    where.insert(vector, body.op(f"arith.constant {number}", "index"))
                start = _to_index(body, body.extract(starts, where), indices, starts.dtype)
                parts.append(_clamp(body, start, size - slices[dim]))
            if dim not in dropped:
                parts.append(body.index(next(inside)))
            total = parts[0] if parts else body.op("arith.constant 0", "index")
            for part in parts[1:]:
                total = body.op(f"arith.addi {total}, {part}", "index")
            places.append(total)
        return places
    sizes = get_sizes(importer.result)
    return _move(importer, source, sizes, lambda x: emit_reads(
        importer, "gathered", x, sizes, [], lambda body: place(body, x)))


@handles("stablehlo.dynamic_slice")
def import_dynamic_slice(importer: Importer, node: Node) -> Known:
    source, *starts = node.operands
    sizes = get_sizes(importer.result)
    arrays = [importer.array(ref) for ref in starts]

    def place(body: Body, x: Array) -> list[str]:
        places = []
        for dim, (ref, array) in enumerate(zip(starts, arrays)):
            start = _to_index(body, body.extract(array, []), ref, array.dtype)
            start = _clamp(body, start, x.sizes[dim] - sizes[dim])
            places.append(body.op(f"arith.addi {start}, {body.index(dim)}", "index"))
        return places
    return _move(importer, source, sizes, lambda x: emit_reads(
        importer, "gathered", x, sizes, [], lambda body: place(body, x)))
