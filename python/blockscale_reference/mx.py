# ===- mx.py - MX quantizers ----------------------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""MX: E4M3, E5M2, E2M3, E3M2, E2M1 or INT8 data, one E8M0 scale (a power of two)
for each block: 32 elements of a row or column, or a tile of 32 x 32.

The rules say how the block's amax becomes an exponent. They read its f32 bits:
with E the exponent field, the scale byte of amax / 2^pow rounded down is E - pow.
The rule `tosa` instead asks what the scaled amax rounds to.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .blocks import cut, join, largest_magnitude
from .codecs import E2M1, E2M3, E3M2, E4M3, E5M2, INT8, decode_e8m0
from .stochastic import encode_stochastic, random_bytes

BLOCK = 32

# Exponent of the largest element value.
_POW = {E4M3: 8, E5M2: 15, E2M1: 2, E2M3: 2, E3M2: 4, INT8: 0}

# Where `tosa` ends the largest value, half a step above it. A tie rounds to the
# largest value where its code is even, as E4M3's is, and away from it elsewhere.
_END = {E4M3: 464, E5M2: 61440, E2M1: 7, E2M3: 7.75, E3M2: 30, INT8: 127.5 / 64}

# The mantissa bits to which `compressed_tensors` rounds amax. E4M3 has those of
# E2M1; the package has no other MX format.
_ROUNDED_BITS = {E2M1: 1, E2M3: 3, E4M3: 1}
_INFINITY = 0x7F800000
_NAN_BYTE = 255


def reciprocal(scale):
    """2^(127 - byte), exact: byte 254 gives a subnormal, 255 NaN."""
    return np.where(scale == _NAN_BYTE, np.float32(np.nan), decode_e8m0(254 - scale))


@dataclass(frozen=True)
class Rule:
    """A scale rule: a field for each choice in which packages differ."""

    exponent: Callable  # of (amax, element): scale bytes
    keeps_negative_zero: Callable = lambda element: True  # of x, in data of the element
    amax: Callable = largest_magnitude
    factor: Callable = reciprocal  # of scale bytes: what elements are multiplied by
    round_element: Callable = lambda element, values: element.encode(values)


def quantize_mx(
    x,
    element=E4M3,
    rule="rceil",
    block=(1, BLOCK),
    transposed=False,
    rng=None,
    rules=None,
    scale=None,
):
    """Codes [.., M, K] and scale bytes [.., M / bm, K / bk] of f32 x [.., M, K].

    `transposed` gives both transposed. `rng` = (seed, offset) rounds E2M1 data
    stochastically. `rules` is a Rule with other choices than those of the name, and
    `scale` are bytes in the place of the blocks' own, as results have them.
    """
    rules = RULES[rule] if rules is None else rules
    x = np.asarray(x, np.float32)
    blocks = cut(x, block, takes_tails=False)
    with np.errstate(all="ignore"):
        if scale is None:
            scale = rules.exponent(rules.amax(blocks), element)[..., 0, 0]
        elif transposed:
            scale = scale.swapaxes(-2, -1)
        scale = np.asarray(scale, np.uint8)
        scaled = join(blocks * rules.factor(scale)[..., None, None], *x.shape[-2:])
    if rng is None:
        codes = rules.round_element(element, scaled)
    else:
        codes = encode_stochastic(scaled, random_bytes(x.shape, *rng))
    if not rules.keeps_negative_zero(element):
        codes[scaled == 0] = 0
    if transposed:
        codes, scale = codes.swapaxes(-2, -1), scale.swapaxes(-2, -1)
    return np.ascontiguousarray(codes), np.ascontiguousarray(scale)


def _rceil(amax, element, saturate=False):
    """The power of two at or above amax / largest, with the quotient as a product."""
    ratio = amax * (np.float32(1) / element.largest)
    bits = ratio.view(np.uint32)
    exponent, mantissa = bits >> 23, bits & 0x7FFFFF
    # Byte 0 is 2^-127, half the smallest normal: subnormals up to it stay there.
    up = np.where(exponent == 0, mantissa > 0x400000, mantissa != 0)
    byte = np.minimum(exponent + up, _NAN_BYTE).astype(np.uint8)
    if saturate:
        return np.where(np.isnan(ratio), _NAN_BYTE, np.minimum(byte, 254))
    return np.where(np.isfinite(ratio), byte, _NAN_BYTE).astype(np.uint8)


def _shifted(amax, element, kept=None, up=False):
    """The exponent of amax, less the element's. Amax is rounded to `kept` bits of its
    mantissa before, where that is not None; its exponent is rounded `up`, or down."""
    bits = amax.view(np.uint32).astype(np.int64)
    if kept is not None:
        half = 1 << (22 - kept)  # of the last mantissa bit that is kept
        bits = np.where(np.isnan(amax), bits, (bits + half) & 0xFF800000)
    exponent = bits >> 23
    if up:
        exponent = exponent + ((bits & 0x7FFFFF) != 0)
    byte = np.clip(exponent - _POW[element], 0, 255)
    return np.where(bits >= _INFINITY, _NAN_BYTE, byte).astype(np.uint8)


def _rounded_bits(element):
    if element not in _ROUNDED_BITS:
        raise ValueError("expected E2M1, E2M3 or E4M3 data for compressed_tensors")
    return _ROUNDED_BITS[element]


def _tosa(amax, element):
    """The smallest power of two whose quotient with amax rounds to no more than the
    largest value; finite amaxes have at most 2^127."""
    # In f64 a quotient is a power of two only where it is one exactly.
    fraction, exponent = np.frexp(amax.astype(np.float64) / _END[element])
    if element is E4M3:
        exponent = exponent - (fraction == 0.5)
    byte = np.where(amax == 0, 0, np.clip(exponent + 127, 0, 254))
    return np.where(np.isfinite(amax), byte, _NAN_BYTE).astype(np.uint8)


RULES = {
    "floor": Rule(_shifted),
    "rceil": Rule(_rceil),
    "rceil_sat": Rule(lambda amax, element: _rceil(amax, element, saturate=True)),
    "ceil": Rule(lambda amax, element: _shifted(amax, element, up=True)),
    "even": Rule(lambda amax, element: _shifted(amax, element, element.mantissa_bits)),
    "tosa": Rule(_tosa),
    "compressed_tensors": Rule(
        lambda amax, element: _shifted(amax, element, _rounded_bits(element)),
        keeps_negative_zero=lambda element: element is not E2M1,
    ),
}
