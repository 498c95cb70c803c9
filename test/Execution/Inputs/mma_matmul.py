# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the products of sm90_matmul.py, of a scaled and a plain operand, in the emulator as kernels
of chips that multiply by plain mma.sync, under both schedules, and compares with numpy, within the
bound. The chips take turns. Two of three cases have a schedule of their own, so that few CTAs
compute many tiles through few stages. There must be enough cases of each property that only some
kernels have (LEAST)."""

import numpy as np

import random_cases
from products import PLAIN
from sm100_matmul import KINDS, add_odd_block
from sm90_matmul import draw_case, draw_op

# Bytes of shared memory of a CTA.
CHIPS = {"sm_80": 163 << 10, "sm_86": 99 << 10, "sm_89": 99 << 10, "sm_120a": 99 << 10}
PLAIN_ROWS, SCALED_ROWS = (16, 32, 64, 128), (64, 128, 256)
STEP, LEAST_STAGES, MOST_STAGES = 64, 3, 5
# Of each property of a case, how many cases have it at least; see `properties`.
LEAST = {**dict.fromkeys(CHIPS, 4), "scaled a": 5, "scaled b": 10, "rows": 3, "columns": 3,
         "nvfp4": 7, "mx of 4 bits": 2, "mx of 8 bits": 3, "f16": 2, "ring wraps twice": 4,
         "three tiles a cta": 4, "split": 2, "teams": 6, "tail of K": 8, "no K": 1,
         "rows moved apart": 2, "prepacked": 3, **{f"{n} plain rows": 1 for n in PLAIN_ROWS},
         **{f"{n} scaled rows": 2 for n in SCALED_ROWS}}


def stage_bytes(steps, plain, scaled, bits, block):
    scales = -(-scaled // 128) * max(steps * STEP // block // 4, 1) * 512
    return steps * (plain * 2 * STEP + scaled * STEP * bits // 8) + scales


def stage_steps(plain, scaled):
    """The steps of a stage, and the teams of warps that share them."""
    teams = max(8 * 32 // scaled, 1) if plain <= 64 else 1
    return max(4 if plain <= 32 else 2 if plain == 64 else 1, teams), teams


def most_stages(plain, scaled, bits, block, memory):
    """The stages that shared memory holds, up to MOST_STAGES."""
    steps, _ = stage_steps(plain, scaled)
    return min(memory // stage_bytes(steps, plain, scaled, bits, block), MOST_STAGES)


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
    text = ", ".join(f"{name} = {value}" for name, value in fields.items())
    return f"#blockscale.gemm_schedule<{text}>", fields


def draw(seed, number, chip=None):
    """An op, its case, the text of its function, its chip and the fields of its schedule. The chips
    take turns unless one is given."""
    random = np.random.default_rng((seed, number))
    op = draw_op(random, "mm", KINDS[number % len(KINDS)])
    add_odd_block(op, seed, number)
    case = draw_case(random, op)
    chip = chip or list(CHIPS)[number % len(CHIPS)]
    text, fields = op.text(), {}
    if number % 3:
        schedule, fields = draw_schedule(random, op, CHIPS[chip])
        text = text.replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
    return op, case, text, chip, fields


def properties(op, case, chip, fields):
    """What of a kernel a case needs."""
    m, n, k = (op.shape[letter] for letter in "MNK")
    is_scaled_a = op.a not in PLAIN
    is_four = "f4E2M1FN" in (op.a, op.b)
    kind = "nvfp4" if op.scale == "f8E4M3FN" else f"mx of {4 if is_four else 8} bits"
    found = {chip, "scaled a" if is_scaled_a else "scaled b", kind,
             "f16" if "f16" in (op.a, op.b) else "", "no K" if not k else "",
             "prepacked" if op.is_prepacked else "",
             "rows moved apart" if k % 32 and not op.is_prepacked else ""}
    if op.kind != "mm" and case.legal[-1]:
        found.add(op.kind)
    if fields and k:
        heights = np.diff([0, *case.legal]) if op.kind == "rows" else [m]
        tiles = sum(-(-int(height) // fields["rows"]) for height in heights)
        tiles *= -(-n // fields["cols"]) * int(np.prod(op.shape["B"])) * fields["splits"]
        tiles *= len(case.legal) if op.kind == "columns" else 1
        each = -(-tiles // fields["ctas"])
        names = ("cols", "rows") if is_scaled_a else ("rows", "cols")
        plain, scaled = (fields[name] for name in names)
        steps, teams = stage_steps(plain, scaled)
        stages = -(-k // (steps * STEP)) / fields["splits"]
        found |= {f"{plain} plain rows", f"{scaled} scaled rows", "teams" if teams > 1 else "",
                  "three tiles a cta" if each >= 3 else "",
                  "ring wraps twice" if stages > 2 * fields["stages"] else "",
                  "split" if fields["splits"] > 1 else "",
                  "tail of K" if k % (steps * STEP) else ""}
    return found - {""}


def check(folder, seed, number):
    """The case's op and properties, and the problem of each schedule."""
    op, case, text, chip, fields = draw(seed, number)
    problems = random_cases.find_problems(text, case, chip, folder / f"{number}")
    return op, properties(op, case, chip, fields), problems


if __name__ == "__main__":
    random_cases.main(__doc__, check, LEAST, 36)
