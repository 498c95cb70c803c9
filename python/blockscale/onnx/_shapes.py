# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that move elements, and those that make tensors of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import sympy

from blockscale._linalg import (
    PADDINGS,
    Along,
    Array,
    Body,
    Size,
    emit_binary,
    emit_broadcast,
    emit_clamped,
    emit_compare,
    emit_concat,
    emit_full,
    emit_gather,
    emit_iota,
    emit_pad,
    emit_pad_by_elements,
    emit_reads,
    emit_repeat,
    emit_reshape,
    emit_reverse,
    emit_select,
    emit_slice,
    emit_transpose,
    is_float,
    is_integer,
    multiply,
    simplify,
)
from blockscale.onnx._importer import Importer, Operand, get_input, handles
from blockscale.onnx._operands import Constant, get_dtype
from blockscale.onnx._sizes import list_places, make_sizes, place_end


def read_axes(importer: Importer, axes: Sequence[int], rank: int) -> list[int]:
    """Axes from 0 on."""
    found = [axis + rank if axis < 0 else axis for axis in map(int, axes)]
    if any(not 0 <= axis < rank for axis in found) or len(set(found)) != len(found):
        importer.refuse(f"expected different axes of a tensor of rank {rank}, but got "
                        f"{list(map(int, axes))}")
    return found


def take_axes(importer: Importer, inputs: Sequence[Operand], place: int,
              attributes: dict[str, Any]) -> list[int] | None:
    """Axes of an input, or of the attribute that older opsets have; None for none."""
    given = get_input(inputs, place)
    if given is not None:
        return [int(axis) for axis in importer.known(given, "axes").reshape(-1)]
    found = attributes.get("axes")
    return None if found is None else list(found)


@handles("Shape")
def import_shape(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]) -> Any:
    sizes = list(inputs[0].sizes)
    return make_sizes(sizes[attributes.get("start", 0):attributes.get("end", len(sizes))])


