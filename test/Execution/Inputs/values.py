# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeded inputs that reach the corners of the formats."""

import numpy as np

from reference import to_bf16

BLOCK = 16
# Global values: zero, subnormal, smallest normal, ordinary, largest, infinite, NaN; negative.
GLOBALS = np.array([0, 1e-45, 1e-39, 2.0**-126, 1e-8, 2.0**-20, 1 / 2688, 1, 1.5, 2688, 2.0**100,
                    3.4028235e38, np.inf, np.nan, -0.0, -1], np.float32)


def normal(random):
    """Of any magnitude that f32 and bf16 have."""
    exponent = random.integers(-40, 40)
    return random.standard_normal(BLOCK) * 2.0**exponent


def ties(random):
    """Halfway between codes: multiples of 1/8 with the largest value 6, or of a
    power of two of that."""
    values = random.integers(-48, 49, BLOCK) / 8
    values[random.integers(BLOCK)] = 6
    return values * 2.0 ** random.integers(-3, 4)


def subnormal(random):
    return random.integers(-1000, 1000, BLOCK) * 2.0**-149


def smallest(random):
    """About the smallest block scales, where they become zero or subnormal."""
    return random.uniform(-2, 2, BLOCK) * 2.0 ** random.integers(-20, -5)


def zeros(random):
    return np.zeros(BLOCK)


def negative_zeros(random):
    return np.where(random.random(BLOCK) < 0.5, -0.0, 0.0)


def huge(random):
    return random.uniform(-3.4e38, 3.4e38, BLOCK)


def infinite(random):
    return np.where(random.random(BLOCK) < 0.2, np.inf, random.standard_normal(BLOCK))


def nan(random):
    """One NaN, of any sign and payload, among numbers."""
    values = random.standard_normal(BLOCK)
    bits = 0x7FC00000 | int(random.integers(1 << 22)) | int(random.integers(2)) << 31
    values[random.integers(BLOCK)] = np.uint32(bits).view(np.float32)
    return values


def ordinary(random):
    """Numbers of one magnitude, among them zeros of both signs and negative ones that become zero,
    as blocks of weights are."""
    values = random.standard_normal(BLOCK) * 2.0 ** random.integers(-8, 9)
    at = random.permutation(BLOCK)
    values[at[:4]] = [0.0, -0.0, -1e-3 * np.abs(values).max(), np.abs(values).max() / 4]
    return values


def ordinary_with_nan(random):
    """The same with NaN of both signs."""
    values = ordinary(random)
    values[random.permutation(BLOCK)[:2]] = [np.nan, -np.nan]
    return values


TAME = [normal, ties, subnormal, smallest, zeros, negative_zeros]
WILD = [huge, infinite, nan]


def blocks(random, shape, kinds=(*TAME, *WILD)):
    """f32 of `shape`, each kind of block in turn along the rows."""
    count = -(-int(np.prod(shape)) // BLOCK)
    start = random.integers(len(kinds))
    rows = [kinds[(start + i) % len(kinds)](random) for i in range(count)]
    flat = np.concatenate([*rows, []]).astype(np.float32)
    return flat[: int(np.prod(shape))].reshape(shape)


def floats(random, shape, dtype, kinds=(*TAME, *WILD)):
    """In storage form: f32, f16, or bf16 as uint16."""
    values = blocks(random, shape, kinds)
    if dtype == np.float16:
        # Finite values stay finite.
        limited = np.clip(values, -65504, 65504)
        return np.where(np.isinf(values), values, limited).astype(np.float16)
    return to_bf16(values) if dtype == np.uint16 else values


def codes(random, shape):
    """E2M1 codes."""
    return random.integers(0, 16, shape, dtype=np.uint8)


def e4m3(random, shape):
    """Scale bytes, subnormal ones and zero among them; no sign, no NaN."""
    return random.integers(0, 0x7F, shape, dtype=np.uint8)


def e8m0(random, shape):
    """Scale bytes near 1, whose products f32 holds."""
    return random.integers(110, 145, shape, dtype=np.uint8)
