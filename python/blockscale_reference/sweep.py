# ===- sweep.py - The best of 126 block scales ----------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""For every 16 elements, the block amax whose scale leaves the smallest error."""

import numpy as np

from .codecs import E2M1, E4M3

# Block amaxes relative to the tensor's: every positive E4M3 value over 448.
CANDIDATES = E4M3.decode(np.arange(1, 127)) / np.float32(448)


def scale_sweep(x, global_amax, hessian=None):
    """The best block amax [.., M, K / 16] of f32 x [.., M, K], for its tensor's amax.

    `global_amax` is a scalar or one value for each batch element. `hessian`
    [K / 16, 16, 16] weighs the errors of the blocks in a column. The first of the
    smallest losses wins, the first of all where none is below infinity.
    """
    x = np.asarray(x, np.float32)
    if x.shape[-1] % 16:
        raise ValueError(f"expected K to be a multiple of 16, but got {x.shape[-1]}")
    blocks = x.reshape(*x.shape[:-1], x.shape[-1] // 16, 16)
    total = np.asarray(global_amax, np.float32)[..., None, None]
    best = np.full(blocks.shape[:-1], np.inf, np.float32)
    winner = np.zeros(blocks.shape[:-1], np.int64)
    with np.errstate(all="ignore"):
        for k, candidate in enumerate(CANDIDATES):
            loss = sweep_loss(blocks, sweep_scale(candidate, total), hessian)
            better = loss < best
            best, winner = np.where(better, loss, best), np.where(better, k, winner)
        return total * CANDIDATES[winner]


def sweep_scale(candidate, global_amax):
    """What elements are divided by: candidate * amax / 6, or 1 where that is 0."""
    scale = (candidate * global_amax) / np.float32(6)
    return np.where(scale == 0, np.float32(1), scale)


def sweep_loss(blocks, scale, hessian=None):
    """The f32 loss of blocks [.., K / 16, 16] under scales [.., K / 16]."""
    magnitude = np.abs(blocks)
    codes = E2M1.encode(magnitude / scale[..., None])
    error = magnitude - E2M1.decode(codes) * scale[..., None]
    if hessian is None:
        return _sum16(error * error)
    error = np.where(blocks >= 0, error, -error)
    weighed = np.zeros_like(error)
    for i in range(16):
        weighed = weighed + error[..., i : i + 1] * hessian[:, i, :]
    return _sum16(weighed * error)


def _sum16(terms):
    """Upper halves added to lower ones."""
    while terms.shape[-1] > 1:
        lower, upper = np.split(terms, 2, axis=-1)
        terms = lower + upper
    return terms[..., 0]