@handles("Size")
def import_size(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Any:
    return make_sizes(multiply(inputs[0].sizes))


@handles("Reshape")
def import_reshape(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                   ) -> Array:
    x = importer.array(inputs[0])
    wanted = importer.list_sizes(inputs[1], "the shape")
    if not attributes.get("allowzero", 0):
        if any(size == 0 and dim >= x.rank for dim, size in enumerate(wanted)):
            importer.refuse(f"expected 0 in a shape for dimensions of {list(x.sizes)}, but got "
                            f"{wanted}")
        wanted = [x.sizes[dim] if size == 0 else size for dim, size in enumerate(wanted)]
    if wanted.count(-1) > 1:
        importer.refuse(f"expected at most one -1 in a shape, but got {wanted}")
    if -1 in wanted:
        rest = multiply([size for size in wanted if size != -1])
        left = _divide(importer, x.sizes, rest, wanted)
        wanted = [left if size == -1 else size for size in wanted]
    return emit_reshape(importer, x, wanted)


def _divide(importer: Importer, sizes: Sequence[Size], rest: Size, wanted: Sequence[Size]) -> Size:
    left: Any = 0 if rest == 0 else sympy.sympify(multiply(sizes)) / rest
    if left != 0 and not left.is_integer:
        importer.refuse(f"expected a shape of {multiply(sizes)} elements, but got {list(wanted)}")
    return simplify(left)


@handles("Flatten")
def import_flatten(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                   ) -> Array:
    x = importer.array(inputs[0])
    axis = attributes.get("axis", 1)
    if not -x.rank <= axis <= x.rank:
        importer.refuse(f"expected axis -{x.rank} to {x.rank}, but got {axis}")
    axis = axis + x.rank if axis < 0 else axis
    return emit_reshape(importer, x, [multiply(x.sizes[:axis]), multiply(x.sizes[axis:])])


@handles("Unsqueeze")
def import_unsqueeze(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                     ) -> Array:
    x = importer.array(inputs[0])
    axes = take_axes(importer, inputs, 1, attributes) or []
    rank = x.rank + len(axes)
    axes, sizes = read_axes(importer, axes, rank), iter(x.sizes)
    return emit_reshape(importer, x, [1 if dim in axes else next(sizes) for dim in range(rank)])


@handles("Squeeze")
def import_squeeze(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                   ) -> Array:
    x = importer.array(inputs[0])
    axes = take_axes(importer, inputs, 1, attributes)
    if axes is None:
        if any(not isinstance(size, int) for size in x.sizes):
            importer.refuse(f"expected axes for a tensor of sizes {list(x.sizes)}, but got none")
        axes = [dim for dim, size in enumerate(x.sizes) if size == 1]
    axes = read_axes(importer, axes, x.rank)
    if not all(importer.is_same(x.sizes[axis], 1) for axis in axes):
        importer.refuse(f"expected sizes of 1 along axes {axes}, but got {list(x.sizes)}")
    x = emit_slice(importer, x, [0] * x.rank, [1 if dim in axes else size
                                               for dim, size in enumerate(x.sizes)])
    return emit_reshape(importer, x, [size for dim, size in enumerate(x.sizes)
                                      if dim not in axes])


@handles("Transpose")
def import_transpose(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                     ) -> Array:
    from blockscale.onnx._products import note_transpose
    x = importer.array(inputs[0])
    order = list(attributes.get("perm", range(x.rank)[::-1]))
    return note_transpose(importer, emit_transpose(importer, x, order), x, order)


@handles("Concat")
def import_concat(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                  ) -> Array:
    return emit_concat(importer, [importer.array(each) for each in inputs], attributes["axis"])


@handles("Gather")
def import_gather(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                  ) -> Array:
    x, axis = importer.array(inputs[0]), attributes.get("axis", 0)
    indices = inputs[1]
    if isinstance(indices, Constant) and indices.value.size == 1 and is_integer(indices.dtype):
        # One part is a slice.
        axis, = read_axes(importer, [axis], x.rank)
        size, index = x.sizes[axis], int(indices.value.reshape(-1)[0])
        offset = index + size if index < 0 else index
        if isinstance(size, int) and not 0 <= offset < size:
            importer.refuse(f"expected indices of dimension {axis} of {list(x.sizes)}, but got "
                            f"{index}")
        # Without a known size, a gather reads within the tensor.
        if isinstance(size, int) or index in (0, -1):
            offsets, sizes = [0] * x.rank, list(x.sizes)
            offsets[axis], sizes[axis] = simplify(offset), 1
            part = emit_slice(importer, x, offsets, sizes)
            return emit_reshape(importer, part, [*x.sizes[:axis], *indices.sizes,
                                                 *x.sizes[axis + 1:]])
    return emit_gather(importer, x, importer.array(indices, "indices"), axis, wraps=True)


@handles("GatherElements")
def import_gather_elements(importer: Importer, inputs: Sequence[Operand],
                           attributes: dict[str, Any]) -> Array:
    x, indices = importer.array(inputs[0]), importer.array(inputs[1], "indices")
    axis, = read_axes(importer, [attributes.get("axis", 0)], x.rank)
    if indices.rank != x.rank:
        importer.refuse(f"expected indices of rank {x.rank}, but got {list(indices.sizes)}")
    for dim in range(x.rank):
        rest = sympy.sympify(x.sizes[dim]) - indices.sizes[dim]
        if dim != axis and not rest.is_nonnegative:
            importer.refuse(f"expected indices within {list(x.sizes)} but along axis {axis}, but "
                            f"got {list(indices.sizes)}")

    def place(body: Body, index: str) -> list[str]:
        places = [body.index(dim) for dim in range(x.rank)]
        places[axis] = _read_index(importer, body, indices, index, x.sizes[axis])
        return places
    return emit_reads(importer, "gathered", x, indices.sizes, [indices], place)


def _read_index(importer: Importer, body: Body, indices: Array, name: str, size: Size) -> str:
    """An index within a dimension; negative ones count from the end."""
    if indices.dtype not in ("i32", "i64"):
        importer.refuse(f"expected indices of int32 or int64, but got {indices.dtype}")
    return emit_clamped(body, body.convert(name, indices.dtype, "index"), importer.size(size),
                        wraps=True)


@handles("GatherND")
def import_gather_nd(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                     ) -> Array:
    x, indices = importer.array(inputs[0]), importer.array(inputs[1], "indices")
    batch, depth = attributes.get("batch_dims", 0), indices.sizes[-1] if indices.rank else None
    lead = indices.rank - 1
    if not isinstance(depth, int) or not 1 <= depth <= x.rank - batch or not 0 <= batch <= lead:
        importer.refuse(f"expected indices of 1 to {x.rank - batch} dimensions of "
                        f"{list(x.sizes)}, but got {list(indices.sizes)}")
    if x.sizes[:batch] != indices.sizes[:batch]:
        importer.refuse(f"expected the batch of {list(x.sizes)}, but got {list(indices.sizes)}")
    sizes = (*indices.sizes[:-1], *x.sizes[batch + depth:])
    columns = []
    for number in range(depth):
        part = emit_slice(importer, indices, [0] * lead + [number], [*indices.sizes[:-1], 1])
        column = emit_reshape(importer, part, indices.sizes[:-1])
        columns.append(Along(column, tuple(range(lead))))

    def place(body: Body, *names: str) -> list[str]:
        return [*map(body.index, range(batch)),
                *(_read_index(importer, body, indices, name, size)
                  for name, size in zip(names, x.sizes[batch:])),
                *map(body.index, range(lead, len(sizes)))]
    return emit_reads(importer, "gathered", x, sizes, columns, place)


@handles("Slice", of_constants=True)
def import_slice(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Any:
    is_known = all(each is None or isinstance(each, Constant) for each in inputs)
    x: Any = inputs[0] if is_known else importer.array(inputs[0])
    starts, ends = (importer.list_sizes(each, what)
                    for each, what in zip(inputs[1:3], ("starts", "ends")))
    given = get_input(inputs, 4)
    axes = take_axes(importer, inputs, 3, {})
    axes = read_axes(importer, range(len(starts)) if axes is None else axes, len(x.sizes))
    steps = ([1] * len(starts) if given is None else
             importer.known(given, "steps").reshape(-1).tolist())
    if not len(starts) == len(ends) == len(axes) == len(steps):
        importer.refuse("expected as many starts, ends, axes and steps, but got "
                        f"{len(starts)}, {len(ends)}, {len(axes)} and {len(steps)}")
    for axis, start, end, step in zip(axes, starts, ends, steps):
        if step == 0:
            importer.refuse("expected steps other than 0, but got 0")
        x = (_slice_known(x, axis, start, end, int(step)) if is_known else
             _slice(importer, x, axis, start, end, int(step)))
    return x


def _slice_known(x: Constant, axis: int, start: Any, end: Any, step: int) -> Constant:
    places = np.array(list_places(x.sizes[axis], start, end, step), np.int64)
    return Constant(np.take(x.value, places, axis), x.name)


def _slice(importer: Importer, x: Array, axis: int, start: Size, end: Size, step: int) -> Array:
    size = x.sizes[axis]
    first = place_end(size, start, step, is_last=False)
    last = place_end(size, end, step, is_last=True)
    if step < 0:
        # A slice of the elements in the opposite order.
        x, step = emit_reverse(importer, x, [axis]), -step
        first, last = simplify(size - 1 - first), simplify(size - 1 - last)
    count = sympy.sympify(last) - first
    if step != 1:
        if not count.is_Integer:
            importer.refuse(f"expected steps of 1 with sizes that are not known, but got {step}")
        count = sympy.Integer(math.ceil(int(count) / step))
    count = sympy.Integer(0) if count.is_nonpositive else count
    if not count.is_nonnegative or not sympy.sympify(first).is_nonnegative:
        importer.refuse(f"expected a slice of dimension {axis} of {list(x.sizes)} of the same "
                        f"form whatever the sizes of inputs are, but got one from {start} to {end}")
    rest = sympy.sympify(size) - last
    if step != 1 and not rest.is_nonnegative:
        importer.refuse(f"expected steps of 1 with sizes that are not known, but got {step}")
    if not rest.is_nonnegative:
        # It ends within the tensor where the model is called rightly. A gather never reads
        # outside of it.
        importer.limit(last, size)
        places = emit_iota(importer, [count], 0, "i64")
        if first != 0:
            moved = importer.array(make_sizes(first))
            places = emit_binary(importer, "add", places, moved)
        return emit_gather(importer, x, places, axis)
    offsets, sizes, strides = [0] * x.rank, list(x.sizes), [1] * x.rank
    offsets[axis], sizes[axis], strides[axis] = first, simplify(count), step
    return emit_slice(importer, x, offsets, sizes, strides)


@handles("Split")
def import_split(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                 ) -> tuple[Array, ...]:
    x = importer.array(inputs[0])
    axis, = read_axes(importer, [attributes.get("axis", 0)], x.rank)
    size = x.sizes[axis]
    sizes_of_parts = get_input(inputs, 1)
    if sizes_of_parts is not None:
        parts = importer.list_sizes(sizes_of_parts, "the sizes of parts")
    else:
        count = len(importer.node.outputs)
        given = attributes.get("num_outputs")
        if given not in (None, count):
            importer.refuse(f"expected num_outputs to be {count}, as there are outputs, but got "
                            f"{given}")
        if not isinstance(size, int):
            importer.refuse(f"expected the sizes of parts of a dimension of size {size}, but got "
                            "their number alone")
        whole = math.ceil(size / count)
        parts = [whole] * (count - 1) + [size - whole * (count - 1)]
        # num_outputs lets the last part be smaller than the others.
        if (given is None and size % count) or parts[-1] < 0:
            what = f"{count} equal parts" if given is None else f"{count} parts of {whole}"
            importer.refuse(f"expected a dimension of {what}, but got size {size}")
    if sympy.sympify(sum(parts)) - size != 0:
        importer.refuse(f"expected parts whose sizes add up to {size}, but got {parts}")
    results, begin = [], 0
    for part in parts:
        offsets, sizes = [0] * x.rank, list(x.sizes)
        offsets[axis], sizes[axis] = begin, part
        results.append(emit_slice(importer, x, offsets, sizes))
        begin = simplify(begin + part)
    return tuple(results)


@handles("Expand")
def import_expand(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    x = importer.array(inputs[0])
    wanted = importer.list_sizes(inputs[1], "the shape")
    rank = max(x.rank, len(wanted))
    sizes = [1] * (rank - x.rank) + list(x.sizes)
    wanted = [1] * (rank - len(wanted)) + wanted
    return emit_broadcast(importer, x, [size if other == 1 else other
                                        for size, other in zip(sizes, wanted)])


@handles("Tile")
def import_tile(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    x = importer.array(inputs[0])
    repeats = importer.list_sizes(inputs[1], "repeats")
    if len(repeats) != x.rank:
        importer.refuse(f"expected repeats of {x.rank} dimensions, but got {repeats}")
    return emit_repeat(importer, x, repeats)


@handles("Pad")
def import_pad(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]) -> Array:
    x = importer.plain(inputs[0])
    mode = importer.choose(attributes, "mode", "constant", ("constant", *PADDINGS))
    pads = importer.list_sizes(inputs[1], "pads")
    given = get_input(inputs, 2)
    value = 0 if given is None else importer.known_number(given, "the value")
    axes = take_axes(importer, inputs, 3, {})
    axes = read_axes(importer, range(x.rank) if axes is None else axes, x.rank)
    if len(pads) != 2 * len(axes):
        importer.refuse(f"expected {2 * len(axes)} pads for axes {axes}, but got {pads}")
    low, high = [0] * x.rank, [0] * x.rank
    for number, axis in enumerate(axes):
        low[axis], high[axis] = pads[number], pads[number + len(axes)]
    if mode == "constant":
        return emit_pad(importer, x, low, high, value)
    for axis in axes:
        _check_padding(importer, x, axis, mode, (low[axis], high[axis]))
    return emit_pad_by_elements(importer, mode, x, low, high)


def _check_padding(importer: Importer, x: Array, axis: int, mode: str, pads: Sequence[Size]
                   ) -> None:
    """Of padding by elements of a tensor."""
    for pad in pads:
        size = x.sizes[axis]
        # A reflection does not repeat the element at the edge.
        most = simplify(size - 1) if mode == "reflect" else size
        if (isinstance(pad, int) and pad < 0) or (size == 0 and pad != 0):
            importer.refuse(f"expected pads of 0 or more in mode {mode}, and elements along "
                            f"dimension {axis}, but got {list(pads)} for {list(x.sizes)}")
        if mode == "edge" or (sympy.sympify(most) - pad).is_nonnegative:
            continue
        if isinstance(size, int) and isinstance(pad, int):
            importer.refuse(f"expected pads of at most {most} along dimension {axis} in mode "
                            f"{mode}, but got {pad}")
        importer.limit(pad, most)


@handles("ConstantOfShape")
def import_constant_of_shape(importer: Importer, inputs: Sequence[Operand],
                             attributes: dict[str, Any]) -> Any:
    sizes = importer.list_sizes(inputs[0], "the shape")
    value = (np.zeros(1, np.float32) if "value" not in attributes else
             onnx.numpy_helper.to_array(attributes["value"]))
    dtype = get_dtype(value.dtype)
    if value.size != 1 or not (is_float(dtype) or is_integer(dtype)):
        importer.refuse(f"expected a value of one number, but got {list(value.shape)} of "
                        f"{dtype or value.dtype}")
    return emit_full(importer, sizes, value.reshape(-1)[0], dtype)


@handles("Range")
def import_range(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    numbers = []
    for each, what in zip(inputs, ("start", "limit", "delta")):
        found = importer.list_sizes(each, what)
        if len(found) != 1:
            importer.refuse(f"expected {what} to be one number, but got {found}")
        numbers += found
    start, limit, delta = numbers
    if start != 0 or delta != 1:
        importer.refuse(f"expected a range of sizes from 0 by steps of 1, but got one from "
                        f"{start} by {delta}")
    return emit_iota(importer, [limit], 0, inputs[1].dtype)


@handles("Trilu")
def import_trilu(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                 ) -> Array:
    x = importer.plain(inputs[0])
    if x.rank < 2:
        importer.refuse(f"expected a tensor of rank 2 or more, but got {list(x.sizes)}")
    given = get_input(inputs, 1)
    shift = 0 if given is None else int(importer.known_number(given, "k"))
    rows, cols = (emit_iota(importer, x.sizes[-2:], axis, "i64") for axis in (0, 1))
    moved = emit_binary(importer, "add", rows, shift)
    is_kept = emit_compare(importer, "ge" if attributes.get("upper", 1) else "le", cols, moved)
    return emit_select(importer, is_kept, x, 0, dtype=x.dtype)
