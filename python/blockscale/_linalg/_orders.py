# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Orders of elements: sorting, the largest ones, sums up to a place, and counts.

Every element of a result is computed by itself from the whole axis, so a sort of n elements is
n comparisons for each of them. That is exact, the same on every target, and quadratic.
"""

from __future__ import annotations

from blockscale._linalg._body import Along, Body, format_sizes, get_inner, is_float
from blockscale._linalg._builder import Array, Builder, Size, multiply
from blockscale._linalg._elementwise import emit_convert
from blockscale._linalg._reductions import emit_reduce, emit_reduction, normalize_axes
from blockscale._linalg._shapes import emit_reshape, emit_take_along


def _is_nan(body: Body, x: str, dtype: str) -> str:
    return body.compare("ne", x, x, dtype)


def _and(body: Body, a: str, b: str) -> str:
    return body.op(f"arith.andi {a}, {b}", "i1")


def _or(body: Body, a: str, b: str) -> str:
    return body.op(f"arith.ori {a}, {b}", "i1")


def _is_above(body: Body, a: str, b: str, dtype: str) -> str:
    """Whether a is greater; NaN is greater than all numbers."""
    above = body.compare("gt", a, b, dtype)
    if not is_float(dtype):
        return above
    is_number = body.compare("eq", b, b, dtype)
    return _or(body, above, _and(body, _is_nan(body, a, dtype), is_number))


def _is_before(body: Body, a: str, b: str, place_a: str, place_b: str, dtype: str,
               descending: bool) -> str:
    """Whether a comes before b in the order, equal ones as they stand."""
    first, second = (a, b) if descending else (b, a)
    ahead = _is_above(body, first, second, dtype)
    behind = _is_above(body, second, first, dtype)
    earlier = body.op(f"arith.cmpi slt, {place_a}, {place_b}", "index")
    differs = _or(body, ahead, behind)
    return body.select(differs, ahead, earlier, "i1")


def _emit_ranks(builder: Builder, x: Array, axis: int, descending: bool) -> Array:
    """How many elements along the axis come before each one."""
    inner = get_inner(x.dtype)
    own, other = tuple(range(x.rank)), (*range(axis), x.rank, *range(axis + 1, x.rank))

    def count(body: Body, a: str, b: str) -> str:
        is_before = _is_before(body, b, a, body.index(x.rank), body.index(axis), inner,
                               descending)
        return body.convert(is_before, "i1", "i64")
    return emit_reduction(builder, "ranks", [Along(x, own), Along(x, other)],
                          (*x.sizes, x.sizes[axis]), [x.rank], "i64", 0, count,
                          lambda body, old, a: body.add(old, a, "i64"), inner=inner)


def emit_sort(builder: Builder, x: Array, axis: int = -1, *, descending: bool = False,
              count: Size | None = None) -> tuple[Array, Array]:
    """Elements in order along an axis, and where they were (i64). Equal ones stay as they stand,
    and NaN is greater than all numbers. Only the first `count` of them where given."""
    axis, = normalize_axes(builder, [axis], x.rank)
    ranks = _emit_ranks(builder, x, axis, descending)
    sizes = (*x.sizes[:axis], x.sizes[axis] if count is None else count, *x.sizes[axis + 1:])
    places = (*range(axis), x.rank, *range(axis + 1, x.rank))

    def find(body: Body, rank: str) -> str:
        wanted = body.convert(body.index(axis), "index", "i64")
        place = body.convert(body.index(x.rank), "index", "i64")
        return body.select(body.compare("eq", rank, wanted, "i64"), place,
                           body.constant(0, "i64"), "i64")
    indices = emit_reduction(builder, "order", [Along(ranks, places)], (*sizes, x.sizes[axis]),
                             [x.rank], "i64", 0, find,
                             lambda body, old, a: body.add(old, a, "i64"))
    return emit_take_along(builder, x, indices, axis), indices


def emit_extremum_index(builder: Builder, kind: str, x: Array, axis: int, *,
                        last: bool = False) -> Array:
    """The place (i64) of the first (or `last`) maximum ("max") or minimum ("min") along an axis,
    without it. The first NaN is the maximum and the minimum."""
    axis, = normalize_axes(builder, [axis], x.rank)
    inner = get_inner(x.dtype)
    kept = tuple(dim for dim in range(x.rank) if dim != axis)
    extremum = emit_reduce(builder, kind, x, [axis])

    def find(body: Body, a: str, wanted: str) -> str:
        is_wanted = body.compare("eq", a, wanted, inner)
        if is_float(inner):
            # Where the extremum is NaN, no number is equal to it.
            is_wanted = _or(body, is_wanted, _is_nan(body, a, inner))
        place = body.convert(body.index(axis), "index", "i64")
        return body.select(is_wanted, place, body.constant(nowhere, "i64"), "i64")
    nowhere, combine = (-1, Body.maximum) if last else (2 ** 63 - 1, Body.minimum)
    return emit_reduction(builder, f"place_of_{kind}", [x, Along(extremum, kept)], x.sizes, [axis],
                          "i64", nowhere, find,
                          lambda body, old, a: combine(body, old, a, "i64"), inner=inner)


def emit_search(builder: Builder, ordered: Array, x: Array, *, right: bool = False,
                dtype: str = "i64") -> Array:
    """For each element of x, how many elements of an ordered axis come before it, as
    numpy.searchsorted: those that are less, and where `right`, those that are equal, too. NaN is
    greater than all numbers. `ordered` is [S], or has an axis for each row of x."""
    rows = x.sizes[:-1]
    if ordered.rank != 1 and (ordered.rank != x.rank or ordered.sizes[:-1] != rows):
        builder.refuse("expected an ordered axis, or one for each row of the values, but got "
                       f"{format_sizes(ordered.sizes)} for values {format_sizes(x.sizes)}")
    inner = get_inner(ordered.dtype, x.dtype)

    def count(body: Body, a: str, b: str) -> str:
        one, zero = body.constant(1, "i64"), body.constant(0, "i64")
        if right:
            return body.select(_is_above(body, a, b, inner), zero, one, "i64")
        return body.select(_is_above(body, b, a, inner), one, zero, "i64")
    places = (x.rank,) if ordered.rank == 1 else (*range(x.rank - 1), x.rank)
    found = emit_reduction(
        builder, "places", [Along(ordered, places), Along(x, tuple(range(x.rank)))],
        (*x.sizes, ordered.sizes[-1]), [x.rank], "i64", 0, count,
        lambda body, old, a: body.add(old, a, "i64"), inner=inner)
    return emit_convert(builder, found, dtype, base="places")


def emit_cumulative_sum(builder: Builder, x: Array, axis: int, *, dtype: str | None = None,
                        exclusive: bool = False, reverse: bool = False) -> Array:
    """The sum of the elements up to each one along an axis, those of floating-point numbers in
    f32, rounded once to `dtype` (None: that of x). Without the element itself if `exclusive`; in
    `reverse`, of the elements from each one on."""
    axis, = normalize_axes(builder, [axis], x.rank)
    dtype = dtype or x.dtype
    inner = get_inner(dtype)

    def take(body: Body, a: str) -> str:
        order = ("sg" if reverse else "sl") + ("t" if exclusive else "e")
        is_up_to = body.op(f"arith.cmpi {order}, {body.index(x.rank)}, {body.index(axis)}", "index")
        return body.select(is_up_to, a, body.constant(0, inner), inner)
    places = (*range(axis), x.rank, *range(axis + 1, x.rank))
    total = emit_reduction(builder, "sums", [Along(x, places)], (*x.sizes, x.sizes[axis]),
                           [x.rank], inner, 0, take,
                           lambda body, old, a: body.add(old, a, inner))
    return emit_convert(builder, total, dtype, base="sums")


def emit_histogram(builder: Builder, x: Array, bins: int, low: float, high: float, *,
                   dtype: str | None = None) -> Array:
    """How many elements [bins] are in each of so many equal parts of the numbers from `low` to
    `high`, which are in the last part; others and NaN are in none. Computed in f32."""
    flat = emit_reshape(builder, x, (multiply(x.sizes),))

    def count(body: Body, a: str) -> str:
        first, last = body.constant(low), body.constant(high)
        is_inside = _and(body, body.compare("ge", a, first), body.compare("le", a, last))
        share = body.div(body.sub(a, first), body.sub(last, first))
        place = body.convert(body.mul(share, body.constant(bins)), "f32", "i64")
        place = body.minimum(place, body.constant(bins - 1, "i64"), "i64")
        is_here = body.compare("eq", place, body.convert(body.index(0), "index", "i64"), "i64")
        return body.convert(_and(body, is_inside, is_here), "i1", "i64")
    counts = emit_reduction(builder, "counts", [Along(flat, (1,))], (bins, *flat.sizes), [1],
                            "i64", 0, count, lambda body, old, a: body.add(old, a, "i64"),
                            inner="f32")
    return emit_convert(builder, counts, dtype or x.dtype, base="counts")
