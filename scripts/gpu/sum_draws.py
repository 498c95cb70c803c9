# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of sums by classes that tell rules of tensor cores apart, as codes drawn at random."""

from dataclasses import dataclass

import numpy as np

# Bits of a code and of its mantissa, and the bias. A tf32 is the upper 19 bits of an f32.
FIELDS = {"bf16": (16, 7, 127), "f16": (16, 10, 15), "tf32": (19, 10, 127),
          "e4m3": (8, 3, 7), "e5m2": (8, 2, 15)}
SPECIAL = {"bf16": (0x7F80, 0x7FC1), "f16": (0x7C00, 0x7E01), "tf32": (0x3FC00, 0x3FE01),
           "e4m3": (0x7F, 0x7F), "e5m2": (0x7C, 0x7D)}  # infinity, where there is one, and NaN


@dataclass(frozen=True)
class Operands:
    """Codes of A [rows, K] and of B [cols, K], and the bits of accumulators [rows, cols]."""
    a: np.ndarray
    b: np.ndarray
    starts: np.ndarray


def draw_codes(random, kind, shape, first, last):
    """Codes with exponents from `first` to `last`, as far as the type has them; subnormal ones
    where they are below its own."""
    bits, mantissa_bits, bias = FIELDS[kind]
    fields = random.integers(first, last, shape, endpoint=True) + bias
    # E4M3 has numbers in its last field, but for the last one, which is NaN.
    fields = np.clip(fields, 0, (1 << (bits - 1 - mantissa_bits)) - (1 if kind == "e4m3" else 2))
    mantissas = random.integers(0, 1 << mantissa_bits, shape)
    magnitudes = (fields << mantissa_bits) | mantissas
    if kind == "e4m3":
        magnitudes = np.minimum(magnitudes, 0x7E)
    return (magnitudes | (random.integers(0, 2, shape) << (bits - 1))).astype(np.uint32)


def draw_bits(random, kind, shape):
    return random.integers(0, 1 << FIELDS[kind][0], shape).astype(np.uint32)


def in_range(first, last, first_b=None, last_b=None):
    """Exponents of A, and those of B where they are others."""
    def draw(random, kinds, shapes):
        return (draw_codes(random, kinds[0], shapes[0], first, last),
                draw_codes(random, kinds[1], shapes[1], *((first, last) if first_b is None else
                                                         (first_b, last_b))))
    return draw


def with_zeros(draw, tenths):
    """The numbers of `draw`, of which so many tenths are +0 or -0."""
    def draw_zeros(random, kinds, shapes):
        for kind, codes in zip(kinds, draw(random, kinds, shapes)):
            zeros = random.integers(0, 2, codes.shape, np.uint32) << (FIELDS[kind][0] - 1)
            yield np.where(random.integers(0, 10, codes.shape) < tenths, zeros, codes)
    return draw_zeros


def with_specials(random, kinds, shapes):
    """Ordinary numbers, with infinities and NaN among them."""
    for kind, codes in zip(kinds, in_range(-4, 4)(random, kinds, shapes)):
        special = np.array(SPECIAL[kind])[(random.integers(0, 8, codes.shape) == 0).astype(int)]
        special = special | (random.integers(0, 2, codes.shape) << (FIELDS[kind][0] - 1))
        yield np.where(random.integers(0, 256, codes.shape) == 0, special, codes)


def of_one(random, kinds, shapes):
    """1, -1, and zeros of both signs."""
    for kind, shape in zip(kinds, shapes):
        bits, mantissa_bits, bias = FIELDS[kind]
        codes = np.array([0, bias << mantissa_bits])[random.integers(0, 2, shape)]
        yield codes | (random.integers(0, 2, shape) << (bits - 1))


def of_bits(random, kinds, shapes):
    return tuple(draw_bits(random, kind, shape) for kind, shape in zip(kinds, shapes))


