# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles modules for SM100 with kernels of several ops and with a kernel for each op,
runs both in the emulator, and compares their bytes with the CPU's (C12): on the shapes of
C13 with up to 2^20 elements, and on random ones that the gate for transforms takes, and
ones that it does not (C3, C4).

Usage: gpu_fusion.py FOLDER [--listed] [--eligible N] [--ineligible N] [--seed SEED]
"""

import argparse
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from fusion_cases import draw_case, function, listed, operands_of
from gpu_calls import run_module
from module import Module

EMULATOR = ("--on=emulator", "--target=sm_100a")
PLACES = (EMULATOR, (*EMULATOR, "--fuse=false"))
CASES_OF_A_BATCH = 20


class CpuFunctions:
    """Functions of one direction each, with dynamic sizes, for the CPU."""

    def __init__(self, cases, folder):
        keys = list(dict.fromkeys(key for case in cases for key in self._keys(case)))
        self._names = {key: f"f{i}" for i, key in enumerate(keys)}
        self._module = Module("".join(function([key], name) for key, name in self._names.items()),
                              folder, cpu="host", optimize=False)

    @staticmethod
    def _keys(case):
        for of in case.directions:
            yield replace(case, shape=("?",) * len(case.shape), directions=(of,),
                          mask=case.mask if of == "col" else None,
                          swizzled=(case.swizzled[of == "col"],) * 2)

    def call(self, case, arrays):
        return [result for key in self._keys(case)
                for result in self._module.call(self._names[key], *operands_of(key, arrays))]


def kernels_of(module, fuse):
    """The ops of each kernel."""
    run = subprocess.run(
        ["blockscale-opt", module, f"--blockscale-to-sm100=to=form-kernels fuse={fuse}"],
        capture_output=True, text=True, check=True)
    _, *kernels = run.stdout.split("= blockscale.kernel ")
    return [re.findall(r"= blockscale\.(\w+) ", kernel) for kernel in kernels]


def check_kernels(expect, what, module, cases, eligible):
    """A transform is in the kernels of those that take it, or alone."""
    transforms = [ops for ops in kernels_of(module, "true") if "hadamard" in ops]
    enough = len(transforms) >= sum("col" in case.directions for case in cases)
    right = enough and all((len(ops) > 1) == eligible for ops in transforms)
    expect.record(f"{what}: kernels with transforms", None if right else transforms)
    shared = [ops for ops in kernels_of(module, "false") if len(ops) != 1]
    expect.record(f"{what}: kernels of several ops without fusion", shared or None)


def run_batch(cases, arrays, folder, place):
    """The problem, or each case's results."""
    counts = [len(case.write()[2]) for case in cases]
    operands = [array for case, given in zip(cases, arrays) for array in operands_of(case, given)]
    problem, results = run_module(function(cases), operands, sum(counts), folder, place)
    results = iter(results)
    return problem, [] if problem else [[next(results) for _ in range(n)] for n in counts]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--listed", action="store_true", help="the shapes of C13")
    parser.add_argument("--eligible", type=int, default=0, metavar="N", help="so many at random")
    parser.add_argument("--ineligible", type=int, default=0, metavar="N", help="the same")
    parser.add_argument("--seed", type=int, default=0, help="of what is random")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    random, expect = np.random.default_rng(options.seed), Expectations()
    kinds = {True: [draw_case(random, True) for _ in range(options.eligible)],
             False: [draw_case(random, False) for _ in range(options.ineligible)]}
    kinds[True] += listed(1 << 20) if options.listed else []
    batches = [(eligible, cases[i:i + CASES_OF_A_BATCH]) for eligible, cases in kinds.items()
               for i in range(0, len(cases), CASES_OF_A_BATCH)]
    arrays = [[case.draw(random) for case in cases] for _, cases in batches]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [[pool.submit(run_batch, cases, given, options.folder / f"batch{i}-{j}", place)
                 for j, place in enumerate(PLACES)]
                for i, ((_, cases), given) in enumerate(zip(batches, arrays))]
        cpu = CpuFunctions(kinds[True] + kinds[False], options.folder)
        for i, ((eligible, cases), given) in enumerate(zip(batches, arrays)):
            wanted = [cpu.call(*pair) for pair in zip(cases, given)]
            for place, run in zip(PLACES, runs[i]):
                problem, results = run.result()
                for case, a, b in zip(cases, wanted, results or [None] * len(cases)):
                    expect.record(f"{case} {place[-1]}", problem or first_difference(a, b))
            module = options.folder / f"batch{i}-0/module.mlir"
            check_kernels(expect, f"batch {i}", module, cases, eligible)
    expect.finish()


if __name__ == "__main__":
    main()
