# ===- tensor_core.py - What tensor cores add ------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The sums of matrix instructions, bit for bit (docs/Numerics.md, section 13).

Factors are exact values of their types as f64, in which their products and the sums
of an addition are exact, too.
"""

from dataclasses import dataclass

import numpy as np

# The exponent of the least normal number of each type of factors.
LEAST_NORMAL = {"bf16": -126, "f16": -14, "tf32": -126, "e4m3": -6, "e5m2": -14}
NAN = np.uint32(0x7FFFFFFF)
AT_ONCE = 1 << 17  # products, whose arrays a cache of a core has room for


@dataclass(frozen=True)
class TensorCoreSum:
    """How a tensor core adds products: `products` of K and the accumulator at once.

    `fraction_bits` of each are kept below the largest exponent, which is at least
    `least_exponent`, and `result_bits` of the sum. `pairs_apart`: an addition takes two of
    each four consecutive products, and the next one the other two; both begin with 0, and
    their sum is added to the accumulator in f32, to nearest. Their factors are brought to f16.
    """

    products: int
    fraction_bits: int
    result_bits: int = 23
    least_exponent: int = -133
    pairs_apart: bool = False


_HOPPER = TensorCoreSum(16, 25)
_AMPERE = TensorCoreSum(8, 24, least_exponent=-132)
_AMPERE_TF32 = TensorCoreSum(4, 24, least_exponent=-132)
# By tensor cores, instruction and bits of the factors; tf32 has 19.
SUMS = {
    ("ampere", "mma.sync", 16): _AMPERE,
    ("ampere", "mma.sync", 19): _AMPERE_TF32,
    ("ada", "mma.sync", 16): _AMPERE,
    ("ada", "mma.sync", 19): _AMPERE_TF32,
    ("ada", "mma.sync", 8): TensorCoreSum(16, 13, 13, -132),
    ("hopper", "mma.sync", 16): _HOPPER,
    ("hopper", "mma.sync", 19): TensorCoreSum(8, 25),
    ("hopper", "mma.sync", 8): TensorCoreSum(16, 25, pairs_apart=True),
    ("hopper", "wgmma", 16): _HOPPER,
    ("hopper", "wgmma", 19): TensorCoreSum(8, 25),
    ("hopper", "wgmma", 8): TensorCoreSum(32, 13, 13),
    ("blackwell", "mma.sync", 16): _HOPPER,
    ("blackwell", "mma.sync", 19): TensorCoreSum(8, 25),
    ("blackwell", "mma.sync", 8): TensorCoreSum(16, 25, pairs_apart=True),
    ("blackwell", "tcgen05", 16): _HOPPER,
    ("blackwell", "tcgen05", 19): TensorCoreSum(8, 25),
    ("blackwell", "tcgen05", 8): TensorCoreSum(32, 25),
    ("consumer blackwell", "mma.sync", 16): _HOPPER,
    ("consumer blackwell", "mma.sync", 19): TensorCoreSum(8, 25),
    ("consumer blackwell", "mma.sync", 8): TensorCoreSum(32, 25),
}


def tensor_core_sum(tensor_cores, instruction, kind):
    """The sum of an instruction for factors of a type, or None where none is known."""
    bits = {"bf16": 16, "f16": 16, "tf32": 19, "e4m3": 8, "e5m2": 8}[kind]
    return SUMS.get((tensor_cores, instruction, bits))


def _exponents(x):
    """floor(log2 |x|); of 0 something small."""
    return np.where(x == 0, np.int32(-10000), np.frexp(x)[1] - 1)


def _of_factors(x, kind):
    """The exponents of factors, which are not normalized if they are subnormal."""
    return np.where(x == 0, np.int32(-10000), np.maximum(_exponents(x), LEAST_NORMAL[kind]))


def _add_finite_terms(how, p, e, c):
    """The sums of `_add_terms` where all terms are finite."""
    of_c = np.where(c == 0, -20000, np.maximum(_exponents(c), -126))
    largest = np.maximum(np.maximum(e.max(0), of_c), how.least_exponent)
    scale = np.ldexp(1.0, how.fraction_bits - largest)
    # Each term toward zero, and then exactly.
    total = (np.trunc(p * scale).sum(0) + np.trunc(c * scale)) / scale
    unit = np.ldexp(1.0, np.maximum(_exponents(total), -126) - how.result_bits)
    total = np.trunc(total / unit) * unit + 0.0  # No zero is negative.
    return np.where(np.abs(total) >= 2.0**128, np.copysign(np.inf, total), total)


def _add_terms(how, p, e, c):
    """The accumulators c [..] and products p [W, ..] with exponents e added at once."""
    finite, is_finite = np.isfinite(p), np.isfinite(c)
    if finite.all() and is_finite.all():
        return _add_finite_terms(how, p, e, c)
    nan = np.isnan(p).any(0) | np.isnan(c)
    up = (p == np.inf).any(0) | (c == np.inf)
    down = (p == -np.inf).any(0) | (c == -np.inf)
    total = _add_finite_terms(how, np.where(finite, p, 0.0), np.where(finite, e, -20000),
                              np.where(is_finite, c, 0.0))
    total = np.where(down, -np.inf, np.where(up, np.inf, total))
    return np.where(nan | (up & down), np.nan, total)


def _take(x, axis, places):
    """A part along an axis, or all where the axis is broadcast."""
    return x if x.shape[axis] == 1 else x[(slice(None),) * axis + (places,)]


def _add_products(how, factors, c):
    """The accumulators c [..] and products of two factors, which broadcast: each factor is its
    values and their exponents, both [K, ..] in the order of additions."""
    if c.size > max(1, AT_ONCE // how.products):
        axis = next(axis for axis, size in enumerate(c.shape) if size > 1)
        half = c.shape[axis] // 2
        return np.concatenate([
            _add_products(how, [[_take(x, axis + 1, places) for x in factor]
                                for factor in factors], _take(c, axis, places))
            for places in (slice(half), slice(half, None))], axis)
    (a, of_a), (b, of_b) = factors
    turns = 2 if how.pairs_apart else 1
    for k in range(0, len(a), how.products * turns):
        total = np.zeros_like(c) if how.pairs_apart else c
        for turn in range(turns):
            now = slice(k + turn * how.products, k + (turn + 1) * how.products)
            total = _add_terms(how, a[now] * b[now], of_a[now] + of_b[now], total)
        # f64 has the sum of two f32 exactly, or so that it rounds alike.
        c = (c + total).astype(np.float32).astype(np.float64) if how.pairs_apart else total
    return c


def multiply_on_tensor_cores(how, a, b, kinds, start=0.0):
    """The f32 results of instructions on rows a [.., K] and b [.., K], which broadcast.

    `kinds` names the type of a, and that of b; `start` is the accumulator before, f32.
    """
    *shape, k = np.broadcast_shapes(a.shape, b.shape)
    unit = how.products * (2 if how.pairs_apart else 1)
    types = ("f16", "f16") if how.pairs_apart else kinds
    order = np.arange(k + -k % unit)
    if how.pairs_apart:
        # Of each unit, the pairs 0, 2, .. of elements and then the pairs 1, 3, ..
        order = order.reshape(-1, unit // 4, 2, 2).swapaxes(1, 2).ravel()
    with np.errstate(all="ignore"):
        factors = []
        for x, kind in zip((a, b), types):
            whole = np.zeros((len(order), *(1,) * (len(shape) + 1 - x.ndim), *x.shape[:-1]))
            whole[:k] = np.moveaxis(x, -1, 0).reshape(x.shape[-1], *whole.shape[1:])
            factors.append((whole[order], _of_factors(whole[order], kind)))
        c = np.broadcast_to(np.asarray(start).astype(np.float64), shape)
        c = _add_products(how, factors, c)
        bits = np.where(np.isnan(c), NAN, c.astype(np.float32).view(np.uint32))
        return bits.astype(np.uint32).view(np.float32)