def of_finite_bits(random, kinds, shapes):
    for kind, codes in zip(kinds, of_bits(random, kinds, shapes)):
        bits, mantissa_bits, _ = FIELDS[kind]
        last = 1 << mantissa_bits
        magnitudes = codes & ((1 << (bits - 1)) - 1)
        finite = magnitudes < min(SPECIAL[kind])
        yield np.where(finite, codes, codes ^ last)


# By the types that have such numbers: those with the exponents of f32, f16, and FP8.
WIDE, NARROW, SMALL = ("bf16", "tf32"), ("f16",), ("e4m3", "e5m2")
ALL = WIDE + NARROW + SMALL
LOWEST = -1000  # Below all exponents: subnormal numbers.
# Where the products of an addition are so small that the least exponent counts.
LOW = {"about 2^-126": in_range(-66, -60), "about 2^-133": in_range(-70, -64),
       "about 2^-140": in_range(-73, -67), "about 2^-146": in_range(-76, -70),
       "about 2^-150": in_range(-76, -74), "about 2^-152": in_range(-82, -68)}
DRAWS = {
    "ordinary": (ALL, in_range(-4, 1)),
    "spread": (ALL, in_range(-10, 10)),
    "half zeros": (ALL, with_zeros(in_range(-6, 6), 5)),
    "nine tenths zeros": (ALL, with_zeros(in_range(-14, 14), 9)),
    "zeros and ones": (ALL, of_one),
    "subnormal": (ALL, in_range(LOWEST, LOWEST)),
    "subnormal and large": (WIDE, in_range(LOWEST, LOWEST, 90, 127)),
    "subnormal and large, narrow": (NARROW + SMALL, in_range(LOWEST, LOWEST, -10, 15)),
    "subnormal and mixed": (NARROW + SMALL, in_range(-17, -12, -17, 15)),
    "wide": (WIDE, with_zeros(in_range(-55, 55), 9)),
    **{name: (WIDE, draw) for name, draw in LOW.items()},
    "about 2^127": (WIDE, in_range(61, 64)),
    "about 2^200": (WIDE, in_range(90, 110)),
    "infinities and NaN": (ALL, with_specials),
    "finite bits": (ALL, of_finite_bits),
    "all bits": (ALL, of_bits),
}


def draw_starts(random, shape, kind):
    """Bits of accumulators: of a magnitude about 2^`kind`, or what `kind` names."""
    bits = random.integers(0, 1 << 32, shape, np.uint32)
    if kind == "bits":
        return bits
    if kind == "zeros":
        return bits & np.uint32(1 << 31)
    if kind == "subnormal":
        return bits & np.uint32(0x807FFFFF)
    field = random.integers(kind - 2, kind + 2, shape, endpoint=True) + 127
    return (bits & np.uint32(0x807FFFFF)) | (np.clip(field, 0, 254).astype(np.uint32) << 23)


STARTS = {"ordinary": (0, 20, "zeros", "bits", "subnormal"), "about 2^-126": (-126, "subnormal"),
          "about 2^-140": (-140, "subnormal", -120), "about 2^127": (126, "bits"),
          "about 2^200": (126,), "zeros and ones": ("zeros", "subnormal"), "all bits": ("bits",)}


def list_classes(kinds):
    """The names of classes for the types of A and B, each with a start (None: +0)."""
    return [(name, start) for name, (types, _) in DRAWS.items() if set(kinds) <= set(types)
            for start in (None, *STARTS.get(name, ()))]


def describe_class(name, start):
    if start is None:
        return name
    return f"{name}, start {start if isinstance(start, str) else f'2^{start}'}"


def draw(seed, kinds, name, start, rows, cols, depth):
    """Operands of a class."""
    random = np.random.Generator(np.random.PCG64(seed))
    a, b = DRAWS[name][1](random, kinds, ((rows, depth), (cols, depth)))
    starts = (np.zeros((rows, cols), np.uint32) if start is None else
              draw_starts(random, (rows, cols), start))
    return Operands(a.astype(np.uint32), b.astype(np.uint32), starts)
