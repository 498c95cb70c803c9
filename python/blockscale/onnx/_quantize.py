# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QuantizeLinear and DequantizeLinear, TensorRT's operators that choose scales, and the
quantizers that this package exports."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from blockscale import _ops
from blockscale._linalg import (
    Along,
    Array,
    Body,
    Size,
    emit_broadcast,
    emit_convert,
    emit_elementwise,
    emit_reshape,
    emit_slice,
    multiply,
)
from blockscale.onnx._codes import emit_decode, emit_encode, emit_scale_code
from blockscale.onnx._importer import (
    NARROW,
    NUMBERS,
    Importer,
    Operand,
    evaluate,
    get_input,
    handles,
)
from blockscale.onnx._nodes import NAMES, TYPES, get_type_name
from blockscale.onnx._operands import Constant
from blockscale.onnx._products import Decoded, transpose
from blockscale.onnx._recipes import DOMAIN, NUMPY
from blockscale.onnx._shapes import read_axes

_DATA = tuple(name for name in NARROW if name != "f8E8M0FNU")


@dataclasses.dataclass(frozen=True, eq=False)
class Scales:
    """Block scales of NVFP4 as a scale of DequantizeLinear: E4M3 times one f32, in f32."""

    scale: Operand
    g: Operand

    @property
    def sizes(self) -> tuple[Size, ...]:
        return self.scale.sizes

    @property
    def dtype(self) -> str:
        return "f32"

    def materialize(self, importer: Importer) -> Array:
        """Their product."""
        wide = emit_decode(importer, importer.array(self.scale))
        g = take_global(importer, self.g)
        return wide if g is None else emit_elementwise(importer, "scales", [wide, g], wide.sizes,
                                                       "f32", Body.mul)


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Data and scales of a quantizer as matrices."""

    data: Array
    scale: Array


# Operands.


def _read_axis(importer: Importer, attributes: dict[str, Any], rank: int) -> int:
    axis, = read_axes(importer, [attributes.get("axis", 1)], rank)
    return axis


def _check_block(importer: Importer, x: Operand, scale: Any, axis: int, block: int) -> None:
    """Whether scales are those of blocks along an axis."""
    if not x.sizes:
        importer.refuse("expected a tensor of rank 1 or more with block_size, but got one of "
                        "rank 0")
    size = x.sizes[axis]
    if block < 0:
        importer.refuse(f"expected block_size to be positive, but got {block}")
    if not isinstance(size, int):
        importer.refuse(f"expected a known size along axis {axis}, which has blocks, but got "
                        f"{list(x.sizes)}")
    wanted = list(x.sizes)
    wanted[axis] = -(-size // block)
    if list(scale.sizes) != wanted:
        importer.refuse(f"expected scales of shape {wanted} for blocks of {block} along axis "
                        f"{axis} of {list(x.sizes)}, but got {list(scale.sizes)}")


def _check_zero(importer: Importer, zero: Operand) -> None:
    if zero is None:
        return
    known = importer.known(zero, "the zero point")
    if np.any(np.atleast_1d(known).view(np.uint8) & 0x7F):
        importer.refuse("expected a zero point of 0 with floating-point data, but got others")


def _spread(importer: Importer, scale: Array, sizes: Sequence[Size], axis: int, block: int
            ) -> Array | Along:
    """Scales to meet the elements of x: one for all, one for each index of an axis, or one for
    each block."""
    if multiply(scale.sizes) == 1:
        return emit_reshape(importer, scale, ())
    if not block:
        if scale.rank != 1:
            importer.refuse("expected a scale of rank 0 or 1, or block_size, but got shape "
                            f"{list(scale.sizes)}")
        if scale.sizes[0] != sizes[axis]:
            importer.refuse(f"expected {sizes[axis]} scales along axis {axis}, but got "
                            f"{scale.sizes[0]}")
        return Along(scale, (axis,))
    before, after = scale.sizes[:axis + 1], scale.sizes[axis + 1:]
    repeated = emit_broadcast(importer, emit_reshape(importer, scale, (*before, 1, *after)),
                              (*before, block, *after))
    whole = (*sizes[:axis], scale.sizes[axis] * block, *sizes[axis + 1:])
    spread = emit_reshape(importer, repeated, whole)
    return emit_slice(importer, spread, [0] * len(sizes), sizes)


def _is_rounded_to(values: np.ndarray, dtype: str) -> bool:
    """Whether positive numbers have codes in a type of scales."""
    wide = values.astype(np.float32)
    with np.errstate(all="ignore"):
        codes = wide.astype(NUMPY[dtype])
        return bool(np.all((codes.astype(np.float32) == wide) & (wide > 0)))


def _find_scales(x: Operand, scale: Any, block: int) -> tuple[Operand, Operand] | None:
    """Block scales of a format of the dialect and their global scale, if that is what scales
    are."""
    if isinstance(scale, Scales) and block == 16 and x.dtype == "f4E2M1FN":
        return scale.scale, scale.g
    if scale.dtype == "f8E8M0FNU" and block == 32:
        return scale, None
    if isinstance(scale, Constant) and scale.dtype in NUMBERS:
        dtype = "f8E4M3FN" if block == 16 and x.dtype == "f4E2M1FN" else "f8E8M0FNU"
        if (block == 32 or dtype == "f8E4M3FN") and _is_rounded_to(scale.value, dtype):
            return Constant(scale.value.astype(np.float32).astype(NUMPY[dtype]), scale.name), None
    return None


def take_global(importer: Importer, g: Operand) -> Array | None:
    """A global scale of rank 0; None for 1.0."""
    if g is None or (isinstance(g, Constant) and np.all(g.value == 1)):
        return None
    return emit_reshape(importer, importer.array(g), ())


# DequantizeLinear.


def _get_rows(importer: Importer, data: Array, scale: Array) -> tuple[Array, Array] | None:
    """Data and scales as matrices, if ops of other dialects can make them."""
    found = importer.get_origin(data, Rows)
    if found:
        return found.data, found.scale
    if data.rank != 2 and not data.dtype.startswith("f8"):
        return None
    rows, count = (emit_reshape(importer, each, (multiply(each.sizes[:-1]), each.sizes[-1]))
                   for each in (data, scale))
    return rows, count


def _emit_dequantize(importer: Importer, data: Array, scale: Array, g: Array | None, block: int,
                     dtype: str, is_fused: bool) -> Array:
    """Data with blocks along the last dimension, as the op of the dialect."""
    # A last block that is not whole is one of this recipe, whose formula is the same.
    recipe = "te" if scale.dtype == "f8E4M3FN" and data.sizes[-1] % block else None
    rows = _get_rows(importer, data, scale)
    read = rows or (data, scale)
    wide = _ops.dequantize(read[0].value, read[1].value, dtype=dtype, recipe=recipe,
                           global_scale=None if g is None else g.value)
    result = emit_reshape(importer, Array(wide, read[0].sizes), data.sizes)
    importer.origins[result.value.name] = Decoded(data, scale, rows, g, result, dtype,
                                                  is_fused=is_fused)
    return result


def _find_format(importer: Importer, x: Operand, scale: Any, axis: int, block: int, dtype: str,
                 is_fused: bool) -> Array | None:
    """The dequantize of the dialect with the same values, if there is one."""
    found = _find_scales(x, scale, block)
    rank, size = len(x.sizes), x.sizes[axis]
    if found is None or rank < 2:
        return None
    is_mx = found[0].dtype == "f8E8M0FNU"
    if size % block and (is_mx or axis != rank - 1):
        return None
    is_column = axis == rank - 2
    scales = found[0]
    if is_column and isinstance(x, Constant) and isinstance(scales, Constant):
        # Rows of the transpose have the blocks.
        x, scales = (Constant(np.ascontiguousarray(each.value.swapaxes(-1, -2)), each.name)
                     for each in (x, scales))
        found = scales, found[1]
        if x.dtype == "f4E2M1FN" and size % 2:
            return None
    elif is_column and is_mx and x.dtype != "f4E2M1FN":
        wide = _ops.dequantize(importer.array(x).value, importer.array(found[0]).value,
                               dtype=dtype, block=(block, 1))
        return Array(wide, x.sizes)
    elif axis != rank - 1:
        return None
    result = _emit_dequantize(importer, importer.array(x), importer.array(found[0]),
                              take_global(importer, found[1]), block, dtype, is_fused)
    return transpose(importer, result) if is_column else result


def _check_inputs(importer: Importer, inputs: Sequence[Any], count: int) -> None:
    """Whether there are as many inputs at least. ONNX checks it of its own ops alone."""
    found = sum(each is not None for each in inputs[:count])
    if found < count:
        importer.refuse(f"expected {count} inputs or more, but got {found}")


def _dequantize(importer: Importer, inputs: Sequence[Any], attributes: dict[str, Any],
                is_fused: bool) -> Any:
    _check_inputs(importer, inputs, 2)
    x, scale = inputs[:2]
    zero, block = get_input(inputs, 2), attributes.get("block_size", 0)
    is_known = all(each is None or isinstance(each, Constant) for each in inputs)
    if x.dtype not in _DATA:
        if is_known:
            return _fold(importer, inputs, attributes)
        importer.refuse(f"expected data of {', '.join(map(_name, _DATA))}, or constants, but got "
                        f"{_name(x.dtype)}")
    _check_zero(importer, zero)
    output = attributes.get("output_dtype", 0)
    dtype = NAMES.get(output, "") if output else scale.dtype
    if dtype not in NUMBERS:
        named = get_type_name(output) if output else f"none with scales of {_name(dtype)}"
        importer.refuse(f"expected output_dtype to be float, float16 or bfloat16, but got {named}")
    axis = _read_axis(importer, attributes, len(x.sizes)) if x.sizes else 0
    if block:
        _check_block(importer, x, scale, axis, block)
        _check_even(importer, x)
        found = _find_format(importer, x, scale, axis, block, dtype, is_fused)
        if found is not None:
            return found
    elif (x.dtype == "f8E4M3FN" and dtype == "f32" and scale.dtype == "f32"
          and multiply(scale.sizes) == 1):
        return Scales(x, scale)
    if is_known:
        return _fold(importer, inputs, attributes)
    place = _spread(importer, _widen(importer, scale), x.sizes, axis, block)
    return emit_elementwise(importer, "dequantized", [emit_decode(importer, importer.array(x)),
                                                      place], x.sizes, dtype, Body.mul)


def _check_even(importer: Importer, x: Operand) -> None:
    if x.dtype == "f4E2M1FN" and isinstance(x.sizes[-1], int) and x.sizes[-1] % 2:
        importer.refuse("expected float4e2m1 of an even size along the last dimension, as two "
                        f"share a byte, but got {list(x.sizes)}")


def _name(dtype: str) -> str:
    return get_type_name(TYPES[dtype]) if dtype in TYPES else dtype


def _fold(importer: Importer, inputs: Sequence[Constant | None], attributes: dict[str, Any]
          ) -> Constant:
    """The value of constants."""
    node, names = importer.node, ["x", "x_scale", "x_zero_point"][:len(inputs)]
    proto = onnx.helper.make_node(
        "DequantizeLinear", [name if each is not None else "" for name, each in
                             zip(names, inputs)], ["y"], **attributes)
    feeds = {name: each.value for name, each in zip(names, inputs) if each is not None}
    found = evaluate(proto, importer.model.opset, feeds, importer.refuse)
    return Constant(found["y"], node.outputs[0])


def _widen(importer: Importer, x: Any) -> Array:
    """Scales as numbers."""
    array = importer.array(x)
    return emit_decode(importer, array) if array.dtype in NARROW else array


@handles("DequantizeLinear", of_constants=True)
def import_dequantize(importer: Importer, inputs: Sequence[Any], attributes: dict[str, Any]
                      ) -> Any:
    return _dequantize(importer, inputs, attributes, False)


@handles("DequantizeLinear", domain="trt", of_constants=True)
def import_trt_dequantize(importer: Importer, inputs: Sequence[Any], attributes: dict[str, Any]
                          ) -> Any:
    return _dequantize(importer, inputs, attributes, True)


# QuantizeLinear.


def _get_quotient_type(importer: Importer, x: Operand, scale: Any, precision: int) -> str:
    if precision:
        dtype = NAMES.get(precision, "")
        if dtype not in NUMBERS:
            importer.refuse("expected precision to be float, float16 or bfloat16, but got "
                            f"{get_type_name(precision)}")
        return dtype
    given: str = scale.dtype
    if given in ("f32", "f8E8M0FNU"):
        return "f32"
    if given != x.dtype:
        importer.refuse(f"expected a scale of {_name(x.dtype)} or float, or precision, but got "
                        f"{_name(given)}: the standard divides in the type of the scale, "
                        "onnx.reference in float")
    return given


@handles("QuantizeLinear")
def import_quantize(importer: Importer, inputs: Sequence[Any], attributes: dict[str, Any]) -> Array:
    x, scale = inputs[:2]
    zero, block = get_input(inputs, 2), attributes.get("block_size", 0)
    output = attributes.get("output_dtype", 0)
    target = zero.dtype if zero is not None else NAMES.get(output, "") if output else "u8"
    if target not in _DATA:
        importer.refuse(f"expected quantized data of {', '.join(map(_name, _DATA))}, but got "
                        f"{'uint8' if target == 'u8' else target or get_type_name(output)}")
    _check_zero(importer, zero)
    numbers = importer.number(x, "x")
    axis = _read_axis(importer, attributes, len(x.sizes)) if x.sizes else 0
    if block:
        _check_block(importer, x, scale, axis, block)
    inner = _get_quotient_type(importer, x, scale, attributes.get("precision", 0))
    place = _spread(importer, _widen(importer, scale), x.sizes, axis, block)

    def divide(body: Body, a: str, b: str) -> str:
        return body.div(a, b)
    operands: list[Any] = [numbers, place]
    if inner != "f32":
        operands = [_round(importer, each, inner) for each in operands]
    quotient = emit_elementwise(importer, "quotient", operands, x.sizes, inner, divide)
    return emit_encode(importer, quotient, target, saturates=bool(attributes.get("saturate", 1)))


def _round(importer: Importer, operand: Array | Along, dtype: str) -> Array | Along:
    if isinstance(operand, Along):
        return Along(emit_convert(importer, operand.array, dtype), operand.dims)
    return emit_convert(importer, operand, dtype)


# Casts.


def cast_narrow(importer: Importer, x: Operand, dtype: str, attributes: dict[str, Any]) -> Array:
    numbers = importer.number(x)
    saturates = bool(attributes.get("saturate", 1))
    if dtype == "f8E8M0FNU":
        mode = importer.choose(attributes, "round_mode", "up", ("up", "down", "nearest"))
        return emit_scale_code(importer, numbers, mode, saturates=saturates)
    return emit_encode(importer, numbers, dtype, saturates=saturates)


def cast_wide(importer: Importer, x: Operand, dtype: str) -> Any:
    """Codes as numbers; a value that was dequantized in another type; else None."""
    if x.dtype == "f8E4M3FN" and dtype == "f32":
        return Scales(x, None)
    if x.dtype in NARROW:
        return emit_convert(importer, emit_decode(importer, importer.array(x)), dtype)
    decoded = importer.get_origin(x, Decoded)
    if decoded is None or decoded.dtype != "f32" or dtype not in NUMBERS:
        return None
    block = _ops.get_block(decoded.scale.dtype)
    result = _emit_dequantize(importer, decoded.data, decoded.scale, decoded.g, block, dtype,
                              decoded.is_fused)
    return transpose(importer, result) if decoded.is_transposed else result


# Quantizers that choose scales.


def _emit_quantizer(importer: Importer, x: Array, format: str, recipe: str, g: Array | None,
                    is_amax: bool = False) -> tuple[Array, Array]:
    """Data and scales of blocks along the last dimension. g is of rank 0, or has one for each
    row."""
    if x.rank < 2 or not isinstance(x.sizes[-1], int):
        importer.refuse("expected rank 2 or more and a known size along the last dimension, but "
                        f"got {list(x.sizes)}")
    rows = emit_reshape(importer, x, (multiply(x.sizes[:-1]), x.sizes[-1]))
    found = _quantize(rows, format, recipe, g, is_amax)
    if x.rank == 2:
        return found.data, found.scale
    # Products take the rows; what else takes the results has them in their own shape.
    if g is not None and g.rank:
        g = emit_reshape(importer, g, x.sizes[:-1])
    whole = _quantize(x, format, recipe, g, is_amax)
    importer.origins[whole.data.value.name] = found
    return whole.data, whole.scale


def _quantize(x: Array, format: str, recipe: str, g: Array | None, is_amax: bool) -> Rows:
    given: dict[str, Any] = {}
    if g is not None:
        given["global_amax" if is_amax else "global_scale"] = g.value
    data, scale = _ops.quantize(x.value, format=format, recipe=recipe, **given)
    return Rows(Array(data, x.sizes), Array(scale, (*x.sizes[:-1], scale.shape[-1])))


@handles("quantize", domain=DOMAIN)
def import_quantizer(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Any:
    """A call of a function that this package exported."""
    format, recipe, is_amax = importer.model.quantizers[importer.node.op]
    x, g = importer.number(inputs[0]), None
    if format == "nvfp4" and (is_amax or not (isinstance(inputs[1], Constant)
                                              and np.all(inputs[1].value == 1))):
        g = importer.array(inputs[1])
        shape = () if multiply(g.sizes) == 1 else (multiply(x.sizes[:-1]),)
        g = emit_reshape(importer, g, shape)
    return _emit_quantizer(importer, x, format, recipe, g, is_amax)


def _read_trt(importer: Importer, x: Operand, attributes: dict[str, Any], block: int) -> None:
    found = attributes.get("block_size", block)
    if found != block:
        importer.refuse(f"expected block_size to be {block}, but got {found}")
    axis = attributes.get("axis", -1)
    if axis not in (-1, len(x.sizes) - 1):
        importer.refuse(f"expected blocks along the last axis of {list(x.sizes)}, but got axis "
                        f"{axis}")


def _check_type(importer: Importer, attributes: dict[str, Any], key: str, dtype: str) -> None:
    found = attributes.get(key, TYPES[dtype])
    if found != TYPES[dtype]:
        importer.refuse(f"expected {key} to be {_name(dtype)}, but got {get_type_name(found)}")


@handles("TRT_FP4DynamicQuantize", domain="trt")
def import_trt_fp4(importer: Importer, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
    _check_inputs(importer, inputs, 2)
    x, scale = inputs[:2]
    _read_trt(importer, x, attributes, 16)
    _check_type(importer, attributes, "scale_type", "f8E4M3FN")
    known = importer.known(scale, "the scale of scales")
    if known.size != 1 or not 0 < float(known.reshape(-1)[0]) < np.inf:
        importer.refuse("expected one positive number as scale of scales, but got "
                        f"{known.reshape(-1)[:4].tolist()}")
    wide = Constant(known.astype(np.float32), scale.name)
    return _emit_quantizer(importer, importer.number(x), "nvfp4", "modelopt",
                           take_global(importer, wide))


@handles("TRT_MXFP8DynamicQuantize", domain="trt")
def import_trt_mxfp8(importer: Importer, inputs: Sequence[Any], attributes: dict[str, Any]) -> Any:
    _check_inputs(importer, inputs, 1)
    _read_trt(importer, inputs[0], attributes, 32)
    _check_type(importer, attributes, "output_dtype", "f8E4M3FN")
    return _emit_quantizer(importer, importer.number(inputs[0]), "mxfp8", "rceil", None)


@handles("TRT_MXFP8DequantizeLinear", domain="trt", of_constants=True)
def import_trt_mxfp8_dequantize(importer: Importer, inputs: Sequence[Any],
                                attributes: dict[str, Any]) -> Any:
    _check_inputs(importer, inputs, 2)
    x, scale = inputs[:2]
    if isinstance(scale, Constant) and scale.value.dtype == np.uint8:
        scale = Constant(scale.value.view(NUMPY["f8E8M0FNU"]), scale.name)
    if scale.dtype != "f8E8M0FNU":
        importer.refuse("expected scales of uint8 or float8e8m0, but got "
                        f"{_name(scale.dtype)}")
    attributes = {"axis": -1, "block_size": 32, "output_dtype": TYPES["f32"], **attributes}
    if attributes["block_size"] != 32:
        importer.refuse(f"expected block_size to be 32, but got {attributes['block_size']}")
    return _dequantize(importer, [x, scale], attributes, True)
