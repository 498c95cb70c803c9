# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every code of every format of weights, at each byte of a word, and every scale of NVFP4, as
kernels decode them to bf16 and, of NVFP4 alone, to f16. Products with rows that have one element,
which is 1, give numpy's values exactly in the emulator: infinity, NaN, subnormal codes and signs,
too. So do those whose elements a global scale multiplies: one of 24 bits, which is rounded with
each scale and each element, and those at the ends of the ranges of all types, of matrices of a
batch."""

import sys
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import run_places
from gpu_forms import BITS
from products import Case, Op, table
from reference import to_bf16

DEPTH, FIRST, ROWS = 192, 96, 16
# The distances of codes of elements beside each other. In all of them infinity and NaN, which
# make a whole row NaN, are beside other codes.
DISTANCES = (16, 37, 91, 1)
COLS = 256 * len(DISTANCES)
MX = ("f4E2M1FN", "f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "i8")
# Data, scales, the block, and the type of the other operand.
FORMATS = [*(("f4E2M1FN", "f8E4M3FN", 16, plain) for plain in ("bf16", "f16")),
           *((element, "f8E8M0FNU", 32, "bf16") for element in MX)]
CHIPS = ("sm_80", "sm_89", "sm_90a")
# Global scales of elements, of which products are subnormal or infinite in f16, bf16 and f32; and
# those that a program should not have.
GLOBALS = np.array([float.fromhex(each) for each in (
    "0x1.948b02p-7", "0x1.fffffep0", "-0x1.3579bep-2", "0x1.abcdeep-20", "0x1.7ff002p-127",
    "0x1.654p-141", "0x1.2e4d5ep120", "0x1.2e4d5ep13", "0x0p0", "inf", "nan")], np.float32)
CHIPS_OF_ELEMENTS = (*CHIPS, "sm_100a", "sm_120a")


def make_case(element, scale, block, plain, scales_elements=False):
    lead = (len(GLOBALS),) if scales_elements else ()
    op = Op("mm", "mm", scale=scale, a=plain, b=element, result="f32", layout_b="swizzled",
            shape=dict(B=lead, M=ROWS, N=COLS, K=DEPTH), batch=len(lead))
    op.dynamic = ""
    if scales_elements:
        op.global_b, op.scaling = "each", "in_elements"
    count = 1 << BITS.get(element, 8)
    row = np.arange(256)[:, None]
    of_rows = np.concatenate([row + distance * np.arange(ROWS) for distance in DISTANCES])
    codes = np.zeros((COLS, DEPTH), np.uint8)
    codes[:, FIRST:FIRST + ROWS] = of_rows % count
    one = {"f8E4M3FN": 0x38, "f8E8M0FNU": 127}[scale]
    scales = np.full((COLS, DEPTH // block), one, np.uint8)
    if scale == "f8E4M3FN":
        scales[:, FIRST // block] = np.arange(COLS) % 128
    x = np.zeros((ROWS, DEPTH), np.float32)
    x[np.arange(ROWS), FIRST + np.arange(ROWS)] = 1
    a = to_bf16(x) if plain == "bf16" else x.astype(np.float16)
    a, codes, scales = (np.broadcast_to(each, (*lead, *each.shape))
                        for each in (a, codes, scales))
    with np.errstate(invalid="ignore", over="ignore"):
        case = Case(op, np.random.default_rng(0), (), a=a, b=codes, sb=scales,
                    global_b=GLOBALS if scales_elements else None)
        expected = case.results(case.product.value)
    # The first global scale makes no number infinite.
    first = (0,) * len(lead)
    return op, case, expected, expected[first], codes[first][:, FIRST:FIRST + ROWS].T


def find_lost(element, expected, codes):
    """Bytes of a word and codes that are there in no row without NaN."""
    places = np.arange(ROWS)[:, None] % 4 * np.ones_like(codes)
    seen = set(zip(places[np.isfinite(expected)], codes[np.isfinite(expected)]))
    finite = np.flatnonzero(np.isfinite(table(element)[:1 << BITS.get(element, 8)]))
    return [(place, code) for place in range(4) for code in finite if (place, code) not in seen]


def main():
    folder, expect = Path(sys.argv[1]), Expectations()
    of_elements = [(*form, True) for form in FORMATS if form[1] == "f8E4M3FN"]
    for number, form in enumerate([*FORMATS, *of_elements]):
        op, case, expected, first, codes = make_case(*form)
        name = " ".join(map(str, form))
        lost = find_lost(form[0], first, codes)
        expect.record(f"{name} has all codes", f"without {lost}" if lost else None)
        chips = CHIPS_OF_ELEMENTS if form in of_elements else CHIPS
        places = [["--on=emulator", f"--target={chip}"] for chip in chips]
        if form in of_elements:
            chips, places = (*chips, "cpu"), [*places, ["--on=cpu"]]
        for chip, (said, results) in zip(
                chips, run_places(op.text(), case.arguments, 1, folder / f"{number}", places),
                strict=True):
            expect.record(f"{name}, {chip}", said or first_difference([expected], results))
    expect.finish()


if __name__ == "__main__":
    main()
