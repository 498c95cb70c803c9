# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move elements of tensors, look them up, or make them: shapes, slices, joins, gathers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockscale._linalg import (
    Along,
    Array,
    Body,
    emit_broadcast,
    emit_clamped,
    emit_concat,
    emit_convert,
    emit_full,
    emit_gather,
    emit_insert,
    emit_iota,
    emit_pad,
    emit_reads,
    emit_repeat,
    emit_repeat_each,
    emit_reshape,
    emit_reverse,
    emit_slice,
    emit_take_along,
    emit_transpose,
    multiply,
    simplify,
)
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


@handles("aten.as_strided.default")
def import_as_strided(importer: Importer, input: Any, stride: Sequence[Any],
                      storage_offset: Any = None, **_: Any) -> Array:
    """Elements of the memory of x, which has its elements in their order."""
    meta = importer.get_operand_meta("input")
    if not meta.is_contiguous() or meta.storage_offset():
        importer.refuse("expected strides of a tensor whose elements lie in their order from the "
                        f"first one on, but got strides {list(meta.stride())} of sizes "
                        f"{list(meta.shape)} from {meta.storage_offset()} on")
    x = importer.tensor(input)
    flat = emit_reshape(importer, x, (multiply(x.sizes),))
    factors = [to_size(each) for each in (storage_offset or 0, *stride)]

    def place(body: Body) -> list[str]:
        first, *steps = (body.capture(importer.size(each)) for each in factors)
        for dim, step in enumerate(steps):
            moved = body.op(f"arith.muli {body.index(dim)}, {step}", "index")
            first = body.op(f"arith.addi {first}, {moved}", "index")
        return [emit_clamped(body, first, importer.size(flat.sizes[0]))]
    return emit_reads(importer, "strided", flat, sizes_of(importer.result), [], place)


@handles("aten.repeat.default")
def import_repeat(importer: Importer, input: Any, repeats: Sequence[Any]) -> Array:
    x = importer.tensor(input)
    wide = emit_reshape(importer, x, (*[1] * (len(repeats) - x.rank), *x.sizes))
    return emit_repeat(importer, wide, list(map(to_size, repeats)))


@handles("aten.repeat_interleave.self_int")
def import_repeat_interleave(importer: Importer, input: Any, repeats: Any, dim: int | None,
                             **_: Any) -> Array:
    x = importer.tensor(input)
    if dim is None:
        x, dim = emit_reshape(importer, x, (multiply(x.sizes),)), 0
    return emit_repeat_each(importer, x, to_size(repeats), dim % x.rank)


@handles("aten.flip.default")
def import_flip(importer: Importer, input: Any, dims: Sequence[int]) -> Array:
    return emit_reverse(importer, importer.tensor(input), dims)


@handles("aten.constant_pad_nd.default")
def import_pad(importer: Importer, input: Any, pad: Sequence[Any], value: Any) -> Array:
    """Sizes before and behind each dimension, the last one first; negative ones cut."""
    x = importer.tensor(input)
    low, high = [0] * x.rank, [0] * x.rank
    for number, dim in enumerate(range(x.rank - 1, x.rank - 1 - len(pad) // 2, -1)):
        low[dim], high[dim] = map(to_size, pad[2 * number:2 * number + 2])
    cut = [[-min(each, 0) if isinstance(each, int) else 0 for each in side] for side in (low, high)]
    x = emit_slice(importer, x, cut[0], [size - before - after for size, before, after
                                         in zip(x.sizes, *cut)])
    before, after = ([max(each, 0) if isinstance(each, int) else each for each in side]
                     for side in (low, high))
    return emit_pad(importer, x, before, after, value)


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


def _emit_placed(importer: Importer, x: Array, part: Array, dim: int, begin: Any,
                 step: int = 1) -> Array:
    offsets, strides = [0] * x.rank, [1] * x.rank
    offsets[dim], strides[dim] = begin, step
    return emit_insert(importer, emit_convert(importer, part, x.dtype), x, offsets, strides)


@handles("aten.slice_scatter.default")
def import_slice_scatter(importer: Importer, input: Any, src: Any, dim: int, start: Any, end: Any,
                         step: int) -> Array:
    """A copy of x whose slice is another tensor."""
    x, part = importer.tensor(input), importer.tensor(src, "src")
    dim %= x.rank
    return _emit_placed(importer, x, part, dim, _get_begin(x, dim, start), step)


@handles("aten.select_scatter.default")
def import_select_scatter(importer: Importer, input: Any, src: Any, dim: int, index: Any) -> Array:
    x, part = importer.tensor(input), importer.tensor(src, "src")
    dim %= x.rank
    part = emit_reshape(importer, part, (*x.sizes[:dim], 1, *x.sizes[dim + 1:]))
    return _emit_placed(importer, x, part, dim, _get_begin(x, dim, index))


@handles("aten.copy.default")
def import_copy(importer: Importer, input: Any, src: Any, **_: Any) -> Array:
    """Another tensor in the place of x."""
    source = emit_convert(importer, importer.tensor(src, "src"), importer.get_dtype())
    return emit_broadcast(importer, source, sizes_of(importer.result))


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
    return emit_take_along(importer, importer.tensor(input), importer.tensor(index, "index"), dim)


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
    if not isinstance(step, (int, float)):
        importer.refuse(f"expected a step that is a number, but got {step}")
    return emit_iota(importer, sizes_of(importer.result), 0, importer.get_dtype(),
                     start=importer.scalar(start), step=step)


def _emit_full(importer: Importer, value: Any) -> Array:
    return emit_full(importer, sizes_of(importer.result), importer.scalar(value),
                     importer.get_dtype())


@handles("aten.full.default", "aten.full_like.default", "aten.new_full.default")
def import_full(importer: Importer, fill_value: Any, **_: Any) -> Array:
    return _emit_full(importer, fill_value)


@handles("aten.scalar_tensor.default")
def import_scalar_tensor(importer: Importer, s: Any, **_: Any) -> Array:
    return _emit_full(importer, s)


@handles(*(f"aten.{prefix}zeros{suffix}.default" for prefix, suffix in (
    ("", ""), ("", "_like"), ("new_", ""))), "aten.empty.memory_format", "aten.empty_like.default",
    "aten.new_empty.default")
def import_zeros(importer: Importer, **_: Any) -> Array:
    """Elements that have no value yet are zeros, too."""
    return _emit_full(importer, 0)


@handles(*(f"aten.{prefix}ones{suffix}.default" for prefix, suffix in (
    ("", ""), ("", "_like"), ("new_", ""))))
def import_ones(importer: Importer, **_: Any) -> Array:
    return _emit_full(importer, 1)
