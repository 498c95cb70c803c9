# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of products that are drawn at random: each in the emulator under both schedules, and a
count of the properties that only some have."""

import argparse
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from expect import Expectations
from gpu_calls import SCHEDULES, run_places


def find_problems(text, case, target, folder, find_problem=None):
    """What is wrong with the results of a function, one problem or None for each schedule.
    `find_problem` finds it in a result, by the case if it is absent."""
    find_problem = find_problem or case.problem
    places = [["--on=emulator", f"--target={target}", *schedule] for schedule in SCHEDULES]
    runs = [wrong or results[0] for wrong, results in
            run_places(text, case.arguments, 1, folder, places)]
    return [got if isinstance(got, str) else find_problem(got) for got in runs]


def record_counts(expect, counts, least):
    """There are as many cases of each property as `least` says."""
    for name, number in least.items():
        print(f"{name}: {counts[name]} cases")
        expect.record(name, None if counts[name] >= number else
                      f"expected at least {number} cases, but got {counts[name]}")


def main(description, check, least, count, chips):
    """`check` has a case's op, its properties and its problems, from a folder, the seed, the
    number of the case and its chip. `count` cases are run unless the command line says otherwise;
    `chips` take turns unless it names one."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=count)
    parser.add_argument("--target", help=f"the chip; {', '.join(chips)} in turn if none is given")
    options = parser.parse_args()
    turns = [options.target] if options.target else list(chips)
    expect, counts = Expectations(), Counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = pool.map(lambda i: check(options.folder, options.seed, i, turns[i % len(turns)]),
                         range(options.cases))
        for i, (op, found, problems) in enumerate(cases):
            counts.update(found)
            for schedule, problem in zip(SCHEDULES, problems):
                expect.record(f"case {i} {turns[i % len(turns)]} {schedule}: {op}", problem)
    record_counts(expect, counts, least)
    expect.finish()
