# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes at indices, as x.at[..].set and x.at[..].add have them."""

from __future__ import annotations

from jaxlib.mlir.dialects import stablehlo

from blockscale._linalg import (
    Array,
    Body,
    emit_convert,
    emit_elementwise,
    emit_put,
    emit_reshape,
    emit_slice,
    emit_transpose,
    multiply,
)
from blockscale.jax import _narrow
from blockscale.jax._graph import Node
from blockscale.jax._importer import Importer, get_sizes, handles
from blockscale.jax._regions import describe, list_names, make


def _adds(importer: Importer, node: Node) -> bool:
    """Whether a scatter adds to what is there; else it replaces that."""
    found = describe(node)
    old, new = ("argument", 0), ("argument", 1)
    if found == [new]:
        return False
    if found not in ([make("add", old, new)], [make("add", new, old)]):
        importer.refuse("expected a scatter that replaces elements or adds to them, but got one by "
                        f"{list_names(found)}")
    return True


def _emit_column(importer: Importer, starts: Array | None, shape: list[int], axis: int | None,
                 last: int, outside: int) -> Array:
    """Places along a dimension, of `shape`: starts [*cells, 1, ..] and the position along an axis
    of the shape, each where there is one; `outside` where a start is not from 0 to the last
    one."""
    operands = [] if starts is None else [starts]

    def compute(body: Body, *names: str) -> str:
        zero = body.constant(0, "i64")
        place = zero if axis is None else body.convert(body.index(axis), "index", "i64")
        if not names:
            return place
        start = names[0]
        is_begun = body.compare("ge", start, zero, "i64")
        is_ended = body.compare("le", start, body.constant(last, "i64"), "i64")
        is_inside = body.op(f"arith.andi {is_begun}, {is_ended}", "i1")
        return body.select(is_inside, body.add(start, place, "i64"), body.constant(outside, "i64"),
                           "i64")
    return emit_elementwise(importer, "places", operands, shape, "i64", compute, inner="i64",
                            made="i64")


@handles("stablehlo.scatter")
def import_scatter(importer: Importer, node: Node) -> Array:
    """Windows of the updates at starts that the indices give. A window that is not whole within the
    tensor is left out, as XLA does."""
    if len(node.operands) != 3:
        importer.refuse("expected a scatter of one tensor, but got one of "
                        f"{len(node.operands) // 2}")
    source, indices, updates = node.operands
    adds = _adds(importer, node)
    if source.element in _narrow.NARROW or indices.is_unsigned:
        importer.refuse("expected a scatter of numbers of 16 bits or more, or of integers, at "
                        f"signed indices, but got {source.element} at {indices.element}")
    numbers = stablehlo.ScatterDimensionNumbers(node.attribute("scatter_dimension_numbers"))
    x, starts, new = (importer.array(ref) for ref in node.operands)
    sizes, wide, vector = get_sizes(source), get_sizes(updates), numbers.index_vector_dim
    if vector == starts.rank:
        starts = emit_reshape(importer, starts, (*starts.sizes, 1))
    starts = emit_transpose(importer, emit_convert(importer, starts, "i64"), [
        *(dim for dim in range(starts.rank) if dim != vector), vector])
    mapped = list(numbers.scattered_dims_to_operand_dims)
    paired = dict(zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims))
    kept = [dim for dim in range(len(sizes))
            if dim not in numbers.inserted_window_dims and dim not in paired]
    # The dimension of the updates that has the window of a dimension.
    windows = dict(zip(kept, numbers.update_window_dims, strict=True))
    # Each element of a window that has a start, or is a part, has places of its own.
    opened = [dim for dim in kept if dim in mapped or wide[windows[dim]] != sizes[dim]]
    cells = [dim for dim in range(len(wide)) if dim not in numbers.update_window_dims]
    loops = [*cells, *(windows[dim] for dim in opened)]
    shape = [wide[dim] for dim in loops]
    written = [dim for dim in range(len(sizes)) if dim not in kept or dim in opened]
    columns = []
    for dim in written:
        first, axis = None, None
        if dim in opened:
            axis = len(cells) + opened.index(dim)
        elif dim in paired:
            axis = paired[dim] - (paired[dim] > vector)
        if dim in mapped:
            number = mapped.index(dim)
            first = emit_slice(importer, starts, [*[0] * len(cells), number],
                               [*starts.sizes[:-1], 1])
            first = emit_reshape(importer, first, (*starts.sizes[:-1], *[1] * len(opened)))
        width = wide[windows[dim]] if dim in opened else 1
        column = _emit_column(importer, first, shape, axis, sizes[dim] - width, sizes[dim])
        columns.append(emit_reshape(importer, column, (multiply(shape),)))
    rest = [dim for dim in kept if dim not in opened]
    new = emit_transpose(importer, new, [*loops, *(windows[dim] for dim in rest)])
    new = emit_reshape(importer, new, (multiply(shape), *(sizes[dim] for dim in rest)))
    order = [*written, *rest]
    result = emit_put(importer, emit_transpose(importer, x, order), columns, new, adds=adds)
    return emit_transpose(importer, result, [order.index(dim) for dim in range(len(order))])
