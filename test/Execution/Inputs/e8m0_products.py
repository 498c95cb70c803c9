# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every scale of E8M0 times every code of E2M1, beside bf16, in tiles whose threads multiply once
if the scales of a warp allow it and else twice. Kernels of a chip in the emulator under both
schedules give numpy's values exactly, as no sum has two elements that are not zero. Scales are in
order, so that warps have small or large ones, and mixed, so that each warp has both.

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
SCHEDULE = "rows = 16, cols = {}, stages = 8, band = 1, ctas = 8"
# Four stages of 256, and a tail.
DEPTH, BLOCK = 1088, 32
# A warp has 16 rows, or 32. The largest scale that it multiplies by at once, 128, is in row 127.
IN_ORDER = (np.arange(256) + 1) % 256
MIXED = np.arange(256) * 37 % 256
# The rows of X, the block of K that each of them takes an element of, and the order of data. Tiles
# begin at different stages if there are up to four rows.
CASES = ((16, 10, True), (16, 10, False), (16, 33, True), (4, 10, True), (3, 33, True))


def make_case(rows, block, is_prepacked):
    op = Op("mm", "mm", scale="f8E8M0FNU", a="bf16", b="f4E2M1FN", result="f32",
            layout_b="swizzled", shape=dict(B=(), M=rows, N=512, K=DEPTH))
    op.dynamic, op.is_prepacked = "", is_prepacked
    random = np.random.default_rng(rows)
    codes = random.integers(0, 16, (512, DEPTH)).astype(np.uint8)
    # Small and large ones of both signs first.
    codes[:, block * BLOCK:][:, :16] = (1, 15, 7, 9, 0, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 14)
    scales = np.full((512, DEPTH // BLOCK), 127, np.uint8)
    scales[:, block] = np.concatenate([IN_ORDER, MIXED])
    x = np.zeros((rows, DEPTH), np.float32)
    x[np.arange(rows), block * BLOCK + np.arange(rows)] = 1
    with np.errstate(invalid="ignore", over="ignore"):
        return op, Case(op, random, (), a=to_bf16(x), b=codes, sb=scales)


def main():
    folder, chip, expect = Path(sys.argv[1]), sys.argv[2], Expectations()
    schedule = SCHEDULE.format(COLS[chip])
    for number, (rows, block, is_prepacked) in enumerate(CASES):
        op, case = make_case(rows, block, is_prepacked)
        text = op.text().replace(
            "\n      : ",
            f" {{blockscale.schedule = #blockscale.gemm_schedule<{schedule}>}}\n      : ", 1)
        places = [["--on=emulator", f"--target={chip}", "--nan-scales", *each]
                  for each in SCHEDULES]
        expected = case.results(case.product.value)
        for name, (said, results) in zip(
                ("prompt", "adversarial"),
                run_places(text, case.arguments, 1, folder / f"{number}", places), strict=True):
            expect.record(f"{rows} rows, block {block}, prepacked {is_prepacked}, {name}",
                          said or first_difference([expected], results))
        # What a test of finite values would not notice, and one of huge ones.
        kinds = [np.isnan(expected).any(), (np.abs(expected) > 2.0**125).any(),
                 ((expected != 0) & (np.abs(expected) < 2.0**-126)).any()]
        expect.record(f"{rows} rows, block {block} has all kinds",
                      None if all(kinds) else f"{kinds}")
    expect.finish()


if __name__ == "__main__":
    main()
