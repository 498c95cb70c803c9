# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move elements of tensors, look them up, or make them: shapes, slices, joins, gathers."""

from __future__ import annotations

from typing import Any, Sequence

from blockscale._linalg import (Along, Array, Body, emit_broadcast, emit_clamped, emit_concat,
                                emit_convert, emit_full, emit_gather, emit_iota, emit_reads,
                                emit_reshape, emit_slice, emit_transpose, simplify)
from blockscale.torch._importer import NARROW, Importer, Narrow, handles, sizes_of, to_size


@handles("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
         "aten.flatten.using_ints", "aten.unflatten.int", "aten.unsqueeze.default",
         "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze.default")
def import_reshape(importer: Importer, input: Any, **_: Any) -> Any:
    if isinstance(input, Narrow):
        return input  # The op that takes it checks its shape.
    return emit_reshape(importer, importer.tensor(input), sizes_of(importer.result))


@handles("aten.alias.default", "aten.detach.default", "aten.clone.default",
         "aten.contiguous.default", "aten.detach_.default", "aten.dropout.default",
         "aten.lift_fresh_copy.default")
def import_alias(importer: Importer, input: Any, train: bool = False, **_: Any) -> Any:
    if train:
        importer.refuse("expected a model in evaluation mode, but got dropout in training; "
                        "call model.eval()")
    return input


@handles("aten.t.default", "aten.transpose.int")
def import_transpose(importer: Importer, input: Any, dim0: int = 0, dim1: int = 1) -> Any:
    rank = importer.result.dim()
    if not isinstance(input, Narrow):
        order = list(range(rank))
        if rank > 1:
            order[dim0], order[dim1] = order[dim1], order[dim0]
        return emit_transpose(importer, importer.tensor(input), order)
    if {dim0 % rank, dim1 % rank} != {rank - 2, rank - 1}:
        importer.refuse("expected a transpose of the matrices of codes, but got one of dimensions "
                        f"{dim0} and {dim1} of {importer.result.dtype}")
    return Narrow(input.source, input.dtype, not input.is_transposed)


@handles("aten.permute.default")
def import_permute(importer: Importer, input: Any, dims: Sequence[int]) -> Array:
    return emit_transpose(importer, importer.tensor(input), dims)


@handles("aten.view.dtype")
def import_view_dtype(importer: Importer, input: Any, dtype: Any) -> Narrow:
    if not isinstance(input, Narrow) or dtype not in NARROW:
        importer.refuse(f"expected a view of bytes as bytes, but got one as {dtype}")
    return Narrow(input.source, dtype, input.is_transposed)


@handles("aten.expand.default", "aten.expand_as.default", "aten.broadcast_to.default")
def import_expand(importer: Importer, input: Any, **_: Any) -> Array:
    return emit_broadcast(importer, importer.tensor(input), sizes_of(importer.result))


# Parts and joins.


def _get_begin(x: Array, dim: int, start: Any) -> Any:
    """Where a slice begins, which Python's rules allow to be before or behind the tensor."""
    size = x.sizes[dim]
    begin = 0 if start is None else to_size(start)
    if not isinstance(begin, int):
        return begin
    if isinstance(size, int):
        return max(0, min(begin + size if begin < 0 else begin, size))
    return simplify(size + begin) if begin < 0 else begin


def _emit_part(importer: Importer, x: Array, dim: int, begin: Any, size: Any,
               step: int = 1) -> Array:
    offsets, sizes, strides = [0] * x.rank, list(x.sizes), [1] * x.rank
    offsets[dim], sizes[dim], strides[dim] = begin, size, step
    return emit_slice(importer, x, offsets, sizes, strides)


@handles("aten.slice.Tensor")
def import_slice(importer: Importer, input: Any, dim: int, start: Any, end: Any,
                 step: int) -> Array:
    x = importer.tensor(input)
    dim %= x.rank
    size = sizes_of(importer.result)[dim]
    begin = 0 if size == 0 else _get_begin(x, dim, start)
    return _emit_part(importer, x, dim, begin, size, step)


@handles("aten.select.int")
def import_select(importer: Importer, input: Any, dim: int, index: Any) -> Array:
    x = importer.tensor(input)
    dim %= x.rank
    part = _emit_part(importer, x, dim, _get_begin(x, dim, index), 1)
    return emit_reshape(importer, part, sizes_of(importer.result))


@handles("aten.split.Tensor", "aten.split_with_sizes.default", "aten.chunk.default",
         "aten.unbind.int")
def import_split(importer: Importer, input: Any, dim: int, **_: Any) -> tuple[Array, ...]:
    x, begin, parts = importer.tensor(input), 0, []
    dim %= x.rank
    for meta in importer.result:
        sizes = sizes_of(meta)
        size = sizes[dim] if len(sizes) == x.rank else 1
        part = _emit_part(importer, x, dim, begin, size)
        parts.append(emit_reshape(importer, part, sizes))
        begin = simplify(begin + size)
    return tuple(parts)


