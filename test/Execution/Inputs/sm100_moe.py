# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a layer of four experts on tokens in the emulator, under both schedules, and on
the CPU. Tokens and weights have few bits and scales are powers of two, so that the sums of
all but the last product are exact (exact.py); those are within rounding.

Scales differ between tokens, experts, rows, blocks and the gate and up projections, so
that results differ if a kernel multiplies by those of another one.

Usage: sm100_moe.py MODULE FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import exact
from expect import Expectations
from gpu_calls import SCHEDULES, run_module
from products import dequantized
from reference import E4M3, from_bf16, pack, swizzle, to_bf16

PLACES = (["--on=cpu"], *(["--on=emulator", *schedule] for schedule in SCHEDULES))
TOKENS, MODEL, HIDDEN = 150, 128, 160
ENDS = ((40, 40, 100, 150), (0, 0, 0, 150), (7, 30, 31, 90), (0, 0, 0, 0))
ROUNDING = 2.0**-7


def weight(random, rows, cols):
    """Codes and scale bytes of each expert's matrix."""
    codes = random.integers(0, 16, (4, rows, cols)).astype(np.uint8)
    return codes, exact.scales(random, "f8E4M3FN", (4, rows, cols // 16))


def tokens(random):
    """Values that are quantized without loss: one element of each block is the largest, 6
    times the block's power of two, which becomes the scale."""
    x = random.choice(np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32), (TOKENS, MODEL))
    x[:, ::16] = 6
    scale = exact.scales(random, "f8E4M3FN", (TOKENS, MODEL // 16))
    return x * np.repeat(E4M3.decode(scale), 16, axis=-1)


def main():
    module, folder = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
    random, expect = np.random.default_rng(7), Expectations()
    for number, ends in enumerate(ENDS):
        x = tokens(random)
        gate, up, down = (weight(random, *sizes) for sizes in
                          ((HIDDEN, MODEL), (HIDDEN, MODEL), (MODEL, HIDDEN)))
        for codes, scale in (gate, up):
            exact.demand(x.astype(np.float64), dequantized(codes, "f4E2M1FN", scale, "f8E4M3FN"))
        arrays = [to_bf16(x), np.array(ends, np.int32)]
        for codes, scale in (gate, up, down):
            arrays += [pack(codes), swizzle(scale)]
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
