# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the random products of sm100_matmul.py in the emulator as kernels of sm_120a under both
schedules, and compares with numpy, within the bound. Odd cases have a schedule of their own, so
that few CTAs compute many tiles through few stages. There must be enough cases of each property
that only some kernels have (LEAST). Where results are rounded more than once, sums are exact
(exact.py), and results are the bytes of the CPU."""

import numpy as np

import random_cases
from expect import first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_places
from sm100_matmul import KINDS, add_odd_block, draw_case, draw_op

TILE, MOST_STAGES = 128, 4
# Of each property of a case, how many cases have it at least; see `properties`.
LEAST = {"nvfp4": 10, "mxf4": 2, "mxf8f6f4": 15, "rows": 4, "columns": 4, "split": 4,
         "several rows of tiles": 8, "several columns of tiles": 10, "ring wraps twice": 5,
         "three tiles a cta": 5, "half a stage of nvfp4": 2, "odd stages of mx": 3,
         "tail of K": 10, "no K": 2, "rows moved apart": 3}


def draw_schedule(random, op):
    splits = int(random.choice((1, 1, 2, 3))) if op.kind == "mm" else 1
    fields = {"rows": TILE, "cols": TILE, "stages": int(random.integers(2, MOST_STAGES + 1)),
              "band": int(random.integers(1, 3)), "ctas": int(random.integers(1, 6)),
              "multicast": 1, "splits": splits}
    text = ", ".join(f"{name} = {value}" for name, value in fields.items())
    return f"#blockscale.gemm_schedule<{text}>", fields


def draw(seed, number):
    """An op, its case, the text of its function, and the fields of its schedule."""
    random = np.random.default_rng((seed, number))
    op = draw_op(random, "mm", KINDS[number % len(KINDS)], is_pair=number % 4 == 1)
    add_odd_block(op, seed, number)
    case = draw_case(random, op)
    text, fields = op.text(), {}
    if number % 2:
        schedule, fields = draw_schedule(random, op)
        text = text.replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
    return op, case, text, fields


def properties(op, case, fields):
    """What of a kernel a case needs."""
    m, n, k = (op.shape[letter] for letter in "MNK")
    is_four = op.a == op.b == "f4E2M1FN"
    kind = "nvfp4" if op.scale == "f8E4M3FN" else "mxf4" if is_four else "mxf8f6f4"
    stage = 128 if is_four else 64
    found = {kind, "no K" if not k else "", "tail of K" if k % stage else "",
             "rows moved apart" if k % 32 else "",
             "several rows of tiles" if m > TILE and k else "",
             "several columns of tiles" if n > TILE and k else ""}
    if op.kind != "mm" and case.legal[-1]:
        found.add(op.kind)
    depths = np.diff([0, *case.legal]) * op.block if op.kind == "columns" else np.array([k])
    if kind == "nvfp4" and any(0 < depth % 128 <= 64 for depth in depths):
        found.add("half a stage of nvfp4")
    if kind == "mxf8f6f4" and any(depth % 128 > 64 for depth in depths):
        found.add("odd stages of mx")
    if fields and k:
        heights = np.diff([0, *case.legal]) if op.kind == "rows" else [m]
        tiles = sum(-(-int(height) // TILE) for height in heights) * -(-n // TILE)
        tiles *= int(np.prod(op.shape["B"])) * len(depths) * fields["splits"]
        each = -(-tiles // fields["ctas"])
        stages = sum(-(-int(depth) // stage) for depth in depths) / len(depths) / fields["splits"]
        found |= {"three tiles a cta" if each >= 3 else "",
                  "ring wraps twice" if each * stages > 2 * fields["stages"] else "",
                  "split" if fields["splits"] > 1 else ""}
    return found - {""}


def check(folder, seed, number, chip):
    """The case's op and properties, and the problem of each schedule."""
    op, case, text, fields = draw(seed, number)
    folder = folder / f"{number}"
    if not op.scaling:
        problems = random_cases.find_problems(text, case, chip, folder)
        return op, properties(op, case, fields), problems
    places = [ON_CPU, *(["--on=emulator", f"--target={chip}", *each] for each in SCHEDULES)]
    (failed, wanted), *runs = run_places(text, case.arguments, 1, folder, places)
    problems = [failed or wrong or first_difference(got, wanted) for wrong, got in runs]
    return op, properties(op, case, fields), problems


if __name__ == "__main__":
    random_cases.main(__doc__, check, LEAST, 36, chips=["sm_120a"])
