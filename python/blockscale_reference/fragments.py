# ===- fragments.py - Data in the order of register fragments -------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Codes of [.., R, K] in blocks of 64 rows by 64 columns, padded with code 0.

Row 16 w + 8 u + g and column 16 j + 8 v + 2 c + h of a block belong to thread
32 w + 4 g + c, product j, register u + 2 v and half h. Each batch element is laid out
alone.
"""

import numpy as np

#: Bits m, e0, e1 and s of a 4-bit code of each register of two products, of half 0 and of half
#: 1: their places in the two words of these, bits 32 to 63 of which are the second one.
PLACES = (
    ((6, 7, 8, 15), (22, 23, 24, 31)),
    ((2, 3, 4, 11), (18, 19, 20, 27)),
    ((28, 29, 30, 5), (12, 13, 14, 21)),
    ((62, 63, 0, 39), (46, 47, 16, 55)),
    ((36, 37, 38, 45), (52, 53, 54, 61)),
    ((32, 33, 34, 41), (48, 49, 50, 57)),
    ((58, 59, 60, 35), (42, 43, 44, 51)),
    ((56, 25, 26, 1), (40, 9, 10, 17)),
)


def _permute(array, order):
    """The last dimensions in another order."""
    batch = array.ndim - len(order)
    return array.transpose(*range(batch), *(batch + dim for dim in order))


def _split(codes, fill):
    """[.., R, K] to [.., row block, column block, w, g, c, j, v, u, h]."""
    *batch, rows, cols = codes.shape
    blocks = -(-rows // 64), -(-cols // 64)
    padded = np.full((*batch, blocks[0] * 64, blocks[1] * 64), fill, np.uint8)
    padded[..., :rows, :cols] = codes
    # [row block, w, u, g, column block, j, v, c, h]
    split = padded.reshape(*batch, blocks[0], 4, 2, 8, blocks[1], 4, 2, 4, 2)
    return _permute(split, (0, 4, 1, 3, 7, 5, 6, 2, 8))


def _join(order, rows, cols):
    """The inverse of `_split`."""
    *batch, row_blocks, col_blocks, _, _, _, _, _, _, _ = order.shape
    split = _permute(order, (0, 2, 7, 3, 1, 5, 6, 4, 8))
    padded = split.reshape(*batch, row_blocks * 64, col_blocks * 64)
    return np.ascontiguousarray(padded[..., :rows, :cols])


def prepack(codes, bits, fill=0):
    """[.., R, K] codes of 4 or 8 `bits` to [.., ceil(R / 64), ceil(K / 64), 512 * bits]
    bytes."""
    order = _split(codes, fill)
    shape = (*order.shape[:-7], 512 * bits)
    if bits == 8:
        # Products are in pairs: [.., j div 2, w, g, c, j mod 2, v, u, h].
        pairs = order.reshape(*order.shape[:-4], 2, 2, 2, 2, 2)
        return np.ascontiguousarray(np.moveaxis(pairs, -5, -8)).reshape(shape)
    # Two products share 64 bits: [.., j div 2, j mod 2, v, u, h].
    pairs = order.reshape(*order.shape[:-4], 2, 2, 2, 2, 2)
    words = np.zeros(pairs.shape[:-4], "<u8")
    for register, halves in enumerate(PLACES):
        for half, places in enumerate(halves):
            code = pairs[..., register // 4, register // 2 % 2, register % 2, half]
            for bit, place in enumerate(places):
                words |= ((code >> bit) & 1).astype("<u8") << place
    return words.view(np.uint8).reshape(shape)


def unprepack(blocks, rows, cols, bits):
    """The inverse of `prepack`: the codes [.., rows, cols]."""
    lead = blocks.shape[:-1]
    if bits == 8:
        pairs = blocks.reshape(*lead, 2, 4, 8, 4, 2, 2, 2, 2)
        return _join(np.moveaxis(pairs, -8, -5).reshape(*lead, 4, 8, 4, 4, 2, 2, 2), rows, cols)
    words = np.ascontiguousarray(blocks).view("<u8").reshape(*lead, 4, 8, 4, 2)
    pairs = np.zeros((*words.shape, 2, 2, 2, 2), np.uint8)
    for register, halves in enumerate(PLACES):
        for half, places in enumerate(halves):
            for bit, place in enumerate(places):
                pairs[..., register // 4, register // 2 % 2, register % 2, half] |= (
                    ((words >> place) & 1) << bit).astype(np.uint8)
    return _join(pairs.reshape(*pairs.shape[:-5], 4, 2, 2, 2), rows, cols)
