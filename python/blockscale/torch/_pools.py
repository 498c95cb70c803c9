# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from blockscale._linalg import (
    Array,
    Windows,
    emit_convert,
    emit_linear,
    emit_pool,
    emit_reduce,
    emit_reshape,
    emit_transpose,
)
from blockscale.torch._convolutions import spread
from blockscale.torch._importer import Importer, handles, sizes_of


def _get_space(importer: Importer) -> int:
    """How many dimensions of space the op of the node goes over."""
    found = re.search(r"pool([123])d", str(importer.node.target))
    assert found is not None
    return int(found[1])


def _emit_pool(importer: Importer, kind: str, input: Any, result: Any, kernel: Sequence[int],
               stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
               rounds_up: bool, **options: Any) -> Array:
    count = _get_space(importer)
    x = importer.array(input)
    if x.rank == count + 1:
        # Without a batch.
        x = emit_reshape(importer, x, (1, *x.sizes))
    kernel, strides, pads, dilations = (
        spread(each, count) for each in (kernel, stride or kernel, padding, dilation))
    windows = Windows.make(kernel, strides, dilations, pads, pads, rounds_up)
    sizes = sizes_of(result)
    y = emit_pool(importer, kind, x, windows, places=sizes[-count:], **options)
    return emit_reshape(importer, y, sizes)


@handles("aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default")
def import_max_pool(importer: Importer, input: Any, kernel_size: Sequence[int],
                    stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                    ceil_mode: bool) -> Array:
    return _emit_pool(importer, "max", input, importer.result, kernel_size, stride, padding,
                      dilation, ceil_mode)


@handles("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default")
def import_max_pool_with_indices(importer: Importer, input: Any, kernel_size: Sequence[int],
                                 stride: Sequence[int], padding: Sequence[int],
                                 dilation: Sequence[int], ceil_mode: bool) -> tuple[Any, ...]:
    """The maxima; their places are for training."""
    return _emit_pool(importer, "max", input, importer.result[0], kernel_size, stride, padding,
                      dilation, ceil_mode), None


@handles("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def import_avg_pool(importer: Importer, input: Any, kernel_size: Sequence[int],
                    stride: Sequence[int], padding: Sequence[int], ceil_mode: bool,
                    count_include_pad: bool, divisor_override: int | None = None) -> Array:
    if divisor_override is not None:
        importer.refuse("expected means of the elements of windows, but got a divisor of "
                        f"{divisor_override}")
    return _emit_pool(importer, "mean", input, importer.result, kernel_size, stride, padding, [1],
                      ceil_mode, counts_padding=count_include_pad)


def _find_kernel(sizes: Sequence[Any], places: Sequence[Any]) -> list[int] | None:
    """The windows of an adaptive pool where they are side by side and of one size."""
    if not all(isinstance(each, int) and each for each in (*sizes, *places)):
        return None
    if any(size % place for size, place in zip(sizes, places, strict=True)):
        return None
    return [size // place for size, place in zip(sizes, places, strict=True)]


def _emit_adaptive(importer: Importer, kind: str, input: Any, result: Any) -> Array | None:
    """An adaptive pool of windows that are side by side and of one size; None for others."""
    count, places = _get_space(importer), _get_places(importer, result)
    x = importer.array(input)
    if all(place == 1 for place in places):
        return emit_reduce(importer, kind, x, range(x.rank - count, x.rank), keepdims=True)
    kernel = _find_kernel(x.sizes[-count:], places)
    if kernel is None:
        return None
    return _emit_pool(importer, kind, input, result, kernel, kernel, [0], [1], False)


def _get_places(importer: Importer, result: Any) -> tuple[Any, ...]:
    """The sizes of the space of a pool's result."""
    return sizes_of(result)[-_get_space(importer):]


def _average(importer: Importer, x: Array, dim: int, size: int) -> Array:
    """Means of x along a dimension in f32: of the elements from floor(i * whole / size) to
    ceil((i + 1) * whole / size), by a product with a matrix that has the share of each."""
    whole = x.sizes[dim]
    if not isinstance(whole, int):
        importer.refuse(f"expected a known size of dimension {dim} for {size} means, but got "
                        f"{whole}")
    shares = np.zeros((size, whole), np.float32)
    for place in range(size):
        begin, end = place * whole // size, -(-(place + 1) * whole // size)
        shares[place, begin:end] = 1 / (end - begin)
    order = [*(each for each in range(x.rank) if each != dim), dim]
    y = emit_linear(importer, emit_transpose(importer, x, order),
                    importer.add_constant(shares, "shares"), dtype="f32")
    return emit_transpose(importer, y, [order.index(each) for each in range(x.rank)])


@handles("aten.adaptive_avg_pool1d.default", "aten.adaptive_avg_pool2d.default",
         "aten.adaptive_avg_pool3d.default", "aten._adaptive_avg_pool2d.default",
         "aten._adaptive_avg_pool3d.default")
def import_adaptive_avg_pool(importer: Importer, input: Any, **_: Any) -> Array:
    found = _emit_adaptive(importer, "mean", input, importer.result)
    if found is not None:
        return found
    x, places = importer.array(input), _get_places(importer, importer.result)
    for dim, place in enumerate(places, x.rank - len(places)):
        if not isinstance(place, int):
            importer.refuse(f"expected known sizes of an adaptive pool, but got {list(places)}")
        x = _average(importer, x, dim, place)
    return emit_convert(importer, x, importer.get_dtype(), base="means")


@handles("aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default",
         "aten.adaptive_max_pool3d.default")
def import_adaptive_max_pool(importer: Importer, input: Any, **_: Any) -> tuple[Any, ...]:
    """The maxima; their places are for training."""
    found = _emit_adaptive(importer, "max", input, importer.result[0])
    if found is None:
        x, places = importer.array(input), _get_places(importer, importer.result[0])
        importer.refuse("expected known sizes of space that are multiples of those of the result, "
                        f"{list(places)}, but got {list(x.sizes[-len(places):])}")
    return found, None
