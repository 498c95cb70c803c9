# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of order chain in the emulator, drawn at random as those of sm90_matmul.py,
mma_matmul.py, sm100_plain_matmul.py and plain_matmul.py are, as kernels of chips that multiply bf16
and f16 by wgmma, mma.sync and tcgen05, under both schedules, and compares every bit with numpy's
law of the chip's sums. The chips take turns unless one is named. Two of three cases have a schedule
of their own. There must be enough cases of each property that only some kernels have (LEAST)."""

import numpy as np

import mma_matmul
import plain_matmul
import random_cases
import sm90_matmul
import sm100_plain_matmul
from products import PLAIN
from reference import tensor_core_sum
from sm100_matmul import KINDS

# The tensor cores of a chip, and its instruction.
SUMS = {"sm_80": ("ampere", "mma.sync"), "sm_89": ("ada", "mma.sync"),
        "sm_90a": ("hopper", "wgmma"), "sm_100a": ("blackwell", "tcgen05"),
        "sm_120a": ("blackwell", "mma.sync")}
TURNS = ("sm_90a", "sm_80", "sm_90a", "sm_89", "sm_100a", "sm_90a", "sm_120a")
# A tile of so many rows with scales, and of so many plain ones, has teams of warpgroups that hand
# over sums, and so many stages at least. With eight plain rows, whose warps multiply by themselves,
# or more, up to so many, one warpgroup multiplies, and a ring has two stages or, to turn unevenly,
# three. Of 32 rows of prepacked codes of four bits, two warps of each team multiply by themselves,
# and of 128, eight warps of two teams.
BY_WARP, HANDED, MOST_HANDED, HANDED_STAGES, NARROW = 8, 64, 16, 8, 32
MOST_ALONE, ALONE_STAGES = 128, (2, 3)
FIRST_NARROW = 70  # from this case on, all on Hopper have tiles of 32 rows with scales
PLAIN_CASES = 4  # of so many cases, one has no scales
LARGEST = 1 << 23  # products of a case, for which numpy takes a second
LEAST = {"nvfp4": 10, "mx": 10, "no scales": 8, "f16": 6, "rows": 5, "columns": 5, "batch": 3,
         "prepacked": 3, "elements": 3, "handed over": 5, "handed over, tail of K": 3,
         "handed over, two rounds": 3, "one warpgroup": 5, "one warpgroup, tail of K": 3,
         "one warpgroup, wide": 3, "one team": 4, "narrow": 6, "narrow, tail of K": 4,
         "narrow, more stages than teams": 2}


def keep_chain(fields, op, chip):
    """A schedule that keeps a chain, as near to `fields` as there is one. Instead of parts of K,
    weights have teams that hand over sums, and instead of most plain rows some have eight."""
    scaled, plain = (("rows", "cols") if op.a not in PLAIN else ("cols", "rows"))
    if chip == "sm_90a" and fields["splits"] > 1 and op.a in PLAIN and op.b not in PLAIN:
        fields = fields | {plain: MOST_HANDED, scaled: HANDED}
    fields = fields | {"splits": 1}
    if chip != "sm_90a":
        return fields
    if not has_scales(op):
        # A is the first operand of tiles of 256 columns.
        first = "rows" if fields["cols"] == 256 else "cols"
        return fields | {first: 2 * HANDED, "stages": 2}
    if fields[plain] > MOST_ALONE or (fields[scaled] != HANDED and fields[plain] > 32):
        if op.a in PLAIN and fields["band"] % 2:
            has_teams = op.is_prepacked and op.b == "f4E2M1FN" and fields["ctas"] % 2
            return fields | {plain: BY_WARP, scaled: HANDED << fields["ctas"] % 2,
                             "stages": 4 if has_teams else 2}
        return fields | {scaled: 2 * HANDED, "stages": 2}
    stages = HANDED_STAGES if fields[plain] == MOST_HANDED else ALONE_STAGES[fields["band"] % 2]
    return fields | {scaled: HANDED, "stages": stages}


def has_scales(op):
    return op.a not in PLAIN or op.b not in PLAIN


def draw_deep(random, seed, number):
    """A product of Hopper with few results and so many stages that each team has several."""
    op = sm90_matmul.draw_op(random, "mm", KINDS[number % len(KINDS)])
    op.batch, op.shape["B"] = 0, ()
    op.shape |= {letter: min(op.shape[letter], most) for letter, most in (("M", 40), ("N", 96))}
    op.shape["K"] += 1024
    sm90_matmul.scale_elements(op, seed, number)
    case, fewest = sm90_matmul.draw_case(random, op), sm90_matmul.draw_fewest(seed, number)
    return op, case, sm90_matmul.draw_schedule(random, op, fewest)[1]


def draw_narrow(random, seed, number):
    """A product of few rows and prepacked weights of four bits, with a schedule of narrow tiles."""
    op = None
    while not op or op.a not in PLAIN or op.b != "f4E2M1FN":
        op = sm90_matmul.draw_op(random, "mm", ("mm", "rows")[number % 2])
    op.batch, op.shape["B"], op.is_prepacked = 0, (), True
    op.dynamic = "".join(letter for letter in op.dynamic if letter not in "NK")
    op.shape |= {letter: min(op.shape[letter], most) for letter, most in (("M", 20), ("N", 160))}
    # Some have a stage for each team, some more.
    op.shape["K"] = op.shape["K"] % 1024 + int(random.integers(3)) * 1024 + 32
    sm90_matmul.scale_elements(op, seed, number)
    case, fewest = sm90_matmul.draw_case(random, op), sm90_matmul.draw_fewest(seed, number)
    fields = sm90_matmul.draw_schedule(random, op, fewest)[1]
    return op, case, fields | {"rows": BY_WARP, "cols": NARROW, "stages": HANDED_STAGES,
                               "splits": 1}


def draw(seed, number, chip):
    """An op, its case, the text of its function, and the fields of its schedule, which are empty
    where the compiler chooses."""
    random = np.random.default_rng((seed, number))
    is_narrow = number >= FIRST_NARROW and chip == "sm_90a"
    if is_narrow:
        op, case, fields = draw_narrow(random, seed, number)
    elif number % PLAIN_CASES == 0:
        op = plain_matmul.draw_op(random, KINDS[number % len(KINDS)])
        case = plain_matmul.draw_case(random, op)
        fields = plain_matmul.draw_schedule(random, op, chip)[1] if number % 3 else {}
    elif chip == "sm_90a" and number % 2:
        op, case, fields = draw_deep(random, seed, number)
    else:
        op, case, _, fields = (
            sm90_matmul.draw(seed, number) if chip == "sm_90a" else
            mma_matmul.draw_with(sm100_plain_matmul.draw_schedule, seed, number)
            if chip == "sm_100a" else mma_matmul.draw(seed, number, chip))
    op.order = "chain"
    text = op.text()
    if fields:
        fields = fields if is_narrow else keep_chain(fields, op, chip)
        text = text.replace("\n      : ", " {blockscale.schedule = "
                            f"{mma_matmul.schedule_text(fields)}}}\n      : ", 1)
    return op, case, text, fields


def properties(op, case, fields, chip):
    """What of a kernel a case needs."""
    k = op.shape["K"]
    if not k:
        return set()
    scales = "nvfp4" if op.scale == "f8E4M3FN" else "mx"
    found = {scales if has_scales(op) else "no scales",
             "f16" if "f16" in (op.a, op.b) else "", "batch" if op.batch else "",
             "prepacked" if op.is_prepacked else "",
             "elements" if op.scaling == "in_elements" else "",
             op.kind if op.kind != "mm" and case.legal[-1] else ""}
    if not fields or chip != "sm_90a":
        return found - {""}
    scaled, plain = (("rows", "cols") if op.a not in PLAIN else ("cols", "rows"))
    if fields[scaled] == NARROW:
        return (found | {"narrow", "narrow, tail of K" if k % 512 else "",
                         "narrow, more stages than teams" if k > 4 * 512 else ""}) - {""}
    if fields[scaled] != HANDED:
        return (found | {"one team"}) - {""}
    is_four = "f4E2M1FN" in (op.a, op.b)
    stage = 256 if fields[plain] <= (64 if is_four else 16) else 128
    if fields[plain] != MOST_HANDED:
        return (found | {"one warpgroup", "one warpgroup, tail of K" if k % stage else "",
                         "one warpgroup, wide" if fields[plain] > 32 else ""}) - {""}
    return (found | {"handed over", "handed over, tail of K" if k % stage else "",
                     "handed over, two rounds" if k > 4 * stage else ""}) - {""}


def check(folder, seed, number, chip):
    """The case's op and properties, and the problem of each schedule."""
    op, case, text, fields = draw(seed, number, chip)
    if np.prod([op.shape["M"], op.shape["N"], op.shape["K"], *op.shape.get("B", ())]) > LARGEST:
        return op, set(), []
    how = tensor_core_sum(*SUMS[chip], "f16" if "f16" in (op.a, op.b) else "bf16")
    problems = random_cases.find_problems(text, case, chip, folder / f"{number}",
                                          lambda got: case.chain_problem(got, how))
    return op, properties(op, case, fields, chip), problems


if __name__ == "__main__":
    random_cases.main(__doc__, check, LEAST, 84, TURNS)
