# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a layer of four experts on tokens in the emulator, under both schedules, and on
the CPU. Tokens and weights have few bits and scales are powers of two, so that the sums of
all but the last product are exact (exact.py); those are within rounding.

Scales differ between tokens, experts, rows, blocks and the gate and up projections, so
that results differ if a kernel multiplies by those of another one.

Usage: sm100_moe.py MODULE FOLDER [CHIP..]
"""

import sys
from pathlib import Path

import numpy as np

import epilogue_model
import exact
from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_places
from products import dequantized
from reference import from_bf16, pack, scaled_grouped_matmul, swizzle, to_bf16

TOKENS, MODEL, HIDDEN = 150, 128, 160
ENDS = ((40, 40, 100, 150), (0, 0, 0, 150), (23, 60, 76, 140), (0, 0, 0, 0))
ROUNDING = 2.0**-7


def weight(random, rows, cols):
    """Codes and scale bytes of each expert's matrix. Products are small and alike, so that
    one wrong scale is seen behind SwiGLU and four bits."""
    codes = random.integers(0, 16, (4, rows, cols)).astype(np.uint8)
    return codes, exact.scales(random, "f8E4M3FN", (4, rows, cols // 16), range(-4, -2),
                               range(1), range(-1, 1))


def tokens(random):
    """Codes and scale bytes to which values are quantized without loss: one element of each
    block is the largest, 6 times the block's power of two, which becomes the scale."""
    codes = random.integers(0, 8, (TOKENS, MODEL)).astype(np.uint8)
    codes[:, ::16] = 7
    return codes, exact.scales(random, "f8E4M3FN", (TOKENS, MODEL // 16))


def decoded(operand):
    codes, scales = operand
    return dequantized(codes, "f4E2M1FN", scales, "f8E4M3FN")


class Layer:
    """Tokens and the matrices of the experts: codes and scale bytes of each."""

    def __init__(self, random, ends):
        self.ends = ends
        self.x = tokens(random)
        self.gate, self.up, self.down = (weight(random, *sizes) for sizes in
                                         ((HIDDEN, MODEL), (HIDDEN, MODEL), (MODEL, HIDDEN)))
        for each in (self.gate, self.up):
            exact.demand(decoded(self.x), decoded(each))

    def arrays(self):
        """The arguments of the function."""
        arrays = [to_bf16(decoded(self.x)), np.array(self.ends, np.int32)]
        for codes, scale in (self.gate, self.up, self.down):
            arrays += [pack(codes), swizzle(scale)]
        return arrays

    def sums(self, a, *matrices):
        """Of each product of values, in the rows of each expert."""
        return [scaled_grouped_matmul(a, b, self.ends).value for b in matrices]

    def hidden(self, sums):
        """Codes and scale bytes of SwiGLU, by numpy, of the sums of gate and up."""
        gate, up = map(epilogue_model.bf16, sums)
        x = epilogue_model.bf16(epilogue_model.silu(gate) * up)
        return epilogue_model.quantized(x, "nvfp4", "torchao", 16, None, self.ends)


def check(expect, module, folder, chip, exact_results=0):
    """Compares the layers of a module on `chip` with the CPU. Of the results, the first
    `exact_results` are the CPU's bytes, and the last one is within rounding."""
    random = np.random.default_rng(7)
    places = [ON_CPU, *(["--on=emulator", f"--target={chip}", *schedule]
                        for schedule in SCHEDULES)]
    for number, ends in enumerate(ENDS):
        arrays = Layer(random, ends).arrays()
        runs = run_places(module, arrays, exact_results + 1, folder / str(number), places)
        (failed, wanted), *others = runs
        for place, (wrong, got) in zip(places[1:], others):
            wrong = failed or wrong or (
                first_difference(got[:-1], wanted[:-1]) or
                problem(from_bf16(got[-1]), from_bf16(wanted[-1]), ends[-1]))
            expect.record(f"ends {ends}, {place}", wrong)


def main():
    expect = Expectations()
    module, folder, *chips = sys.argv[1:]
    for chip in chips or ["sm_100a"]:
        check(expect, Path(module).read_text(encoding="utf-8"), Path(folder) / chip, chip)
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
    bad = ~(np.abs(got - want) <= allowed)
    return f"{bad.sum()} of {bad.size} elements differ" if bad.any() else None


if __name__ == "__main__":
    main()
