# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, pooling, and the batch norm between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from blockscale._linalg import (
    Array,
    Size,
    Windows,
    emit_batch_norm,
    emit_convolution,
    emit_pool,
    emit_reduce,
    emit_transposed_convolution,
    floor_divide,
    simplify,
)
from blockscale.onnx._importer import Importer, Operand, get_input, handles

_AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def _take(importer: Importer, attributes: dict[str, Any], name: str, count: int) -> list[int]:
    """A number for each dimension of space, or for each of its sides; 1 for none."""
    found = list(attributes.get(name, [1] * count))
    if len(found) != count or any(each < 1 for each in found):
        importer.refuse(f"expected {name} to be {count} numbers of 1 or more, but got {found}")
    return found


def _halve(total: Size, auto_pad: str) -> tuple[Size, Size]:
    """Padding on both sides; the odd element is behind for SAME_UPPER."""
    half = floor_divide(total, 2)
    other = simplify(total - half)
    return (half, other) if auto_pad == "SAME_UPPER" else (other, half)


def _take_pads(importer: Importer, attributes: dict[str, Any], count: int
               ) -> tuple[str, list[int]]:
    """What auto_pad is, and the padding that is given: none where it is computed."""
    auto_pad = importer.choose(attributes, "auto_pad", "NOTSET", _AUTO_PADS)
    pads = list(attributes.get("pads", [0] * (2 * count)))
    if len(pads) != 2 * count or any(each < 0 for each in pads):
        importer.refuse(f"expected pads to be {2 * count} numbers of 0 or more, but got {pads}")
    if auto_pad != "NOTSET" and any(pads):
        importer.refuse(f"expected pads of 0 beside auto_pad of {auto_pad}, but got {pads}")
    return auto_pad, pads


def make_windows(importer: Importer, x: Array, kernel: Sequence[int], attributes: dict[str, Any]
                 ) -> Windows:
    """Windows as a node has them, and the padding of its auto_pad."""
    count = len(kernel)
    if x.rank != count + 2:
        importer.refuse(f"expected a tensor of rank {count + 2}, but got {list(x.sizes)}")
    strides, dilations = (_take(importer, attributes, name, count)
                          for name in ("strides", "dilations"))
    auto_pad, pads = _take_pads(importer, attributes, count)
    low: list[Size] = [*pads[:count]]
    high: list[Size] = [*pads[count:]]
    windows = Windows.make(kernel, strides, dilations, low, high,
                           bool(attributes.get("ceil_mode", 0)))
    if auto_pad == "NOTSET":
        return windows
    if auto_pad != "VALID":
        for dim, (size, span, stride) in enumerate(zip(x.sizes[2:], windows.spans, strides)):
            places = floor_divide(size + stride - 1, stride)
            missing = (places - 1) * stride + span - size
            total = simplify(sympy.Max(missing, 0))
            low[dim], high[dim] = _halve(total, auto_pad)
    return Windows.make(kernel, strides, dilations, low, high)


def _take_filters(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                  ) -> tuple[Array, Array, Array | None, list[int]]:
    """The input, the filters, the bias, and the sizes of a filter in space."""
    importer.check_types(inputs)
    x, weight = importer.number(inputs[0]), importer.number(inputs[1], "filters")
    bias = get_input(inputs, 2)
    bias = None if bias is None else importer.number(bias, "bias")
    return x, weight, bias, read_kernel(importer, weight, attributes)


def read_kernel(importer: Importer, weight: Array, attributes: dict[str, Any]) -> list[int]:
    """The sizes of a filter in space."""
    kernel = [size for size in weight.sizes[2:] if isinstance(size, int)]
    if weight.rank < 3 or len(kernel) != weight.rank - 2:
        importer.refuse(f"expected filters of rank 3 or more whose sizes are known, but got "
                        f"{list(weight.sizes)}")
    given = list(attributes.get("kernel_shape", kernel))
    if given != kernel:
        importer.refuse(f"expected kernel_shape to be {kernel}, as filters are, but got {given}")
    return kernel


