# ===- layout.py - Scale layouts ------------------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Scales of [.., R, C] in tiles, padded with zeros. Each batch element is laid out alone.

In the layout "swizzle_128x4", scale (r, c) goes to tile (r // 128, c // 4), and there to
[r % 32, (r % 128) // 32, c % 4]; in "swizzle_8x4" to tile (r // 8, c // 4), and there to
[r % 8, c % 4].
"""

import numpy as np


def _ceildiv(a, b):
    return -(-a // b)


def swizzle(scale, fill=0, layout="swizzle_128x4"):
    """[.., R, C] to [.., ceil(R / 128), ceil(C / 4), 32, 4, 4], or to
    [.., ceil(R / 8), ceil(C / 4), 8, 4]."""
    *batch, rows, cols = scale.shape
    row_tile = {"swizzle_128x4": 128, "swizzle_8x4": 8}[layout]
    tiles = _ceildiv(rows, row_tile), _ceildiv(cols, 4)
    padded = np.full((*batch, tiles[0] * row_tile, tiles[1] * 4), fill, scale.dtype)
    padded[..., :rows, :cols] = scale
    if layout == "swizzle_8x4":
        # [row tile, row % 8, column tile, column]
        split = padded.reshape(*batch, tiles[0], 8, tiles[1], 4)
        return np.ascontiguousarray(split.swapaxes(-3, -2))
    # [row tile, row quarter, row % 32, column tile, column]
    split = padded.reshape(*batch, tiles[0], 4, 32, tiles[1], 4)
    return np.ascontiguousarray(split.swapaxes(-4, -2))


def unswizzle(tiles, rows, cols, layout="swizzle_128x4"):
    """The inverse of `swizzle`: the logical [.., rows, cols]."""
    if layout == "swizzle_8x4":
        *batch, row_tiles, col_tiles, _, _ = tiles.shape
        split = tiles.swapaxes(-3, -2)
        return split.reshape(*batch, row_tiles * 8, col_tiles * 4)[..., :rows, :cols]
    *batch, row_tiles, col_tiles, _, _, _ = tiles.shape
    split = tiles.swapaxes(-4, -2)
    return split.reshape(*batch, row_tiles * 128, col_tiles * 4)[..., :rows, :cols]


def swizzle_groups(scale, ends, dim, fill=0):
    """Groups of [R, C] along `dim` (0 rows, 1 columns), each laid out alone.

    `ends` are the groups' end offsets in rows or columns of `scale`. The result
    [T, 32, 4, 4] is as large as any offsets could need, the groups' tiles first:
    T = (R + 127 G) // 128 * ceil(C / 4), or ceil(R / 128) * ((C + 3 G) // 4).
    """
    rows, cols = scale.shape
    groups = len(ends)
    if dim == 0:
        count = (rows + 127 * groups) // 128 * _ceildiv(cols, 4)
    else:
        count = _ceildiv(rows, 128) * ((cols + 3 * groups) // 4)
    result = np.full((count, 32, 4, 4), fill, scale.dtype)
    position = start = 0
    for end in ends:
        group = scale[start:end] if dim == 0 else scale[:, start:end]
        tiles = swizzle(group, fill).reshape(-1, 32, 4, 4)
        result[position : position + len(tiles)] = tiles
        position, start = position + len(tiles), end
    return result
