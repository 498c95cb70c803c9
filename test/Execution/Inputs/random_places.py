# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes parts of x with random bits of their places in x, on the CPU and in the emulator. Codes
and scales are those that the CPU gives the whole.

Usage: random_places.py FOLDER
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_places
from reference import to_bf16

CHIPS = ("sm_80", "sm_90a", "sm_100a")
PLACES = [ON_CPU, *(("--on=emulator", f"--target={chip}", *SCHEDULES[0]) for chip in CHIPS)]
ROWS, COLS = 64, 160
SEED = (-3, 1 << 40)
#: Rows and columns of parts, whole blocks of every format.
PARTS = (((0, 32), (0, COLS)), ((32, 64), (0, COLS)), ((0, ROWS), (64, COLS)),
         ((32, 64), (32, 128)))


def rows(block, scale, more=""):
    """A quantizer of blocks of a row, and its results: name, type, whether it is transposed, and
    the rows and columns of x that one of its bytes has."""
    types = "tensor<{m}x{n}xf4E2M1FN>", f"tensor<{{m}}x{{n{block}}}x{scale}>"
    text = (f"%q, %s = blockscale.quantize %x block [1, {block}] {more}rng(%r : {{r}}) : {{x}} -> "
            f"{types[0]}, {types[1]}")
    return text, [("%q", types[0], False, (1, 2)), ("%s", types[1], False, (1, block))]


def columns(x="%x", more=""):
    """A quantizer of blocks of a column, whose results are transposed."""
    types = "tensor<{n}x{m}xf4E2M1FN>", "tensor<{n}x{m16}xf8E4M3FN>"
    text = (f"%t, %u = blockscale.quantize {x} block [16, 1] transposed {more}rng(%r : {{r}}) : "
            f"{{x}} -> {types[0]}, {types[1]}")
    return text, [("%t", types[0], True, (2, 1)), ("%u", types[1], True, (16, 1))]


def squares():
    types = "tensor<{m}x{n}xf4E2M1FN>", "tensor<{m16}x{n16}xf8E4M3FN>"
    text = ("%q, %s = blockscale.quantize %x block [16, 16] recipe te rng(%r : {r}) : {x} -> "
            f"{types[0]}, {types[1]}")
    return text, [("%q", types[0], False, (1, 2)), ("%s", types[1], False, (16, 16))]


def join(*parts):
    return "\n  ".join(text for text, _ in parts), [each for _, made in parts for each in made]


MIXED = ("%h = blockscale.hadamard %x dim 0 : {x}", [])
CASES = {"NVFP4": ("f32", rows(16, "f8E4M3FN")), "MXFP4": ("bf16", rows(32, "f8E8M0FNU")),
         "columns": ("f32", columns()), "squares": ("bf16", squares()),
         "mixed columns": ("bf16", join(MIXED, columns("%h", "recipe te "))),
         "rows beside mixed columns": ("bf16", join(rows(16, "f8E4M3FN", "recipe te "), MIXED,
                                                    columns("%h", "recipe te ")))}


def write(case, shape, numbers):
    """The text for x of a shape and so many random numbers."""
    element, (body, results) = case
    m, n = shape
    fields = {"x": f"tensor<{m}x{n}x{element}>", "r": f"tensor<{numbers}xi64>", "m": m, "n": n,
              "m16": m // 16, "n16": n // 16, "n32": n // 32}
    names = ", ".join(each[0] for each in results)
    types = ", ".join(each[1] for each in results).format(**fields)
    return (f"func.func @f(%x: {fields['x']}, %r: {fields['r']}) -> ({types}) {{\n"
            f"  {body.format(**fields)}\n  return {names} : {types}\n}}\n")


def check(folder, case, x, part, wanted):
    """The problem of each place."""
    (top, bottom), (left, right) = part
    cut = np.ascontiguousarray(x[top:bottom, left:right])
    per_row = COLS // 16
    rng = np.array([*SEED, top * per_row + left // 16, per_row], np.int64)
    cuts = []
    for array, (_, _, turned, (row_unit, col_unit)) in zip(wanted, case[1][1]):
        of_rows = slice(top // row_unit, bottom // row_unit)
        of_cols = slice(left // col_unit, right // col_unit)
        cuts.append(array[of_cols, of_rows] if turned else array[of_rows, of_cols])
    runs = run_places(write(case, cut.shape, 4), [cut, rng], len(cuts), folder, PLACES)
    return [wrong or first_difference(got, cuts) for wrong, got in runs]


def main():
    expect = Expectations()
    random = np.random.default_rng(7)
    values = random.standard_normal((ROWS, COLS)).astype(np.float32)
    folder = Path(sys.argv[1])
    jobs = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, case in CASES.items():
            x = to_bf16(values) if case[0] == "bf16" else values
            arrays = [x, np.array(SEED, np.int64)]
            (wrong, wanted), = run_places(write(case, x.shape, 2), arrays, len(case[1][1]),
                                          folder / name.replace(" ", "-"), [ON_CPU])
            expect.record(f"all of {name}", wrong)
            jobs += [(f"{name} of {part}",
                      pool.submit(check, folder / f"{name}-{number}".replace(" ", "-"), case, x,
                                  part, wanted))
                     for number, part in enumerate(PARTS)]
        for what, job in jobs:
            for place, problem in zip(("the CPU", *CHIPS), job.result()):
                expect.record(f"{what} on {place}", problem)
    expect.finish()


if __name__ == "__main__":
    main()
