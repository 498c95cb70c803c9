# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of ops that run in the emulator, as kernels of two chips under two schedules,
and give the bytes of the CPU. The calls of a batch are one function, which runs once
at each place. Where $BLOCKSCALE_TEST_CHIPS names chips, separated by commas, the
kernels are those of these, each under both schedules."""

import argparse
import itertools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations, first_difference
from ops import with_one_nan

SCHEDULES = (("--schedule=prompt",), ("--schedule=adversarial", "--seed=1"))
# Code that is not optimized gives the same bits, and is compiled in a third of the time.
ON_CPU = ("--on=cpu", "--optimize=0")
CALLS_OF_A_BATCH = 40
# What --profile prints of a launch.
PROFILED = re.compile(r"\S+: \d+ bytes of \.global read .*\n")


def make_places(*defaults):
    """The CPU, and the emulator for pairs of a chip and a schedule's number: for `defaults`
    unless the environment names chips."""
    if named := os.environ.get("BLOCKSCALE_TEST_CHIPS"):
        defaults = itertools.product(named.split(","), range(len(SCHEDULES)))
    return (ON_CPU, *(("--on=emulator", f"--target={chip}", *SCHEDULES[i])
                      for chip, i in defaults))


# The oldest chip refuses most instructions.
PLACES = make_places(("sm_100a", 0), ("sm_80", 1))


class Earlier:
    """In the place of an operand's array: the first result of the call that is `back`
    calls before, in the same batch."""

    def __init__(self, back):
        self.back = back


class Calls:
    """The calls of one script, whose command line is read here."""

    def __init__(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("folder", type=Path, help="where to compile")
        parser.add_argument("--pack", type=Path, metavar="DIR",
                            help="write bundles and the CPU's results there instead")
        parser.add_argument("--target", action="append", metavar="CHIP", help="to pack for")
        parser.add_argument("--every", type=int, default=1, metavar="N",
                            help="pack every Nth call")
        parser.add_argument("--seed", type=int, default=0, help="of calls at random")
        self._options = parser.parse_args()
        self.seed = self._options.seed
        self._folder, self._calls = self._options.folder, []

    def add(self, op, types, results, *arrays, transform=None):
        """A call: `op` with {0}, {1}, .. for its operands, their types, the result
        types, and arrays for the operands. An operand without an array is an index. The
        first operand goes through `transform`, the attributes of a hadamard."""
        self._calls.append((op, types, results, arrays, transform))

    def check(self):
        """Runs all calls, prints what differs, and exits."""
        if self._options.pack:
            return self._pack()
        expect = Expectations()
        batches = self._batches()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for calls, runs in zip(batches, [
                    [pool.submit(_run, calls, self._folder / f"batch{i}-{j}", place)
                     for j, place in enumerate(PLACES)] for i, calls in enumerate(batches)]):
                self._compare(expect, calls, [run.result() for run in runs])
        expect.finish()
        return None

    def _batches(self):
        return [self._calls[i:i + CALLS_OF_A_BATCH]
                for i in range(0, len(self._calls), CALLS_OF_A_BATCH)]

    def _pack(self):
        """Writes a bundle of each batch for each chip, and its arguments and results:
        what scripts/gpu/run.py takes."""
        self._calls = self._calls[::self._options.every]
        for i, calls in enumerate(self._batches()):
            name = f"{Path(sys.argv[0]).stem}-{i}"
            folder = self._folder / name
            problem, wanted = _run(calls, folder, PLACES[0])
            if problem:
                sys.exit(problem)
            for chip in self._options.target:
                subprocess.run(["blockscale-compile", folder / "module.mlir", f"--target={chip}",
                                "--emit=bundle", "-o",
                                self._options.pack / chip / f"{name}.bundle"], check=True)
            _, inputs = _function(calls)
            arrays = {f"in{i}": array for i, array in enumerate(inputs)}
            results = list(itertools.chain.from_iterable(wanted))
            arrays |= {f"out{i}": array for i, array in enumerate(results)}
            np.savez_compressed(
                self._options.pack / f"{name}.npz", **arrays,
                kinds=[f"{op.format(*types)}" for op, types, *_ in calls],
                types=[type for _, _, types, *_ in calls for type in types],
                counts=[len(types) for _, _, types, *_ in calls])
        print(len(self._calls))

    @staticmethod
    def _compare(expect, calls, runs):
        problems = [problem for problem, _ in runs if problem]
        for problem in problems:
            expect.record(f"{calls[0][0]} and those after it", problem)
        if problems:
            return
        (_, wanted), *others = runs
        for place, (_, got) in zip(PLACES[1:], others):
            for (op, types, results, arrays, transform), a, b in zip(calls, wanted, got,
                                                                     strict=True):
                a, b = ([with_one_nan(array, type) for array, type in zip(each, results)]
                        for each in (a, b))
                shapes = [np.shape(a) for a in arrays if not isinstance(a, Earlier)]
                what = f"{place[1]}: {transform or ''} {op.format(*types)} {shapes}"
                expect.record(what, first_difference(a, b))


def _function(calls):
    """The text of a function that is all calls, and its arguments' arrays. Calls of one
    array have one argument."""
    arguments, arrays, body, names, types, known = [], [], [], [], [], {}
    firsts = []
    for op, operand_types, results, given, transform in calls:
        operands = []
        for type, array in zip(operand_types, given, strict=True):
            if isinstance(array, Earlier):
                operands.append(firsts[-array.back])
                continue
            if (id(array), type) not in known:
                known[id(array), type] = f"%a{len(arrays)}"
                arguments.append(f"%a{len(arrays)}: {type}")
                arrays.append(array)
            operands.append(known[id(array), type])
        if transform is not None:
            body.append(f"  %h{len(body)} = blockscale.hadamard {operands[0]} {transform} : "
                        f"{operand_types[0]}\n")
            operands[0] = f"%h{len(body) - 1}"
        made = [f"%r{len(names) + i}" for i in range(len(results))]
        firsts.append(made[0])
        body.append(f"  {', '.join(made)} = blockscale.{op.format(*operands)}\n")
        names += made
        types += results
    return (f"func.func @calls({', '.join(arguments)}) -> ({', '.join(types)}) {{\n"
            f"{''.join(body)}  return {', '.join(names)} : {', '.join(types)}\n}}\n"), arrays


def _run(calls, folder, place):
    """Why there are no results, or None; those of each call."""
    counts = [len(results) for _, _, results, *_ in calls]
    problem, loaded = run_module(*_function(calls), sum(counts), folder, place)
    loaded = iter(loaded)
    return problem, [] if problem else [[next(loaded) for _ in range(n)] for n in counts]


def run_module(text, arrays, count, folder, place):
    """Why the module's function has no results, or None; its `count` results."""
    return run_places(text, arrays, count, folder, [place])[0]


