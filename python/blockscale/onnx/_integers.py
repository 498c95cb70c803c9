# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of integers of 8 bits, and the codes that they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockscale._linalg import (
    Array,
    CodedMatrix,
    emit_binary,
    emit_convert,
    emit_convolution,
    emit_dynamic_codes,
    emit_matmul,
    emit_reshape,
)
from blockscale.onnx._importer import Importer, Operand, get_input, handles
from blockscale.onnx._operands import Bytes, Constant
from blockscale.onnx._windows import make_windows, read_kernel

_TYPES = ("uint8", "i8")


def _check_types(importer: Importer, operand: Operand, zero: Operand, what: str) -> None:
    """Of codes and their zero points."""
    if operand.dtype not in _TYPES:
        importer.refuse(f"expected {what} of uint8 or int8, but got {operand.dtype}")
    if zero is not None and zero.dtype != operand.dtype:
        importer.refuse(f"expected zero points of the type of {what}, {operand.dtype}, but got "
                        f"{zero.dtype}")


def read_codes(importer: Importer, operand: Operand, zero: Operand, what: str) -> np.ndarray:
    """Codes that are known, less their zero points, which broadcast to them."""
    _check_types(importer, operand, zero, what)
    if not isinstance(operand, Constant) or not isinstance(zero, Constant | None):
        importer.refuse(f"expected {what} and their zero points to be known at import")
    codes: np.ndarray = operand.value.astype(np.int16)
    if zero is None:
        return codes
    try:
        shape = np.broadcast_shapes(operand.value.shape, zero.value.shape)
    except ValueError:
        shape = ()
    if shape != operand.value.shape:
        importer.refuse(f"expected a zero point, or one for each column of {what} "
                        f"{list(operand.sizes)}, but got {list(zero.sizes)}")
    return codes - zero.value.astype(np.int16)


def make_matrix(importer: Importer, codes: np.ndarray, scale: Operand, name: str) -> CodedMatrix:
    """The transpose of codes [K, N] with one scale, or one for each column."""
    known = importer.known(scale, "scales").reshape(-1)
    if known.size not in (1, codes.shape[1]) or known.dtype != np.float32:
        importer.refuse(f"expected one scale or {codes.shape[1]} of float, but got {known.size} of "
                        f"{scale.dtype}")
    return CodedMatrix(importer.constant(np.ascontiguousarray(codes.T), name),
                       importer.constant(known, f"{name}_scale"))


def _take_codes(importer: Importer, operand: Operand, zero: Operand, what: str) -> Array:
    """Codes less one zero point, in i32."""
    _check_types(importer, operand, zero, what)
    if zero is not None and np.prod(zero.sizes) != 1:
        importer.refuse(f"expected one zero point of {what}, but got {list(zero.sizes)}")
    x = _widen(importer, operand)
    if zero is None:
        return x
    return emit_binary(importer, "sub", x, emit_reshape(importer, _widen(importer, zero), ()))


def _widen(importer: Importer, operand: Operand) -> Array:
    """Numbers of 8 bits in i32."""
    if isinstance(operand, Bytes):
        return operand.array
    if isinstance(operand, Constant):
        return importer.constant(operand.value.astype(np.int32), operand.name)
    return emit_convert(importer, importer.array(operand), "i32")


@handles("DynamicQuantizeLinear")
def import_dynamic_quantize(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]
                            ) -> tuple[Operand, ...]:
    codes, scale, zero = emit_dynamic_codes(importer, importer.number(inputs[0]))
    return Bytes(codes), scale, Bytes(zero)


@handles("MatMulInteger")
def import_matmul_integer(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]
                          ) -> Array:
    x = _take_codes(importer, inputs[0], get_input(inputs, 2), "the first operand")
    y = read_codes(importer, inputs[1], get_input(inputs, 3), "the second operand")
    return emit_matmul(importer, x, importer.constant(y, "codes"), dtype="i32")


@handles("ConvInteger")
def import_conv_integer(importer: Importer, inputs: Sequence[Operand],
                        attributes: dict[str, Any]) -> Array:
    # Padding is the zero point, which is 0 here.
    x = _take_codes(importer, inputs[0], get_input(inputs, 2), "the operand")
    b, zero_b = inputs[1], get_input(inputs, 3)
    if isinstance(zero_b, Constant) and zero_b.value.ndim == 1 and zero_b.value.size > 1:
        zero_b = Constant(zero_b.value.reshape(-1, *[1] * (len(b.sizes) - 1)), zero_b.name)
    weight = importer.constant(read_codes(importer, b, zero_b, "filters"), "filters")
    windows = make_windows(importer, x, read_kernel(importer, weight, attributes), attributes)
    return emit_convolution(importer, x, weight, None, windows, groups=attributes.get("group", 1),
                            dtype="i32")
