# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of 8 and 4 bits: to and from f32, as StableHLO's convert has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blockscale._linalg import Array, Builder, _narrow, format_sizes
from blockscale._linalg._narrow import FLOATS8, emit_decode

__all__ = ["FLOATS8", "NARROW", "emit_codes", "emit_decode", "emit_decode_codes", "emit_encode",
           "emit_literal"]

#: Types that no arithmetic takes.
NARROW = (*FLOATS8, "f4E2M1FN")


def emit_literal(builder: Builder, number: np.generic, sizes: Sequence[int],
                 element: str) -> Array:
    """A tensor of one 8-bit number."""
    code = int(np.asarray(number).view(np.uint8))
    return _narrow.emit_code(builder, "number", sizes, code, element)


def emit_encode(builder: Builder, x: Array, element: str) -> Array:
    """Numbers in an 8-bit type. What is too large becomes NaN in E4M3, and infinity in E5M2."""
    if element == "f8E8M0FNU":
        builder.refuse("expected no conversion of numbers to f8E8M0FNU: its rounding is not "
                       "defined; make scales of their bits, as jax.nn.scaled_dot_general does")
    return _narrow.emit_encode(builder, x, element, saturates=False)


# 4-bit numbers.


def _check_rank(builder: Builder, x: Array) -> None:
    if x.rank < 2:
        builder.refuse("expected 4-bit numbers that are converted or moved to have rank 2 or "
                       f"more, but got {format_sizes(x.sizes)}")


def emit_codes(builder: Builder, numbers: Array) -> Array:
    """Numbers in f32 as codes of E2M1, to nearest with ties to even; what is too large
    becomes 6 or -6."""
    _check_rank(builder, numbers)
    if numbers.sizes[-1] % 16:
        builder.refuse("expected numbers that become 4-bit ones in rows of a multiple of "
                       f"16, but got {format_sizes(numbers.sizes)}")
    return _narrow.emit_encode_e2m1(builder, numbers)


def emit_decode_codes(builder: Builder, codes: Array) -> Array:
    """Codes of E2M1 in f32."""
    _check_rank(builder, codes)
    return _narrow.emit_decode_by_op(builder, codes)
