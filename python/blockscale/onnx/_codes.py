# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Casts between f32 and the types of codes and scales, element by element.

ONNX has such casts by themselves, where the dialect has them as part of its quantizers. Those
of 8 bits are computed here on the bits of numbers. How others lie in memory is known to the
ops of the dialect alone, so these are quantized with scales of 1.
"""

from __future__ import annotations

import dataclasses
import struct

from blockscale import _ops
from blockscale._linalg import (Array, Body, Builder, emit_elementwise, emit_full, emit_pad,
                                emit_slice)
from blockscale._linalg._body import emit_generic, get_map


@dataclasses.dataclass(frozen=True)
class _Format:
    """Bits of the mantissa, the bias of the exponent, and the codes of the largest number, of NaN
    and of infinity, where there is one."""

    mantissa: int
    bias: int
    largest: int
    nan: int
    infinity: int | None = None


_FORMATS = {
    "f8E4M3FN": _Format(3, 7, 0x7E, 0x7F),
    "f8E5M2": _Format(2, 15, 0x7B, 0x7E, 0x7C),
}
_ONE_OF_E4M3 = 0x38


class _Bits(Body):
    """A body on i32."""

    def number(self, value: int) -> str:
        return self.constant(value, "i32")

    def bit_op(self, name: str, a: str, b: str | int) -> str:
        return self.op(f"arith.{name} {a}, {b if isinstance(b, str) else self.number(b)}", "i32")

    def bits_of(self, x: str) -> str:
        return self.op(f"arith.bitcast {x}", "f32 to i32")

    def from_bits(self, bits: str) -> str:
        return self.op(f"arith.bitcast {bits}", "i32 to f32")

    def choose(self, predicate: str, a: str, b: str | int, yes: str, no: str,
               dtype: str = "i32") -> str:
        b = b if isinstance(b, str) else self.number(b)
        return self.select(self.compare(predicate, a, b, "i32"), yes, no, dtype)


def _float(value: float) -> int:
    """The bits of an f32."""
    bits, = struct.unpack("<I", struct.pack("<f", value))
    return bits


def _emit(builder: Builder, base: str, x: Array | None, sizes: tuple[object, ...], dtype: str,
          body: _Bits, result: str) -> Array:
    """A linalg.generic of a body, which reads the elements of x as %a0."""
    out = builder.empty(sizes, dtype)
    identity = get_map(len(sizes), range(len(sizes)))
    inputs = [] if x is None else [x.value]
    value = emit_generic(builder, base, [identity] * (len(inputs) + 1), ["parallel"] * len(sizes),
                         inputs, out, body, result)
    return Array(value, sizes)


def _emit_byte(builder: Builder, base: str, x: Array | None, sizes: tuple[object, ...],
               dtype: str, body: _Bits, code: str) -> Array:
    byte = body.op(f"arith.trunci {code}", "i32 to i8")
    return _emit(builder, base, x, sizes, dtype, body,
                 body.op(f"arith.bitcast {byte}", f"i8 to {dtype}"))


def emit_encode(builder: Builder, x: Array, dtype: str, *, saturates: bool = True) -> Array:
    """Codes of numbers, rounded to nearest even. What is beyond the largest number becomes it,
    or, where a format of 8 bits does not saturate, infinity or NaN."""
    if dtype == "f4E2M1FN":
        return _encode_e2m1(builder, x)
    if dtype not in _FORMATS:
        builder.refuse("expected data of float4e2m1, float8e4m3fn or float8e5m2, as the dialect "
                       f"has no other codes without scales of their blocks, but got {dtype}")
    form, body = _FORMATS[dtype], _Bits()
    wide = body.widen("%a0", x.dtype)
    bits = body.bits_of(wide)
    sign = body.bit_op("shli", body.bit_op("shrui", bits, 31), 7)
    magnitude = body.bit_op("andi", bits, 0x7FFFFFFF)
    # Normal numbers: the upper bits, rounded, with the other bias.
    shift = 23 - form.mantissa
    odd = body.bit_op("andi", body.bit_op("shrui", magnitude, shift), 1)
    rounded = body.bit_op("addi", body.bit_op("addi", magnitude, (1 << (shift - 1)) - 1), odd)
    normal = body.bit_op("subi", body.bit_op("shrui", rounded, shift),
                         (127 - form.bias) << form.mantissa)
    # Others are multiples of the smallest number, to which their sum with a large one rounds.
    least = 2.0 ** (1 - form.bias)
    large = least / 2 ** form.mantissa * 2 ** 23
    total = body.add(body.from_bits(magnitude), body.constant(large))
    small = body.bit_op("subi", body.bits_of(total), _float(large))
    code = body.choose("lt", magnitude, _float(least), small, normal)
    over = form.nan if form.infinity is None else form.infinity
    code = body.choose("gt", code, form.largest,
                       body.number(form.largest if saturates else over), code)
    code = body.choose("gt", magnitude, 0x7F800000, body.number(form.nan), code)
    return _emit_byte(builder, "codes", x, x.sizes, dtype, body, body.bit_op("ori", code, sign))


def emit_decode(builder: Builder, x: Array) -> Array:
    """The numbers in f32 of codes or scales."""
    if x.dtype in _OF_OPS:
        return _decode_by_op(builder, x)
    body = _Bits()
    code = body.op(f"arith.extui {body.op('arith.bitcast %a0', f'{x.dtype} to i8')}", "i8 to i32")
    if x.dtype == "f8E8M0FNU":
        shifted = body.bit_op("shli", code, 23)
        shifted = body.choose("eq", code, 0, body.number(_float(2.0 ** -127)), shifted)
        bits = body.choose("eq", code, 255, body.number(0x7FC00000), shifted)
        return _emit(builder, "numbers", x, x.sizes, "f32", body, body.from_bits(bits))
    form = _FORMATS[x.dtype]
    sign = body.bit_op("shli", body.bit_op("shrui", code, 7), 31)
    magnitude = body.bit_op("andi", code, 0x7F)
    normal = body.bit_op("addi", body.bit_op("shli", magnitude, 23 - form.mantissa),
                         (127 - form.bias) << 23)
    count = body.op(f"arith.uitofp {magnitude}", "i32 to f32")
    small = body.bits_of(body.mul(count, body.constant(2.0 ** (1 - form.bias - form.mantissa))))
    bits = body.choose("lt", magnitude, 1 << form.mantissa, small, normal)
    if form.infinity is not None:
        bits = body.choose("eq", magnitude, form.infinity, body.number(0x7F800000), bits)
    bits = body.choose("gt", magnitude, form.largest + (form.infinity is not None),
                       body.number(0x7FC00000), bits)
    return _emit(builder, "numbers", x, x.sizes, "f32", body,
                 body.from_bits(body.bit_op("ori", bits, sign)))


def emit_scale_code(builder: Builder, x: Array, mode: str, *, saturates: bool) -> Array:
    """E8M0 of positive numbers, by ONNX's round_mode: up, down or nearest."""
    body = _Bits()
    bits = body.bits_of(body.widen("%a0", x.dtype))
    exponent = body.bit_op("andi", body.bit_op("shrui", bits, 23), 255)
    fraction = body.bit_op("andi", bits, 0x7FFFFF)
    zero, one = body.number(0), body.number(1)
    increment = zero
    if mode == "up":
        increment = body.choose("ne", fraction, 0, one, zero)
    elif mode == "nearest":
        # A tie goes up, but from the lowest exponent.
        tie = body.choose("gt", exponent, 0, one, zero)
        increment = body.choose("eq", fraction, 0x400000, tie,
                                body.choose("gt", fraction, 0x400000, one, zero))
    if saturates:
        increment = body.choose("eq", exponent, 254, zero, increment)
    code = body.bit_op("addi", exponent, increment)
    code = body.choose("eq", exponent, 255, body.number(255), code)
    return _emit_byte(builder, "scales", x, x.sizes, "f8E8M0FNU", body, code)


