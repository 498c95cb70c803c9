# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every scale of E8M0 times every code of E2M1, beside bf16, in tiles whose threads multiply once
if the scales of a warp allow it and else twice; and where the chip multiplies f16, every code of
E4M3, whose threads do so if f16 has the scales. Kernels of a chip in the emulator under both
schedules give numpy's values exactly, as no sum has two elements that are not zero. Scales are in
order, so that warps have small or large ones, and for E2M1 mixed, so that each warp has both.

  e8m0_products.py FOLDER CHIP
"""

import sys
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import SCHEDULES, run_places
from products import Case, Op
from reference import to_bf16

COLS = {"sm_90a": 64, "sm_100a": 128}
# Four stages of 256, and a tail.
DEPTH, BLOCK = 1088, 32
# A warp has 16 rows, or 32. The largest scale that it multiplies codes of E2M1 by at once, 128, is
# in row 127. Those of E4M3 are from 103 to 142: one warp has the least ones, and one the largest.
ROWS = np.arange(256)
SCALES = {"f4E2M1FN": np.concatenate([(ROWS + 1) % 256, ROWS * 37 % 256]),
          "f8E4M3FN": np.concatenate([(ROWS + 103) % 256, (ROWS + 111) % 256])}
# The element, the plain rows of a tile, the rows of X, the first block of K that these take an
# element of, and the order of data. Tiles begin at different stages if there are up to four rows.
# Those of 256 plain rows have parts of stages in their ring.
CASES = (("f4E2M1FN", 16, 16, 10, True), ("f4E2M1FN", 16, 16, 10, False),
         ("f4E2M1FN", 16, 16, 33, True), ("f4E2M1FN", 16, 4, 10, True),
         ("f4E2M1FN", 16, 3, 33, True))
MORE = {"sm_90a": (),
        "sm_100a": (("f4E2M1FN", 256, 16, 10, False), ("f8E4M3FN", 256, 256, 4, False),
                    ("f8E4M3FN", 16, 256, 26, True))}
NANS, LARGEST = (0x7F, 0xFF), 0x7E


def draw_codes(random, element, block):
    """Codes of each row from a block on, and of all others."""
    if element == "f4E2M1FN":
        # Small and large ones of both signs first.
        first = (1, 15, 7, 9, 0, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 14)
        codes = random.integers(0, 16, (512, DEPTH))
        codes[:, block * BLOCK:][:, :16] = first
        return codes.astype(np.uint8)
    # NaN makes all sums of its row NaN, so that few rows have it.
    codes = random.integers(0, 0x7F, (512, DEPTH))
    every = codes[:, block * BLOCK:][:, :256]
    every[:] = np.arange(256)
    every[np.ix_(np.arange(512) % 16 != 3, NANS)] = LARGEST
    return codes.astype(np.uint8)


def make_case(element, rows, block, is_prepacked):
    op = Op("mm", "mm", scale="f8E8M0FNU", a="bf16", b=element, result="f32",
            layout_b="swizzled", shape=dict(B=(), M=rows, N=512, K=DEPTH))
    op.dynamic, op.is_prepacked = "", is_prepacked
    random = np.random.default_rng(rows)
    codes = draw_codes(random, element, block)
    scales = np.full((512, DEPTH // BLOCK), 127, np.uint8)
    scales[:, block:][:, :-(-rows // BLOCK)] = SCALES[element][:, None]
    x = np.zeros((rows, DEPTH), np.float32)
    x[np.arange(rows), block * BLOCK + np.arange(rows)] = 1
    with np.errstate(invalid="ignore", over="ignore"):
        return op, Case(op, random, (), a=to_bf16(x), b=codes, sb=scales)


def main():
    folder, chip, expect = Path(sys.argv[1]), sys.argv[2], Expectations()
    for number, (element, tile, rows, block, is_prepacked) in enumerate(CASES + MORE[chip]):
        op, case = make_case(element, rows, block, is_prepacked)
        stages = 8 if tile == 16 and element == "f4E2M1FN" else 3
        schedule = (f"rows = {tile}, cols = {COLS[chip]}, stages = {stages}, "
                    "band = 1, ctas = 8")
        text = op.text().replace(
            "\n      : ",
            f" {{blockscale.schedule = #blockscale.gemm_schedule<{schedule}>}}\n      : ", 1)
        places = [["--on=emulator", f"--target={chip}", "--nan-scales", *each]
                  for each in SCHEDULES]
        expected = case.results(case.product.value)
        what = f"{element}, {rows} rows, block {block}, tiles of {tile}"
        for name, (said, results) in zip(
                ("prompt", "adversarial"),
                run_places(text, case.arguments, 1, folder / f"{number}", places), strict=True):
            expect.record(f"{what}, prepacked {is_prepacked}, {name}",
                          said or first_difference([expected], results))
        # What a test of finite values would not notice, and one of huge ones.
        kinds = [np.isnan(expected).any(), (np.abs(expected) > 2.0**125).any(),
                 ((expected != 0) & (np.abs(expected) < 2.0**-126)).any()]
        expect.record(f"{what} has all kinds", None if all(kinds) else f"{kinds}")
    expect.finish()


if __name__ == "__main__":
    main()
