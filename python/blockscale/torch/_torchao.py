# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers whose weights torchao quantized: NVFP4Tensor and MXTensor."""

from __future__ import annotations

import sys
from typing import Any

import torch

from blockscale import _ops
from blockscale._linalg import Array, Size, emit_linear, emit_reshape, multiply
from blockscale._trace import Value
from blockscale._types import Layout
from blockscale.torch._importer import MX_FORMATS, NARROW, Constant, Importer, sizes_of
from blockscale.torch._operands import take_bias, take_codes, take_scales


def _is(tensor: Any, module: str, name: str) -> bool:
    # A tensor of a class says that its module was imported.
    loaded = sys.modules.get(f"torchao.prototype.mx_formats.{module}")
    return loaded is not None and isinstance(tensor, getattr(loaded, name))


def is_quantized(tensor: Any) -> bool:
    return _is(tensor, "nvfp4_tensor", "NVFP4Tensor") or _is(tensor, "mx_tensor", "MXTensor")


def flatten(sizes: tuple[Size, ...]) -> tuple[Size, Size]:
    return multiply(sizes[:-1]), sizes[-1]


def _check(importer: Importer, weight: Any, block: int) -> tuple[int, int]:
    if weight.dim() != 2 or weight.qdata.stride(0) < weight.qdata.stride(1):
        importer.refuse(f"expected a weight [N, K] with blocks along K, but got shape "
                        f"{list(weight.shape)} with strides {list(weight.qdata.stride())}")
    if weight.block_size != block:
        importer.refuse(f"expected blocks of {block}, but got {weight.block_size}")
    return tuple(weight.shape)


def _take_weight(importer: Importer, weight: Any, name: str, element: str, scale: str,
                 block: int) -> tuple[Value, Value]:
    n, k = _check(importer, weight, block)
    layout = Layout() if weight.is_swizzled_scales else None
    return (take_codes(importer, "weight", Constant(weight.qdata, name), [n, k], element, False),
            take_scales(importer, "the scales of weight", Constant(weight.scale, name),
                        [n, k // block], scale, layout))


def _take_scalar(importer: Importer, tensor: Any, name: str) -> Value:
    if tensor.dim() != 0 or tensor.dtype != torch.float32:
        importer.refuse(f"expected one float32 as {name}, but got {tensor.dtype} of shape "
                        f"{list(tensor.shape)}")
    return importer.array(Constant(tensor, name)).value


def import_linear(importer: Importer, x: Any, weight: Constant, bias: Any) -> Array:
    x = importer.array(x, "input")
    flat = emit_reshape(importer, x, flatten(x.sizes))
    kind = _import_mx if _is(weight.value, "mx_tensor", "MXTensor") else _import_nvfp4
    return emit_reshape(importer, kind(importer, flat, weight, bias), sizes_of(importer.result))


def _import_mx(importer: Importer, x: Array, constant: Constant, bias: Any) -> Array:
    weight = constant.value
    how = weight.act_quant_kwargs
    if how is None:
        importer.refuse("expected an MXTensor with act_quant_kwargs: torchao has no MX weights "
                        "without quantized activations")
    if how.elem_dtype != weight.elem_dtype or weight.elem_dtype not in MX_FORMATS:
        importer.refuse("expected activations and weight to be both float8_e4m3fn, float8_e5m2 "
                        f"or float4_e2m1fn_x2, but got {how.elem_dtype} and {weight.elem_dtype}")
    if how.block_size != 32:
        importer.refuse(f"expected blocks of 32 in activations, but got {how.block_size}")
    data, scale = _take_weight(importer, weight, constant.name, NARROW[weight.elem_dtype],
                               "f8E8M0FNU", 32)
    codes, scales = _ops.quantize(x.value, format=MX_FORMATS[weight.elem_dtype],
                                  recipe=how.scaling_mode.value,
                                  layout=Layout() if how.is_swizzled_scales else None)
    dtype = importer.result.dtype
    y = _ops.scaled_mm(codes, data, scales, scale, dtype=dtype,
                       bias=take_bias(importer, bias, dtype))
    return Array(y, (x.sizes[0], weight.shape[0]))


def _replace_zeros(weight: Any) -> Any:
    """The weight itself, or zeros in the place of the NaN that torchao makes of a weight of zeros,
    which is the only one with a global scale of 0."""
    scale = weight.per_tensor_scale
    if scale is None or scale.dim() != 0 or scale != 0:
        return weight
    kept = {name: getattr(weight, name)
            for name in (*weight.tensor_attribute_names, *weight.optional_tensor_attribute_names)}
    return type(weight)(torch.zeros_like(weight.qdata), torch.ones_like(weight.scale),
                        per_tensor_scale=torch.ones_like(scale),
                        act_per_tensor_scale=weight.act_per_tensor_scale, **kept)


def _import_nvfp4(importer: Importer, x: Array, constant: Constant, bias: Any) -> Array:
    weight, name = _replace_zeros(constant.value), constant.name
    data, scale = _take_weight(importer, weight, name, "f4E2M1FN", "f8E4M3FN", 16)
    # Whether there is a scale is asked of the object, never of its value.
    weight_scale = (None if weight.per_tensor_scale is None else
                    _take_scalar(importer, weight.per_tensor_scale, f"{name}_global"))
    how = weight.act_quant_kwargs
    sizes = (x.sizes[0], weight.shape[0])
    if how is None:
        wide = _ops.dequantize(data, scale, dtype=weight.orig_dtype, recipe="torchao",
                               global_scale=weight_scale)
        bias = None if bias is None else importer.array(bias, "bias")
        return emit_linear(importer, x, Array(wide, tuple(weight.shape)), bias, x.dtype)
    if how.use_dynamic_per_tensor_scale:
        input_scale = _ops.global_scale(_ops.amax(x.value), recipe="torchao")
    elif weight.act_per_tensor_scale is not None:
        input_scale = _take_scalar(importer, weight.act_per_tensor_scale, f"{name}_input_global")
    else:
        input_scale = None
    # torchao's kernel is that of MSLK, which has other roundings.
    codes, scales = _ops.quantize(x.value, recipe="mslk" if how.use_triton_kernel else "torchao",
                                  global_scale=input_scale,
                                  layout=Layout() if how.is_swizzled_scales else None)
    y = _ops.scaled_mm(codes, data, scales, scale, dtype=x.dtype, global_scale_a=input_scale,
                       global_scale_b=weight_scale, global_scaling="after_rounding",
                       bias=take_bias(importer, bias, x.dtype))
    return Array(y, sizes)
