# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs random products of operands of 4 bits in the emulator as kernels of sm_103a under both
schedules, and compares with numpy, within the bound. They are those of sm100_matmul.py with so
much of K that steps of 96 values take some of it, mostly not all. Odd cases have a schedule of
their own. There must be enough cases of each property that only some kernels have (LEAST)."""

import numpy as np

import random_cases
from sm100_matmul import KINDS, PAIRS, draw_case, draw_op, draw_schedule

#: Values of K that steps of 96 take together, and those of a stage.
GROUP, STAGE = 768, 256
#: Of each property of a case, how many cases have it at least; see `properties`.
LEAST = {"nvfp4": 5, "mxf4": 5, "two groups of stages": 4, "stages that are left": 6,
         "no stage left": 3, "tail of K": 5, "rows": 2, "columns": 3, "pair": 4, "split": 1,
         "static K": 3, "dynamic K": 3}


def draw(seed, number):
    """An op, its case, the text of its function, and its schedule."""
    random = np.random.default_rng((seed, number))
    is_pair = number % 2 == 1 and random.random() < PAIRS
    op = draw_op(random, "mm", KINDS[number % len(KINDS)], is_pair)
    op.a = op.b = "f4E2M1FN"
    # Results that are rounded twice are sm100_matmul.py's.
    op.scaling = ""
    op.shape["K"] = int(random.choice((1, 1, 2)) * GROUP
                        + random.choice((0, 0, 32, STAGE, STAGE + 96, 2 * STAGE, 736)))
    case, text, schedule = draw_case(random, op), op.text(), ""
    if number % 2:
        schedule = draw_schedule(random, op, is_pair)
        text = text.replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
    return op, case, text, schedule


def properties(op, case, schedule):
    """What of a kernel a case needs."""
    k = op.shape["K"]
    depths = np.diff([0, *case.legal]) * op.block if op.kind == "columns" else np.array([k])
    stages = depths // STAGE
    found = {"nvfp4" if op.scale == "f8E4M3FN" else "mxf4",
             "dynamic K" if "K" in op.dynamic else "static K",
             "two groups of stages" if any(stages >= 6) else "",
             "stages that are left" if any((stages >= 3) & (stages % 3 > 0)) else "",
             "no stage left" if any((depths >= GROUP) & (depths % GROUP == 0)) else "",
             "tail of K" if any((depths > GROUP) & (depths % STAGE > 0)) else "",
             "pair" if "rows = 256" in schedule else "",
             "split" if "splits = 1" not in schedule and schedule else ""}
    if op.kind != "mm" and any(depths >= GROUP) and case.legal[-1]:
        found.add(op.kind)
    return found - {""}


def check(folder, seed, number, chip):
    """The case's op and properties, and the problem of each schedule."""
    op, case, text, schedule = draw(seed, number)
    return op, properties(op, case, schedule), random_cases.find_problems(
        text, case, chip, folder / f"{number}")


if __name__ == "__main__":
    random_cases.main(__doc__, check, LEAST, 20, chips=["sm_103a"])
