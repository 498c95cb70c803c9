# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the products of sm90_matmul.py, of a scaled and a plain operand, in the emulator as kernels
of chips that multiply by plain mma.sync, under both schedules, and compares with numpy, within the
bound. The chips take turns unless one is named. Two of three cases have a schedule of their own,
so that few CTAs compute many tiles through few stages; the others have the one that the compiler
chooses. There must be enough cases of each property that only some kernels have (LEAST)."""

import re
import subprocess
from functools import partial

import numpy as np

import random_cases
from products import PLAIN
from sm90_matmul import draw_case, draw_op, elements_properties, scale_elements
from sm100_matmul import KINDS, add_odd_block

# Bytes of shared memory of a CTA.
CHIPS = {"sm_80": 163 << 10, "sm_86": 99 << 10, "sm_89": 99 << 10, "sm_120a": 99 << 10,
         "sm_121a": 99 << 10}
# Those that take turns. Their number has no divisor in common with that of KINDS.
TURNS = list(CHIPS)[:4]
PLAIN_ROWS, SCALED_ROWS = (16, 32, 64, 128), (64, 128, 256)
STEP, LEAST_STAGES, MOST_STAGES = 64, 3, 5
# The plain rows of products whose K the compiler splits, at most, and what K has more.
FEW, DEEP = 32, (2048, 4096)
FIELD = re.compile(r"(\w+) = (\d+)")
# Of each property of a case, how many cases have it at least; see `properties`.
LEAST = {"scaled a": 5, "scaled b": 10, "rows": 3, "columns": 3,
         "nvfp4": 7, "mx of 4 bits": 2, "mx of 8 bits": 3, "f16": 2, "ring wraps twice": 4,
         "three tiles a cta": 4, "split": 2, "teams": 6, "tail of K": 8, "no K": 1,
         "rows moved apart": 2, "prepacked": 3, **{f"{n} plain rows": 1 for n in PLAIN_ROWS},
         **{f"{n} scaled rows": 2 for n in SCALED_ROWS},
         **dict.fromkeys(("chosen split", "chosen split of scaled a", "chosen four parts"), 1),
         "chosen teams": 3, "chosen one team": 2, "elements of a": 1, "elements of b": 1}


def stage_bytes(steps, teams, plain, scaled, bits, block):
    # Teams of tiles of 16 plain rows load tiles of scales of their own.
    loaded = steps // teams if plain == 16 else steps
    tiles = steps // loaded * max(loaded * STEP // block // 4, 1)
    scales = -(-scaled // 128) * tiles * 512
    return steps * (plain * 2 * STEP + scaled * STEP * bits // 8) + scales


def stage_steps(plain, scaled):
    """The steps of a stage, and the teams of warps that share them."""
    teams = max(8 * 32 // scaled, 1) if plain <= 64 else 1
    return max(4 if plain <= 32 else 2 if plain == 64 else 1, teams), teams


def most_stages(plain, scaled, bits, block, memory):
    """The stages that shared memory holds, up to MOST_STAGES."""
    steps, teams = stage_steps(plain, scaled)
    return min(memory // stage_bytes(steps, teams, plain, scaled, bits, block), MOST_STAGES)


def schedule_text(fields):
    text = ", ".join(f"{name} = {value}" for name, value in fields.items())
    return f"#blockscale.gemm_schedule<{text}>"


def draw_schedule(random, op, memory):
    """Its text, and its fields."""
    is_scaled_a = op.a not in PLAIN
    bits = 4 if "f4E2M1FN" in (op.a, op.b) else 8
    tiles = [(plain, scaled, most) for plain in PLAIN_ROWS[is_scaled_a:] for scaled in SCALED_ROWS
             if scaled >= 128 or plain <= 64
             if (most := most_stages(plain, scaled, bits, op.block, memory)) >= LEAST_STAGES]
    plain, scaled, most = tiles[random.integers(len(tiles))]
    rows, cols = (scaled, plain) if is_scaled_a else (plain, scaled)
    splits = int(random.choice((1, 1, 2, 3))) if op.kind == "mm" else 1
    fields = {"rows": rows, "cols": cols, "stages": int(random.integers(LEAST_STAGES, most + 1)),
              "band": int(random.integers(1, 3)), "ctas": int(random.integers(1, 6)),
              "splits": splits}
    return schedule_text(fields), fields


def make_deep(op, seed, number):
    """Gives most dense products few plain rows, and so much of K that the compiler splits it."""
    random = np.random.default_rng((seed, number, *DEEP))
    if op.kind != "mm" or random.random() < 0.3:
        return
    op.dynamic, op.is_prepacked, op.batch = "", False, 0
    few = "M" if op.a in PLAIN else "N"
    op.shape |= {"B": (), few: int(random.integers(1, FEW + 1))}
    op.shape["K"] += int(random.choice(DEEP))


def draw_with(draw_schedule, seed, number):
    """An op, its case, the text of its function, and the fields of its schedule, which are empty
    where the compiler chooses. `draw_schedule` draws one for an op."""
    random = np.random.default_rng((seed, number))
    op = draw_op(random, "mm", KINDS[number % len(KINDS)])
    if number % 3 == 0:
        make_deep(op, seed, number)
    add_odd_block(op, seed, number)
    scale_elements(op, seed, number)
    case = draw_case(random, op)
    text, fields = op.text(), {}
    if number % 3:
        schedule, fields = draw_schedule(random, op)
        text = text.replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
    return op, case, text, fields


def draw(seed, number, chip):
    return draw_with(partial(draw_schedule, memory=CHIPS[chip]), seed, number)


def choose(text, chip):
    """The fields of the schedule that the compiler chooses."""
    printed = subprocess.run(["blockscale-opt", f"--blockscale-choose-schedules=chip={chip}"],
                             input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    (schedule,) = re.findall(r"blockscale.schedule = #blockscale.gemm_schedule<([^>]*)>", printed)
    return {"splits": 1} | {name: int(value) for name, value in FIELD.findall(schedule)}


def properties(op, case, fields, is_chosen):
    """What of a kernel a case needs. `fields` are those of its schedule."""
    k = op.shape["K"]
    is_scaled_a = op.a not in PLAIN
    is_four = "f4E2M1FN" in (op.a, op.b)
    kind = "nvfp4" if op.scale == "f8E4M3FN" else f"mx of {4 if is_four else 8} bits"
    found = {"scaled a" if is_scaled_a else "scaled b", kind,
             "f16" if "f16" in (op.a, op.b) else "", "no K" if not k else "",
             "prepacked" if op.is_prepacked else "",
             "rows moved apart" if k % 32 and not op.is_prepacked else "",
             *elements_properties(op, case)}
    if op.kind != "mm" and case.legal[-1]:
        found.add(op.kind)
    if k:
        chosen = "chosen " if is_chosen else ""
        found |= {chosen + name for name in schedule_properties(op, case, fields) if name}
    return found - {""}


def schedule_properties(op, case, fields):
    """What a schedule makes of a case."""
    m, n, k = (op.shape[letter] for letter in "MNK")
    is_scaled_a = op.a not in PLAIN
    heights = np.diff([0, *case.legal]) if op.kind == "rows" else [m]
    tiles = sum(-(-int(height) // fields["rows"]) for height in heights)
    tiles *= -(-n // fields["cols"]) * int(np.prod(op.shape["B"])) * fields["splits"]
    tiles *= len(case.legal) if op.kind == "columns" else 1
    names = ("cols", "rows") if is_scaled_a else ("rows", "cols")
    plain, scaled = (fields[name] for name in names)
    steps, teams = stage_steps(plain, scaled)
    stages = -(-k // (steps * STEP)) / fields["splits"]
    split = "split" if fields["splits"] > 1 else ""
    return {f"{plain} plain rows", f"{scaled} scaled rows", "teams" if teams > 1 else "one team",
            "three tiles a cta" if tiles > 2 * fields["ctas"] else "",
            "ring wraps twice" if stages > 2 * fields["stages"] else "",
            split, split and is_scaled_a and "split of scaled a",
            "four parts" if fields["splits"] == 4 else "",
            "tail of K" if k % (steps * STEP) else ""}


def check(folder, seed, number, chip):
    """The case's op and properties, and the problem of each schedule."""
    op, case, text, fields = draw(seed, number, chip)
    problems = random_cases.find_problems(text, case, chip, folder / f"{number}")
    found = properties(op, case, fields or choose(text, chip), is_chosen=not fields)
    return op, found, problems


if __name__ == "__main__":
    random_cases.main(__doc__, check, LEAST, 36, TURNS)
