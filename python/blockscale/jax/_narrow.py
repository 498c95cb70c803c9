# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of 8 and 4 bits: to and from f32, as StableHLO's convert has them.

The pipelines compute in f32 and know 8-bit types as bytes, so that the conversions are
written in ops on bits. Memory holds two 4-bit numbers a byte, so that ops of the dialect
read and write these: with block scales of 1, `quantize` rounds numbers and `dequantize`
gives them back.
"""

from __future__ import annotations

from typing import Sequence

import ml_dtypes
import numpy as np

from blockscale import _ops
from blockscale._linalg import (Array, Body, Builder, emit_elementwise, emit_full,
                                format_sizes)

FLOATS8 = ("f8E4M3FN", "f8E5M2", "f8E8M0FNU")
#: Block of NVFP4, whose recipes round elements that are in range of E2M1 as StableHLO does.
_BLOCK = 16
_LARGEST_E2M1 = 6.0


def emit_literal(builder: Builder, number: np.generic, sizes: Sequence[int],
                 element: str) -> Array:
    """A tensor of one 8-bit number."""
    bits = int(np.asarray(number).view(np.int8))
    return emit_elementwise(
        builder, "number", [], sizes, element,
        lambda body: body.op(f"arith.bitcast {body.constant(bits, 'i8')}", f"i8 to {element}"),
        made=element)


# 8-bit numbers.


def _bits_of(body: Body, x: str, element: str) -> str:
    byte = body.op(f"arith.bitcast {x}", f"{element} to i8")
    return body.op(f"arith.extui {byte}", "i8 to i32")


def _shift_left(body: Body, x: str, count: int) -> str:
    return body.op(f"arith.shli {x}, {body.constant(count, 'i32')}", "i32")


def _as_float(body: Body, bits: str) -> str:
    return body.op(f"arith.bitcast {bits}", "i32 to f32")


def _as_bits(body: Body, x: str) -> str:
    return body.op(f"arith.bitcast {x}", "f32 to i32")


def _and(body: Body, x: str, mask: int) -> str:
    return body.op(f"arith.andi {x}, {body.constant(mask, 'i32')}", "i32")


def _or(body: Body, a: str, b: str) -> str:
    return body.op(f"arith.ori {a}, {b}", "i32")


def decode(body: Body, x: str, element: str) -> str:
    """An 8-bit number in f32, which holds it exactly."""
    bits = _bits_of(body, x, element)
    nan = body.constant(float("nan"))
    if element == "f8E8M0FNU":
        zero, last = body.constant(0, "i32"), body.constant(255, "i32")
        power = _as_float(body, _shift_left(body, bits, 23))
        least = _as_float(body, body.constant(1 << 22, "i32"))  # 2^-127, a subnormal
        power = body.select(body.compare("eq", bits, zero, "i32"), least, power)
        return body.select(body.compare("eq", bits, last, "i32"), nan, power)
    # In the place of an f32's, exponent and mantissa mean a power of two less; the product
    # is exact, and subnormals become normal by it.
    mantissa, bias = (3, 7) if element == "f8E4M3FN" else (2, 15)
    magnitude = _shift_left(body, _and(body, bits, 0x7F), 23 - mantissa)
    number = body.mul(_as_float(body, magnitude), body.constant(2.0 ** (127 - bias)))
    largest = body.constant(0x7E if mantissa == 3 else 0x7C, "i32")
    above = body.compare("gt", _and(body, bits, 0x7F), largest, "i32")
    number = body.select(above, nan, number)
    if mantissa == 2:
        is_infinite = body.compare("eq", _and(body, bits, 0x7F), largest, "i32")
        number = body.select(is_infinite, body.constant(float("inf")), number)
    sign = _shift_left(body, _and(body, bits, 0x80), 24)
    return _as_float(body, _or(body, _as_bits(body, number), sign))


def encode(body: Body, x: str, element: str) -> str:
    """An f32 as an 8-bit float, to nearest with ties to even. What is too large becomes NaN
    in E4M3, which has no infinity, and infinity in E5M2."""
    mantissa, bias = (3, 7) if element == "f8E4M3FN" else (2, 15)
    bits = _as_bits(body, x)
    magnitude = _and(body, bits, 0x7FFFFFFF)
    sign = body.op(f"arith.shrui {_and(body, bits, -(1 << 31))}, {body.constant(24, 'i32')}",
                   "i32")
    dropped = body.constant(23 - mantissa, "i32")
    # Half of what is dropped, less one where the last bit that stays is even.
    odd = _and(body, body.op(f"arith.shrui {magnitude}, {dropped}", "i32"), 1)
    half = body.op(f"arith.addi {odd}, {body.constant((1 << (22 - mantissa)) - 1, 'i32')}", "i32")
    rounded = body.op(f"arith.shrui {body.op(f'arith.addi {magnitude}, {half}', 'i32')}, "
                      f"{dropped}", "i32")
    normal = body.op(f"arith.subi {rounded}, {body.constant((127 - bias) << mantissa, 'i32')}",
                     "i32")
    # Subnormals are multiples of the least of them: the sum with a number whose last bit is
    # worth that much rounds them, and has their code in its last bits.
    base = body.constant(2.0 ** (23 + 1 - bias - mantissa))
    total = body.add(_as_float(body, magnitude), base)
    small = body.op(f"arith.subi {_as_bits(body, total)}, {_as_bits(body, base)}", "i32")
    least = body.constant((127 - bias + 1) << 23, "i32")
    code = body.select(body.compare("lt", magnitude, least, "i32"), small, normal, "i32")
    limit = body.constant(0x7F if mantissa == 3 else 0x7C, "i32")
    code = body.op(f"arith.minsi {code}, {limit}", "i32")
    infinity = body.constant(0x7F800000, "i32")
    is_nan = body.compare("gt", magnitude, infinity, "i32")
    code = body.select(is_nan, body.constant(0x7F if mantissa == 3 else 0x7E, "i32"), code, "i32")
    byte = body.op(f"arith.trunci {_or(body, code, sign)}", "i32 to i8")
    return body.op(f"arith.bitcast {byte}", f"i8 to {element}")


def emit_decode(builder: Builder, x: Array) -> Array:
    """8-bit numbers in f32."""
    return emit_elementwise(builder, "decoded", [x], x.sizes, "f32",
                            lambda body, a: decode(body, a, x.dtype), inner=x.dtype, made="f32")


def emit_encode(builder: Builder, x: Array, element: str) -> Array:
    """Numbers in an 8-bit type."""
    if element == "f8E8M0FNU":
        builder.refuse("expected no conversion of numbers to f8E8M0FNU: its rounding is not "
                       "defined; make scales of their bits, as jax.nn.scaled_dot_general does")
    return emit_elementwise(builder, "encoded", [x], x.sizes, element,
                            lambda body, a: encode(body, a, element), made=element)


# 4-bit numbers.


def _check_rank(builder: Builder, x: Array) -> None:
    if x.rank < 2:
        builder.refuse("expected 4-bit numbers that are converted or moved to have rank 2 or "
                       f"more, but got {format_sizes(x.sizes)}")


def emit_codes(builder: Builder, numbers: Array) -> Array:
    """Numbers in f32 as codes of E2M1, to nearest with ties to even; what is too large
    becomes 6 or -6."""
    _check_rank(builder, numbers)
    if numbers.sizes[-1] % _BLOCK:
        builder.refuse("expected numbers that become 4-bit ones in rows of a multiple of "
                       f"{_BLOCK}, but got {format_sizes(numbers.sizes)}")
    sizes = (*numbers.sizes[:-1], numbers.sizes[-1] // _BLOCK)
    amax = emit_full(builder, sizes, _LARGEST_E2M1, "f32")
    data, _ = _ops.quantize(numbers.value, format="nvfp4", recipe="torchao",
                            block_amax=amax.value)
    return Array(data, numbers.sizes)


def emit_decode_codes(builder: Builder, codes: Array) -> Array:
    """Codes of E2M1 in f32."""
    _check_rank(builder, codes)
    sizes = (*codes.sizes[:-1], -(-codes.sizes[-1] // _BLOCK))
    scales = emit_literal(builder, ml_dtypes.float8_e4m3fn(1), sizes, "f8E4M3FN")
    # A recipe that takes a short block at the end of a row.
    numbers = _ops.dequantize(codes.value, scales.value, recipe="modelopt")
    return Array(numbers, codes.sizes)
