# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bits of each narrow format, with one code and its value."""

from fractions import Fraction

from canvas import EXPONENT, FAINT, MANTISSA, SIGN, Canvas

# name, use, sign, exponent and mantissa bits of an example, its value, range
FORMATS = [
    ("E2M1", "NVFP4, MXFP4 data", "0", "10", "1", "2^(2-1) * 1.5 = 3", "0.5 .. 6"),
    ("E2M3", "MXFP6 data", "0", "10", "101", "2^(2-1) * 1.625 = 3.25", "0.125 .. 7.5"),
    ("E3M2", "MXFP6 data", "1", "110", "01", "-2^(6-3) * 1.25 = -10", "0.0625 .. 28"),
    ("E4M3", "MXFP8 data, NVFP4 scale", "0", "0110", "111", "2^(6-7) * 1.875 = 0.9375",
     "2^-9 .. 448"),
    ("E5M2", "MXFP8 data", "0", "10010", "10", "2^(18-15) * 1.5 = 12", "2^-16 .. 57344"),
    ("E8M0", "MX scale", "", "01111001", "", "2^(121-127) = 1/64", "2^-127 .. 2^127"),
    ("bf16", "what is quantized", "1", "10000001", "0110000", "-2^(129-127) * 1.375 = -5.5",
     "2^-133 .. 3.4e38"),
]

BIT, ROW, TOP = 20, 44, 92
BITS_X, VALUE_X, RANGE_X = 214, 556, 820


def value_of(sign, exponent, mantissa, bias):
    """Value of a normal code given as strings of bits."""
    fraction = int(mantissa, 2) / 2 ** len(mantissa) if mantissa else 0
    return (-1) ** (sign == "1") * 2.0 ** (int(exponent, 2) - bias) * (1 + fraction)


def bias_of(exponent_bits, name):
    return 127 if name == "E8M0" else 2 ** (exponent_bits - 1) - 1


def draw():
    canvas = Canvas(980, TOP + ROW * len(FORMATS) + 14, "Bits of the narrow formats")
    for x, fill, label in ((BITS_X, SIGN, "sign"), (BITS_X + 76, EXPONENT, "exponent"),
                           (BITS_X + 184, MANTISSA, "mantissa")):
        canvas.rect(x, 20, 16, 16, fill)
        canvas.text(x + 23, 33, label, 13)
    for x, label in ((16, "format"), (BITS_X, "bits of an example, high bit first"),
                     (VALUE_X, "its value"), (RANGE_X, "positive range")):
        canvas.text(x, 66, label, 13, fill=FAINT)
    canvas.line(16, 76, 964, 76, FAINT)
    for i, (name, use, sign, exponent, mantissa, value, reach) in enumerate(FORMATS):
        y = TOP + ROW * i
        shown = Fraction(value.split("= ")[1])
        assert shown == value_of(sign, exponent, mantissa, bias_of(len(exponent), name))
        canvas.text(16, y + 13, name, 15, bold=True)
        canvas.text(16, y + 29, use, 11, fill=FAINT)
        x = BITS_X
        for bits, fill in ((sign, SIGN), (exponent, EXPONENT), (mantissa, MANTISSA)):
            for bit in bits:
                canvas.cell(x, y, BIT, 26, bit, fill)
                x += BIT
        canvas.text(VALUE_X, y + 18, value, 13, mono=True)
        canvas.text(RANGE_X, y + 18, reach, 13, mono=True)
    return canvas.render()
