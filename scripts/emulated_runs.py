# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of test/Execution/Inputs that scripts/long runs for several chips."""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from chip_list import list_chips
from long_programs import BUILD, PYTHON, ROOT, build

INPUTS = ROOT / "test/Execution/Inputs"


def run(program, environment):
    """Passed, failed, and what a failing program said last. `program` has its name and options."""
    name, *options = program
    with tempfile.TemporaryDirectory(prefix="emulated-") as folder:
        process = subprocess.run(
            [PYTHON, INPUTS / name, folder, *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **environment,
                 "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"})
    lines = process.stdout.splitlines()
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1] if lines else "")
    passed, failed = (int(counts[1]), int(counts[2])) if counts else (0, 1)
    if process.returncode and not failed:
        failed = 1
    return passed, failed, lines[-20:] if failed else []


def run_all(list_runs, left_out=()):
    """Builds, and runs the programs that `list_runs` lists for a chip, pairs of a program with
    its options and the environment, for each chip of the command line, or else that the compiler
    lists, but for those that are left out. Prints a line for each, and `N passed, N failed`. The
    exit status."""
    build()
    chips = sys.argv[1:] or [chip for chip in list_chips(BUILD) if chip not in left_out]
    totals = [0, 0]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(chip, program, pool.submit(run, program, environment))
                for chip in chips for program, environment in list_runs(chip)]
        for chip, program, job in jobs:
            passed, failed, said = job.result()
            totals = [totals[0] + passed, totals[1] + failed]
            print(f"{chip} {program[0]}: {passed} passed, {failed} failed", flush=True)
            for line in said:
                print(f"     {line}")
    print(f"{totals[0]} passed, {totals[1]} failed")
    return 1 if totals[1] else 0
