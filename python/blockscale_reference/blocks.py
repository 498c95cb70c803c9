# ===- blocks.py - Matrices cut into blocks -------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Blocks of one scale: [1, B] along rows, [B, 1] along columns, [B, B] tiles."""

import numpy as np


def cut(x, block, takes_tails):
    """[.., M, K] to [.., ceil(M / bm), ceil(K / bk), bm, bk], padded with zeros."""
    sizes = []
    for name, size, step in zip("MK", x.shape[-2:], block):
        if size % step and not takes_tails:
            raise ValueError(
                f"expected {name} to be a multiple of {step}, but got {size}"
            )
        sizes.append(-(-size // step))
    padding = [(0, n * step - size) for n, step, size in zip(sizes, block, x.shape[-2:])]
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + padding)
    split = padded.reshape(*x.shape[:-2], sizes[0], block[0], sizes[1], block[1])
    return split.swapaxes(-3, -2)


def largest_magnitude(blocks):
    """The largest |x| of each block [.., bm, bk], as [.., 1, 1]; NaN propagates."""
    return np.abs(blocks).max(axis=(-2, -1), keepdims=True)


def join(blocks, rows, cols):
    """The inverse of `cut`: the first `rows` rows and `cols` columns."""
    *batch, m, k, bm, bk = blocks.shape
    joined = blocks.swapaxes(-3, -2).reshape(*batch, m * bm, k * bk)
    return joined[..., :rows, :cols]


def spread(scale, block, shape):
    """One scale for each element of [.., M, K]; the last blocks may be tails."""
    rows = np.repeat(scale, block[0], axis=-2)[..., : shape[-2], :]
    return np.repeat(rows, block[1], axis=-1)[..., : shape[-1]]


def expand_scale(scale, block, dim, size=None):
    """Scales of B x B blocks as a product takes them, `block` = B.

    `dim` "k": each row B times, [.., rows, C]; "n": the transpose, each of its
    rows (the columns of `scale`) B times, [.., cols, R]. `size` cuts the repeated
    dimension, whose last block may be a tail.
    """
    if dim not in ("k", "n"):
        raise ValueError(f"expected dim to be 'k' or 'n', but got {dim!r}")
    scale = scale if dim == "k" else scale.swapaxes(-2, -1)
    return np.ascontiguousarray(np.repeat(scale, block, axis=-2)[..., :size, :])
