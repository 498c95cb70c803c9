# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of NVFP4 whose K is an odd number of blocks, in the emulator, as kernels of
SM100 and of sm_90a under two schedules, and compares with numpy, within the bound: of
arguments and of constants, of two scaled operands and of a plain one, dense, batched, in
groups of rows and of K. Scales are large, so that codes behind the end of a row, which are
those of the next one, would be seen."""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import even_scales
from expect import Expectations
from gpu_calls import SCHEDULES, run_places
from products import PLAIN, Case, Op

DEPTHS = (16, 48, 80, 272)
# Rows and columns of two tiles and of one.
SIZES = ((200, 140), (40, 24))
CHIPS = {"sm_100a": ("f4E2M1FN",), "sm_90a": ("f4E2M1FN", "bf16")}


def list_ops():
    """Each chip, with an op for it."""
    for chip, types in CHIPS.items():
        for i, depth in enumerate(DEPTHS):
            for a in types:
                m, n = SIZES[i % len(SIZES)]
                shape = {"B": (), "M": m, "N": n, "K": depth}
                yield chip, Op("mm", a=a, dynamic="M", shape=shape)
                yield chip, Op("mm", a=a, dynamic="B", batch=1, shape={**shape, "B": (3,)})
                yield chip, Op("mm", "rows", a=a, dynamic="M", shape={**shape, "G": 3})
                yield chip, Op("mm", "columns", a=a, dynamic="", shape={**shape, "G": 2})
    # The operand with codes can be A, too.
    shape = {"B": (), "M": 140, "N": 70, "K": 80}
    yield "sm_90a", Op("mm", b="f16", dynamic="N", shape=shape)
    yield "sm_90a", Op("mm", "rows", b="bf16", dynamic="", shape={**shape, "G": 3})


def get_ends(op):
    """Groups of K begin at multiples of 32 (clauses c7)."""
    if op.kind == "columns":
        return op.shape["K"] // 64 * 32, op.shape["K"]
    return (op.shape["M"] // 3, op.shape["M"] // 3, op.shape["M"]) if op.kind == "rows" else ()


def with_constant(text, op, case):
    """The function with B as a constant, and its arguments."""
    type = op.tensor({"mm": "BNK", "rows": "GNK", "columns": "NK"}[op.kind], op.b)
    bytes = case.codes[1].tobytes().hex().upper()
    constant = f'  %b = arith.constant dense<"0x{bytes}"> : {type}\n'
    head, body = text.replace(f", %b: {type}", "", 1).split("{\n", 1)
    return f"{head}{{\n{constant}{body}", [case.arguments[0], *case.arguments[2:]]


def check(folder, number, chip, op):
    """The problems, of arguments under both schedules and of constants under one."""
    random = np.random.default_rng(number)
    ends = get_ends(op)
    lead = {"mm": op.shape["B"], "rows": (len(ends),), "columns": ()}[op.kind]
    cols = op.shape["K"] // op.block
    scales = {}
    if op.a not in PLAIN:
        of_a = (*(lead if op.kind == "mm" else ()), op.shape["M"], cols)
        scales["sa"] = even_scales.scales(random, op.scale, of_a, range(3))
    if op.b not in PLAIN:
        scales["sb"] = even_scales.scales(random, op.scale, (*lead, op.shape["N"], cols), range(3))
    case = Case(op, random, ends, **scales)
    runs = [(op.text(), case.arguments)]
    if op.b not in PLAIN and not op.batch:
        runs.append(with_constant(op.text(), op, case))
    places = [["--on=emulator", f"--target={chip}", *schedule] for schedule in SCHEDULES]
    for i, (text, arguments) in enumerate(runs):
        for schedule, (wrong, results) in zip(SCHEDULES[i:], run_places(
                text, arguments, 1, folder / f"{number}-{i}", places[i:])):
            yield f"{chip} {('arguments', 'a constant')[i]} {schedule}: {op}", (
                wrong or case.problem(results[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to compile")
    options = parser.parse_args()
    expect = Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for problems in pool.map(lambda each: list(check(options.folder, each[0], *each[1])),
                                 list(enumerate(list_ops()))):
            for what, problem in problems:
                expect.record(what, problem)
    expect.finish()


if __name__ == "__main__":
    main()
