# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every scale of E4M3 times every code of E2M1 and a global scale that multiplies elements, one for
each matrix of a batch: those whose factors kernels split, the first ones that they do not, and
infinite, subnormal and NaN ones. Kernels of each chip and tile in the emulator, of sm_90a under
both schedules, give numpy's values exactly, as no sum has two elements that are not zero: elements
of a full stage and of the last one, prepacked and not.

Usage: element_scales.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import SCHEDULES, run_places
from products import Case, Op
from reference import to_bf16

GLOBALS = np.array([float.fromhex(each) for each in (
    # Factors are split, and sums are as large as results.
    "0x1.948b02p-9", "-0x1.555556p-11", "0x1p-100", "-0x1.fffffep-8",
    # They are split, and sums are smaller.
    "0x1p-7", "-0x1.948b02p-7", "0x1p0", "0x1.fffffep0",
    # They are not.
    "0x1p1", "-0x1.fffffep-101", "0x1p-126", "0x1.6p-140", "-0x1.cp127", "inf", "-inf", "nan",
    "0x0p0", "-0x0p0")], np.float32)
# Those of which each finite scale gives finite elements.
FINITE = 10
# Chips, tiles, and whether data are prepacked. Of sm_90a: tiles of four teams, of two, and of one
# with many plain rows. Of others: tiles of four teams and of one.
CASES = (("sm_90a", "rows = 16, cols = 64, stages = 8", False),
         ("sm_90a", "rows = 64, cols = 64, stages = 4", True),
         ("sm_90a", "rows = 128, cols = 128, stages = 4", False),
         ("sm_90a", "rows = 256, cols = 128, stages = 5", False),
         ("sm_90a", "rows = 256, cols = 128, stages = 5", True),
         ("sm_80", "rows = 16, cols = 64, stages = 5", False),
         ("sm_80", "rows = 128, cols = 128, stages = 3", False),
         ("sm_89", "rows = 128, cols = 256, stages = 3", False),
         ("sm_120a", "rows = 64, cols = 128, stages = 3", False),
         ("sm_100a", "", False))
# A stage of 256, or several, and a tail; the blocks whose elements rows of X take.
DEPTH, BLOCK, BLOCKS, COLS = 336, 16, (5, 20), 128
ROWS = len(BLOCKS) * BLOCK


def make_case(is_prepacked):
    count = len(GLOBALS)
    op = Op("mm", "mm", a="bf16", result="f32", layout_b="swizzled", global_b="each",
            scaling="in_elements", batch=1, is_prepacked=is_prepacked,
            shape=dict(B=(count,), M=ROWS, N=COLS, K=DEPTH))
    op.dynamic = ""
    random = np.random.default_rng(3)
    codes = random.integers(0, 16, (count, COLS, DEPTH)).astype(np.uint8)
    scales = np.zeros((count, COLS, DEPTH // BLOCK), np.uint8)
    x = np.zeros((count, ROWS, DEPTH), np.float32)
    col = np.arange(COLS)
    for i, block in enumerate(BLOCKS):
        first = block * BLOCK
        codes[..., first:first + BLOCK] = (np.arange(BLOCK) + 5 * col[:, None]) % 16
        scales[..., block] = (col * (1, 37)[i] + i) % 128
        x[:, i * BLOCK + np.arange(BLOCK), first + np.arange(BLOCK)] = 1
    return op, Case(op, random, (), a=to_bf16(x), b=codes, sb=scales, global_b=GLOBALS)


def main():
    folder, expect = Path(sys.argv[1]), Expectations()
    for number, (chip, tile, is_prepacked) in enumerate(CASES):
        with np.errstate(invalid="ignore", over="ignore"):
            op, case = make_case(is_prepacked)
        expected = case.results(case.product.value)
        text, name = op.text(), f"{chip}, {tile or 'any tile'}, prepacked {is_prepacked}"
        if tile:
            schedule = f"#blockscale.gemm_schedule<{tile}, band = 1, ctas = 8>"
            text = text.replace(
                "\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
        places = [["--on=emulator", f"--target={chip}", "--nan-scales", *each]
                  for each in SCHEDULES[:2 if chip == "sm_90a" else 1]]
        for place, (said, results) in zip(
                places, run_places(text, case.arguments, 1, folder / f"{number}", places),
                strict=True):
            expect.record(f"{name}, {place[-1]}", said or first_difference([expected], results))
        # Of most matrices, columns of scales that are numbers have numbers, and most differ.
        finite = np.isfinite(expected[:FINITE])
        expect.record(f"{name}: numbers", None
                      if finite.mean() > 0.97 and len(np.unique(expected[0])) > 400 else "few")
    expect.finish()


if __name__ == "__main__":
    main()
