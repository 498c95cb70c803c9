# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of SM100 with NaN and infinity among codes and scales, in the emulator under both
schedules, compared with numpy: exactly the rows and columns that meet one are NaN or infinite,
also next to the border of a group, whose last steps read what follows it."""

import sys
from pathlib import Path

import numpy as np

import exact
from expect import Expectations
from gpu_calls import SCHEDULES, run_places
from products import Case, Op, data

NVFP4 = dict(scale="f8E4M3FN", a="f4E2M1FN", b="f4E2M1FN")
MXFP8 = dict(scale="f8E8M0FNU", a="f8E4M3FN", b="f8E5M2")
NAN_SCALE = {"f8E4M3FN": 0x7F, "f8E8M0FNU": 0xFF}
E4M3_NAN, E5M2_INFINITY, E5M2_NAN = 0x7F, 0x7C, 0x7D
SWIZZLED = dict(layout_a="swizzled", layout_b="swizzled")
ONE = "rows = 128, cols = 128, stages = 2, band = 1, ctas = 2"
PAIR = "rows = 256, cols = 256, stages = 2, band = 1, ctas = 2"
# Ends of groups of rows that share a tile, and of K within a step; the last rows have no group.
ROW_ENDS, K_ENDS = (70, 70, 190), (96, 96, 416)


def spoil_scales(op, a, b, sa, sb):
    """A block of one row of A and of two of B."""
    sa[..., 5, 1] = NAN_SCALE[op.scale]
    sb[..., 7, -1] = sb[..., 130, 0] = NAN_SCALE[op.scale]


def spoil_codes(op, a, b, sa, sb):
    """NaN in one row of A; infinity of both signs in rows of B, one also with NaN."""
    a[..., 129, 33] = E4M3_NAN
    b[..., 3, 64] = E5M2_INFINITY
    b[..., 4, 65] = 0x80 | E5M2_INFINITY
    b[..., 140, 2], b[..., 140, 90] = E5M2_INFINITY, E5M2_NAN


def spoil_neighbours(op, a, b, sa, sb):
    """The rows of A in front of and behind the ends of groups, and rows without a group."""
    for row in (69, 70, 189, 190, len(a) - 1):
        sa[row, row % 3] = NAN_SCALE[op.scale]


def spoil_steps(op, a, b, sa, sb):
    """The blocks of K in front of and behind the ends of groups, each in a row of its own,
    and what no group covers."""
    for row, column in enumerate((95, 96, 415, 416)):
        sa[row, column // op.block] = NAN_SCALE[op.scale]
        a[row + 8, column] = E4M3_NAN
        b[row, column] = E5M2_NAN


def make_cases():
    shape = dict(B=(), M=200, N=150, K=416)
    rows = dict(kind="rows", layout_a="grouped", layout_b="swizzled")
    depth = dict(kind="columns", layout_a="grouped", layout_b="grouped")
    groups = dict(M=200, N=150, K=512, G=3)
    return [(Op("mm", **NVFP4, **SWIZZLED, shape=shape), ONE, (), spoil_scales),
            (Op("mm", **NVFP4, **SWIZZLED, result="bf16", shape=shape), PAIR, (), spoil_scales),
            (Op("mm", **MXFP8, **SWIZZLED, result="f16", shape=shape), ONE, (), spoil_scales),
            (Op("mm", **MXFP8, **SWIZZLED, bias="f32", shape=shape), PAIR, (), spoil_codes),
            (Op("mm", **NVFP4, **rows, shape=groups), ONE, ROW_ENDS, spoil_neighbours),
            (Op("mm", **MXFP8, **rows, shape=groups), PAIR, ROW_ENDS, spoil_neighbours),
            (Op("mm", **MXFP8, **depth, shape=groups), ONE, K_ENDS, spoil_steps),
            (Op("mm", **MXFP8, **depth, result="bf16", shape=groups), PAIR, K_ENDS, spoil_steps)]


def spoiled(random, op, ends, spoil):
    s, columns = op.shape, op.shape["K"] // op.block
    of_b = (len(ends),) if op.kind == "rows" else ()
    a, b = data(random, op.a, (s["M"], s["K"])), data(random, op.b, (*of_b, s["N"], s["K"]))
    sa = exact.scales(random, op.scale, (s["M"], columns))
    sb = exact.scales(random, op.scale, (*of_b, s["N"], columns))
    spoil(op, a, b, sa, sb)
    op.dynamic = ""
    return Case(op, random, ends, a=a, b=b, sa=sa, sb=sb)


def main():
    folder, expect = Path(sys.argv[1]), Expectations()
    for number, (op, schedule, ends, spoil) in enumerate(make_cases()):
        case = spoiled(np.random.default_rng(number), op, ends, spoil)
        text = op.text().replace(
            "\n      : ",
            f" {{blockscale.schedule = #blockscale.gemm_schedule<{schedule}>}}\n      : ", 1)
        places = [["--on=emulator", "--nan-scales", *each] for each in SCHEDULES]
        runs = run_places(text, case.arguments, 1, folder / f"{number}",
                          [*places, ["--on=cpu", "--optimize=0"], ["--on=emulator"]])
        *compared, (wrong, _) = runs
        name = f"{spoil.__name__} {op.scale} {schedule}"
        for place, (said, results) in zip(("prompt", "adversarial", "cpu"), compared, strict=True):
            expect.record(f"{name} {place}", said or case.problem(results[0]))
        # What a test without such values would not notice.
        share = np.isnan(case.product.value).mean()
        expect.record(f"{name} has NaN", None if 0 < share < 0.1 or spoil is spoil_codes
                      else f"{share:.3f} of the results are NaN")
        # Without the option the emulator has a finding; codes are no scales.
        if spoil is not spoil_codes:
            expect.record(f"{name} is refused", None if wrong and "nan-scale" in wrong
                          else f"expected a finding of NaN scales, but got {wrong}")
    expect.finish()


if __name__ == "__main__":
    main()
