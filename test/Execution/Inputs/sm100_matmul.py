# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products drawn at random in the emulator, as kernels of SM100 under both
schedules, and compares with numpy, within the bound. Odd cases have a schedule of
their own, so that few thread blocks compute many tiles through few stages. Where
results are rounded more than once, scales are 1, so that sums are exact, and results
are the bytes of the CPU."""

import argparse
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from products import Case, Op

MX_DATA = ("f8E4M3FN", "f8E5M2", "f4E2M1FN", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN")
EMULATOR = "--on=emulator"
SCHEDULES = ((EMULATOR, "--schedule=prompt"), (EMULATOR, "--schedule=adversarial", "--seed=1"))
E4M3_ONE = 0x38
MOST_STAGES = {(128, 128): 6, (128, 256): 4, (256, 256): 5}


def draw_op(random, name):
    def pick(*choices):
        return choices[random.integers(len(choices))]

    is_nvfp4 = random.random() < 0.4
    form = ("", "scalar", "rank_0", "each", "row") if is_nvfp4 else ("",)
    op = Op(name, scale="f8E4M3FN" if is_nvfp4 else "f8E8M0FNU",
            a="f4E2M1FN" if is_nvfp4 else pick(*MX_DATA),
            b="f4E2M1FN" if is_nvfp4 else pick(*MX_DATA),
            result=pick("f32", "bf16", "f16"), layout_a=pick("linear", "swizzled", "swizzled"),
            layout_b=pick("linear", "swizzled", "swizzled"),
            global_a=pick(*form), global_b=pick(*form),
            bias=pick("", "f32", "bf16", "f16"),
            scaling=pick("", "", "after_rounding") if is_nvfp4 else "",
            batch=pick(0, 0, 0, 1, 2),
            dynamic="".join(letter for letter in "BMNK" if random.random() < 0.5))
    op.shape = draw_shape(random, op)
    return op


def draw_shape(random, op):
    """M and N from 1 to 300, mostly in one or two tiles; K a multiple of 32, often of
    128, sometimes 0."""
    def size(limit):
        return int(random.integers(1, limit + 1))

    unit = int(random.choice((32, 32, 128)))
    steps = 0 if random.random() < 0.08 else size(1024 // unit)
    large = random.random() < 0.3 and not op.batch
    # Rows of results that begin anywhere, or where wide stores may.
    cols = size(300 if large else 150)
    unit_of_cols = int(random.choice((1, 1, 8, 16)))
    return {"B": tuple(size(2) for _ in range(op.batch)),
            "M": size(300 if large else 150),
            "N": -(-cols // unit_of_cols) * unit_of_cols,
            "K": unit * steps}


def draw_schedule(random):
    rows, cols = ((128, 128), (128, 256), (256, 256))[random.integers(3)]
    multicast = int(random.integers(1, 3)) if rows == 256 else 1
    splits = int(random.choice((1, 1, 2, 3)))
    return (f"#blockscale.gemm_schedule<rows = {rows}, cols = {cols}, "
            f"stages = {random.integers(1, MOST_STAGES[rows, cols] + 1)}, "
            f"band = {random.integers(1, 3)}, ctas = {random.integers(1, 9)}, "
            f"multicast = {multicast}, splits = {splits}>")


def run(folder, case, text, place):
    """The result, or what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    module, result = folder / "mm.mlir", folder / "y.npy"
    module.write_text(text)
    command = ["blockscale-run", module, "--entry=" + case.op.name, *place]
    for i, array in enumerate(case.arguments):
        path = folder / f"{i}.npy"
        np.save(path, array)
        command.append(f"--in={path}")
    done = subprocess.run([*command, f"--out={result}"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip() or f"exit status {done.returncode}"
    return np.load(result)


def draw_case(random, op):
    if not op.scaling:
        return Case(op, random)
    ones = [np.full((*op.shape["B"], op.shape[rows], op.shape["K"] // op.block), E4M3_ONE, np.uint8)
            for rows in "MN"]
    return Case(op, random, sa=ones[0], sb=ones[1])


def problem(case, got, on_cpu):
    if isinstance(got, str):
        return got
    return case.problem(got) if on_cpu is None else first_difference([got], [on_cpu])


def check(folder, seed, number):
    """The problem of each schedule of a case."""
    random = np.random.default_rng((seed, number))
    op = draw_op(random, "mm")
    case = draw_case(random, op)
    text = op.text()
    if number % 2:
        text = text.replace("\n      : ", " {blockscale.schedule = "
                            f"{draw_schedule(random)}}}\n      : ", 1)
    on_cpu = run(folder / f"{number}-cpu", case, text, ["--on=cpu"]) if op.scaling else None
    return op, [problem(case, run(folder / f"{number}-{i}", case, text, place), on_cpu)
                for i, place in enumerate(SCHEDULES)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=60)
    options = parser.parse_args()
    expect = Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = pool.map(lambda i: check(options.folder, options.seed, i), range(options.cases))
        for i, (op, problems) in enumerate(cases):
            for schedule, problem in zip(SCHEDULES, problems):
                expect.record(f"case {i} {schedule}: {op}", problem)
    expect.finish()


if __name__ == "__main__":
    main()
