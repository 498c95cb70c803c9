# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes to, brings to and out of, and dequantizes scales in the layout swizzle_8x4, on
the CPU and in the emulator, and compares them with linear scales that the golden maps of
FlashInfer's formula place.

Usage: scale_layouts.py FOLDER
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import make_places, run_module
from ops import SCALE_ELEMENTS, SWIZZLED, dynamic, tensor
from reference import swizzle

TILES = "#blockscale.layout<swizzle_8x4>"
PLACES = make_places(("sm_80", 0), ("sm_90a", 1), ("sm_100a", 0), ("sm_120a", 1))
GOLDEN = Path(__file__).resolve().parents[2] / "Data/golden/swizzle__maps_8x4.npz"
# Rows and columns of scales, the elements of a block, and what is dynamic.
CASES = (((33, 12), 16, ()), ((9, 5), 32, ()), ((130, 7), 16, (0,)), ((1, 1), 32, (0, 1)),
         ((16, 16), 32, (0,)))


def make_function(shape, block, dims):
    """All that there is to do with scales, of one x and one matrix of tiles."""
    rows, cols = shape
    data = "f4E2M1FN" if block == 16 else "f8E4M3FN"
    x, codes = (tensor(dynamic((rows, cols * block), dims), e) for e in ("bf16", data))
    values = tensor(dynamic((rows, cols * block), dims), "f32")
    linear, tiles, swizzled = (tensor(dynamic(shape, dims), SCALE_ELEMENTS[block], layout)
                               for layout in (None, TILES, SWIZZLED))
    sizes = f"sizes({', '.join(('%r', '%c')[dim] for dim in dims)})" if dims else ""
    form = f"block [1, {block}]"
    return f"""
func.func @layouts(%x: {x}, %t: {tiles}, %w: {swizzled}, %r: index, %c: index)
    -> ({linear}, {tiles}, {tiles}, {linear}, {tiles}, {values}, {values}) {{
  %q, %l = blockscale.quantize %x {form} : {x} -> {codes}, {linear}
  %p, %s = blockscale.quantize %x {form} : {x} -> {codes}, {tiles}
  %there = blockscale.swizzle %l : {linear} -> {tiles}
  %back = blockscale.swizzle %t {sizes} : {tiles} -> {linear}
  %narrow = blockscale.swizzle %w {sizes} : {swizzled} -> {tiles}
  %y = blockscale.dequantize %q, %back {form} : {codes}, {linear} -> {values}
  %z = blockscale.dequantize %p, %t {form} : {codes}, {tiles} -> {values}
  return %l, %s, %there, %back, %narrow, %y, %z
      : {linear}, {tiles}, {tiles}, {linear}, {tiles}, {values}, {values}
}}
"""


def place(scales, golden, padding):
    """Linear scales in tiles, as the golden map has them."""
    rows, cols = scales.shape
    map = golden[f"out_map_{rows}x{cols}"]
    tiles = np.where(map >= 0, scales.ravel()[map], padding).astype(np.uint8)
    return tiles.reshape(-(-rows // 8), -(-cols // 4), 8, 4)


def run(case, golden, folder, at):
    """What differs, or None."""
    shape, block, _ = case
    random = np.random.default_rng(shape[0])
    x = random.standard_normal((shape[0], shape[1] * block)).astype(np.float32)
    given = random.integers(1, 120, shape, dtype=np.uint8)
    arrays = [(x.view(np.uint32) >> 16).astype(np.uint16), place(given, golden, 0x77),
              swizzle(given, fill=0x77), *(np.int64(size) for size in shape)]
    problem, results = run_module(make_function(*case), arrays, 7, folder, at)
    if problem:
        return problem
    linear, tiles, there, back, narrow, y, z = results
    placed = place(linear, golden, 0)
    return first_difference([placed, placed, given, place(given, golden, 0), y],
                            [tiles, there, back, narrow, z])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where to compile")
    folder = parser.parse_args().folder
    expect = Expectations()
    with np.load(GOLDEN) as golden, ThreadPoolExecutor(2) as pool:
        maps = {key: golden[key] for key in golden.files}
        runs = [(case, at, pool.submit(run, case, maps, folder / f"{i}-{j}", at))
                for i, case in enumerate(CASES) for j, at in enumerate(PLACES)]
        for case, at, difference in runs:
            expect.record(f"{at[1]} {case}", difference.result())
    expect.finish()


if __name__ == "__main__":
    main()