@handles("aten.cat.default")
def import_cat(importer: Importer, tensors: Sequence[Any], dim: int) -> Array:
    dtype, rank = importer.get_dtype(), importer.result.dim()
    arrays = [emit_convert(importer, importer.tensor(each), dtype) for each in tensors]
    # torch leaves out tensors [0] among those of a higher rank.
    return emit_concat(importer, [each for each in arrays if each.rank == rank], dim)


@handles("aten.stack.default")
def import_stack(importer: Importer, tensors: Sequence[Any], dim: int) -> Array:
    dim %= importer.result.dim()
    arrays = []
    for each in tensors:
        x = emit_convert(importer, importer.tensor(each), importer.get_dtype())
        arrays.append(emit_reshape(importer, x, (*x.sizes[:dim], 1, *x.sizes[dim:])))
    return emit_concat(importer, arrays, dim)


# Elements at indices. Those outside of a tensor are an error in PyTorch, and read the nearest
# element here.


@handles("aten.embedding.default")
def import_embedding(importer: Importer, weight: Any, indices: Any, **_: Any) -> Array:
    return emit_gather(importer, importer.tensor(weight, "weight"),
                       importer.tensor(indices, "indices"))


@handles("aten.index_select.default")
def import_index_select(importer: Importer, input: Any, dim: int, index: Any) -> Array:
    x, indices = importer.tensor(input), importer.tensor(index, "index")
    return emit_reshape(importer, emit_gather(importer, x, indices, dim),
                        sizes_of(importer.result))


@handles("aten.gather.default")
def import_gather(importer: Importer, input: Any, dim: int, index: Any, **_: Any) -> Array:
    x, indices = importer.tensor(input), importer.tensor(index, "index")
    if not x.rank or x.rank != indices.rank:
        importer.refuse("expected a tensor of rank 1 or more and indices of its rank, but got "
                        f"{list(x.sizes)} and {list(indices.sizes)}")
    dim %= x.rank

    def place(body: Body, name: str) -> list[str]:
        places = [body.index(each) for each in range(indices.rank)]
        places[dim] = emit_clamped(body, body.convert(name, indices.dtype, "index"),
                                   importer.size(x.sizes[dim]))
        return places
    return emit_reads(importer, "gathered", x, indices.sizes, [indices], place)


@handles("aten.index.Tensor")
def import_index(importer: Importer, input: Any, indices: Sequence[Any]) -> Array:
    """x[indices], as NumPy has it: indices broadcast, and stand in place of their dimensions
    where these are neighbours, else in front."""
    x, sizes = importer.tensor(input), sizes_of(importer.result)
    known = {dim: importer.tensor(each, "index") for dim, each in enumerate(indices)
             if each is not None}
    if any(each.dtype not in ("i8", "i16", "i32", "i64") for each in known.values()):
        importer.refuse("expected indices of integers, but got "
                        f"{', '.join(each.dtype for each in known.values())}")
    dims = list(known)
    count = len(sizes) - (x.rank - len(dims))
    first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0
    end = first + count
    loops = iter([*range(first), *range(end, len(sizes))])

    def place(body: Body, *names: str) -> list[str]:
        places, numbers = [], iter(names)
        for dim, size in enumerate(x.sizes):
            if dim in known:
                number = body.convert(next(numbers), known[dim].dtype, "index")
                places.append(emit_clamped(body, number, importer.size(size), wraps=True))
            else:
                places.append(body.index(next(loops)))
        return places
    return emit_reads(importer, "indexed", x, sizes,
                      [Along(each, tuple(range(end - each.rank, end))) for each in known.values()],
                      place)


# Tensors that are made.


@handles("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def import_arange(importer: Importer, end: Any, start: Any = 0, step: Any = 1, **_: Any) -> Array:
    if not all(isinstance(each, (int, float)) for each in (start, step)):
        importer.refuse(f"expected a start and a step that are numbers, but got {start} and "
                        f"{step}")
    return emit_iota(importer, sizes_of(importer.result), 0, importer.get_dtype(), start=start,
                     step=step)


def _emit_full(importer: Importer, value: Any) -> Array:
    if not isinstance(value, (int, float)):
        importer.refuse(f"expected a number to fill a tensor with, but got {value}")
    return emit_full(importer, sizes_of(importer.result), value, importer.get_dtype())


@handles("aten.full.default", "aten.full_like.default", "aten.new_full.default")
def import_full(importer: Importer, fill_value: Any, **_: Any) -> Array:
    return _emit_full(importer, fill_value)


@handles("aten.scalar_tensor.default")
def import_scalar_tensor(importer: Importer, s: Any, **_: Any) -> Array:
    return _emit_full(importer, s)


@handles(*(f"aten.{prefix}zeros{suffix}.default" for prefix, suffix in (
    ("", ""), ("", "_like"), ("new_", ""))))
def import_zeros(importer: Importer, **_: Any) -> Array:
    return _emit_full(importer, 0)


@handles(*(f"aten.{prefix}ones{suffix}.default" for prefix, suffix in (
    ("", ""), ("", "_like"), ("new_", ""))))
def import_ones(importer: Importer, **_: Any) -> Array:
    return _emit_full(importer, 1)
