#!/usr/bin/env python3
# ===- make_layout_vectors.py - Maps of layouts of other software ---------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes golden/swizzle__maps_8x4.npz beside this file, or compares it.

The map of a matrix of scales gives, for each byte of its tiles, the row-major number of the
scale that lies there, or -1 where the byte is padding. It is computed by the formula that
FlashInfer publishes for SfLayout.layout_8x4, in tests/utils_fp8.py
(`_swizzle_mxfp8_scales`), so that nothing of this project decides what is expected.

  test/Data/make_layout_vectors.py           writes
  test/Data/make_layout_vectors.py --check   compares
"""

import argparse
import json
import os
import sys

import numpy as np

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden/swizzle__maps_8x4.npz")
SHAPES = ((1, 1), (8, 4), (8, 8), (16, 4), (16, 16), (9, 5), (3, 3), (33, 12), (130, 7))


def flashinfer_map(rows, cols):
    """Byte (row // 8) * tiles * 32 + (col // 4) * 32 + (row % 8) * 4 + col % 4 has a scale,
    in a buffer of rows padded to 8 and columns padded to 4."""
    padded_rows, padded_cols = (rows + 7) // 8 * 8, (cols + 3) // 4 * 4
    k_tiles = padded_cols // 4
    row, col = np.arange(rows)[:, None], np.arange(cols)[None, :]
    indices = (row // 8) * (k_tiles * 32) + (col // 4) * 32 + (row % 8) * 4 + col % 4
    out = np.full(padded_rows * padded_cols, -1, np.int32)
    out[indices.ravel()] = np.arange(rows * cols)
    return out


def make():
    meta = {"op": "swizzle", "layout": "swizzle_8x4",
            "source": "flashinfer tests/utils_fp8.py _swizzle_mxfp8_scales, layout_8x4"}
    maps = {f"out_map_{rows}x{cols}": flashinfer_map(rows, cols) for rows, cols in SHAPES}
    return {"meta": np.array(json.dumps(meta)), **maps}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    arrays = make()
    if not parser.parse_args().check:
        np.savez_compressed(FILE, **arrays)
        return
    with np.load(FILE) as stored:
        same = [key for key in arrays if key in stored.files
                and np.array_equal(stored[key], arrays[key])]
        failed = len(set(arrays) | set(stored.files)) - len(same)
    print(f"{len(same)} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
