# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshapes, transposes, slices and joins: what moves elements and computes none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy

from blockscale._linalg._body import Along, Body, emit_elementwise, emit_full, get_inner, is_integer
from blockscale._linalg._builder import INDEX, Array, Builder, Size, get_spec, multiply, simplify
from blockscale._trace import Value
from blockscale._types import Spec


def _group(source: Sequence[Size], result: Sequence[Size]) -> list[tuple[list[int], list[int]]]:
    """Dimensions of both sides with equal products, in order, or []."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(source) and j < len(result):
        left, right = [i], [j]
        a, b = source[i], result[j]
        i, j = i + 1, j + 1
        while a != b:
            # The side that lacks a factor takes its next dimension.
            if j < len(result) and _divides(b, a):
                b, right, j = b * result[j], [*right, j], j + 1
            elif i < len(source) and _divides(a, b):
                a, left, i = a * source[i], [*left, i], i + 1
            else:
                return []
        groups.append((left, right))
    if not groups:
        return []
    groups[-1][0].extend(range(i, len(source)))
    groups[-1][1].extend(range(j, len(result)))
    same = all(multiply([source[k] for k in left]) == multiply([result[k] for k in right])
               for left, right in groups)
    return groups if same else []


def _divides(a: Any, b: Any) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return b == 0 or (a != 0 and b % a == 0)
    return a == 1 or (sympy.sympify(b) / a).is_integer is True or b == 0


def _is_same_count(a: Sequence[Size], b: Sequence[Size]) -> bool:
    products = multiply(a), multiply(b)
    if all(isinstance(each, int) for each in products):
        return bool(products[0] == products[1])
    return any(not isinstance(each, int) for each in products)


def emit_reshape(builder: Builder, x: Array, sizes: Sequence[Any]) -> Array:
    """Row-major elements in another shape."""
    sizes = tuple(map(simplify, sizes))
    if x.sizes == sizes:
        return x
    if not _is_same_count(x.sizes, sizes):
        builder.refuse(f"expected a shape of {multiply(x.sizes)} elements, but got "
                       f"{list(sizes)}")
    groups = _group(x.sizes, sizes)
    if not groups and x.sizes and sizes:
        groups = [([*range(len(x.sizes))], [*range(len(sizes))])]
    middle = tuple(sizes[right[0]] if len(left) == 1 == len(right)
                   else multiply([x.sizes[k] for k in left]) for left, right in groups)
    value = x.value
    if len(middle) != len(x.sizes):
        spec = get_spec(middle, x.dtype)
        dims = [left for left, _ in groups]
        value = builder.emit("joined", "tensor.collapse_shape", [value],
                             f"{value.name} {dims} : {value.spec} into {spec}", spec)
    if len(middle) != len(sizes):
        value = _emit_split(builder, value, [right for _, right in groups], sizes)
    else:
        value = emit_cast(builder, value, get_spec(sizes, x.dtype))
    return Array(value, sizes)


def emit_cast(builder: Builder, value: Value, spec: Spec) -> Value:
    """A tensor as one of a type that tells more or fewer of its sizes."""
    if value.spec == spec:
        return value
    return builder.emit("cast", "tensor.cast", [value],
                        f"{value.name} : {value.spec} to {spec}", spec)


def _emit_split(builder: Builder, value: Value, dims: list[list[int]],
                sizes: tuple[Size, ...]) -> Value:
    spec = get_spec(sizes, value.dtype)
    # MLIR 22 crashes where it lowers an expand_shape of one dimension to several of
    # unknown size.
    if any(sum(not isinstance(sizes[k], int) for k in group) > 1 for group in dims):
        shape = [builder.size(size) for size in sizes]
        names = ", ".join(size.name for size in shape)
        kind = f"tensor<{len(sizes)}xindex>"
        joined = builder.emit("shape", "tensor.from_elements", shape, f"{names} : {kind}", INDEX)
        return builder.emit("split", "tensor.reshape", [value, joined],
                            f"{value.name}({joined.name}) : ({value.spec}, {kind}) -> {spec}",
                            spec)
    dynamic = {k: builder.size(size) for k, size in enumerate(sizes)
               if not isinstance(size, int)}
    listed = ", ".join(dynamic[k].name if k in dynamic else str(size)
                       for k, size in enumerate(sizes))
    return builder.emit("split", "tensor.expand_shape", [value, *dynamic.values()],
                        f"{value.name} {dims} output_shape [{listed}] : {value.spec} "
                        f"into {spec}", spec)


def emit_transpose(builder: Builder, x: Array, order: Sequence[int]) -> Array:
    """Dimension i of the result is dimension `order[i]` of x."""
    order = tuple(each + x.rank if each < 0 else each for each in order)
    if sorted(order) != list(range(x.rank)):
        builder.refuse(f"expected an order of {x.rank} dimensions, but got {list(order)}")
    if order == tuple(range(x.rank)):
        return x
    sizes = tuple(x.sizes[each] for each in order)
    out = builder.empty(sizes, x.dtype)
    value = builder.emit("transposed", "linalg.transpose", [x.value, out],
                         f"ins({x.value.name} : {x.value.spec}) outs({out.name} : {out.spec}) "
                         f"permutation = {list(order)}", out.spec)
    return Array(value, sizes)


def emit_broadcast(builder: Builder, x: Array, sizes: Sequence[Any],
                   dims: Sequence[int] | None = None) -> Array:
    """x repeated to a shape, as numpy's broadcast_to, or with its dimension i along dimension
    `dims[i]` of the result."""
    sizes = tuple(map(simplify, sizes))
    if dims is None and len(x.sizes) <= len(sizes):
        dims = range(len(sizes) - len(x.sizes), len(sizes))
    if dims is None or len(dims) != x.rank or any(not 0 <= dim < len(sizes) for dim in dims):
        builder.refuse(f"expected a shape of rank {x.rank} or more, but got {list(sizes)}")
    if x.sizes == sizes:
        return x
    return emit_elementwise(builder, "repeated", [Along(x, tuple(dims))], sizes, x.dtype,
                            lambda _, a: a, inner=x.dtype)


def _format_sizes(builder: Builder, sizes: Sequence[Size]) -> tuple[str, list[Value]]:
    """Sizes as offsets of slices are written, and those that are values."""
    values, parts = [], []
    for size in sizes:
        if isinstance(size, int):
            parts.append(str(size))
        else:
            values.append(builder.size(size))
            parts.append(values[-1].name)
    return f"[{', '.join(parts)}]", values


def _format_slice(builder: Builder, offsets: Sequence[Size], sizes: Sequence[Size],
                  strides: Sequence[int]) -> tuple[str, list[Value]]:
    parts = [_format_sizes(builder, each) for each in (offsets, sizes, strides)]
    return "".join(text for text, _ in parts), [value for _, each in parts for value in each]


def emit_slice(builder: Builder, x: Array, offsets: Sequence[Any], sizes: Sequence[Any],
               strides: Sequence[int] | None = None) -> Array:
    """The part of x from `offsets` on, of `sizes`, every `strides`-th element."""
    offsets, sizes = tuple(map(simplify, offsets)), tuple(map(simplify, sizes))
    strides = tuple(strides or [1] * x.rank)
    for offset, size, stride, whole in zip(offsets, sizes, strides, x.sizes, strict=True):
        known = all(isinstance(each, int) for each in (offset, size, whole))
        if stride < 1 or (isinstance(offset, int) and offset < 0) or (
                known and size and offset + (size - 1) * stride >= whole):
            builder.refuse(f"expected a part of {list(x.sizes)}, but got {list(sizes)} from "
                           f"{list(offsets)} on with strides {list(strides)}")
    if sizes == x.sizes and not any(offsets) and set(strides) <= {1}:
        return x
    if 0 in sizes:
        # MLIR takes no offset behind the last element.
        return Array(builder.empty(sizes, x.dtype), sizes)
    spec = get_spec(sizes, x.dtype)
    text, values = _format_slice(builder, offsets, sizes, strides)
    value = builder.emit("part", "tensor.extract_slice", [x.value, *values],
                         f"{x.value.name}{text} : {x.value.spec} to {spec}", spec)
    return Array(value, sizes)


def emit_insert(builder: Builder, x: Array, into: Array, offsets: Sequence[Any],
                strides: Sequence[int] | None = None) -> Array:
    """`into` with x in place of its part from `offsets` on."""
    if 0 in x.sizes:
        return into
    offsets = tuple(map(simplify, offsets))
    text, values = _format_slice(builder, offsets, x.sizes, tuple(strides or [1] * x.rank))
    value = builder.emit("inserted", "tensor.insert_slice", [x.value, into.value, *values],
                         f"{x.value.name} into {into.value.name}{text} : {x.value.spec} into "
                         f"{into.value.spec}", into.value.spec)
    return Array(value, into.sizes)


def emit_concat(builder: Builder, arrays: Sequence[Array], axis: int) -> Array:
    """Tensors one behind the other along an axis."""
    first = arrays[0]
    axis = axis + first.rank if axis < 0 else axis
    for each in arrays:
        is_alike = each.rank == first.rank and each.dtype == first.dtype and all(
            builder.is_same(size, wanted)
            for dim, (size, wanted) in enumerate(zip(each.sizes, first.sizes)) if dim != axis)
        if not is_alike:
            builder.refuse(f"expected tensors of one dtype that differ along dimension {axis} "
                           f"alone, but got {first.value.spec} and {each.value.spec}")
    if not 0 <= axis < first.rank:
        builder.refuse(f"expected an axis of a tensor of rank {first.rank}, but got {axis}")
    if len(arrays) == 1:
        return first
    total: Any = 0
    begins = []
    for each in arrays:
        begins.append(total)
        total = simplify(total + each.sizes[axis])
    sizes = (*first.sizes[:axis], total, *first.sizes[axis + 1:])
    result = Array(builder.empty(sizes, first.dtype), sizes)
    for begin, each in zip(begins, arrays):
        offsets: list[Size] = [0] * first.rank
        offsets[axis] = begin
        result = emit_insert(builder, each, result, offsets)
    return result


def emit_pad(builder: Builder, x: Array, low: Sequence[Any], high: Sequence[Any],
             value: float = 0, interior: Sequence[int] | None = None) -> Array:
    """x with so many elements of `value` before, behind and between those of each dimension."""
    between = list(interior or [0] * x.rank)
    known = [each for each in [*low, *high, *between] if isinstance(each, int)]
    if any(each < 0 for each in known):
        builder.refuse(f"expected padding of 0 or more, but got {known}")
    if all(isinstance(each, int) and each == 0 for each in [*low, *high, *between]):
        return x
    sizes = [simplify(before + size + after + (size - 1) * gap) for before, after, size, gap
             in zip(low, high, x.sizes, between, strict=True)]
    return emit_insert(builder, x, emit_full(builder, sizes, value, x.dtype), low,
                       [gap + 1 for gap in between])


def emit_iota(builder: Builder, sizes: Sequence[Any], axis: int, dtype: str, *,
              start: float | Size = 0, step: float = 1) -> Array:
    """start + step * position along an axis, computed in `dtype` (in f32 for narrow ones)."""
    inner = get_inner(dtype)

    def compute(body: Body, *first: str) -> str:
        number = body.convert(body.index(axis), "index", inner)
        if step != 1:
            number = body.mul(number, body.constant(step, inner), inner)
        return body.add(number, first[0], inner) if first else number
    begins = [] if isinstance(start, (int, float)) and start == 0 else [start]
    return emit_elementwise(builder, "iota", begins, tuple(map(simplify, sizes)), dtype, compute,
                            inner=inner, made=inner)


def emit_reads(builder: Builder, base: str, x: Array, sizes: Sequence[Size],
               operands: Sequence[Array | Along], place: Callable[..., Sequence[str]]) -> Array:
    """The elements of x at indices that `place(body, *names)` computes for each element of a
    result of `sizes`. Operands are broadcast to it, and taken in their own dtypes."""
    dtypes = [(each.array if isinstance(each, Along) else each).dtype for each in operands]
    return emit_elementwise(builder, base, operands, sizes, x.dtype,
                            lambda body, *names: body.extract(x, place(body, *names)),
                            inner=dtypes, made=x.dtype)


def emit_reverse(builder: Builder, x: Array, axes: Sequence[int]) -> Array:
    """Elements in the opposite order along axes."""
    def place(body: Body) -> list[str]:
        indices = []
        for dim, size in enumerate(x.sizes):
            index = body.index(dim)
            if dim in axes or dim - x.rank in axes:
                last = body.capture(builder.size(simplify(size - 1)))
                index = body.op(f"arith.subi {last}, {index}", "index")
            indices.append(index)
        return indices
    return emit_reads(builder, "reversed", x, x.sizes, [], place)


def emit_clamped(body: Body, index: str, size: Value, *, wraps: bool = False) -> str:
    """An index within 0 and size - 1: the nearest one, so that no tensor is read outside of it.
    Where it `wraps`, negative ones count from the end first."""
    zero = body.op("arith.constant 0", "index")
    if wraps:
        moved = body.op(f"arith.addi {index}, {body.capture(size)}", "index")
        is_negative = body.op(f"arith.cmpi slt, {index}, {zero}", "index")
        index = body.op(f"arith.select {is_negative}, {moved}, {index}", "index")
    last = body.op(f"arith.subi {body.capture(size)}, "
                   f"{body.op('arith.constant 1', 'index')}", "index")
    low = body.op(f"arith.maxsi {index}, {zero}", "index")
    return body.op(f"arith.minsi {low}, {last}", "index")


def _reflect(body: Body, index: str, size: Value) -> str:
    """The place of an element. Before the first one are those behind it, and behind the last one
    those before it."""
    negated = body.op(f"arith.subi {body.op('arith.constant 0', 'index')}, {index}", "index")
    index = body.op(f"arith.maxsi {index}, {negated}", "index")
    one = body.op("arith.constant 1", "index")
    last = body.op(f"arith.subi {body.capture(size)}, {one}", "index")
    twice = body.op(f"arith.addi {last}, {last}", "index")
    mirrored = body.op(f"arith.subi {twice}, {index}", "index")
    return emit_clamped(body, body.op(f"arith.minsi {index}, {mirrored}", "index"), size)


def _wrap(body: Body, index: str, size: Value) -> str:
    """The place of an element. Before the first one is the last one, and the other way round."""
    whole = body.capture(size)
    rest = body.op(f"arith.remsi {index}, {whole}", "index")
    moved = body.op(f"arith.addi {rest}, {whole}", "index")
    return body.op(f"arith.remsi {moved}, {whole}", "index")


#: Ways to fill padding by elements of the tensor, as numpy.pad has them.
PADDINGS: dict[str, Callable[[Body, str, Value], str]] = {
    "edge": emit_clamped, "reflect": _reflect, "wrap": _wrap}


def emit_pad_by_elements(builder: Builder, kind: str, x: Array, low: Sequence[Any],
                         high: Sequence[Any]) -> Array:
    """x with so many elements before and behind those of each dimension, which are its own by a
    name of PADDINGS. A reflection has no more of them than the dimension has but one."""
    sizes = [simplify(before + size + after)
             for before, size, after in zip(low, x.sizes, high, strict=True)]

    def place(body: Body) -> list[str]:
        places = []
        for dim, size in enumerate(x.sizes):
            index = body.index(dim)
            if low[dim] != 0 or high[dim] != 0:
                begin = body.capture(builder.size(simplify(low[dim])))
                index = body.op(f"arith.subi {index}, {begin}", "index")
                index = PADDINGS[kind](body, index, builder.size(size))
            places.append(index)
        return places
    return emit_reads(builder, "padded", x, sizes, [], place)


def check_indices(builder: Builder, *indices: Array) -> None:
    """Refuses indices that are no integers."""
    for each in indices:
        if not is_integer(each.dtype) or each.dtype == "i1":
            builder.refuse(f"expected indices of integers, but got {each.dtype}")


def emit_take_along(builder: Builder, x: Array, indices: Array, axis: int, *,
                    wraps: bool = False) -> Array:
    """x at an index along an axis for each element of `indices`, and at the element's own places
    along the other ones, as numpy.take_along_axis. Indices outside of x read as emit_gather has
    them."""
    if not x.rank or x.rank != indices.rank:
        builder.refuse("expected a tensor of rank 1 or more and indices of its rank, but got "
                       f"{list(x.sizes)} and {list(indices.sizes)}")
    check_indices(builder, indices)
    axis = axis + x.rank if axis < 0 else axis

    def place(body: Body, name: str) -> list[str]:
        places = [body.index(each) for each in range(indices.rank)]
        places[axis] = emit_clamped(body, body.convert(name, indices.dtype, "index"),
                                    builder.size(x.sizes[axis]), wraps=wraps)
        return places
    return emit_reads(builder, "gathered", x, indices.sizes, [indices], place)


def emit_repeat(builder: Builder, x: Array, counts: Sequence[Any]) -> Array:
    """x so many times behind itself along each dimension, as numpy.tile of as many."""
    sizes = tuple(simplify(count * size) for count, size in zip(counts, x.sizes, strict=True))
    split = tuple(each for size in x.sizes for each in (1, size))
    wide = tuple(each for pair in zip(counts, x.sizes) for each in pair)
    return emit_reshape(builder, emit_broadcast(builder, emit_reshape(builder, x, split), wide),
                        sizes)


def emit_repeat_each(builder: Builder, x: Array, count: Any, axis: int) -> Array:
    """Each slice of x so many times along an axis, as numpy.repeat."""
    behind = x.sizes[axis + 1:]
    split = emit_reshape(builder, x, (*x.sizes[:axis + 1], 1, *behind))
    wide = emit_broadcast(builder, split, (*x.sizes[:axis + 1], count, *behind))
    return emit_reshape(builder, wide, (*x.sizes[:axis], simplify(x.sizes[axis] * count),
                                        *behind))


def emit_gather(builder: Builder, x: Array, indices: Array, axis: int = 0, *,
                wraps: bool = False) -> Array:
    """Slices of x along an axis at indices, as numpy.take: the dimensions of indices stand in
    place of the axis. An index outside of x reads its nearest slice; where it `wraps`, negative
    ones count from the end."""
    axis = axis + x.rank if axis < 0 else axis
    check_indices(builder, indices)
    if not 0 <= axis < x.rank:
        builder.refuse(f"expected an axis of a tensor of rank {x.rank}, but got {axis}")
    if x.sizes[axis] == 0:
        builder.refuse(f"expected elements along dimension {axis}, but got {list(x.sizes)}")
    sizes = (*x.sizes[:axis], *indices.sizes, *x.sizes[axis + 1:])
    dims, size = tuple(range(axis, axis + indices.rank)), builder.size(x.sizes[axis])

    def place(body: Body, index: str) -> list[str]:
        index = emit_clamped(body, body.convert(index, indices.dtype, "index"), size, wraps=wraps)
        return [*map(body.index, range(axis)), index,
                *map(body.index, range(axis + indices.rank, len(sizes)))]
    return emit_reads(builder, "gathered", x, sizes, [Along(indices, dims)], place)