# Codes of 4 and 6 bits, by ops of the dialect with scales of 1.


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
    size = _check_rank(builder, x, "f4E2M1FN")

    def clean(body: Body, a: str) -> str:
        # A NaN has the code that NumPy gives it in onnx.reference.
        return body.select(body.compare("ne", a, a), body.constant(-0.0), a)
    known = emit_elementwise(builder, "known", [x], x.sizes, "f32", clean)
    high = [0] * (x.rank - 1) + [-size % 16]
    padded = emit_pad(builder, known, [0] * x.rank, high)
    amax = emit_full(builder, (*x.sizes[:-1], padded.sizes[-1] // 16), 6, "f32")
    data, _ = _ops.quantize(padded.value, recipe="torchao", block_amax=amax.value)
    return emit_slice(builder, Array(data, padded.sizes), [0] * x.rank, x.sizes)


#: The type of scales, their code for 1, and their block.
_OF_OPS = {
    "f4E2M1FN": ("f8E4M3FN", 0x38, 16), "f6E2M3FN": ("f8E8M0FNU", 0x7F, 32),
    "f6E3M2FN": ("f8E8M0FNU", 0x7F, 32),
}


def _decode_by_op(builder: Builder, x: Array) -> Array:
    scale, one, block = _OF_OPS[x.dtype]
    size, body = _check_rank(builder, x, x.dtype), _Bits()
    if x.dtype != "f4E2M1FN" and size % block:
        builder.refuse(f"expected {x.dtype} of whole blocks of {block} along the last dimension, "
                       f"but got {list(x.sizes)}")
    ones = _emit_byte(builder, "ones", None, (*x.sizes[:-1], -(-size // block)), scale, body,
                      body.number(one))
    # This recipe takes blocks that are not whole; with scales of 1 all recipes are the same.
    recipe = "te" if x.dtype == "f4E2M1FN" else None
    return Array(_ops.dequantize(x.value, ones.value, recipe=recipe), x.sizes)
