# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockscale._linalg import (
    Array,
    Windows,
    emit_convolution,
    emit_reshape,
    emit_transposed_convolution,
)
from blockscale.torch._importer import Importer, handles, sizes_of


def spread(values: Sequence[int], count: int) -> list[int]:
    """A number for each dimension of space."""
    return list(values) if len(values) == count else list(values) * count


@handles("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default",
         "aten.convolution.default")
def import_convolution(importer: Importer, input: Any, weight: Any, bias: Any,
                       stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                       groups: int, transposed: bool = False, **_: Any) -> Array:
    """x [N, C, *space] with filters [O, C, *kernel]."""
    x, weight = importer.array(input), importer.array(weight, "weight")
    count = weight.rank - 2
    if x.rank != weight.rank:
        # Without a batch.
        x = emit_reshape(importer, x, (1, *x.sizes))
    strides, pads, dilations = (spread(each, count) for each in (stride, padding, dilation))
    windows = Windows.make(weight.sizes[2:], strides, dilations, pads, pads)
    result = sizes_of(importer.result)
    emit = emit_transposed_convolution if transposed else emit_convolution
    y = emit(importer, x, weight, None if bias is None else importer.array(bias, "bias"), windows,
             groups=groups, places=result[-count:], dtype=importer.get_dtype())
    return emit_reshape(importer, y, result)