def run_places(text, arrays, count, folder, places, timeout=None):
    """As run_module, for each place, by one process, which is killed behind `timeout`
    seconds. Places that differ only in their schedule share what is compiled."""
    return [(problem, results) for problem, results, _ in
            run_launches(text, arrays, count, folder, places, timeout)]


def run_launches(text, arrays, count, folder, places, timeout=None):
    """As run_places, with the number of launches at each place whose options have --profile."""
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / "module.mlir"
    module.write_text(text)
    inputs = []
    for i, array in enumerate(arrays):
        np.save(folder / f"in{i}.npy", array)
        inputs += ["--in", folder / f"in{i}.npy"]
    outputs = [[folder / f"out{i}-{j}.npy" for j in range(count)] for i in range(len(places))]
    lines = [[module, *place, *inputs,
              *itertools.chain.from_iterable(("--out", path) for path in paths)]
             for place, paths in zip(places, outputs)]
    ended = run_lines(lines, timeout=timeout,
                      env={**os.environ, "BLOCKSCALE_NUM_THREADS": "1"})
    return [_read(*each) for each in zip(places, ended, outputs)]


def _read(place, ended, paths):
    """The problem, the results and the launches of a run."""
    status, printed = ended
    # An op that does not share a kernel says so; its bytes are the same.
    said = re.sub(r".*: remark: .*(\n.*\n *\^)?\n", "", printed)
    said, launches = PROFILED.subn("", said)
    if status or said:
        return f"{' '.join(place)}: exit status {status}: {printed[-4000:].strip()}", [], launches
    return None, [np.load(path) for path in paths], launches
