#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All shapes of C13, up to 16384x16384, executed whole for sm_100a in the emulator: rows,
transformed columns and both, with and without the sign mask. Kernels of several ops, under both
schedules, give the bytes of a kernel for each op and those of the CPU, and are at most three
launches. Results are compared by digests.

A process of the largest shape needs 6 GiB of memory and 1 GiB of disk. All shapes take half an
hour of one core, most of it the two largest ones. The last line is `N passed, N failed`.

  scripts/long/whole-shapes.py [--shape MxK]... [--jobs N] [--target CHIP]
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, ROOT, build

sys.path.insert(0, str(ROOT / "test/Execution/Inputs"))
from cpu_fusion import digest, make
from expect import Expectations
from fusion_cases import SHAPES, function, listed
from gpu_calls import SCHEDULES

MOST_LAUNCHES = 3


def parse_shape(text):
    shape = tuple(int(size) if size.isdecimal() else 0 for size in text.split("x"))
    if shape not in SHAPES:
        raise argparse.ArgumentTypeError(
            f"expected one of {', '.join(f'{m}x{k}' for m, k in SHAPES)}, but got {text}")
    return shape


def list_runs(case, target):
    """Where a case runs, by what a line says of it: the first ones say what is wanted."""
    on = ("--on=emulator", f"--target={target}")
    runs = {"the CPU": ("--on=cpu",), "a kernel for each op": (*on, "--fuse=false")}
    # All results of a case of both directions are those of a case of one.
    if len(case.directions) > 1:
        runs = {}
    return runs | {f"fused, {schedule[0].removeprefix('--schedule=')}":
                   (*on, "--profile", *schedule) for schedule in SCHEDULES}


def run(case, place, x, folder):
    """Digests by result, how many kernels were launched, seconds, and the error."""
    folder.mkdir()
    module, start = folder / "module.mlir", time.monotonic()
    module.write_text(function([case]))
    names = [name for name, _ in case.write()[2]]
    digests, said = digest(module, x, len(names), folder, *place)
    return (dict(zip(names, digests)), said.count("\n") if digests else 0,
            time.monotonic() - start, "" if digests else said)


def check(expect, wanted, case, name, ended):
    """Compares a run with those before it."""
    digests, launches, seconds, problem = ended
    what = f"{case.shape} {'+'.join(case.directions)} mask {case.mask}, {name}"
    # The mask is that of columns.
    known = {result: wanted.setdefault(
        (case.shape, result, case.mask if result.startswith("col") else None), each)
        for result, each in digests.items()}
    wrong = [result for result in digests if digests[result] != known[result]]
    if wrong:
        problem = f"other bytes of {', '.join(wrong)}"
    expect.record(what, problem or None)
    if name.startswith("fused") and digests:
        expect.record(f"{what}: launches", None if launches <= MOST_LAUNCHES else str(launches))
    if not problem:
        print(f"{what}: {seconds:.1f} s{f', {launches} launches' if launches else ''}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", type=parse_shape, metavar="MxK",
                        help="one of the list; may be given several times")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="processes at once")
    parser.add_argument("--target", default="sm_100a", metavar="CHIP", help="of the emulator")
    options = parser.parse_args()
    build()
    os.environ["PATH"] = f"{BUILD / 'bin'}:{os.environ['PATH']}"
    os.environ["BLOCKSCALE_NUM_THREADS"] = "1"
    random, expect, wanted = np.random.default_rng(13), Expectations(), {}
    # Rows alone have no mask: of two such cases one is left out.
    cases = {}
    for case in listed(1 << 62):
        if not options.shape or case.shape in options.shape:
            cases.setdefault(function([case]), case)
    with (tempfile.TemporaryDirectory(prefix="whole-shapes-") as name,
          ThreadPoolExecutor(options.jobs) as pool):
        folder, jobs = Path(name), []
        for shape in dict.fromkeys(case.shape for case in cases.values()):
            np.save(folder / f"{shape}.npy", make(random, shape))
        # The largest begin first, so that none is left at the end.
        for case in sorted(cases.values(), key=lambda case: -np.prod(case.shape)):
            for where, place in list_runs(case, options.target).items():
                jobs.append((case, where, pool.submit(
                    run, case, place, folder / f"{case.shape}.npy", folder / str(len(jobs)))))
        for case, where, job in jobs:
            check(expect, wanted, case, where, job.result())
    expect.finish()


if __name__ == "__main__":
    sys.exit(main())
