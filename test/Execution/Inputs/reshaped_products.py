# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions in which reshapes lie between products and what their kernels can compute or
read, in the emulator for several chips: the bytes are those of separate kernels (`--fuse=false`),
under both schedules, and there are as many launches as each case says.

Usage: reshaped_products.py FOLDER
"""

import argparse
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import SCHEDULES, run_launches
from reshaped_cases import CASES

CHIPS = ("sm_80", "sm_90a", "sm_100a")


def draw(random, shape):
    """Numbers of bf16, as bits."""
    numbers = random.standard_normal(shape).astype(np.float32)
    return (numbers.view(np.uint32) >> 16).astype(np.uint16)


def check(folder, case, chip):
    """(What is compared, its problem) for a case on a chip."""
    random = np.random.default_rng(1)
    arrays = [draw(random, shape) for shape in case.shapes]
    emulator = ["--on=emulator", f"--target={chip}", "--profile"]
    places = [[*emulator, "--fuse=false"], *([*emulator, *each] for each in SCHEDULES)]
    (problem, expected, _), *runs = run_launches(case.text, arrays, case.results, folder, places)
    yield "separate kernels", problem
    wanted = case.launches if isinstance(case.launches, int) else case.launches[chip]
    for schedule, (problem, got, launches) in zip(("prompt", "adversarial"), runs, strict=True):
        yield schedule, problem or first_difference(got, expected)
        yield (f"launches, {schedule}",
               None if launches == wanted else f"expected {wanted}, but got {launches}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to compile")
    folder = parser.parse_args().folder
    expect = Expectations()
    jobs = list(itertools.product(CASES, CHIPS))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, chip), problems in zip(jobs, pool.map(
                lambda job: list(check(folder / "_".join(job), CASES[job[0]], job[1])),
                jobs), strict=True):
            for what, problem in problems:
                expect.record(f"{name}, {chip}, {what}", problem)
    expect.finish()


if __name__ == "__main__":
    main()
