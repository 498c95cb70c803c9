# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the products of sm90_matmul.py, of a scaled and a plain operand, in the emulator as kernels
of chips with tcgen05.mma, under both schedules, and compares with numpy, within the bound. The
chips take turns unless one is named. Two of three cases have a schedule of their own, so that few
CTAs compute many tiles through few stages; the others have the one that the compiler chooses. There
must be enough cases of each property that only some kernels have (LEAST)."""

import numpy as np

import random_cases
from mma_matmul import choose, draw_with, schedule_text
from products import PLAIN
from sm90_matmul import elements_properties

# Four turns: of three, one chip would have all cases whose schedule the compiler chooses.
CHIPS = ("sm_100a", "sm_100a", "sm_103a", "sm_110a")
SCALED_ROWS = 128
# Elements of K of a stage, and of one of plain rows by how many a tile has.
STAGE, PLAIN_STAGES = 256, {16: 256, 32: 256, 64: 256, 128: 128, 256: 64}
PLAIN_ROWS = tuple(PLAIN_STAGES)
# Of each property of a case, how many cases have it at least; see `properties`.
LEAST = {"scaled a": 12, "scaled b": 30, "rows": 8, "rows of scaled a": 2, "columns": 8,
         "nvfp4": 20, "mx of 4 bits": 5, "mx of 8 bits": 12, "f16": 5, "ring wraps twice": 10,
         "decoded stages wrap": 15, "three tiles a cta": 10, "split": 5, "tail of K": 15,
         "stages and a tail of K": 8, "no K": 2, "rows moved apart": 6, "prepacked": 8,
         "one stage": 5, "parts of plain rows in a tail": 6,
         **{f"{rows} plain rows": 4 for rows in PLAIN_ROWS},
         "chosen split": 5, "chosen 16 plain rows": 2, "elements of a": 5, "elements of b": 4,
         "elements of groups": 5, "elements with scales of each": 4}


def draw_schedule(random, op):
    """Its text, and its fields."""
    is_scaled_a = op.a not in PLAIN
    plain = int(random.choice(PLAIN_ROWS[is_scaled_a:]))
    rows, cols = (SCALED_ROWS, plain) if is_scaled_a else (plain, SCALED_ROWS)
    splits = int(random.choice((1, 1, 2, 3))) if op.kind == "mm" else 1
    fields = {"rows": rows, "cols": cols, "stages": int(random.integers(1, 4)),
              "band": int(random.integers(1, 3)), "ctas": int(random.integers(1, 4)),
              "splits": splits}
    return schedule_text(fields), fields


def properties(op, case, fields, is_chosen):
    """What of a kernel a case needs. `fields` are those of its schedule."""
    k = op.shape["K"]
    is_scaled_a = op.a not in PLAIN
    is_four = "f4E2M1FN" in (op.a, op.b)
    found = {"scaled a" if is_scaled_a else "scaled b",
             "nvfp4" if op.scale == "f8E4M3FN" else f"mx of {4 if is_four else 8} bits",
             "f16" if "f16" in (op.a, op.b) else "", "no K" if not k else "",
             "prepacked" if op.is_prepacked else "",
             "rows moved apart" if k % 32 and not op.is_prepacked else "",
             *elements_properties(op, case)}
    if op.kind != "mm" and case.legal[-1]:
        found |= {op.kind, f"{op.kind} of scaled a" if is_scaled_a else ""}
    if k:
        chosen = "chosen " if is_chosen else ""
        found |= {chosen + name for name in schedule_properties(op, case, fields) if name}
    return found - {""}


def schedule_properties(op, case, fields):
    """What a schedule makes of a case."""
    m, n, k = (op.shape[letter] for letter in "MNK")
    heights = np.diff([0, *case.legal]) if op.kind == "rows" else [m]
    tiles = sum(-(-int(height) // fields["rows"]) for height in heights)
    tiles *= -(-n // fields["cols"]) * int(np.prod(op.shape["B"])) * fields["splits"]
    tiles *= len(case.legal) if op.kind == "columns" else 1
    plain = fields["cols" if op.a not in PLAIN else "rows"]
    stages, plain_stages = (-(-k // length) / fields["splits"]
                            for length in (STAGE, PLAIN_STAGES[plain]))
    return {f"{plain} plain rows", "split" if fields["splits"] > 1 else "",
            "three tiles a cta" if tiles > 2 * fields["ctas"] else "",
            "ring wraps twice" if plain_stages > 2 * fields["stages"] else "",
            "decoded stages wrap" if stages > 2 else "",
            "one stage" if fields["stages"] == 1 else "",
            "tail of K" if k % STAGE else "",
            "parts of plain rows in a tail" if PLAIN_STAGES[plain] < k % STAGE else "",
            "stages and a tail of K" if k % STAGE and k > STAGE else ""}


def check(folder, seed, number, chip):
    """The case's op and properties, and the problem of each schedule."""
    op, case, text, fields = draw_with(draw_schedule, seed, number)
    problems = random_cases.find_problems(text, case, chip, folder / f"{number}")
    found = properties(op, case, fields or choose(text, chip), is_chosen=not fields)
    return op, found, problems


if __name__ == "__main__":
    random_cases.main(__doc__, check, LEAST, 90, CHIPS)
