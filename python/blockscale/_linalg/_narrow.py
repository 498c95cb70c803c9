# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codes of 8, 6 and 4 bits to and from f32, element by element.

Formats have such conversions by themselves, where the dialect has them as part of its
quantizers. Those of 8 bits are computed here on the bits of numbers. How others lie in memory
is known to the ops of the dialect alone, so these are quantized with scales of 1.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Sequence
from typing import Any

from blockscale import _ops
from blockscale._linalg._body import Body, emit_elementwise, emit_full
from blockscale._linalg._builder import Array, Builder
from blockscale._linalg._shapes import emit_pad, emit_slice

#: Codes of 8 bits, which decode() takes; encode() takes the first two.
FLOATS8 = ("f8E4M3FN", "f8E5M2", "f8E8M0FNU")


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


class Bits:
    """Ops of a body on i32, among them the bits of an f32."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def number(self, value: int) -> str:
        return self.body.constant(value, "i32")

    def op(self, name: str, a: str, b: str | int) -> str:
        b = b if isinstance(b, str) else self.number(b)
        return self.body.op(f"arith.{name} {a}, {b}", "i32")

    def of_float(self, x: str) -> str:
        return self.body.op(f"arith.bitcast {x}", "f32 to i32")

    def to_float(self, bits: str) -> str:
        return self.body.op(f"arith.bitcast {bits}", "i32 to f32")

    def of_code(self, x: str, element: str) -> str:
        byte = self.body.op(f"arith.bitcast {x}", f"{element} to i8")
        return self.body.op(f"arith.extui {byte}", "i8 to i32")

    def to_code(self, bits: str, element: str) -> str:
        byte = self.body.op(f"arith.trunci {bits}", "i32 to i8")
        return self.body.op(f"arith.bitcast {byte}", f"i8 to {element}")

    def choose(self, predicate: str, a: str, b: str | int, yes: str, no: str) -> str:
        b = b if isinstance(b, str) else self.number(b)
        return self.body.select(self.body.compare(predicate, a, b, "i32"), yes, no, "i32")


def _float(value: float) -> int:
    """The bits of an f32."""
    bits, = struct.unpack("<I", struct.pack("<f", value))
    return int(bits)


def encode(body: Body, x: str, element: str, *, saturates: bool) -> str:
    """An f32 as f8E4M3FN or f8E5M2, rounded to nearest even. What is beyond the largest number
    becomes it where it `saturates`, else NaN in f8E4M3FN, which has no infinity, and infinity
    in f8E5M2."""
    form, bits = _FORMATS[element], Bits(body)
    whole = bits.of_float(x)
    sign = bits.op("shli", bits.op("shrui", whole, 31), 7)
    magnitude = bits.op("andi", whole, 0x7FFFFFFF)
    # Normal numbers: the upper bits, rounded, with the other bias.
    shift = 23 - form.mantissa
    odd = bits.op("andi", bits.op("shrui", magnitude, shift), 1)
    rounded = bits.op("addi", bits.op("addi", magnitude, (1 << (shift - 1)) - 1), odd)
    normal = bits.op("subi", bits.op("shrui", rounded, shift), (127 - form.bias) << form.mantissa)
    # Others are multiples of the smallest number, to which their sum with a large one rounds.
    least = 2.0 ** (1 - form.bias)
    large = least / 2 ** form.mantissa * 2 ** 23
    total = body.add(bits.to_float(magnitude), body.constant(large))
    small = bits.op("subi", bits.of_float(total), _float(large))
    code = bits.choose("lt", magnitude, _float(least), small, normal)
    over = form.nan if form.infinity is None else form.infinity
    code = bits.choose("gt", code, form.largest,
                       bits.number(form.largest if saturates else over), code)
    code = bits.choose("gt", magnitude, 0x7F800000, bits.number(form.nan), code)
    return bits.to_code(bits.op("ori", code, sign), element)


def decode(body: Body, x: str, element: str) -> str:
    """A code of 8 bits in f32, which has all of their numbers."""
    bits = Bits(body)
    code = bits.of_code(x, element)
    if element == "f8E8M0FNU":
        shifted = bits.op("shli", code, 23)
        shifted = bits.choose("eq", code, 0, bits.number(_float(2.0 ** -127)), shifted)
        return bits.to_float(bits.choose("eq", code, 255, bits.number(0x7FC00000), shifted))
    form = _FORMATS[element]
    sign = bits.op("shli", bits.op("shrui", code, 7), 31)
    magnitude = bits.op("andi", code, 0x7F)
    normal = bits.op("addi", bits.op("shli", magnitude, 23 - form.mantissa),
                     (127 - form.bias) << 23)
    count = body.op(f"arith.uitofp {magnitude}", "i32 to f32")
    small = bits.of_float(body.mul(count, body.constant(2.0 ** (1 - form.bias - form.mantissa))))
    wide = bits.choose("lt", magnitude, 1 << form.mantissa, small, normal)
    if form.infinity is not None:
        wide = bits.choose("eq", magnitude, form.infinity, bits.number(0x7F800000), wide)
    wide = bits.choose("gt", magnitude, form.largest + (form.infinity is not None),
                       bits.number(0x7FC00000), wide)
    return bits.to_float(bits.op("ori", wide, sign))


def emit_encode(builder: Builder, x: Array, element: str, *, saturates: bool) -> Array:
    """Floating-point numbers as f8E4M3FN or f8E5M2, as encode() has it."""
    return emit_elementwise(builder, "codes", [x], x.sizes, element,
                            lambda body, a: encode(body, a, element, saturates=saturates),
                            made=element)


def emit_decode(builder: Builder, x: Array) -> Array:
    """Codes of 8 bits in f32."""
    return emit_elementwise(builder, "numbers", [x], x.sizes, "f32",
                            lambda body, a: decode(body, a, x.dtype), inner=x.dtype, made="f32")


def emit_code(builder: Builder, base: str, sizes: Sequence[Any], code: int,
              element: str) -> Array:
    """A tensor of one code of 8 bits, given as their number without a sign."""
    return emit_elementwise(
        builder, base, [], sizes, element,
        lambda body: body.op(f"arith.bitcast {body.constant((code ^ 128) - 128, 'i8')}",
                             f"i8 to {element}"),
        made=element)


# Codes of 4 and 6 bits, by ops of the dialect with scales of 1.

_BLOCK_OF_E2M1 = 16
_LARGEST_E2M1 = 6

#: The type of scales, their code for 1, their block, and a recipe.
_OF_OPS = {
    # This recipe takes blocks that are not whole; with scales of 1 all recipes are the same.
    "f4E2M1FN": ("f8E4M3FN", 0x38, _BLOCK_OF_E2M1, "te"),
    "f6E2M3FN": ("f8E8M0FNU", 0x7F, 32, None), "f6E3M2FN": ("f8E8M0FNU", 0x7F, 32, None),
}


def emit_encode_e2m1(builder: Builder, numbers: Array) -> Array:
    """Numbers [.., M, K] in f32, without NaN, as f4E2M1FN, rounded to nearest even; what is
    beyond the largest number becomes it. K is known and even."""
    size = numbers.sizes[-1]
    high = [0] * (numbers.rank - 1) + [-size % _BLOCK_OF_E2M1]
    padded = emit_pad(builder, numbers, [0] * numbers.rank, high)
    sizes = (*numbers.sizes[:-1], padded.sizes[-1] // _BLOCK_OF_E2M1)
    amax = emit_full(builder, sizes, _LARGEST_E2M1, "f32")
    data, _ = _ops.quantize(padded.value, format="nvfp4", recipe="torchao", block_amax=amax.value)
    return emit_slice(builder, Array(data, padded.sizes), [0] * numbers.rank, numbers.sizes)


def emit_decode_by_op(builder: Builder, x: Array) -> Array:
    """Codes [.., M, K] of 4 or 6 bits in f32. K is known; of 6 bits, it is a multiple of 32."""
    scale, one, block, recipe = _OF_OPS[x.dtype]
    ones = emit_code(builder, "ones", (*x.sizes[:-1], -(-x.sizes[-1] // block)), one, scale)
    return Array(_ops.dequantize(x.value, ones.value, recipe=recipe), x.sizes)
