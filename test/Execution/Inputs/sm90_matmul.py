# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of a scaled and a plain operand, drawn at random, in the emulator, as
kernels of sm_90a under both schedules, and compares with numpy, within the bound. Two
fifths of the cases are grouped. Odd cases have a schedule of their own, so that few CTAs
compute many tiles through few stages. There must be enough cases of each property that
only some kernels have (LEAST)."""

import numpy as np

import even_scales
import random_cases
from products import PLAIN, Case, Op
from sm100_matmul import KINDS, MX_DATA, POWERS, SMALL, add_odd_block, draw_ends

# Elements of K of a stage, by the plain rows of a tile and those with scales.
STAGE = {(plain, scaled): 128 if plain < 256 else 64
         for plain in (32, 64, 128, 256) for scaled in (64, 128)} | {
             (plain, scaled): 256 for plain in (8, 16) for scaled in (64, 128)}
# The rows of few rows, for which tiles begin at different stages, and their tile.
FEW, FEW_TILE = 4, {"cols": 64, "stages": 8}
ELEMENTS = 5
# Every second tile of 16 plain rows of A is one of 8, which warps multiply by themselves.
EIGHT = 6
# Of each property of a case, how many cases have it at least; see `properties`.
LEAST = {"prepacked": 15, "prepacked in groups": 3, "prepacked a": 4, "prepacked mx": 5,
         "scaled a": 15, "scaled b": 30, "rows": 10, "columns": 10, "rows of scaled a": 3,
         "nvfp4": 20, "mx": 20, "f16": 5, "ring wraps twice": 10, "three tiles a cta": 10,
         "split": 10, "split group": 5, "64 scaled rows": 10, "128 scaled rows": 10,
         "8 plain and 128 scaled rows": 2, "tail of K": 15,
         "stages and a tail of K": 10, "no K": 2, "8 plain rows": 3, "16 plain rows": 3,
         "32 plain rows": 3,
         "64 plain rows": 3, "128 plain rows": 3, "256 plain rows": 3, "rows moved apart": 8,
         "rows of groups moved apart": 3, "prepacked odd blocks": 3, "few rows": 3,
         "elements of a": 5, "elements of b": 4, "elements of groups": 5,
         "elements with scales of each": 4}


def draw_shape(random, op):
    """M and N from 1 to 300, K a multiple of the block and of what copies need, 32."""
    def size(limit):
        return int(random.integers(1, limit + 1))

    unit = int(random.choice((32, 32, 64, 128)))
    steps = 0 if random.random() < 0.08 else size(1024 // unit)
    large = random.random() < 0.4 and not op.batch
    cols = size(300 if large else 150)
    unit_of_cols = int(random.choice((1, 1, 8, 16)))
    shape = {"B": tuple(size(2) for _ in range(op.batch)), "M": size(300 if large else 150),
             "N": -(-cols // unit_of_cols) * unit_of_cols, "K": unit * steps}
    return shape if op.kind == "mm" else {**shape, "G": size(8)}


def draw_op(random, name, kind):
    def pick(*choices):
        return choices[random.integers(len(choices))]

    is_nvfp4, is_scaled_a = random.random() < 0.5, random.random() < 0.4
    plain = pick("bf16", "bf16", "f16") if is_nvfp4 else "bf16"
    scaled = "f4E2M1FN" if is_nvfp4 else pick(*MX_DATA)
    form = ("", "scalar", "rank_0", "each", *(("row",) * (kind == "mm")))
    layouts = ("linear", "swizzled", "swizzled" if kind == "mm" else "grouped")
    op = Op(name, kind, scale="f8E4M3FN" if is_nvfp4 else "f8E8M0FNU",
            a=scaled if is_scaled_a else plain, b=plain if is_scaled_a else scaled,
            result=pick("f32", "bf16", "f16"), layout_a=pick(*layouts),
            layout_b=pick(*(layouts[:2] if kind == "rows" else layouts)),
            global_a=pick(*form) if is_nvfp4 and is_scaled_a else "",
            global_b=pick(*form) if is_nvfp4 and not is_scaled_a else "",
            bias=pick("", "f32", "bf16", "f16"), batch=pick(0, 0, 0, 1, 2),
            dynamic="".join(letter for letter in "BMNK" if random.random() < 0.5))
    if kind != "mm":
        op.batch = 0
        op.has_bias_each = random.random() < 0.5
    op.shape = draw_shape(random, op)
    # Groups begin anywhere in blocks of prepacked data, which do not tell their sizes.
    rows = "M" if is_scaled_a else "N"
    if (kind == "mm" or (kind == "rows" and not is_scaled_a)) and random.random() < 0.35:
        op.is_prepacked = True
        op.dynamic = "".join(letter for letter in op.dynamic if letter not in rows + "K")
    return op


def make_few_rows(op, seed, number):
    """Gives some products few plain rows and several stages."""
    random = np.random.default_rng((seed, number, FEW))
    if op.kind == "mm" and op.a in PLAIN and random.random() < 0.5:
        op.shape["M"] = int(random.integers(1, FEW + 1))
        op.shape["K"] += 512


def scale_elements(op, seed, number):
    """Lets every second global scale that can do so multiply elements."""
    form = op.global_a or op.global_b
    if form and form != "row" and np.random.default_rng((seed, number, ELEMENTS)).random() < 0.5:
        op.scaling = "in_elements"


def draw_stages(random, plain, scaled):
    """Two or three for each team of warpgroups, as far as shared memory holds them."""
    few, many = (1, 2) if scaled == 128 else (2, 4)
    teams = many if plain <= (8 if scaled == 128 else 16) else few
    is_large = teams > 1 and (scaled == 128 or plain > 64)
    return teams * int(random.integers(2, 3 if teams == 4 or is_large else 4))


def draw_fewest(seed, number):
    """The plain rows of the smallest tile of a case."""
    return 8 if np.random.default_rng((seed, number, EIGHT)).random() < 0.5 else 16


def draw_schedule(random, op, fewest):
    """Its text, and its fields. `fewest` is the number of plain rows of the smallest tile."""
    is_scaled_a = op.a not in PLAIN
    plain = int(random.choice((16, 32, 64, 128, 256)[is_scaled_a:]))
    plain = fewest if plain == 16 and not is_scaled_a else plain
    scaled = int(random.choice((64, 128)))
    rows, cols = (scaled, plain) if is_scaled_a else (plain, scaled)
    fields = {"rows": rows, "cols": cols, "stages": draw_stages(random, plain, scaled),
              "band": int(random.integers(1, 3)), "ctas": int(random.integers(1, 6)),
              "splits": int(random.choice((1, 1, 2, 4)))}
    if op.kind == "mm" and not is_scaled_a and op.shape["M"] <= FEW and plain != 64:
        fields |= {"rows": fewest} | FEW_TILE
    text = ", ".join(f"{name} = {value}" for name, value in fields.items())
    return f"#blockscale.gemm_schedule<{text}>", fields


def draw_case(random, op):
    """Results of f16, and to which a bias of f16 is added, are in its range."""
    ends = () if op.kind == "mm" else draw_ends(random, op)
    lead = {"mm": op.shape["B"], "rows": (len(ends),), "columns": ()}[op.kind]
    cols = op.shape["K"] // op.block
    is_narrow = "f16" in (op.result, op.bias)
    is_mx = op.scale == "f8E8M0FNU"
    # Products with plain numbers are never beyond f32.
    powers = range(-4, 5) if is_mx else SMALL if is_narrow else POWERS
    scales = {}
    if op.a in PLAIN:
        scales["sb"] = even_scales.scales(random, op.scale, (*lead, op.shape["N"], cols), powers)
    else:
        shape = (*(lead if op.kind == "mm" else ()), op.shape["M"], cols)
        scales["sa"] = even_scales.scales(random, op.scale, shape, powers)
    return Case(op, random, ends, **scales, bias_share=2.0 ** random.integers(-4, 1))


def draw(seed, number):
    """An op, its case, the text of its function, and the fields of its schedule."""
    random = np.random.default_rng((seed, number))
    op = draw_op(random, "mm", KINDS[number % len(KINDS)])
    make_few_rows(op, seed, number)
    add_odd_block(op, seed, number)
    scale_elements(op, seed, number)
    case = draw_case(random, op)
    text, fields = op.text(), {}
    if number % 2:
        schedule, fields = draw_schedule(random, op, draw_fewest(seed, number))
        text = text.replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
    return op, case, text, fields


def elements_properties(op, case):
    """What a case needs of kernels whose elements a global scale multiplies."""
    if op.scaling != "in_elements" or not op.shape["K"]:
        return set()
    side = "a" if op.global_a else "b"
    return {f"elements of {side}", "elements of groups" if op.kind != "mm" and case.legal[-1]
            else "", "elements with scales of each" if "each" in (op.global_a, op.global_b) else ""}


def properties(op, case, fields):
    """What of a kernel a case needs."""
    m, n, k = (op.shape[letter] for letter in "MNK")
    is_scaled_a = op.a not in PLAIN
    found = {"scaled a" if is_scaled_a else "scaled b",
             "nvfp4" if op.scale == "f8E4M3FN" else "mx", "f16" if "f16" in (op.a, op.b) else "",
             "no K" if not k else "", "prepacked" if op.is_prepacked else "",
             "prepacked in groups" if op.is_prepacked and op.kind != "mm" else "",
             "prepacked a" if op.is_prepacked and is_scaled_a else "",
             "prepacked mx" if op.is_prepacked and op.scale != "f8E4M3FN" else "",
             "rows moved apart" if k % 32 and not op.is_prepacked else "",
             "rows of groups moved apart" if k % 32 and not op.is_prepacked and op.kind != "mm"
             else "",
             "prepacked odd blocks" if k % 32 and op.is_prepacked else "",
             *elements_properties(op, case)}
    if op.kind != "mm" and case.legal[-1]:
        found |= {op.kind, f"{op.kind} of scaled a" if is_scaled_a else ""}
    if fields and k:
        heights = np.diff([0, *case.legal]) if op.kind == "rows" else [m]
        tiles = sum(-(-int(height) // fields["rows"]) for height in heights)
        tiles *= -(-n // fields["cols"]) * int(np.prod(op.shape["B"]))
        tiles *= len(case.legal) if op.kind == "columns" else 1
        each = -(-tiles // max(fields["ctas"] // fields["splits"], 1))
        names = ("cols", "rows") if is_scaled_a else ("rows", "cols")
        plain, scaled = (fields[name] for name in names)
        stage = STAGE[plain, scaled]
        stages = -(-k // stage) / fields["splits"]
        found |= {f"{plain} plain rows", f"{scaled} scaled rows",
                  f"{plain} plain and {scaled} scaled rows",
                  "three tiles a cta" if each >= 3 else "",
                  "ring wraps twice" if each * stages > 2 * fields["stages"] else "",
                  "split" if fields["splits"] > 1 else "",
                  "split group" if fields["splits"] > 1 and op.kind != "mm" else "",
                  "few rows" if plain <= 16 and scaled == 64 and m <= FEW and stages >= 2 else "",
                  "tail of K" if k % stage else "",
                  "stages and a tail of K" if k % stage and k > stage else ""}
    return found - {""}


def check(folder, seed, number, chip):
    """The case's op and properties, and the problem of each schedule."""
    op, case, text, fields = draw(seed, number)
    problems = random_cases.find_problems(text, case, chip, folder / f"{number}")
    return op, properties(op, case, fields), problems


if __name__ == "__main__":
    random_cases.main(__doc__, check, LEAST, 90, chips=["sm_90a"])
