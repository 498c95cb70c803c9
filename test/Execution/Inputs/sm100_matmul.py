# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products drawn at random in the emulator, as kernels of SM100 under both
schedules, and compares with numpy, within the bound. Two fifths of the cases are grouped.
Odd cases have a schedule of their own, so that few CTAs compute many tiles
through few stages; many of them are tiles of pairs. With --ledger, the cases that have
what only some kernels do are counted, and there must be enough of each (LEAST).
Where results are rounded more than once, sums are exact (exact.py), and results are the
bytes of the CPU."""

import argparse
import os
import re
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import even_scales
import exact
import random_cases
from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_places
from products import Case, Op

MX_DATA = ("f8E4M3FN", "f8E5M2", "f4E2M1FN", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN")
GROUP_UNIT = 32  # elements of K
KINDS = ("mm", "rows", "mm", "columns", "mm")
# Exponents of E4M3 scales; where results are f16, scales are less than 2.
POWERS, SMALL = range(-6, 5), range(-4, -1)
# Exponents of MX results of f16, by how much a row of infinite ones is larger, and of how
# many rows there is one.
TYPICAL, INFINITE, MOST_BEFORE_INFINITY = (5, 9), 12, 64
PAIRS = 0.6  # of the schedules that are drawn
ODD = 1  # of a stream of random numbers beside that of the case
# Of each property of a case, how many cases have it at least; see `properties`.
LEAST = {"pair, wide": 10, "multicast, wide": 10, "ring wraps twice": 10,
         "ring of a pair wraps twice": 5, "three tiles a cluster": 10, "rows": 10, "columns": 10,
         "rows in pairs": 3, "columns in pairs": 3, "nvfp4": 20, "mxf4": 2, "mxf8f6f4": 20,
         "mxf8f6f4 in pairs": 5, "split": 3, "last scale id 0": 2, "last scale id 1": 3,
         "last scale id 2": 3, "last scale id 3": 3, "tail of K": 20, "no K": 2,
         "rows moved apart": 8}
FIELD = re.compile(r"(\w+) = (\d+)")
MOST_STAGES = {(128, 128): 6, (128, 256): 4, (256, 256): 5}


def draw_op(random, name, kind, is_pair):
    def pick(*choices):
        return choices[random.integers(len(choices))]

    is_nvfp4 = random.random() < 0.4
    form = ("", "scalar", "rank_0", "each", *(("row",) * (kind == "mm"))) if is_nvfp4 else ("",)
    layouts = ("linear", "swizzled", "swizzled" if kind == "mm" else "grouped")
    op = Op(name, kind, scale="f8E4M3FN" if is_nvfp4 else "f8E8M0FNU",
            a="f4E2M1FN" if is_nvfp4 else pick(*MX_DATA),
            b="f4E2M1FN" if is_nvfp4 else pick(*MX_DATA),
            result=pick("f32", "bf16", *(() if is_pair else ("f16",))), layout_a=pick(*layouts),
            layout_b=pick(*(layouts[:2] if kind == "rows" else layouts)),
            global_a=pick(*form), global_b=pick(*form),
            bias=pick("", "f32", "bf16", "f16"),
            scaling=pick("", "", "after_rounding") if is_nvfp4 else "",
            batch=pick(0, 0, 0, 1, 2),
            dynamic="".join(letter for letter in "BMNK" if random.random() < 0.5))
    if kind != "mm":
        op.batch = 0
        op.has_bias_each = random.random() < 0.5
    op.shape = draw_shape(random, op, is_pair)
    return op


def draw_ends(random, op, unit_of_k=GROUP_UNIT):
    """Up to eight groups, some of them empty, sometimes all; sometimes the last one ends
    before the dimension does. Groups of K begin at multiples of 32 (clause sm100_mm_c6)."""
    extent, unit = (op.shape["M"], 1) if op.kind == "rows" else (op.shape["K"], unit_of_k)
    count = op.shape["G"]
    if random.random() < 0.1:
        return (0,) * count
    # Few places to end at leave groups empty.
    places = random.integers(0, extent // unit + 1, int(random.integers(1, count + 1)))
    ends = unit * np.sort(random.choice(places, count))
    if random.random() < 0.7:
        ends[-1] = extent
    return tuple(ends.tolist())


def draw_shape(random, op, is_pair):
    """M and N from 1 to 300, mostly in one or two tiles, in pairs more than 128; K a
    multiple of 32, often of 128, sometimes 0."""
    def size(limit, least=1):
        return int(random.integers(least, limit + 1))

    unit = int(random.choice((32, 32, 128)))
    steps = 0 if random.random() < 0.08 else size(1024 // unit)
    large = is_pair or (random.random() < 0.3 and not op.batch)
    least = 129 if is_pair else 1
    # Rows of results that begin anywhere, or where wide stores may.
    cols = size(300 if large else 150, least)
    unit_of_cols = int(random.choice((1, 1, 8, 16)))
    shape = {"B": tuple(size(2) for _ in range(op.batch)),
             "M": size(300 if large else 150, least),
             "N": -(-cols // unit_of_cols) * unit_of_cols,
             "K": unit * steps}
    return shape if op.kind == "mm" else {**shape, "G": size(8)}


def add_odd_block(op, seed, number):
    """Gives every second product of NVFP4 that can have it one more block of K: rows of codes
    are no multiple of 16 bytes then, and are moved apart before the product, which needs a
    static K (clauses sm100_mm_c2 and sm90_mm_c2)."""
    can_have_it = op.block == 16 and "K" not in op.dynamic
    if can_have_it and np.random.default_rng((seed, number, ODD)).random() < 0.5:
        op.shape["K"] += op.block


def draw_schedule(random, op, is_pair):
    rows, cols = (256, 256) if is_pair else (128, int(random.choice((128, 256))))
    multicast = int(random.integers(1, 3)) if rows == 256 else 1
    splits = int(random.choice((1, 1, 2, 3))) if op.kind == "mm" else 1
    return (f"#blockscale.gemm_schedule<rows = {rows}, cols = {cols}, "
            f"stages = {random.integers(1, MOST_STAGES[rows, cols] + 1)}, "
            f"band = {random.integers(1, 3)}, ctas = {random.integers(1, 6)}, "
            f"multicast = {multicast}, splits = {splits}>")


def draw_case(random, op):
    """Results of f16 and to which a bias of f16 is added are in its range, but for a row of
    A now and then, whose results are infinite."""
    ends = () if op.kind == "mm" else draw_ends(random, op)
    lead = {"mm": op.shape["B"], "rows": (len(ends),), "columns": ()}[op.kind]
    cols = op.shape["K"] // op.block
    shapes = [(*(lead if op.kind == "mm" else ()), op.shape["M"], cols),
              (*lead, op.shape["N"], cols)]
    if op.scaling:
        sa, sb = (exact.scales(random, op.scale, shape) for shape in shapes)
        case = Case(op, random, ends, sa=sa, sb=sb)
        exact.demand(*case.values)
        return case
    is_narrow = "f16" in (op.result, op.bias)
    is_mx = op.scale == "f8E8M0FNU"
    powers = range(-40, 41) if is_mx else SMALL if is_narrow else POWERS
    sa, sb = (even_scales.scales(random, op.scale, shape, powers) for shape in shapes)
    if is_mx and op.result == "f16" and op.shape["M"] > MOST_BEFORE_INFINITY:
        sa[..., random.integers(op.shape["M"]), :] += INFINITE
    typical = random.integers(*(TYPICAL if is_narrow else (-40, 41))) if is_mx else None
    return Case(op, random, ends, sa=sa, sb=sb, typical=typical,
                bias_share=2.0 ** random.integers(-4, 1))


def problem(case, got, on_cpu):
    if isinstance(got, str):
        return got
    return case.problem(got) if on_cpu is None else first_difference([got], [on_cpu])


def draw(seed, number, name="mm"):
    """An op, its case and the text of its function."""
    random = np.random.default_rng((seed, number))
    is_pair = number % 2 and random.random() < PAIRS
    op = draw_op(random, name, KINDS[number % len(KINDS)], is_pair)
    add_odd_block(op, seed, number)
    case = draw_case(random, op)
    text = op.text()
    if number % 2:
        text = text.replace("\n      : ", " {blockscale.schedule = "
                            f"{draw_schedule(random, op, is_pair)}}}\n      : ", 1)
    return op, case, text


def check(folder, seed, number, chip):
    """The problem of each schedule of a case."""
    op, case, text = draw(seed, number)
    places = [["--on=emulator", f"--target={chip}", *schedule] for schedule in SCHEDULES]
    places += [ON_CPU] if op.scaling else []
    runs = [wrong or results[0] for wrong, results in
            run_places(text, case.arguments, 1, folder / f"{number}", places)]
    on_cpu = runs.pop() if op.scaling else None
    return op, [problem(case, got, on_cpu) for got in runs]


def properties(op, case, schedule):
    """What of a kernel a case needs. `schedule` has the fields that are not 1."""
    rows, cols = schedule["rows"], schedule["cols"]
    shared, splits = schedule.get("multicast", 1), schedule.get("splits", 1)
    m, n, k = (op.shape[letter] for letter in "MNK")
    is_pair, is_four = rows == 256, op.a == op.b == "f4E2M1FN"
    kind = "nvfp4" if op.scale == "f8E4M3FN" else "mxf4" if is_four else "mxf8f6f4"
    heights, depths = [m], [k]
    if op.kind == "rows":
        heights = np.diff([0, *case.legal])
    if op.kind == "columns":
        depths = np.diff([0, *case.legal]) * op.block
    tiles = sum(-(-int(height) // rows) for height in heights) * -(-n // (cols * shared))
    tiles *= int(np.prod(op.shape["B"])) * len(depths) * splits
    clusters = max(1, schedule["ctas"] // ((2 if is_pair else 1) * shared))
    each = -(-tiles // clusters)  # of the cluster that has most
    step = 256 if is_four else 128
    steps = each * (sum(-(-int(depth) // step) for depth in depths) / len(depths)) / splits
    wraps = steps > 2 * schedule["stages"]
    wide = m > 128 and n > 128 and op.result != "f16" and k > 0
    found = {kind, "no K" if not k else "", "tail of K" if k % step else "",
             "pair, wide" if is_pair and wide else "",
             "multicast, wide" if shared > 1 and wide else "",
             "ring wraps twice" if wraps else "",
             "ring of a pair wraps twice" if wraps and is_pair else "",
             "three tiles a cluster" if each >= 3 and k else "",
             "split" if splits > 1 and k else "", "rows moved apart" if k % 32 else ""}
    if op.kind != "mm" and case.legal[-1]:
        found |= {op.kind, f"{op.kind} in pairs" if is_pair else ""}
    if kind == "mxf8f6f4" and k:
        # One byte of four for each 32 elements.
        found |= {f"last scale id {(k // 32 - 1) % 4}", "mxf8f6f4 in pairs" if is_pair else ""}
    return found - {""}


def record_ledger(expect, folder, seed, count):
    """Counts the cases of each property, with the schedules that the compiler has."""
    drawn = [draw(seed, number, f"mm{number}") for number in range(count)]
    module = folder / "ledger.mlir"
    module.write_text("".join(text for *_, text in drawn))
    printed = subprocess.run(["blockscale-opt", module, "--blockscale-choose-schedules"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    schedules = re.findall(r"blockscale.schedule = #blockscale.gemm_schedule<([^>]*)>", printed)
    counts = Counter()
    for (op, case, _), text in zip(drawn, schedules, strict=True):
        schedule = {name: int(value) for name, value in FIELD.findall(text)}
        counts.update(properties(op, case, schedule))
    random_cases.record_counts(expect, counts, LEAST)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--target", default="sm_100a", help="the chip")
    parser.add_argument("--ledger", action="store_true", help="count what cases need")
    options = parser.parse_args()
    expect = Expectations()
    if options.ledger:
        record_ledger(expect, options.folder, options.seed, options.cases)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = pool.map(lambda i: check(options.folder, options.seed, i, options.target),
                         range(options.cases))
        for i, (op, problems) in enumerate(cases):
            for schedule, problem in zip(SCHEDULES, problems):
                expect.record(f"case {i} {schedule}: {op}", problem)
    expect.finish()


if __name__ == "__main__":
    main()
