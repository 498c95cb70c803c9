# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference arithmetic on numbers and scales: blockscale-c/Numerics.h."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from blockscale._native._library import LIBRARY, get_error

_INPUTS = {"f32": 0, "bf16": 1, "f16": 2}
_Outcome = tuple[int, str, list[tuple[Any, ...]], Any]


def get_global_scale(recipe: str, amax: float, dtype: str | None) -> _Outcome:
    """The encode scale of a recipe for the amax of a tensor of a dtype ("f32", "bf16", "f16"), or
    without dtype the decode scale."""
    scale = ctypes.c_float()
    if dtype is None:
        status = LIBRARY.blockscale_global_decode_scale(recipe.encode(), amax, scale)
    else:
        status = LIBRARY.blockscale_global_encode_scale(recipe.encode(), _INPUTS[dtype], amax,
                                                        scale)
    return status, get_error(status), [], np.float32(scale.value)


def get_nonzero_amax(amax: float) -> float:
    """The amax from which a global scale is derived where it is ours to choose: a finite one also
    for a tensor of zeros."""
    found: float = LIBRARY.blockscale_nonzero_amax(amax)
    return amax if found == np.float32(amax) else found


def swizzle(linear: np.ndarray) -> _Outcome:
    """The tiles of a matrix of scales of a byte each, row-major."""
    source = np.ascontiguousarray(linear)
    rows, cols = source.shape
    size = LIBRARY.blockscale_swizzled_size(rows, cols)
    tiles = np.empty(max(size, 0), np.uint8)
    status = LIBRARY.blockscale_swizzle(source.ctypes.data, rows, cols, tiles.ctypes.data, size)
    return status, get_error(status), [], tiles


def unswizzle(tiles: np.ndarray, rows: int, cols: int) -> _Outcome:
    """The inverse of swizzle()."""
    source = np.ascontiguousarray(tiles)
    linear = np.empty((rows, cols), np.uint8)
    status = LIBRARY.blockscale_unswizzle(source.ctypes.data, source.nbytes, rows, cols,
                                          linear.ctypes.data)
    return status, get_error(status), [], linear
