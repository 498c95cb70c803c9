# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from blockscale._linalg import (
    Array,
    Windows,
    emit_convolution,
    emit_pad,
    emit_reverse,
    emit_transpose,
    is_float,
)
from blockscale.jax import _narrow
from blockscale.jax._graph import Node
from blockscale.jax._importer import Importer, get_sizes, handles
from blockscale.jax._shapes import get_integers, get_padding


@handles("stablehlo.convolution")
def import_convolution(importer: Importer, node: Node) -> Array:
    numbers = stablehlo.ConvDimensionNumbers(node.attribute("dimension_numbers"))
    groups, batches = (ir.IntegerAttr(node.attribute(name)).value
                       for name in ("feature_group_count", "batch_group_count"))
    if batches != 1:
        importer.refuse(f"expected a convolution of one group of batches, but got {batches}")
    dtype = importer.dtype_of(importer.result)
    for ref in node.operands:
        if not is_float(importer.dtype_of(ref)) or ref.element in _narrow.NARROW:
            importer.refuse("expected a convolution of floating-point numbers of 16 bits or more, "
                            f"but got {ref.element}")
    x = emit_transpose(importer, importer.array(node.operands[0]), [
        numbers.input_batch_dimension, numbers.input_feature_dimension,
        *numbers.input_spatial_dimensions])
    filters = emit_transpose(importer, importer.array(node.operands[1]), [
        numbers.kernel_output_feature_dimension, numbers.kernel_input_feature_dimension,
        *numbers.kernel_spatial_dimensions])
    count = x.rank - 2
    strides, gaps, dilations = (get_integers(node, name, [1] * count)
                                for name in ("window_strides", "lhs_dilation", "rhs_dilation"))
    low, high = get_padding(node, count)
    x = emit_pad(importer, x, [0] * x.rank, [0] * x.rank,
                 interior=[0, 0, *(each - 1 for each in gaps)])
    reversal = node.attribute("window_reversal")
    flags = [] if reversal is None else list(ir.DenseBoolArrayAttr(reversal))
    axes = [dim + 2 for dim, is_reversed in enumerate(flags) if is_reversed]
    if axes:
        filters = emit_reverse(importer, filters, axes)
    kernel = [int(size) for size in filters.sizes[2:]]
    windows = Windows.make(kernel, strides, dilations, low, high)
    order = [numbers.output_batch_dimension, numbers.output_feature_dimension,
             *numbers.output_spatial_dimensions]
    result = get_sizes(importer.result)
    y = emit_convolution(importer, x, filters, None, windows, groups=groups,
                         places=[result[dim] for dim in order[2:]], dtype=dtype)
    return emit_transpose(importer, y, [order.index(dim) for dim in range(len(order))])
