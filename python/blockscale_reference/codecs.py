# ===- codecs.py - Narrow formats -----------------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Codes of the narrow formats, and E8M0 scale bytes."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MiniFloat:
    """A sign, exponent, mantissa format whose cast saturates."""

    mantissa_bits: int
    min_exponent: int  # of the smallest normal value
    max_code: int  # of the largest finite magnitude
    nan_code: int
    sign_bit: int

    @property
    def largest(self):
        return self.decode(np.uint8(self.max_code))

    def encode(self, values):
        """Codes (uint8) of f32 values: nearest, ties to even, saturating.

        The sign of zero is kept; NaN becomes `nan_code`, positive.
        """
        values = np.asarray(values, np.float32)
        magnitude = np.abs(values)
        exponent = np.where(magnitude > 0, np.frexp(magnitude)[1] - 1, -149)
        exponent = np.maximum(exponent, self.min_exponent).astype(np.int32)
        with np.errstate(invalid="ignore"):
            steps = np.rint(np.ldexp(magnitude, self.mantissa_bits - exponent))
            # Codes count steps from zero, and a binade holds 2^mantissa_bits of
            # them, so a mantissa that rounds up carries into the exponent.
            binades = (exponent - self.min_exponent).astype(np.float32)
            codes = binades * 2**self.mantissa_bits + steps
            codes = np.minimum(np.nan_to_num(codes), self.max_code).astype(np.uint8)
        codes |= np.where(np.signbit(values), self.sign_bit, 0).astype(np.uint8)
        return np.where(np.isnan(values), np.uint8(self.nan_code), codes)

    def decode(self, codes):
        """f32 values of codes; exact."""
        codes = np.asarray(codes, np.uint8)
        magnitude = (codes & (self.sign_bit - 1)).astype(np.int32)
        field = magnitude >> self.mantissa_bits
        mantissa = magnitude & (2**self.mantissa_bits - 1)
        mantissa = mantissa + np.where(field > 0, 2**self.mantissa_bits, 0)
        exponent = np.maximum(field - 1, 0) + self.min_exponent - self.mantissa_bits
        values = np.ldexp(mantissa.astype(np.float32), exponent)
        values = np.where(magnitude > self.max_code, self._beyond(magnitude), values)
        return np.where(codes & self.sign_bit, -values, values).astype(np.float32)

    def _beyond(self, magnitude):
        """Infinity, where the format has one, is the first code past the largest."""
        has_infinity = self.nan_code > self.max_code + 1
        infinite = has_infinity & (magnitude == self.max_code + 1)
        return np.where(infinite, np.float32(np.inf), np.float32(np.nan))


@dataclass(frozen=True)
class FixedPoint:
    """Two's complement with a fixed number of bits behind the point; saturates."""

    bits: int
    mantissa_bits: int  # behind the point

    @property
    def largest(self):
        return self.decode(np.uint8(2 ** (self.bits - 1) - 1))

    def encode(self, values):
        """Codes (uint8) of f32 values: nearest, ties to even, saturating.

        There is one zero; NaN becomes the largest value.
        """
        values = np.asarray(values, np.float32)
        limit = 2 ** (self.bits - 1)
        steps = np.rint(np.ldexp(values.astype(np.float64), self.mantissa_bits))
        steps = np.where(np.isnan(steps), limit - 1, np.clip(steps, -limit, limit - 1))
        return steps.astype(np.int8).view(np.uint8)

    def decode(self, codes):
        """f32 values of codes; exact."""
        steps = np.asarray(codes, np.uint8).view(np.int8).astype(np.float32)
        return np.ldexp(steps, -self.mantissa_bits)


# The first three have no NaN: by convention a NaN becomes the largest value, as
# in PTX.
E2M1 = MiniFloat(1, 0, max_code=0x7, nan_code=0x7, sign_bit=0x8)
E2M3 = MiniFloat(3, 0, max_code=0x1F, nan_code=0x1F, sign_bit=0x20)
E3M2 = MiniFloat(2, -2, max_code=0x1F, nan_code=0x1F, sign_bit=0x20)
E4M3 = MiniFloat(3, -6, max_code=0x7E, nan_code=0x7F, sign_bit=0x80)
E5M2 = MiniFloat(2, -14, max_code=0x7B, nan_code=0x7F, sign_bit=0x80)
# MXINT8's element: code / 64, from -2 to 127/64.
INT8 = FixedPoint(8, 6)


def decode_e8m0(codes):
    """f32 values 2^(byte - 127) of scale bytes; 255 is NaN, 0 the subnormal 2^-127."""
    codes = np.asarray(codes, np.uint8)
    exponent = np.minimum(codes, 254).astype(np.int32) - 127
    values = np.ldexp(np.float32(1), exponent)
    return np.where(codes == 255, np.float32(np.nan), values)
