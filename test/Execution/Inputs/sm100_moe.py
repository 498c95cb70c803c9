# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a layer of four experts on tokens in the emulator, under both schedules, and on
the CPU. Tokens and weights have few bits, so that the sums of all but the last product
are exact; those are within rounding.

Usage: sm100_moe.py MODULE FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from expect import Expectations
from gpu_calls import SCHEDULES, run_module
from products import E4M3_ONE
from reference import from_bf16, pack, swizzle, to_bf16

PLACES = (["--on=cpu"], *(["--on=emulator", *schedule] for schedule in SCHEDULES))
TOKENS, MODEL, HIDDEN = 150, 128, 160
ENDS = ((40, 40, 100, 150), (0, 0, 0, 150), (7, 30, 31, 90), (0, 0, 0, 0))
ROUNDING = 2.0**-7


def weight(random, rows, cols):
    codes = random.integers(0, 16, (4, rows, cols)).astype(np.uint8)
    return pack(codes), swizzle(np.full((4, rows, cols // 16), E4M3_ONE, np.uint8))


def main():
    module, folder = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
    random, expect = np.random.default_rng(7), Expectations()
    for number, ends in enumerate(ENDS):
        # Of each block one token element is 6, so that scales are 1.
        x = random.choice(np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32), (TOKENS, MODEL))
        x[:, ::16] = 6
        arrays = [to_bf16(x), np.array(ends, np.int32), *weight(random, HIDDEN, MODEL),
                  *weight(random, HIDDEN, MODEL), *weight(random, MODEL, HIDDEN)]
        results = []
        for place in PLACES:
            wrong, arrays_out = run_module(module, arrays, 1, folder / str(number), place)
            results.append(wrong or from_bf16(arrays_out[0]))
        for place, got in zip(PLACES[1:], results[1:]):
            expect.record(f"ends {ends}, {place}", problem(got, results[0], ends[-1]))
    expect.finish()


def problem(got, want, covered):
    for result in (want, got):
        if isinstance(result, str):
            return result
    if np.any(got[covered:]) or np.any(want[covered:]):
        return "rows of no expert are not zero"
    if covered and not np.any(want[:covered]):
        return "all results are zero"
    allowed = ROUNDING * np.abs(want) + 1e-6 * np.abs(want).max(initial=0)
    bad = np.abs(got - want) > allowed
    return f"{bad.sum()} of {bad.size} elements differ" if bad.any() else None


if __name__ == "__main__":
    main()
