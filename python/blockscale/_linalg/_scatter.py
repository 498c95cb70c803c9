# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors into which elements are written, or added, at indices.

Each element of a result looks for the indices that name it, so that no two iterations write the
same one: the order is defined, and the same on every target. An index that names none is
ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from blockscale._linalg._body import Along, Body, emit_elementwise, format_sizes, get_inner
from blockscale._linalg._builder import Array, Builder, Size
from blockscale._linalg._reductions import emit_reduction
from blockscale._linalg._shapes import check_indices, emit_reads


def _names(body: Body, index: str, dim: int, size: str) -> str:
    """Whether an index (i64), which counts from the end where it is negative, is the place of
    the element along a dimension of so many."""
    is_negative = body.compare("lt", index, body.constant(0, "i64"), "i64")
    index = body.select(is_negative, body.add(index, size, "i64"), index, "i64")
    return body.compare("eq", index, body.convert(body.index(dim), "index", "i64"), "i64")


def _all_name(builder: Builder, body: Body, indices: Sequence[str], dims: Sequence[int],
              sizes: Sequence[Size]) -> str:
    result = body.constant(1, "i1")
    for index, dim, size in zip(indices, dims, sizes, strict=True):
        count = body.convert(body.capture(builder.size(size)), "index", "i64")
        result = body.op(f"arith.andi {result}, {_names(body, index, dim, count)}", "i1")
    return result


def _emit_last(builder: Builder, indices: Sequence[Along], dims: Sequence[int],
               sizes: Sequence[Size], cells: Sequence[Size], count: Size) -> Array:
    """For each of the cells, the last of `count` indices that name it, or -1. `sizes` are those
    of the dimensions that indices are of."""
    rank = len(cells)

    def find(body: Body, *names: str) -> str:
        place = body.convert(body.index(rank), "index", "i64")
        return body.select(_all_name(builder, body, names, dims, sizes), place,
                           body.constant(-1, "i64"), "i64")
    return emit_reduction(builder, "last", indices, (*cells, count), [rank], "i64", -1, find,
                          lambda body, old, a: body.maximum(old, a, "i64"))


def _emit_written(builder: Builder, x: Array, last: Along, values: Array,
                  place: Callable[[Body, str], list[str]]) -> Array:
    """values at `place(body, last)` where last is not negative, else x."""
    if 0 in values.sizes:
        return x

    def find(body: Body, index: str) -> list[str]:
        index = body.maximum(index, body.constant(0, "i64"), "i64")
        return place(body, body.convert(index, "i64", "index"))
    read = emit_reads(builder, "values", values, x.sizes, [last], find)
    inner = get_inner(x.dtype)
    return emit_elementwise(
        builder, "written", [last, read, x], x.sizes, x.dtype,
        lambda body, index, new, old: body.select(
            body.compare("ge", index, body.constant(0, "i64"), "i64"), new, old, inner),
        inner=("i64", inner, inner), made=inner)


def _emit_added(builder: Builder, x: Array, indices: Sequence[Along], dims: Sequence[int],
                values: Along, count: Size) -> Array:
    """x and the sum of the values whose indices name the element."""
    inner, rank = get_inner(x.dtype), x.rank

    def take(body: Body, *names: str) -> str:
        is_named = _all_name(builder, body, names[:-1], dims, [x.sizes[dim] for dim in dims])
        return body.select(is_named, names[-1], body.constant(0, inner), inner)
    total = emit_reduction(builder, "added", [*indices, values], (*x.sizes, count), [rank], inner,
                           0, take, lambda body, old, a: body.add(old, a, inner),
                           inner=[*("i64" for _ in indices), inner])
    return emit_elementwise(builder, "sum", [x, total], x.sizes, x.dtype,
                            lambda body, a, b: body.add(a, b, inner), inner=inner)


def emit_put(builder: Builder, x: Array, indices: Sequence[Array], values: Array, *,
             adds: bool = False) -> Array:
    """x with x[indices[0][j], indices[1][j], ..] = values[j] for each j, the last one where
    several name the same, or with the sum of them added. Indices [J] are of the first dimensions
    of x, and values [J, ..] have the others. Sums are in f32, and rounded once."""
    check_indices(builder, *indices)
    known, dims, count = len(indices), range(len(indices)), values.sizes[0]
    if adds:
        return _emit_added(builder, x, [Along(each, (x.rank,)) for each in indices], dims,
                           Along(values, (x.rank, *range(known, x.rank))), count)
    cells = x.sizes[:known]
    last = _emit_last(builder, [Along(each, (known,)) for each in indices], dims, cells, cells,
                      count)
    return _emit_written(builder, x, Along(last, tuple(dims)), values, lambda body, index: [
        index, *map(body.index, range(known, x.rank))])


def emit_scatter(builder: Builder, x: Array, axis: int, indices: Array, values: Array, *,
                 adds: bool = False) -> Array:
    """x with values written to it, or added, at indices along an axis and at their own places
    along the others: the inverse of emit_take_along(). Indices have the sizes of x but for the
    axis, and those of values. Values that meet are as emit_put() has them."""
    check_indices(builder, indices)
    axis = axis + x.rank if axis < 0 else axis
    others = [[size for dim, size in enumerate(each.sizes) if dim != axis] for each in (x, indices)]
    if not x.rank or others[0] != others[1] or indices.sizes != values.sizes:
        builder.refuse("expected indices of the sizes of the values, and along other dimensions "
                       f"of those of the tensor, but got {format_sizes(indices.sizes)}, "
                       f"{format_sizes(values.sizes)} and {format_sizes(x.sizes)}")
    count = indices.sizes[axis]
    places = (*range(axis), x.rank, *range(axis + 1, x.rank))
    if adds:
        return _emit_added(builder, x, [Along(indices, places)], [axis], Along(values, places),
                           count)
    last = _emit_last(builder, [Along(indices, places)], [axis], [x.sizes[axis]], x.sizes, count)
    return _emit_written(builder, x, Along(last, tuple(range(x.rank))), values,
                         lambda body, index: [index if dim == axis else body.index(dim)
                                              for dim in range(x.rank)])
