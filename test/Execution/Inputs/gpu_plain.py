# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that have no kernel of ours, in the emulator: what transformers have besides
products, for three chips, gives the bytes of the CPU.

Usage: gpu_plain.py FOLDER [--seed SEED] [--only GLOB]
       gpu_plain.py FOLDER --pack DIR --target CHIP ...   (see scripts/gpu/pack.py)
"""

import argparse
import fnmatch
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import ON_CPU, make_places, run_module
from module import DTYPES
from ops import with_one_nan
from plain_cases import CASES

PLACES = make_places(("sm_100a", 0), ("sm_90a", 0), ("sm_80", 1))
CASES_OF_A_BATCH = 16
FUNCTION = re.compile(r"func\.func @(\w+)\((.*?)\) -> \(?(.*?)\)? \{\n(.*)\n\}\n?$", re.S)
TYPE = re.compile(r"tensor<((?:(?:\d+|\?)x)*)(\w+)>|(\w+)")


@dataclass
class Call:
    """A case for sizes: one number for each `?` of its arguments' types, in order."""

    name: str
    text: str
    arrays: list
    types: list
    results: list
    is_alone: bool

    def __init__(self, name, case, sizes, random):
        found = FUNCTION.search(case.text)
        self.name = f"{name} {list(sizes)}"
        self.types = re.findall(r"%\w+: ([^%]+?)(?:, (?=%)|$)", found[2])
        self.results = re.findall(r"tensor<.*?>|\w+", found[3])
        # Scalars that the device computes are results of public functions only.
        self.is_alone = any("<" not in type and type != "index" for type in self.results)
        self.text = case.text
        sizes = iter(sizes)
        self.arrays = [_draw(random, type, sizes, case.below) for type in self.types]


def _draw(random, type, sizes, below):
    """An array for an argument: floats of moderate size, some zero or infinite, and
    integers in [0, below)."""
    shape, element, scalar = TYPE.match(type).groups()
    shape = tuple(next(sizes) if size == "?" else int(size)
                  for size in (shape or "").split("x") if size)
    dtype = np.dtype(DTYPES[element or scalar])
    if dtype.kind == "b":
        return np.asarray(random.random(shape) < 0.5)
    if dtype.kind in "iu" and (element or scalar) != "bf16":
        limit = min(below, 127) if dtype.itemsize == 1 else below
        return np.asarray(random.integers(0, limit, shape), dtype)
    x = np.asarray(random.standard_normal(shape) * np.exp2(random.integers(-4, 5, shape)),
                   np.float32)
    special = random.random(shape)
    for i, value in enumerate((0.0, -0.0, np.inf, -np.inf, 1e-39)):
        x = np.where((special > i * 2e-3) & (special < (i + 1) * 2e-3), np.float32(value), x)
    if (element or scalar) == "bf16":
        return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16).reshape(shape)
    return np.asarray(x, dtype)


def _write(calls):
    """The text of a module whose function @calls is all calls, and its arrays."""
    if len(calls) == 1:
        return re.sub(r"func\.func @\w+", "func.func @calls", calls[0].text, count=1), \
            calls[0].arrays, calls[0].results
    functions, lines, arguments, arrays, names, types = [], [], [], [], [], []
    for i, call in enumerate(calls):
        body = re.sub(r"func\.func @\w+", f"func.func private @case{i}", call.text, count=1)
        functions.append(body)
        operands = [f"%a{len(arrays) + j}" for j in range(len(call.arrays))]
        arguments += [f"{operand}: {type}" for operand, type in zip(operands, call.types)]
        arrays += call.arrays
        made = [f"%r{i}"] if len(call.results) == 1 else \
            [f"%r{i}#{j}" for j in range(len(call.results))]
        left = f"%r{i}" + (f":{len(made)}" if len(made) > 1 else "")
        lines.append(f"  {left} = func.call @case{i}({', '.join(operands)}) : "
                     f"({', '.join(call.types)}) -> ({', '.join(call.results)})")
        names, types = names + made, types + call.results
    return ("".join(functions) + f"func.func @calls({', '.join(arguments)}) -> "
            f"({', '.join(types)}) {{\n" + "\n".join(lines) +
            f"\n  return {', '.join(names)} : {', '.join(types)}\n}}\n"), arrays, types


def _compare(expect, calls, types, runs):
    problems = [problem for problem, _ in runs if problem]
    for problem in problems:
        expect.record(", ".join(call.name for call in calls), problem)
    if problems:
        return
    (_, wanted), *others = runs
    for place, (_, got) in zip(PLACES[1:], others):
        at = 0
        for call in calls:
            end = at + len(call.results)
            a, b = ([with_one_nan(array, type) for array, type in
                     zip(arrays[at:end], types[at:end])] for arrays in (wanted, got))
            expect.record(f"{place[1]}: {call.name}", first_difference(a, b))
            at = end


def _pack(batches, options):
    """Writes a bundle of each batch for each chip, its arguments and the CPU's results,
    for scripts/gpu/run.py."""
    for i, calls in enumerate(batches):
        name = f"{Path(sys.argv[0]).stem}-{i}"
        text, arrays, types = _write(calls)
        folder = options.folder / name
        problem, wanted = run_module(text, arrays, len(types), folder, ON_CPU)
        if problem:
            sys.exit(problem)
        for chip in options.target:
            subprocess.run(["blockscale-compile", folder / "module.mlir", f"--target={chip}",
                            "--emit=bundle", "-o", options.pack / chip / f"{name}.bundle"],
                           check=True, stderr=subprocess.DEVNULL)
        packed = {f"in{i}": array for i, array in enumerate(arrays)}
        packed |= {f"out{i}": array for i, array in enumerate(wanted)}
        np.savez_compressed(options.pack / f"{name}.npz", **packed, types=types,
                            kinds=[call.name for call in calls],
                            counts=[len(call.results) for call in calls])
    print(sum(map(len, batches)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--seed", type=int, default=0, help="of the arrays")
    parser.add_argument("--only", default="*", help="glob of the names of cases")
    parser.add_argument("--pack", type=Path, metavar="DIR",
                        help="write bundles and the CPU's results there instead")
    parser.add_argument("--target", action="append", metavar="CHIP", help="to pack for")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="pack every Nth batch")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    calls = [Call(name, case, sizes, random) for name, case in CASES.items()
             if fnmatch.fnmatch(name, options.only) for sizes in case.sizes]
    alone = [[call] for call in calls if call.is_alone]
    calls = [call for call in calls if not call.is_alone]
    batches = [calls[i:i + CASES_OF_A_BATCH] for i in range(0, len(calls), CASES_OF_A_BATCH)]
    batches += alone
    if options.pack:
        return _pack(batches[::options.every], options)
    expect = Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = [_write(batch) for batch in batches]
        for batch, (_, _, types), runs in zip(batches, texts, [
                [pool.submit(run_module, text, arrays, len(types),
                             options.folder / f"batch{i}-{j}", place)
                 for j, place in enumerate(PLACES)]
                for i, (text, arrays, types) in enumerate(texts)]):
            _compare(expect, batch, types, [run.result() for run in runs])
    expect.finish()
    return None


if __name__ == "__main__":
    main()
