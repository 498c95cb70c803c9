# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every kind of kernel for a chip in the emulator, under both schedules, and
compares every byte with the CPU. Kinds that have no kernel must be refused with
their message.

Each kind has two calls, the first under the prompt schedule, the second under the
adversarial one, on sizes below, or on random ones where there is a seed."""

import argparse
import bisect
import itertools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

import values
from batches import run_lines
from expect import Expectations, first_difference
from module import Module
from ops import function_of
from sm100_kinds import GROUPS, TAKE_TAILS, kinds

# K in blocks of 16 and of 32. A thread has 64 elements, a tile of scales 4 columns:
# whole ones only; two or three, then less; less than one; one, then padding.
WIDTHS = ((128, 128), (176, 160), (16, 32), (96, 64))
# Of the two calls. Kinds that share a kernel have the same.
WIDTHS_OF_CALLS = ((0, 1), (2, 3), (1, 0), (3, 2))
# M: one row; some; some of a second tile of scales.
HEIGHTS = (1, 37, 130)
CALLS_OF_A_RUN = 48
MOST_ELEMENTS = 1 << 16  # of a matrix
FLOATS = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}


def subnormal_bf16(random):
    return random.integers(-127, 128, values.BLOCK) * 2.0**-133


def powers_of_two(random):
    """Ones, mostly: exact in every format."""
    return np.where(random.random(values.BLOCK) < 0.7, 1.0, 2.0 ** random.integers(-8, 8))


BLOCKS = (*values.TAME, *values.WILD, subnormal_bf16, powers_of_two)


@dataclass
class Call:
    kind: object
    arrays: list  # arguments
    paths: list  # of their files
    wanted: list = None  # the CPU's results


def check_refused(all_kinds, folder, chip, expect):
    """Whether the compiler says of each kind what it should."""
    text, lines = [], [0]
    for i, kind in enumerate(all_kinds):
        text.append(function_of(f"f{i}", *kind.signature()) + "// -----\n")
        lines.append(lines[-1] + text[-1].count("\n"))
    module = folder / "refused.mlir"
    module.write_text("".join(text))
    run = subprocess.run(["blockscale-opt", "--split-input-file",
                          f"--blockscale-to-gpu=chip={chip}", module, "-o", os.devnull],
                         capture_output=True, text=True)
    errors = {}
    for line, message in re.findall(r":(\d+):\d+: error: (.*)", run.stderr):
        errors.setdefault(bisect.bisect_left(lines, int(line)) - 1, message)
    for i, kind in enumerate(all_kinds):
        wanted, got = kind.refusal(chip), errors.get(i, "no error")
        expect.record(f"{kind}", None if wanted in got else f"expected '{wanted}', but got {got}")


def draw_widths(random, seed):
    if seed is None:
        return WIDTHS
    return [tuple(int(block * random.integers(1, 14 if random.random() < 0.8 else 300))
                  for block in (16, 32)) for _ in WIDTHS]


def draw_shape(random, seed, rank, i, k):
    """Of the input of call `i`, whose rows have `k` elements."""
    if seed is None:
        return *(2,) * (rank - 2), HEIGHTS[i % len(HEIGHTS)], k
    lead = [int(size) for size in random.integers(1, 4, rank - 2)]
    m = int(random.integers(0, 8 if random.random() < 0.5 else 300))
    return *lead, min(m, MOST_ELEMENTS // k), k


def draw_tail(random, seed, kind):
    """Elements of a row behind its whole blocks."""
    if kind.takes_blocks():
        return 0
    if seed is None or kind.recipe not in TAKE_TAILS or random.random() < 0.5:
        return kind.shape[-1] % kind.block[1]
    return int(random.integers(kind.block[1]))


def draw_factor(random, kind, shape, groups):
    """A global value: a power of two, any, or an edge."""
    batch = {"each": shape[:-2], "row": shape[:-1], "group": (groups,)}.get(kind.form, ())
    low, high = (-12, 4) if kind.source == "global_scale" else (-4, 20)
    exponents = random.uniform(low, high, batch)
    choice = random.integers(3)
    factor = np.exp2(np.round(exponents) if choice else exponents)
    if choice == 2:
        factor = random.choice(values.GLOBALS, batch)
    return np.asarray(factor, np.float32)


def draw_amaxes(random, shape):
    """Any, and edges."""
    edges = random.choice(values.GLOBALS, shape)
    amaxes = np.exp2(random.uniform(-20, 20, shape))
    return np.where(random.random(shape) < 0.2, edges, amaxes).astype(np.float32)


def draw_offsets(random, count, extent, unit):
    """Ends of groups, multiples of `unit`; mostly they cover all that they can."""
    ends = np.clip(np.sort(random.integers(-5, extent + 10, count)), 0, extent) // unit * unit
    if random.random() < 0.8:
        ends[-1:] = extent // unit * unit
    return ends.astype(np.int32)


class Inputs:
    """Random arguments, which lie in `folder`. Calls share inputs of a shape."""

    def __init__(self, folder, random):
        self._folder, self._random = folder, random
        self._inputs, self._count = {}, 0

    def call(self, kind, shape):
        random = self._random
        groups = GROUPS if kind.has_static_groups() else int(random.integers(0, 7))
        scale_shape = kind.scale_shape(shape)
        draw = {"block_amax": lambda: draw_amaxes(random, scale_shape),
                "rng": lambda: random.integers(-(1 << 63), 1 << 63, 2),
                "offsets": lambda: draw_offsets(
                    random, groups, shape[kind.group_dim], kind.block[kind.group_dim])}
        arrays = [self._input(shape, kind.x)]
        for name, _ in kind.operands(shape):
            arrays.append(self._save(draw.get(
                name, lambda: draw_factor(random, kind, shape, groups))()))
        return Call(replace(kind, shape=shape), *map(list, zip(*arrays)))

    def _input(self, shape, element):
        if (shape, element) not in self._inputs:
            array = values.floats(self._random, shape, FLOATS[element], BLOCKS)
            self._inputs[shape, element] = self._save(array)
        return self._inputs[shape, element]

    def _save(self, array):
        self._count += 1
        path = self._folder / f"in{self._count}.npy"
        np.save(path, array)
        return array, path


def function_of_calls(calls):
    """A function of everything that the calls take and give, and its input files. Each
    call has its own x: those of one x would share a kernel."""
    arguments, body, results = {}, [], []
    for i, call in enumerate(calls):
        op, types, given = call.kind.signature()
        keys = zip(call.paths, types, (i, *[None] * (len(types) - 1)), strict=True)
        names = [arguments.setdefault(key, f"%a{len(arguments)}") for key in keys]
        body.append(f"  %q{i}, %s{i} = blockscale.{op.format(*names)}\n")
        results += given
    signature = ", ".join(f"{name}: {type}" for (_, type, _), name in arguments.items())
    types, names = ", ".join(results), ", ".join(f"%q{i}, %s{i}" for i in range(len(calls)))
    text = (f"func.func @calls({signature}) -> ({types}) {{\n{''.join(body)}"
            f"  return {names} : {types}\n}}\n")
    return text, [path for path, *_ in arguments]


def emulate(calls, folder, options):
    """Why there are no results, or None; those of each call."""
    folder.mkdir(parents=True, exist_ok=True)
    text, inputs = function_of_calls(calls)
    module = folder / "module.mlir"
    module.write_text(text)
    outputs = [folder / f"out{i}.npy" for i in range(2 * len(calls))]
    line = [module, "--on=emulator", *options]
    line += itertools.chain.from_iterable(("--in", path) for path in inputs)
    line += itertools.chain.from_iterable(("--out", path) for path in outputs)
    [(status, printed)] = run_lines([line], env={**os.environ, "BLOCKSCALE_NUM_THREADS": "1"})
    if status or printed:
        return f"exit status {status}: {printed[-2000:]}", []
    arrays = [np.load(path) for path in outputs]
    for path in outputs:
        path.unlink()
    return None, list(zip(arrays[::2], arrays[1::2]))


def matrix_kind(kind):
    """The quantizer of one matrix of any size; where it has operands for all matrices
    together, of them."""
    if kind.extra:
        return replace(kind, dynamic=(True,) * len(kind.shape))
    form = {"each": "scalar", "rank_0": "scalar" if kind.source else "rank_0"}
    return replace(kind, shape=kind.shape[-2:], dynamic=(True, True),
                   form=form.get(kind.form, kind.form))


def compute_on_cpu(calls, folder, cpu):
    """Sets the wanted results of calls. Their matrices are computed one by one, by a
    function for all of a kind. Compiling it takes most of the time, so it is not optimized:
    that of optimized code are the same bits."""
    folder.mkdir(parents=True, exist_ok=True)
    functions, names = {}, []
    for call in calls:
        op, arguments, results = matrix_kind(call.kind).signature()
        function = (f"f{len(functions)}", op, arguments, results)
        names.append(functions.setdefault(op, function)[0])
    module = Module("".join(function_of(*f) for f in functions.values()), folder, cpu=cpu,
                    optimize=False)
    for name, call in zip(names, calls):
        x, *factors = call.arrays
        if call.kind.extra:
            call.wanted = module.call(name, x, *factors)
            continue
        lead = x.shape[:-2]
        if call.kind.form != "row":
            factors = [np.broadcast_to(factor, lead) for factor in factors]
        parts = [module.call(name, x[i], *(factor[i] for factor in factors))
                 for i in np.ndindex(lead)]
        call.wanted = [np.stack(each).reshape(*lead, *each[0].shape) for each in zip(*parts)]


def draw_calls(found, folder, seed):
    """The calls of each kind."""
    random = np.random.default_rng(seed or 0)
    inputs, widths, kernels, calls = Inputs(folder, random), draw_widths(random, seed), {}, []
    for i, kind in enumerate(found):
        key = (kind.recipe, kind.data, kind.x, kind.swizzled, kind.source, kind.form)
        turn = kernels.setdefault(key, len(kernels))
        calls.append([])
        for number, width in enumerate(WIDTHS_OF_CALLS[(turn + turn // 4) % 4]):
            k = widths[width][kind.block[1] == 32] + draw_tail(random, seed, kind)
            shape = draw_shape(random, seed, len(kind.shape), i + number, k)
            calls[-1].append(inputs.call(kind, shape))
    return calls


def divided(calls, size):
    return [calls[i:i + size] for i in range(0, len(calls), size)]


def run(options, expect, kinds, draw_calls):
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    chip = options.target
    # With a seed, others of them than with the next one.
    all_kinds = list(kinds(options.seed))[(options.seed or 0) % options.every::options.every]
    refused = [kind for kind in all_kinds if kind.refusal(chip)]
    calls = draw_calls([kind for kind in all_kinds if not kind.refusal(chip)], folder, options.seed)
    print(f"{len(calls)} kinds of kernels, {len(refused)} kinds refused")
    target = f"--target={chip}"
    schedules = ((target, "--schedule=prompt"),
                 (target, "--schedule=adversarial", f"--seed={options.seed or 1}"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # Long tasks first.
        on_cpu = [pool.submit(compute_on_cpu, list(itertools.chain.from_iterable(part)),
                              folder / f"cpu{i}", options.cpu)
                  for i, part in enumerate(divided(calls, -(-len(calls) // os.cpu_count())))]
        checked = pool.submit(check_refused, refused, folder, chip, expect)
        runs = []
        for schedule, called in zip(schedules, zip(*calls)):
            # Calls of a kernel follow each other.
            called = sorted(called, key=lambda call: (call.kind.shape[-1], call.kind.recipe))
            for batch in divided(called, CALLS_OF_A_RUN):
                place = folder / f"run{len(runs)}"
                runs.append((batch, schedule, pool.submit(emulate, batch, place, schedule)))
        for each in (*on_cpu, checked):
            each.result()
        for batch, schedule, future in runs:
            problem, results = future.result()
            if problem:
                expect.record(f"{schedule}: {batch[0].kind} and those after it", problem)
            for call, got in zip(batch, results):
                expect.record(f"{schedule}: {call.kind}", first_difference(call.wanted, got))


def main(kinds, draw_calls):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="where to compile")
    parser.add_argument("--target", default="sm_100a", help="the chip")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run every Nth kind")
    parser.add_argument("--seed", type=int, help="of sizes at random and of the schedule")
    parser.add_argument("--cpu", default="host", help="to compare with")
    expect = Expectations()
    run(parser.parse_args(), expect, kinds, draw_calls)
    expect.finish()


if __name__ == "__main__":
    main(kinds, draw_calls)
