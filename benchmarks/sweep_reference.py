# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scale sweep as 126 passes over the blocks, in numpy or in torch.

Formulas: docs/Numerics.md. `xp` is the module, numpy or torch; both have the
same names for what is used.
"""


def candidates():
    """The finite positive E4M3 numbers, ascending."""
    codes = range(1, 0x7F)
    return [2.0 ** -9 * (code & 7) if code < 8 else
            (1 + (code & 7) / 8) * 2.0 ** ((code >> 3) - 7) for code in codes]


def sweep(xp, blocks, global_amax):
    """best_amax of `blocks`, f32 of shape (blocks, 16), and its loss."""
    magnitude = xp.abs(blocks)
    best_loss = xp.full((blocks.shape[0],), float("inf"), dtype=xp.float32)
    best = xp.zeros_like(best_loss)
    one = xp.ones_like(best_loss)[0]
    for value in candidates():
        candidate = (one * value) / 448
        scale = candidate * global_amax / 6
        scale = xp.where(scale == 0, one, scale)
        scaled = magnitude / scale
        step = xp.where(scaled < 2, one * 0.5, xp.where(scaled < 4, one, one * 2))
        rounded = xp.minimum(xp.round(scaled / step) * step, one * 6)
        error = magnitude - rounded * scale
        loss = xp.sum(error * error, 1)
        better = loss < best_loss
        best_loss = xp.where(better, loss, best_loss)
        best = xp.where(better, global_amax * candidate, best)
    return best, best_loss
