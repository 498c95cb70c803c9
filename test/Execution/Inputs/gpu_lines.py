# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of several lines each, which one function makes in the emulator and on the CPU. The
results are the same.

A call has `write()`, which gives its lines, its arguments with their types and its results
with theirs; `arrays` for the arguments; and `what`, which names it where a result differs."""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from expect import Expectations, first_difference
from gpu_calls import ON_CPU, PLACES, SCHEDULES, run_module
from ops import with_one_nan


def parse_options(count):
    """The arguments of a program that runs named cases, and by default `count` random ones."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--random", type=int, default=count, metavar="N",
                        help="random cases beside the named ones")
    parser.add_argument("--target", action="append", metavar="CHIP", default=[],
                        help="to run for under both schedules, instead of two chips")
    return parser.parse_args()


def function(calls):
    lines, arguments, results = "", [], []
    for call in calls:
        text, needed, made = call.write()
        lines, arguments, results = lines + text, arguments + needed, results + made
    return (f"func.func @calls({', '.join(f'{name}: {type}' for name, type in arguments)}) -> "
            f"({', '.join(type for _, type in results)}) {{\n{lines}"
            f"  return {', '.join(name for name, _ in results)} : "
            f"{', '.join(type for _, type in results)}\n}}\n"), results


def check(folder, calls, targets=()):
    """Runs all calls in each place, or for `targets` under both schedules, and counts those that
    give the bytes of the CPU."""
    expect = Expectations()
    places = PLACES if not targets else (
        ON_CPU, *(("--on=emulator", f"--target={chip}", *schedule)
                  for chip in targets for schedule in SCHEDULES))
    text, results = function(calls)
    arrays = [array for call in calls for array in call.arrays]

    def run(place):
        name = "-".join(place[:3] if targets else place[:2]).replace("--", "").replace("=", "-")
        problem, loaded = run_module(text, arrays, len(results), folder / name, place)
        if problem:
            expect.record(str(place), problem)
            expect.finish()
        return [with_one_nan(array, type) for array, (_, type) in zip(loaded, results)]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wanted, *others = pool.map(run, places)
    for place, got in zip(places[1:], others):
        pairs = iter(zip(got, wanted))
        for call in calls:
            mine = [next(pairs) for _ in call.write()[2]]
            expect.record(f"{place[1]}: {call.what}",
                          first_difference([a for a, _ in mine], [b for _, b in mine]))
    expect.finish()