@handles("Conv")
def import_conv(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                ) -> Array:
    x, weight, bias, kernel = _take_filters(importer, inputs, attributes)
    return emit_convolution(importer, x, weight, bias,
                            make_windows(importer, x, kernel, attributes),
                            groups=attributes.get("group", 1))


@handles("ConvTranspose")
def import_conv_transpose(importer: Importer, inputs: Sequence[Operand],
                          attributes: dict[str, Any]) -> Array:
    x, weight, bias, kernel = _take_filters(importer, inputs, attributes)
    count = len(kernel)
    if x.rank != weight.rank:
        importer.refuse(f"expected a tensor of rank {weight.rank}, but got {list(x.sizes)}")
    strides, dilations = (_take(importer, attributes, name, count)
                          for name in ("strides", "dilations"))
    auto_pad, pads = _take_pads(importer, attributes, count)
    more = list(attributes.get("output_padding", [0] * count))
    wanted = attributes.get("output_shape")
    if len(more) != count or any(each < 0 for each in more):
        importer.refuse(f"expected output_padding to be {count} numbers of 0 or more, but got "
                        f"{more}")
    if wanted is not None and len(wanted) != count:
        importer.refuse(f"expected output_shape to be {count} numbers, but got {list(wanted)}")
    spans = Windows.make(kernel, dilations=dilations).spans
    low: list[Size] = []
    high: list[Size] = []
    places: list[Size] = []
    for dim, (size, stride, span) in enumerate(zip(x.sizes[2:], strides, spans)):
        whole = simplify((size - 1) * stride + span + more[dim])
        sides: tuple[Size, Size] = (pads[dim], pads[count + dim])
        if wanted is not None or auto_pad.startswith("SAME"):
            # The result's size is given, and padding is what is too much. Where it is too little,
            # zeros are behind it.
            place = wanted[dim] if wanted is not None else simplify(size * stride)
            sides = _halve(simplify(sympy.Max(whole - place, 0)), auto_pad)
        else:
            place = simplify(whole - sides[0] - sides[1])
        low.append(sides[0])
        high.append(sides[1])
        places.append(place)
    windows = Windows.make(kernel, strides, dilations, low, high)
    return emit_transposed_convolution(importer, x, weight, bias, windows,
                                       groups=attributes.get("group", 1), places=places)


def _take_pooled(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                 ) -> tuple[Array, Windows]:
    x = importer.plain(inputs[0])
    kernel = _take(importer, attributes, "kernel_shape", len(attributes["kernel_shape"]))
    return x, make_windows(importer, x, kernel, attributes)


@handles("MaxPool")
def import_max_pool(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                    ) -> Array:
    x, windows = _take_pooled(importer, inputs, attributes)
    return emit_pool(importer, "max", x, windows)


@handles("AveragePool")
def import_average_pool(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                        ) -> Array:
    importer.number(inputs[0])
    x, windows = _take_pooled(importer, inputs, attributes)
    return emit_pool(importer, "mean", x, windows,
                     counts_padding=bool(attributes.get("count_include_pad", 0)))


@handles("GlobalAveragePool", "GlobalMaxPool")
def import_global_pool(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    x = importer.number(inputs[0])
    if x.rank < 3:
        importer.refuse(f"expected a tensor of rank 3 or more, but got {list(x.sizes)}")
    kind = "mean" if importer.node.op == "GlobalAveragePool" else "max"
    return emit_reduce(importer, kind, x, range(2, x.rank), keepdims=True)


@handles("BatchNormalization")
def import_batch_norm(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                      ) -> Array:
    if attributes.get("training_mode", 0):
        importer.refuse("expected a batch norm that is not in training, but got training_mode of 1")
    x, weight, bias, mean, variance = (
        importer.number(each, what) for each, what
        in zip(inputs, ("operand", "scale", "bias", "mean", "variance")))
    return emit_batch_norm(importer, x, mean, variance, attributes.get("epsilon", 1e-5), weight,
                           bias)
