# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, as products of patches and filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockscale._linalg import (
    Array,
    Body,
    Size,
    emit_linear,
    emit_pad,
    emit_reads,
    emit_reshape,
    emit_transpose,
    multiply,
)
from blockscale.torch._importer import Importer, handles, sizes_of


def _spread(values: Sequence[int], count: int) -> list[int]:
    """A number for each dimension of space."""
    return list(values) if len(values) == count else list(values) * count


def _emit_patches(importer: Importer, x: Array, kernel: Sequence[int], places: Sequence[Size],
                  strides: Sequence[int], dilations: Sequence[int]) -> Array:
    """Of x [N, C, *space], what each place of the result sees: [N, *places, C, *kernel]."""
    count = len(kernel)
    is_whole = all(stride == size and dilation == 1 and place * stride == whole
                   for stride, size, dilation, place, whole
                   in zip(strides, kernel, dilations, places, x.sizes[2:]))
    if is_whole:
        # Patches side by side, which cover x, need no copy of their elements one by one.
        pairs = [size for pair in zip(places, kernel) for size in pair]
        split = emit_reshape(importer, x, (*x.sizes[:2], *pairs))
        return emit_transpose(importer, split, [0, *range(2, 2 + 2 * count, 2), 1,
                                                *range(3, 3 + 2 * count, 2)])

    def place(body: Body) -> list[str]:
        found = [body.index(0), body.index(1 + count)]
        for dim in range(count):
            begin = _multiply(body, body.index(1 + dim), strides[dim])
            step = _multiply(body, body.index(2 + count + dim), dilations[dim])
            found.append(body.op(f"arith.addi {begin}, {step}", "index"))
        return found
    sizes = (x.sizes[0], *places, x.sizes[1], *kernel)
    return emit_reads(importer, "patches", x, sizes, [], place)


def _multiply(body: Body, index: str, factor: int) -> str:
    if factor == 1:
        return index
    number = body.op(f"arith.constant {factor}", "index")
    return body.op(f"arith.muli {index}, {number}", "index")


@handles("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default",
         "aten.convolution.default")
def import_convolution(importer: Importer, input: Any, weight: Any, bias: Any,
                       stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                       groups: int, transposed: bool = False, **_: Any) -> Array:
    """x [N, C, *space] with filters [O, C, *kernel]."""
    x, weight = importer.array(input), importer.array(weight, "weight")
    if transposed or groups != 1:
        importer.refuse("expected a convolution of one group that is not transposed, but got "
                        f"{groups} groups" + (", transposed" if transposed else ""))
    count = weight.rank - 2
    if x.rank != weight.rank:
        # Without a batch.
        x = emit_reshape(importer, x, (1, *x.sizes))
    kernel = weight.sizes[2:]
    strides, pads, dilations = (_spread(each, count) for each in (stride, padding, dilation))
    low = [0, 0, *pads]
    x = emit_pad(importer, x, low, low)
    result = sizes_of(importer.result)
    places = result[-count:]
    patches = _emit_patches(importer, x, kernel, places, strides, dilations)
    rows = emit_reshape(importer, patches, (*patches.sizes[:1 + count],
                                            multiply(weight.sizes[1:])))
    flat = emit_reshape(importer, weight, (weight.sizes[0], multiply(weight.sizes[1:])))
    y = emit_linear(importer, rows, flat, None if bias is None else importer.array(bias, "bias"),
                    importer.get_dtype())
    y = emit_transpose(importer, y, [0, 1 + count, *range(1, 1 + count)])
    return emit_reshape(importer, y, result)
