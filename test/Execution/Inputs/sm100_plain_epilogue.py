# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What follows products of a scaled and a plain operand joins their kernel of plain tcgen05.mma and
gives the bytes of the CPU, as it does for other kernels (mma_epilogue.py)."""

from dataclasses import replace

from mma_epilogue import PLAIN_A, PLAIN_B
from sm100_epilogue import main

WIDE = "rows = 256, cols = 128, stages = 2, band = 1, ctas = 2"
NARROW = "rows = 16, cols = 128, stages = 2, band = 2, ctas = 3"
SCALED_A = "rows = 128, cols = 64, stages = 2, band = 1, ctas = 2"
SCHEDULES = {"residual": WIDE, "swiglu": WIDE, "swiglu_narrow": NARROW, "swiglu_scaled_a": SCALED_A}

if __name__ == "__main__":
    main(tuple(replace(case, chip="sm_100a", plain=plain,
                       schedule=SCHEDULES.get(case.name, ""))
               for plain, cases in (("a", PLAIN_A), ("b", PLAIN_B)) for case in cases))
