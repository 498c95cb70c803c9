# ===- groups.py - Groups of rows or columns ------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Quantizing the groups of a matrix, whose ends are data."""

import numpy as np


def group_bounds(offsets, extent, multiple=1):
    """(begin, end) of each group of a dimension of `extent` elements.

    An end is at least the end before it, at most the extent and a multiple of the
    block along the dimension. A group whose end is not is empty.
    """
    bounds, begin = [], 0
    for offset in np.asarray(offsets).tolist():
        holds = begin <= offset <= extent and offset % multiple == 0
        end = offset if holds else begin
        bounds.append((begin, end))
        begin = end
    return bounds


def group_fault(offsets, extent, multiple=1):
    """What the first group with a fault breaks, as errors say it; None without one."""
    begin = 0
    for group, end in enumerate(np.asarray(offsets).tolist()):
        for holds, rule in ((end >= begin, f"at least {begin}"),
                            (end <= extent, f"at most {extent}"),
                            (end % multiple == 0, f"a multiple of {multiple}")):
            if not holds:
                return f"expected the end of group {group} to be {rule}, but got {end}"
        begin = end
    return None


def pad_groups(x, offsets, unit):
    """(padded, ends): the rows of each group of [M, K] with zeros up to a multiple of `unit`.

    The padded array has as many rows as that many groups of M rows can take.
    """
    pieces, ends, end = [], [], 0
    for i, j in group_bounds(offsets, len(x)):
        rows = -(-(j - i) // unit) * unit
        piece = np.zeros((rows, *x.shape[1:]), x.dtype)
        piece[: j - i] = x[i:j]
        pieces.append(piece)
        end += rows
        ends.append(end)
    most = (len(x) + len(ends) * (unit - 1)) // unit * unit
    pieces.append(np.zeros((most - end, *x.shape[1:]), x.dtype))
    return np.concatenate(pieces), np.array(ends, np.int32)


def quantize_groups(quantize, x, offsets, dim, block, transposed=False, values=None):
    """Codes and linear scales of [M, K], each group quantized alone.

    `quantize` is called as quantize(rows or columns of x, value) for each group
    that is not empty, with the group's entry of `values` (its global scale or
    amax) or None. Codes and scale bytes that no group covers are 0.
    """
    shape = np.array(x.shape)
    scale_shape = -(-shape // block)
    if transposed:
        shape, scale_shape = shape[::-1], scale_shape[::-1]
    codes, scale = np.zeros(shape, np.uint8), np.zeros(scale_shape, np.uint8)
    axis = 1 - dim if transposed else dim
    for g, (i, j) in enumerate(group_bounds(offsets, x.shape[dim], block[dim])):
        if i == j:
            continue
        part = x[i:j] if dim == 0 else x[:, i:j]
        got = quantize(part, None if values is None else values[g])
        for result, piece, step in zip((codes, scale), got, (1, block[dim])):
            window = [slice(None), slice(None)]
            window[axis] = slice(i // step, -(-j // step))
            result[tuple(window)] = piece
    return codes, scale
