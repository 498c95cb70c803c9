# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of linalg, tensor, arith, math and scf that importers write, whatever they import.

A `Builder` is the function that is written. An `Array` is one of its tensors, whose sizes are
numbers or sympy's expressions in symbols. `emit_...(builder, ..)` adds ops and returns an
`Array`; what cannot be is told to `Builder.refuse`. Names of base values, like "x", only make
the module readable.
"""

from blockscale._linalg._body import (
    INTEGERS,
    Along,
    Body,
    Operand,
    emit_elementwise,
    emit_full,
    format_sizes,
    get_inner,
    is_float,
    is_integer,
)
from blockscale._linalg._builder import (
    LARGE,
    Array,
    Builder,
    Size,
    check_options,
    floor_divide,
    get_spec,
    multiply,
    simplify,
)
from blockscale._linalg._codes import CodedMatrix, emit_dynamic_codes
from blockscale._linalg._control import emit_if, emit_loop
from blockscale._linalg._elementwise import (
    BINARY,
    BITWISE,
    COMPARISONS,
    FLOAT_UNARY,
    UNARY,
    emit_binary,
    emit_compare,
    emit_convert,
    emit_select,
    emit_unary,
)
from blockscale._linalg._orders import (
    emit_cumulative_sum,
    emit_extremum_index,
    emit_histogram,
    emit_search,
    emit_sort,
)
from blockscale._linalg._products import emit_dot_general, emit_linear, emit_matmul
from blockscale._linalg._recurrent import Activation, Lstm, emit_lstm, get_activation
from blockscale._linalg._reductions import (
    COMBINE,
    emit_batch_norm,
    emit_layer_norm,
    emit_reduce,
    emit_reduction,
    emit_softmax,
    get_start,
    normalize_axes,
)
from blockscale._linalg._resampling import (
    PLACES,
    ROUNDINGS,
    Axis,
    emit_interpolated,
    emit_nearest,
)
from blockscale._linalg._scatter import emit_put, emit_scatter
from blockscale._linalg._shapes import (
    PADDINGS,
    emit_broadcast,
    emit_cast,
    emit_clamped,
    emit_concat,
    emit_gather,
    emit_insert,
    emit_iota,
    emit_pad,
    emit_pad_by_elements,
    emit_reads,
    emit_repeat,
    emit_repeat_each,
    emit_reshape,
    emit_reverse,
    emit_slice,
    emit_take_along,
    emit_transpose,
)
from blockscale._linalg._windows import (
    Windows,
    emit_convolution,
    emit_pool,
    emit_transposed_convolution,
)

__all__ = [
    "BINARY", "BITWISE", "COMBINE", "COMPARISONS", "FLOAT_UNARY", "INTEGERS", "LARGE", "PADDINGS",
    "PLACES", "ROUNDINGS", "UNARY", "Activation", "Along", "Array", "Axis", "Body", "Builder",
    "CodedMatrix", "Lstm", "Operand", "Size", "Windows", "check_options", "emit_batch_norm",
    "emit_binary", "emit_broadcast", "emit_cast", "emit_clamped", "emit_compare", "emit_concat",
    "emit_convert", "emit_convolution", "emit_cumulative_sum", "emit_dot_general",
    "emit_dynamic_codes", "emit_elementwise", "emit_extremum_index", "emit_full", "emit_gather",
    "emit_histogram", "emit_if", "emit_insert", "emit_interpolated", "emit_iota", "emit_layer_norm",
    "emit_linear", "emit_loop", "emit_lstm", "emit_matmul", "emit_nearest", "emit_pad",
    "emit_pad_by_elements", "emit_pool", "emit_put", "emit_reads", "emit_reduce", "emit_reduction",
    "emit_repeat", "emit_repeat_each", "emit_reshape", "emit_reverse", "emit_scatter",
    "emit_search", "emit_select", "emit_slice", "emit_softmax", "emit_sort", "emit_take_along",
    "emit_transpose", "emit_transposed_convolution", "emit_unary", "floor_divide", "format_sizes",
    "get_activation", "get_inner", "get_spec", "get_start", "is_float", "is_integer", "multiply",
    "normalize_axes", "simplify",
]
