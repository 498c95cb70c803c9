# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move elements, and products of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
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
    emit_insert,
    emit_iota,
    emit_pad,
    emit_reads,
    emit_reshape,
    emit_reverse,
    emit_slice,
    emit_transpose,
    is_float,
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
    read_elements,
    to_number,
)


def get_integers(node: Node, name: str, default: list[int] | None = None) -> list[int]:
    """The numbers of an attribute, which may be left out where there is a default."""
    attribute = node.attribute(name)
    if attribute is None and default is not None:
        return default
    return [int(each) for each in ir.DenseI64ArrayAttr(attribute)]


def get_padding(node: Node, rank: int) -> tuple[list[int], list[int]]:
    """The padding of windows before and behind each of so many dimensions."""
    attribute = node.attribute("padding")
    if attribute is None:
        return [0] * rank, [0] * rank
    low, high = read_elements(attribute, (rank, 2), np.int64).T.tolist()
    return low, high


def move_value(importer: Importer, ref: Ref, sizes: tuple[int, ...],
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
    return move_value(importer, source, sizes, lambda x: emit_reshape(importer, x, sizes))


@handles("stablehlo.transpose")
def import_transpose(importer: Importer, node: Node) -> Known:
    order = get_integers(node, "permutation")

    def move(x: Array) -> Array:
        made = emit_transpose(importer, x, order)
        importer.transposes[made.value.name] = x, tuple(order)
        return made
    return move_value(importer, node.operands[0], get_sizes(importer.result), move)


@handles("stablehlo.broadcast_in_dim")
def import_broadcast(importer: Importer, node: Node) -> Known:
    source, = node.operands
    dims = get_integers(node, "broadcast_dimensions")
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
    starts = get_integers(node, "start_indices")
    strides = get_integers(node, "strides")
    sizes = get_sizes(importer.result)
    return move_value(importer, node.operands[0], sizes,
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
    low, high, interior = (get_integers(node, name) for name in (
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
    axes = get_integers(node, "dimensions")
    return move_value(importer, node.operands[0], get_sizes(importer.result),
                      lambda x: emit_reverse(importer, x, axes))


@handles("stablehlo.iota")
def import_iota(importer: Importer, node: Node) -> Array:
    axis = ir.IntegerAttr(node.attribute("iota_dimension")).value
    return emit_iota(importer, get_sizes(importer.result), axis,
                     importer.dtype_of(importer.result))


# Products of numbers.


def _widen(importer: Importer, ref: Ref) -> Array:
    """An operand of a product of numbers."""
    if ref.element in _narrow.FLOATS8:
        return _narrow.emit_decode(importer, importer.array(ref))
    if ref.is_unsigned or ref.element == "i1":
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


def _get_precisions(importer: Importer, node: Node) -> tuple[str, str] | None:
    """The types to which operands are rounded before they are multiplied: those of the algorithm of
    a product, or None where it has none."""
    algorithm = node.attribute("algorithm")
    if algorithm is None:
        return None
    found = stablehlo.DotAlgorithm(algorithm)
    names = [str(each) for each in (found.lhs_precision_type, found.rhs_precision_type)]
    is_one = (found.lhs_component_count, found.rhs_component_count,
              found.num_primitive_operations) == (1, 1, 1)
    if not is_one or str(found.accumulation_type) != "f32" or any(
            name not in ("bf16", "f16", "f32") for name in names):
        importer.refuse("expected a product by an algorithm that multiplies operands of bf16, f16 "
                        f"or f32 once, with sums in f32, but got {' and '.join(names)}, sums in "
                        f"{found.accumulation_type} and {found.num_primitive_operations} products")
    return names[0], names[1]


def _round(importer: Importer, x: Array, precision: str) -> Array:
    """An operand in the type of an algorithm, where its own has more digits."""
    if not is_float(x.dtype) or x.dtype == precision or precision == "f32":
        return x
    return emit_convert(importer, x, precision)


@handles("stablehlo.dot_general")
def import_dot_general(importer: Importer, node: Node) -> Array:
    precisions = _get_precisions(importer, node) or ("f32", "f32")
    numbers = stablehlo.DotDimensionNumbers(node.attribute("dot_dimension_numbers"))
    dtype = importer.dtype_of(importer.result)
    operands = [
        _see_through(importer, _round(importer, _widen(importer, ref), precision), list(summed),
                     list(batch))
        for ref, precision, summed, batch in zip(
            node.operands, precisions,
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
    if ref.is_unsigned and dtype != "i64":
        return body.op(f"arith.index_castui {name}", f"{dtype} to index")
    if ref.is_unsigned:
        # An index has a sign.
        largest = body.constant(2 ** 63 - 1, "i64")
        name = body.op(f"arith.minui {name}, {largest}", "i64")
    return body.op(f"arith.index_cast {name}", f"{dtype} to index")


@handles("stablehlo.gather")
def import_gather(importer: Importer, node: Node) -> Known:
    source, indices = node.operands
    numbers = stablehlo.GatherDimensionNumbers(node.attribute("dimension_numbers"))
    slices = get_integers(node, "slice_sizes")
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
    return move_value(importer, source, sizes, lambda x: emit_reads(
        importer, "gathered", x, sizes, [], lambda body: place(body, x)))


def _get_starts(importer: Importer, refs: Sequence[Ref], limits: Sequence[int]
                ) -> list[int | Array]:
    """Where a part begins in each dimension: numbers where they are known, from 0 to the limit."""
    starts: list[int | Array] = []
    for ref, limit in zip(refs, limits, strict=True):
        known = importer.get(ref)
        if limit == 0:
            starts.append(0)
        elif isinstance(known, Literal):
            starts.append(min(max(int(known.number), 0), limit))
        else:
            starts.append(importer.array(ref))
    return starts


def _emit_start(body: Body, ref: Ref, start: int | Array, limit: int) -> str:
    if isinstance(start, int):
        return body.op(f"arith.constant {start}", "index")
    found = _to_index(body, body.extract(start, []), ref, start.dtype)
    return _clamp(body, found, limit)


def _get_numbers(starts: Sequence[int | Array]) -> list[int] | None:
    """Starts that are all known."""
    numbers = [each for each in starts if isinstance(each, int)]
    return numbers if len(numbers) == len(starts) else None


@handles("stablehlo.dynamic_slice")
def import_dynamic_slice(importer: Importer, node: Node) -> Known:
    source, *refs = node.operands
    sizes = get_sizes(importer.result)
    limits = [whole - size for whole, size in zip(get_sizes(source), sizes)]
    starts = _get_starts(importer, refs, limits)
    numbers = _get_numbers(starts)
    if numbers is not None:
        return move_value(importer, source, sizes,
                          lambda x: emit_slice(importer, x, numbers, sizes))

    def place(body: Body) -> list[str]:
        return [body.op(f"arith.addi {_emit_start(body, *each)}, {body.index(dim)}", "index")
                for dim, each in enumerate(zip(refs, starts, limits))]
    return move_value(importer, source, sizes, lambda x: emit_reads(
        importer, "gathered", x, sizes, [], place))


@handles("stablehlo.dynamic_update_slice")
def import_dynamic_update_slice(importer: Importer, node: Node) -> Known:
    source, part, *refs = node.operands
    if importer.result.element in _narrow.NARROW:
        importer.refuse(f"expected no part of {importer.result.element} to be replaced; convert it "
                        "before")
    x, new = importer.array(source), importer.array(part)
    wholes, sizes = get_sizes(source), get_sizes(part)
    limits = [whole - size for whole, size in zip(wholes, sizes)]
    starts = _get_starts(importer, refs, limits)
    numbers = _get_numbers(starts)
    if numbers is not None:
        return emit_insert(importer, new, x, numbers)
    if 0 in sizes:
        return x

    def choose(body: Body, old: str) -> str:
        """The element of the part that is here, or the old one."""
        is_inside, places = body.constant(1, "i1"), []
        for dim, (ref, start, limit) in enumerate(zip(refs, starts, limits)):
            if limit == 0:
                places.append(body.index(dim))
                continue
            begin = _emit_start(body, ref, start, limit)
            place = body.op(f"arith.subi {body.index(dim)}, {begin}", "index")
            size = body.op(f"arith.constant {sizes[dim]}", "index")
            # Places before the part are large numbers without a sign.
            within = body.op(f"arith.cmpi ult, {place}, {size}", "index")
            is_inside = body.op(f"arith.andi {is_inside}, {within}", "i1")
            places.append(_clamp(body, place, sizes[dim] - 1))
        return body.select(is_inside, body.extract(new, places), old, x.dtype)
    return emit_elementwise(importer, "updated", [x], wholes, x.dtype, choose, inner=x.dtype)
