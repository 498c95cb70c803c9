# ===- matmul.py - Exact scaled products ----------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Products of block-scaled operands in f64, to judge f32-accumulating ones.

Operands are the dequantized values without their global scales, which f32 would
round; a product of two elements with their scales is exact in f64.
"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Product:
    """`value` and the sum of absolute products `absdot`, both f64."""

    value: np.ndarray
    absdot: np.ndarray
    depth: int  # elements summed

    def bound(self):
        """|error| allowed to an f32-accumulating product in any order."""
        return 1e-6 * max(1.0, self.depth / 256) * self.absdot

    def times(self, factor):
        """This product, each result times its factor."""
        return Product(self.value * factor, self.absdot * np.abs(factor), self.depth)


def scaled_matmul(a, b, factor=1.0):
    """factor * A B^T of f32 [.., M, K] and [.., N, K]."""
    a, b = a.astype(np.float64), np.swapaxes(b, -1, -2).astype(np.float64)
    return Product(a @ b, np.abs(a) @ np.abs(b), a.shape[-1]).times(factor)


def scaled_grouped_matmul(a, b, ends, factors=None):
    """One product a group, bounded by end offsets; `factors` has one a group.

    b of rank 3 [G, N, K]: rows of group g of a [M, K] times b[g]^T, giving [M, N];
    rows that no group covers are 0. b of rank 2 [N, K]: columns of group g of a
    times those of b, giving [G, M, N].
    """
    starts = [0, *ends[:-1]]
    factors = np.ones(len(ends)) if factors is None else factors
    if b.ndim == 2:
        products = [
            scaled_matmul(a[:, i:j], b[:, i:j], f)
            for i, j, f in zip(starts, ends, factors)
        ]
        return Product(
            np.stack([p.value for p in products]),
            np.stack([p.absdot for p in products]),
            a.shape[-1],
        )
    result = Product(*np.zeros((2, len(a), b.shape[-2])), a.shape[-1])
    for g, (i, j) in enumerate(zip(starts, ends)):
        product = scaled_matmul(a[i:j], b[g], factors[g])
        result.value[i:j], result.absdot[i:j] = product.value, product.absdot
    return result
