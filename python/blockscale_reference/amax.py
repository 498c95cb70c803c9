# ===- amax.py - Largest magnitudes ---------------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Largest magnitudes of tensors and their parts; NaN propagates, nothing gives 0."""

import numpy as np

from .groups import group_bounds


def amax(x, of="tensor"):
    """Largest |x| of the whole "tensor", of each matrix in a "batch", or each "row"."""
    axes = {"tensor": None, "batch": (-2, -1), "row": -1}[of]
    return np.abs(np.asarray(x, np.float32)).max(axis=axes, initial=np.float32(0))


def group_amax(x, offsets, dim):
    """Largest |x| of each group [G] of rows (dim 0) or columns (dim 1) of [M, K]."""
    bounds = group_bounds(offsets, x.shape[dim])
    x = x if dim == 0 else x.T
    return np.array([amax(x[i:j]) for i, j in bounds], np.float32)
