# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of integers: numbers as codes of 8 bits with one scale and one zero point, which are
chosen when they are known."""

from __future__ import annotations

import dataclasses

from blockscale._linalg._body import Body, emit_elementwise
from blockscale._linalg._builder import Array, Builder, Size
from blockscale._linalg._elementwise import emit_binary
from blockscale._linalg._products import emit_matmul
from blockscale._linalg._reductions import emit_reduce

#: The largest code.
_LARGEST = 255


def emit_dynamic_codes(builder: Builder, x: Array) -> tuple[Array, Array, Array]:
    """Codes from 0 to 255 of x (i32), their scale (f32) and their zero point (i32), as
    DynamicQuantizeLinear of ONNX: (code - zero point) * scale is about x, the range of codes is
    that of x and 0, and a quotient between two codes is rounded to the even one."""
    low, high = (emit_reduce(builder, kind, x, dtype="f32") for kind in ("min", "max"))

    def get_scale(body: Body, low: str, high: str) -> str:
        zero = body.constant(0)
        span = body.sub(body.maximum(high, zero), body.minimum(low, zero))
        scale = body.div(span, body.constant(_LARGEST))
        return body.select(body.compare("eq", span, zero), body.constant(1), scale)
    scale = emit_elementwise(builder, "scale", [low, high], (), "f32", get_scale)

    def get_zero(body: Body, low: str, scale: str) -> str:
        least = body.minimum(low, body.constant(0))
        return _clamp(body, body.sub(body.constant(0), body.div(least, scale)))
    zero = emit_elementwise(builder, "zero", [low, scale], (), "i32", get_zero)

    def get_code(body: Body, a: str, scale: str, zero: str) -> str:
        whole = body.op(f"math.roundeven {body.div(a, scale)}")
        return _clamp(body, body.add(whole, zero))
    codes = emit_elementwise(builder, "codes", [x, scale, zero], x.sizes, "i32", get_code)
    return codes, scale, zero


def _clamp(body: Body, x: str) -> str:
    """The whole number from 0 to 255 that is nearest to x."""
    inside = body.minimum(body.maximum(x, body.constant(0)), body.constant(_LARGEST))
    return body.op(f"math.roundeven {inside}")


@dataclasses.dataclass(frozen=True)
class CodedMatrix:
    """A matrix in codes.

    Attributes:
      codes: less their zero points [N, K], integers.
      scale: f32, [N] or [1].
    """

    codes: Array
    scale: Array

    @property
    def sizes(self) -> tuple[Size, ...]:
        return self.codes.sizes

    @property
    def rank(self) -> int:
        return self.codes.rank


def emit_coded_matmul(builder: Builder, x: Array, matrix: CodedMatrix) -> Array:
    """x [.., K] in codes, times the transpose of a matrix, in f32. Sums of codes are i32."""
    codes, scale, zero = emit_dynamic_codes(builder, x)
    total = emit_matmul(builder, emit_binary(builder, "sub", codes, zero), matrix.codes,
                        transpose_b=True, dtype="i32")
    factor = emit_binary(builder, "mul", scale, matrix.scale)
    return emit_binary(builder, "mul", total, factor, dtype="f32")
