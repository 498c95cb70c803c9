# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of two plain operands, drawn at random, on the CPU and in the emulator, as kernels
of all families that multiply them, under both schedules, and compares with numpy, within the bound.
Most are the op without scales, dense and in groups; the others are written in linalg, as frontends
write them, with operands that lie along K or not. The places take turns unless one is named. Two
of three ops have a schedule of their own. There must be enough cases of each property that only
some kernels have (LEAST)."""

import re
import subprocess
import sys

import numpy as np

import random_cases
from gpu_calls import ON_CPU, SCHEDULES, run_places
from mma_matmul import CHIPS, schedule_properties, schedule_text, stage_steps
from products import Case, Op
from sm90_matmul import draw_shape
from sm100_matmul import KINDS, draw_ends

TURNS = ("sm_80", "cpu", "sm_90a", "sm_86", "sm_100a", "sm_89", "sm_120a")
PLAIN_ROWS, OTHER_ROWS = (16, 32, 64, 128, 256), (64, 128, 256)
LEAST_STAGES, MOST_STAGES = 3, 5
# Of each property of a case, how many cases have it at least, whatever the place, and of what the
# kernels of some chips have where the places take turns.
COMMON = {"mn_major_a": 4, "mn_major_b": 5, "rows": 4, "columns": 4, "f16": 10, "bf16": 10,
          "no K": 1, "linalg": 10, "transposed a": 2, "transposed b": 3, "shared b": 2,
          "batch": 5, "global scales": 10, "narrow result": 5, "odd depth": 4, "dynamic depth": 4}
LEAST = COMMON | {"ring wraps twice": 4, "three tiles a cta": 4, "split": 4, "teams": 4,
                  "tail of K": 8, "sm_90a": 3, "sm_100a": 3, "a first": 1, "square warps": 6,
                  **{f"square warps, mn_major_{side}": 2 for side in "ab"},
                  **{f"{n} plain rows": 1 for n in PLAIN_ROWS},
                  **{f"{n} scaled rows": 1 for n in OTHER_ROWS}}


def draw_op(random, kind):
    def pick(*choices):
        return choices[random.integers(len(choices))]

    plain = pick("bf16", "f16")
    op = Op("mm", kind, a=plain, b=plain, result=pick("f32", "bf16", "f16"),
            bias=pick("", "f32", "bf16", "f16"), batch=pick(0, 0, 0, 1, 2),
            dynamic="".join(letter for letter in "BMNK" if random.random() < 0.5))
    if kind != "mm":
        op.batch = 0
        op.has_bias_each = random.random() < 0.5
    op.shape = draw_shape(random, op)
    # K is any number of blocks.
    op.shape["K"] += int(random.integers(0, 2)) * op.block * bool(op.shape["K"])
    # Rows along M or N have any length that is known, else a multiple of eight.
    for side, letter in (("a", "M"), ("b", "N")):
        is_legal = letter not in op.dynamic or op.shape[letter] % 8 == 0
        if is_legal and not (op.kind == "rows" and side == "a") and random.random() < 0.5:
            op.mn_major += side
    return op


def turn(arrays, sides):
    """The arguments with the operands of `sides`, of "ab", turned."""
    return [np.ascontiguousarray(each.swapaxes(-1, -2) if side in sides else each)
            for side, each in zip("ab", arrays)]


def numbers(random, element, shape):
    """Those whose sums are in the range of f16."""
    drawn = random.standard_normal(shape) * 2.0 ** random.integers(-4, 3, shape)
    if element == "f16":
        return drawn.astype(np.float16)
    return (drawn.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def draw_case(random, op):
    ends = () if op.kind == "mm" else draw_ends(random, op, op.block)
    s = op.shape
    lead = s["B"] if op.kind == "mm" else ()
    of_b = {"mm": lead, "rows": (len(ends),), "columns": ()}[op.kind]
    case = Case(op, random, ends, a=numbers(random, op.a, (*lead, s["M"], s["K"])),
                b=numbers(random, op.b, (*of_b, s["N"], s["K"])),
                bias_share=2.0 ** random.integers(-4, 1))
    case.arguments[:2] = turn(case.arguments[:2], op.mn_major)
    return case


def mma_tiles(memory):
    """Tiles of plain mma.sync, with the fewest and the most stages and their multiple."""
    for rows in PLAIN_ROWS[:4]:
        for cols in OTHER_ROWS:
            steps, _ = stage_steps(rows, cols)
            most = min(memory // (steps * 128 * (rows + cols)), MOST_STAGES)
            if (cols >= 128 or rows <= 64) and most >= LEAST_STAGES:
                yield rows, cols, LEAST_STAGES, most, 1


def wgmma_tiles(least_rows):
    for rows in PLAIN_ROWS[PLAIN_ROWS.index(least_rows):]:
        for cols in (64, 128):
            teams = 1 if cols == 128 else 2 if rows > 16 else 4
            steps = 2 if rows <= 128 else 1
            memory = (227 << 10) - 2048 - teams * min(rows, 64) * (cols + 4) * 4
            most = memory // (steps * 128 * (rows + cols)) // teams
            if most >= 2:
                yield rows, cols, 2, min(most, 3), teams
    # A is the first operand of tiles of so many columns.
    for rows, teams in ((64, 2), (128, 1)):
        most = ((227 << 10) - 2048 - teams * rows * 68 * 4) // (128 * (rows + 256)) // teams
        yield rows, 256, 2, most, teams


def tcgen05_tiles(least_rows):
    for rows in PLAIN_ROWS[PLAIN_ROWS.index(least_rows):]:
        steps = 4 if rows <= 32 else 2 if rows <= 128 else 1
        memory = (227 << 10) - 4096 - min(rows, 32) * 132 * 4
        yield rows, 128, 1, min(memory // (steps * 128 * (rows + 128)), 3), 1


def draw_schedule(random, op, place):
    """Its text, and its fields."""
    # A step of MN-major rows is 64 of them, but for mma.sync.
    least = 64 if "a" in op.mn_major else PLAIN_ROWS[0]
    tiles = list(mma_tiles(CHIPS[place]) if place in CHIPS else wgmma_tiles(least)
                 if place == "sm_90a" else tcgen05_tiles(least))
    rows, cols, least, most, multiple = tiles[random.integers(len(tiles))]
    # Clusters of Hopper add the sums of parts of K, in groups, too.
    splits = (1, 1, 2, 4) if place == "sm_90a" else (1, 1, 2, 3) if op.kind == "mm" else (1,)
    fields = {"rows": rows, "cols": cols,
              "stages": multiple * int(random.integers(least, most + 1)),
              "band": int(random.integers(1, 3)), "ctas": int(random.integers(1, 6)),
              "splits": int(random.choice(splits))}
    return schedule_text(fields), fields


def draw_product(seed, number, place):
    """An op, its case, the text of its function, and what is found in it."""
    random = np.random.default_rng((seed, number))
    op = draw_op(random, KINDS[number % len(KINDS)])
    # Global scales are those of what was decoded.
    forms = ("", "", "rank_0", "scalar", "each", "row" if op.kind == "mm" else "each")
    op.global_a, op.global_b = random.choice(forms, 2).tolist()
    case = draw_case(random, op)
    text, found = op.text(), {op.a, "" if op.shape["K"] else "no K", "batch" if op.batch else "",
                              "global scales" if op.global_a or op.global_b else "",
                              *(f"mn_major_{side}" for side in op.mn_major if op.shape["K"])}
    if op.kind != "mm" and case.legal[-1]:
        found.add(op.kind)
    if number % 3 and place != "cpu":
        schedule, fields = draw_schedule(random, op, place)
        text = text.replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
        found |= {place, *schedule_properties(op, case, fields)} if op.shape["K"] else set()
        if place == "sm_90a" and fields["cols"] > 128:
            found.add("a first")
        # Warps of mma.sync lie beside each other in two directions.
        if place in CHIPS and fields["rows"] == 128 and op.shape["K"]:
            found |= {"square warps", *(f"square warps, mn_major_{side}" for side in op.mn_major)}
    return op, case, text, found


def tensor(sizes, element):
    return f"tensor<{''.join(f'{size}x' for size in sizes)}{element}>"


def linalg_text(op, flips, is_shared):
    """A function of linalg: extended inputs, sums of f32 that begin with 0, and a rounding. An
    operand may lie along its rows, and B may be one matrix for all of a batch."""
    loops = [f"b{i}" for i in range(op.batch)] + ["m", "n", "k"]
    batch = loops[:op.batch]
    names = {"a": batch + (["k", "m"] if flips["a"] else ["m", "k"]),
             "b": ([] if is_shared else batch) + (["k", "n"] if flips["b"] else ["n", "k"])}
    sizes = dict(zip(batch, op.shape["B"])) | {x.lower(): op.shape[x] for x in "MNK"}
    dynamic = [name for name in ("m", "n", "k") if name.upper() in op.dynamic]

    def type_of(dims, element):
        return tensor(["?" if name in dynamic else sizes[name] for name in dims], element)

    def map_of(dims):
        return f"affine_map<({', '.join(loops)}) -> ({', '.join(dims)})>"

    out = [*batch, "m", "n"]
    maps = ", ".join(map_of(dims) for dims in (names["a"], names["b"], out))
    kinds = ", ".join(f'"{"reduction" if name == "k" else "parallel"}"' for name in loops)
    a, b, sum_type = type_of(names["a"], op.a), type_of(names["b"], op.b), type_of(out, "f32")
    lines, dims = [], []
    for name in [each for each in dynamic if each != "k"]:
        side = "a" if name == "m" else "b"
        lines += [f"%c{name} = arith.constant {names[side].index(name)} : index",
                  f"%d{name} = tensor.dim %{side}, %c{name} : {a if side == 'a' else b}"]
        dims.append(f"%d{name}")
    lines += ["%zero = arith.constant 0.0 : f32",
              f"%e = tensor.empty({', '.join(dims)}) : {sum_type}",
              f"%f = linalg.fill ins(%zero : f32) outs(%e : {sum_type}) -> {sum_type}",
              (f"%s = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
               f"ins(%a, %b : {a}, {b}) outs(%f : {sum_type}) {{"),
              f"^bb0(%x: {op.a}, %y: {op.b}, %z: f32):", f"  %p = arith.extf %x : {op.a} to f32",
              f"  %q = arith.extf %y : {op.b} to f32", "  %r = arith.mulf %p, %q : f32",
              "  %t = arith.addf %z, %r : f32", "  linalg.yield %t : f32", f"}} -> {sum_type}"]
    value, result = "%s", type_of(out, op.result)
    if op.result != "f32":
        lines.append(f"%w = arith.truncf %s : {sum_type} to {result}")
        value = "%w"
    body = "\n  ".join([*lines, f"return {value} : {result}"])
    return f"func.func @mm(%a: {a}, %b: {b}) -> {result} {{\n  {body}\n}}\n"


def draw_linalg(seed, number):
    """A function of linalg, and what is found in it."""
    random = np.random.default_rng((seed, number, 1))
    op = draw_op(random, "mm")
    op.bias, op.dynamic = "", op.dynamic.replace("B", "")
    # K ends anywhere in a block.
    op.shape["K"] += int(random.integers(16, 32)) * (random.random() < 0.6) or 16
    is_shared = bool(op.batch) and random.random() < 0.7
    if is_shared:
        op.dynamic = ""
    flips = {side: random.random() < 0.4 and not (is_shared and side == "a") for side in "ab"}
    s = op.shape
    a = numbers(random, op.a, (*s["B"], s["M"], s["K"]))
    b = numbers(random, op.b, (*(() if is_shared else s["B"]), s["N"], s["K"]))
    wide = np.broadcast_to(b, (*s["B"], s["N"], s["K"]))
    case = Case(op, random, a=a, b=wide)
    case.arguments = turn((a, b), [side for side in "ab" if flips[side]])
    found = {op.a, "linalg", "dynamic depth" if "K" in op.dynamic else "",
             "odd depth" if s["K"] % op.block else "", "transposed a" if flips["a"] else "",
             "transposed b" if flips["b"] else "", "shared b" if is_shared else "",
             "narrow result" if op.result != "f32" else "", "batch" if op.batch else ""}
    return op, case, linalg_text(op, flips, is_shared), found


def is_raised(text, chip):
    """Whether a function of linalg is the op without scales, and nothing else multiplies."""
    printed = subprocess.run(["blockscale-opt", f"--blockscale-to-gpu=chip={chip} to=form-kernels"],
                             input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    return len(re.findall("blockscale.scaled_mm", printed)) == 1 and "arith.mulf" not in printed


def check(folder, seed, number, place):
    """The case's op and properties, and the problem of each schedule."""
    is_linalg = number % 4 == 3
    op, case, text, found = draw_linalg(seed, number) if is_linalg else draw_product(
        seed, number, place)
    path = folder / f"{number}"
    if place == "cpu":
        ((wrong, results),) = run_places(text, case.arguments, 1, path, [ON_CPU])
        problems = [wrong or case.problem(results[0])]
    else:
        problems = random_cases.find_problems(text, case, place, path)
        if is_linalg and not is_raised(text, place):
            problems = ["expected one scaled_mm, but got another module"] * len(SCHEDULES)
    return op, found - {""}, problems


if __name__ == "__main__":
    is_one = any(argument.startswith("--target") for argument in sys.argv)
    random_cases.main(__doc__, check, COMMON if is_one else LEAST, 56, TURNS)
