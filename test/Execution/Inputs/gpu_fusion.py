# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles modules with kernels of several ops and with a kernel for each op, runs both in
the emulator, under both schedules, and compares their bytes with the CPU's (C12): on the
shapes of C13 with up to 2^20 elements, and on random ones, of which TransformerEngine's
kernels take some (C3, C4). Batches of cases take turns with the chips. A case is at most 2
launches on each, and 3 where amaxes of groups are computed.

Usage: gpu_fusion.py FOLDER [--listed] [--random N] [--kind KIND] [--target CHIP]...
                     [--seed SEED] [--jobs N]
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
from fusion_cases import draw_case, function, is_eligible, listed, operands_of
from gpu_calls import SCHEDULES, run_places
from module import Module

CHIPS = ("sm_100a", "sm_90a", "sm_110a", "sm_120a", "sm_103a")
#: What all cases of a kind have: rows and transformed columns with their amaxes.
RECIPE = {"directions": ("row", "col"), "globals": "computed"}
KINDS = {
    "any": {},
    "plain": {**RECIPE, "is_grouped": False, "is_stochastic": False},
    "stochastic": {**RECIPE, "is_grouped": False, "is_stochastic": True},
    "grouped": {**RECIPE, "is_grouped": True},
}
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
                          is_dynamic=False,
                          mask=case.mask if of == "col" else None,
                          swizzled=(case.swizzled[of == "col"],) * 2)

    def call(self, case, arrays):
        return [result for key in self._keys(case)
                for result in self._module.call(self._names[key], *operands_of(key, arrays))]


def lower(module, chip, to, options=""):
    run = subprocess.run(
        ["blockscale-opt", module, f"--blockscale-to-gpu=chip={chip} to={to} {options}"],
        capture_output=True, text=True, check=True)
    return run.stdout


def kernels_of(module, chip, options=""):
    """The ops of each kernel."""
    _, *kernels = lower(module, chip, "form-kernels", options).split("= blockscale.kernel ")
    return [re.findall(r"= blockscale\.(\w+) ", kernel) for kernel in kernels]


def count_reads(module, chip):
    """How many tensors all kernels read: a kernel may have several."""
    _, *kernels = lower(module, chip, "form-kernels").split("= blockscale.kernel ")
    reads = re.compile(r"= blockscale\.(?:amax|amax_parts|hadamard|quantize) (%arg\d+) .*"
                       r": tensor<[^>]*xbf16>")
    return sum(len(set(reads.findall(kernel))) for kernel in kernels)


def check_kernels(expect, what, module, cases, chip):
    """A case is a kernel or a part of one, and another one before it for amaxes that its
    quantizations need; where it has amaxes of groups, or none but amaxes that it returns, a launch
    clears them. Of the sizes of TransformerEngine alone, other transforms have kernels of their
    own."""
    count, wanted = (count_reads(module, chip),
                     sum(2 if case.globals == "computed" else 1 for case in cases))
    expect.record(f"{what}: kernels", None if count == wanted else f"{count}, not {wanted}")
    count = lower(module, chip, "lower-kernels").count("gpu.launch_func ")
    most = sum({"computed": 3 if case.is_grouped else 2, "both": 2, "given": 1}[case.globals]
               for case in cases)
    expect.record(f"{what}: launches", None if 0 < count <= most else f"{count}, not {most}")
    alone = [ops for ops in kernels_of(module, "sm_100a", "transforms=te") if ops == ["hadamard"]]
    refused = [case for case in cases if "col" in case.directions and not (
        is_eligible(case.shape, case.is_grouped) and not case.is_dynamic)]
    expect.record(f"{what}: transforms that TransformerEngine refuses",
                  None if len(alone) == len(refused) else f"{len(alone)}, not {len(refused)}")
    shared = [ops for ops in kernels_of(module, chip, "fuse=false") if len(ops) != 1]
    expect.record(f"{what}: kernels of several ops without fusion", shared or None)


def make_places(chip):
    """With fusion under both schedules, and without."""
    on = ("--on=emulator", f"--target={chip}")
    return [(*on, *schedule) for schedule in SCHEDULES] + [(*on, "--fuse=false")]


def run_batch(cases, arrays, folder, places):
    """For each place the problem, and each case's results where there is none."""
    counts = [len(case.write()[2]) for case in cases]
    operands = [array for case, given in zip(cases, arrays) for array in operands_of(case, given)]
    for problem, results in run_places(function(cases), operands, sum(counts), folder, places):
        results = iter(results)
        yield problem, [] if problem else [[next(results) for _ in range(n)] for n in counts]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--listed", action="store_true", help="the shapes of C13")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="so many at random")
    parser.add_argument("--kind", default="any", choices=KINDS, help="of those at random")
    parser.add_argument("--target", action="append", metavar="CHIP", help="of the emulator")
    parser.add_argument("--seed", type=int, default=0, help="of what is random")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="processes at once")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    random, expect = np.random.default_rng(options.seed), Expectations()
    cases = [draw_case(random, **KINDS[options.kind]) for _ in range(options.random)]
    cases += listed(1 << 20) if options.listed else []
    batches = [cases[i:i + CASES_OF_A_BATCH] for i in range(0, len(cases), CASES_OF_A_BATCH)]
    chips = options.target or CHIPS
    chips = [chips[i % len(chips)] for i in range(len(batches))]
    places = [make_places(chip) for chip in chips]
    arrays = [[case.draw(random) for case in batch] for batch in batches]
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(lambda *of: list(run_batch(*of)), batch, given,
                            options.folder / f"batch{i}", where)
                for i, (batch, given, where) in enumerate(zip(batches, arrays, places))]
        cpu = CpuFunctions(cases, options.folder)
        for i, (batch, given) in enumerate(zip(batches, arrays)):
            wanted = [cpu.call(*pair) for pair in zip(batch, given)]
            for place, (problem, results) in zip(places[i], runs[i].result()):
                for case, a, b in zip(batch, wanted, results or [None] * len(batch)):
                    expect.record(f"{case} {' '.join(place[1:])}",
                                  problem or first_difference(a, b))
            check_kernels(expect, f"batch {i} on {chips[i]}",
                          options.folder / f"batch{i}/module.mlir", batch, chips[i])
    expect.finish()


if __name__ == "__main__":
    main()
