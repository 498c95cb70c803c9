# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Casts between f32 and the types of codes and scales, as ONNX has them."""

from __future__ import annotations

from blockscale._linalg import Array, Body, Builder, _narrow, emit_elementwise


def emit_encode(builder: Builder, x: Array, dtype: str, *, saturates: bool = True) -> Array:
    """Codes of numbers, rounded to nearest even. What is beyond the largest number becomes it,
    or, where a format of 8 bits does not saturate, infinity or NaN."""
    if dtype == "f4E2M1FN":
        return _encode_e2m1(builder, x)
    if dtype not in ("f8E4M3FN", "f8E5M2"):
        builder.refuse("expected data of float4e2m1, float8e4m3fn or float8e5m2, as the dialect "
                       f"has no other codes without scales of their blocks, but got {dtype}")
    return _narrow.emit_encode(builder, x, dtype, saturates=saturates)


def emit_decode(builder: Builder, x: Array) -> Array:
    """The numbers in f32 of codes or scales."""
    if x.dtype in _narrow.FLOATS8:
        return _narrow.emit_decode(builder, x)
    size = _check_rank(builder, x, x.dtype)
    if x.dtype != "f4E2M1FN" and size % 32:
        builder.refuse(f"expected {x.dtype} of whole blocks of 32 along the last dimension, "
                       f"but got {list(x.sizes)}")
    return _narrow.emit_decode_by_op(builder, x)


def emit_scale_code(builder: Builder, x: Array, mode: str, *, saturates: bool) -> Array:
    """E8M0 of positive numbers, by ONNX's round_mode: up, down or nearest."""
    def compute(body: Body, a: str) -> str:
        bits = _narrow.Bits(body)
        whole = bits.of_float(a)
        exponent = bits.op("andi", bits.op("shrui", whole, 23), 255)
        fraction = bits.op("andi", whole, 0x7FFFFF)
        zero, one = bits.number(0), bits.number(1)
        increment = zero
        if mode == "up":
            increment = bits.choose("ne", fraction, 0, one, zero)
        elif mode == "nearest":
            # A tie goes up, but from the lowest exponent.
            tie = bits.choose("gt", exponent, 0, one, zero)
            increment = bits.choose("eq", fraction, 0x400000, tie,
                                    bits.choose("gt", fraction, 0x400000, one, zero))
        if saturates:
            increment = bits.choose("eq", exponent, 254, zero, increment)
        code = bits.op("addi", exponent, increment)
        code = bits.choose("eq", exponent, 255, bits.number(255), code)
        return bits.to_code(code, "f8E8M0FNU")
    return emit_elementwise(builder, "scales", [x], x.sizes, "f8E8M0FNU", compute,
                            made="f8E8M0FNU")


def _check_rank(builder: Builder, x: Array, dtype: str) -> int:
    """The size of the last dimension."""
    size = x.sizes[-1] if x.rank else None
    if x.rank < 2 or not isinstance(size, int):
        builder.refuse(f"expected {dtype} of rank 2 or more and of a known size along the last "
                       f"dimension, but got {list(x.sizes)}")
    if dtype == "f4E2M1FN" and size % 2:
        builder.refuse("expected float4e2m1 of an even size along the last dimension, as two "
                       f"share a byte, but got {list(x.sizes)}")
    return size


def _encode_e2m1(builder: Builder, x: Array) -> Array:
    _check_rank(builder, x, "f4E2M1FN")

    def clean(body: Body, a: str) -> str:
        # A NaN has the code that NumPy gives it in onnx.reference.
        return body.select(body.compare("ne", a, a), body.constant(-0.0), a)
    known = emit_elementwise(builder, "known", [x], x.sizes, "f32", clean)
    return _narrow.emit_encode_e2m1(builder, known)
