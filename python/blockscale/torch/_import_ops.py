# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our own ops in graphs that are imported: layers of quantize_'d models."""

from __future__ import annotations

from typing import Any

import torch

from blockscale import _ops
from blockscale._forms import OperandForm
from blockscale._linalg import Array, emit_reshape, get_spec
from blockscale._ops import FORMATS
from blockscale._trace import Value
from blockscale.torch._importer import Constant, Importer, Input, Narrow, handles
from blockscale.torch._products_kernels import Linear, PlainLinear, quantize_operand
from blockscale.torch._torchao import flatten


def _take(importer: Importer, what: str, operand: Any, spec: Any) -> Value:
    """Codes or scales in the storage form of `spec`."""
    if isinstance(operand, Constant):
        return importer.bind_constant(operand.value.contiguous(), operand.name, spec)
    source = operand.source if isinstance(operand, Narrow) else None
    if isinstance(source, Input):
        return importer.take_input(source, spec, lambda tensor, _: tensor)
    if source is None or source.spec != spec:
        importer.refuse(f"expected {what} to be an input, a constant or of quantize, but got "
                        f"{operand!r}")
    return source


def _import_linear(importer: Importer, x: Any, data: Any, scales: Any, global_scale: Any,
                   bias: Any, activation: OperandForm | None, input_global: Any, offsets: Any,
                   out_features: int, format: str, layout: str, rht: bool, order: str) -> Array:
    x = importer.array(x, "x")
    optional = {"global_scale": global_scale, "bias": bias, "input_global": input_global}
    arrays = {name: None if each is None else importer.array(each, name)
              for name, each in optional.items()}
    features = x.sizes[-1]
    if not isinstance(features, int):
        importer.refuse(f"expected a known last dimension of x, but got {features}")
    ends = None if offsets is None else importer.offsets(offsets)
    batch = () if ends is None else (ends.shape[0],)
    scale = arrays["global_scale"]
    linear = Linear((*batch, out_features, features), importer.result.dtype, format, layout,
                    None if scale is None else scale.value.spec.shape,
                    None if bias is None else importer.get_operand_meta("bias").dtype,
                    activation, rht, order)
    specs = linear.get_specs(None)
    values = {name: array.value for name, array in arrays.items() if array is not None}
    if ends is not None:
        values["offsets"] = ends
    rows = emit_reshape(importer, x, flatten(x.sizes))
    y = linear.emit(rows.value, _take(importer, "data", data, specs["data"]),
                    _take(importer, "scales", scales, specs["scales"]), **values)
    sizes = (rows.sizes[0], out_features)
    return emit_reshape(importer, Array(y, sizes), (*x.sizes[:-1], out_features))


@handles("blockscale.linear_weight_only.default")
def import_weight_only(importer: Importer, x: Any, data: Any, scales: Any, global_scale: Any,
                       bias: Any, out_features: int, format: str, layout: str,
                       rht: bool, order: str) -> Array:
    return _import_linear(importer, x, data, scales, global_scale, bias, None, None, None,
                          out_features, format, layout, rht, order)


@handles("blockscale.grouped_linear_weight_only.default")
def import_grouped_weight_only(importer: Importer, x: Any, data: Any, scales: Any,
                               global_scale: Any, bias: Any, offsets: Any, out_features: int,
                               format: str, layout: str, rht: bool, order: str) -> Array:
    return _import_linear(importer, x, data, scales, global_scale, bias, None, None, offsets,
                          out_features, format, layout, rht, order)


@handles("blockscale.linear_quantized.default")
def import_quantized(importer: Importer, x: Any, data: Any, scales: Any, global_scale: Any,
                     bias: Any, input_global: Any, out_features: int, format: str,
                     input_format: str, input_recipe: str | None, input_scaling: str,
                     plain_rows: int, layout: str, rht: bool,
                     order: str) -> Array:
    activation: OperandForm | None = OperandForm(input_format, input_recipe, input_scaling)
    if plain_rows:
        rows = flatten(importer.array(x, "x").sizes)[0]
        if not isinstance(rows, int):
            importer.refuse("expected a known number of rows of a layer whose policy decides by m, "
                            f"but got {rows}; the plain model takes the policy when it is compiled")
        if rows <= plain_rows:
            activation = input_global = None
    return _import_linear(importer, x, data, scales, global_scale, bias, activation, input_global,
                          None, out_features, format, layout, rht, order)


@handles("blockscale.grouped_linear_quantized.default")
def import_grouped_quantized(importer: Importer, x: Any, data: Any, scales: Any,
                             global_scale: Any, bias: Any, offsets: Any, input_global: Any,
                             out_features: int, format: str, input_format: str,
                             input_recipe: str | None, input_scaling: str, layout: str,
                             rht: bool, order: str) -> Array:
    return _import_linear(importer, x, data, scales, global_scale, bias,
                          OperandForm(input_format, input_recipe, input_scaling), input_global,
                          offsets, out_features, format, layout, rht, order)


@handles("blockscale.linear.default")
def import_linear(importer: Importer, x: Any, weight: Any, bias: Any, order: str) -> Array:
    x, weight = importer.array(x, "x"), importer.array(weight, "weight")
    values = [weight.value] + ([] if bias is None else [importer.array(bias, "bias").value])
    n, k = weight.sizes
    linear = PlainLinear((n, k), importer.result.dtype, bias is not None, order)
    rows = emit_reshape(importer, x, flatten(x.sizes))
    y = linear.emit(rows.value, *values)
    return emit_reshape(importer, Array(y, (rows.sizes[0], n)), (*x.sizes[:-1], n))


@handles("blockscale.quantize.default")
def import_quantize(importer: Importer, x: Any, global_scale: Any, format: str,
                    recipe: str | None, swizzled: bool) -> tuple[Narrow, Narrow]:
    x = importer.array(x, "x")
    scale = None if global_scale is None else importer.array(global_scale, "global_scale").value
    data, scales, _ = quantize_operand(
        x.value, OperandForm(format, recipe, "none" if scale is None else "scale"), scale,
        layout="swizzle_128x4" if swizzled else None)
    return Narrow(data, torch.uint8), Narrow(scales, torch.uint8)


@handles("blockscale.dequantize.default")
def import_dequantize(importer: Importer, data: Any, scales: Any, global_scale: Any,
                      in_features: int, format: str, dtype: Any) -> Array:
    sizes = tuple(importer.result.shape)
    element, scale, block = FORMATS[format]
    wide = _ops.dequantize(
        _take(importer, "data", data, get_spec(sizes, element)),
        _take(importer, "scales", scales, get_spec((*sizes[:-1], in_features // block), scale)),
        dtype=dtype, global_scale=None if global_scale is None else
        importer.array(global_scale, "global_scale").value)
    return Array(wide, sizes)
