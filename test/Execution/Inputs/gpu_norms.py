# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms and what quantizes them, in the emulator: one kernel each gives the bytes of a
function that is the norm and one that quantizes, on the CPU, and norms on their own
have kernels whose bytes are those of the CPU, too.

Usage: gpu_norms.py FOLDER [--seed SEED]
"""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import values
from block_shapes import CODECS, MX_RECIPES, NVFP4_RECIPES, tensor
from expect import Expectations, first_difference
from gpu_calls import PLACES, run_module
from norms import Norm
from ops import with_one_nan
from sm100_kinds import FOUR_OVER_SIX, TAKE_TAILS, mx, nvfp4

# Named cases: each norm, what real models have, and the ends of what kernels take.
CASES = (
    (Norm("layer", "bf16", "bf16", residual=True), (7, 384), "mx"),
    (Norm("rms", "bf16", "bf16"), (5, 4096), "nvfp4"),
    (Norm("rms", "bf16", "f32"), (0, 256), "nvfp4"),
    (Norm("layer", "f32", "f32", keeps_dim=True), (2, 3, 5120), "mx"),
    (Norm("rms", "bf16", "bf16", residual=True), (3, 8192), "mx"),
    (Norm("rms", "bf16", "bf16"), (2, 20480), "nvfp4"),
    (Norm("softmax", "f32", "f32"), (130, 96), "mx"),
    (Norm("layer", "bf16", "bf16"), (130, 1024), "mx"),
    (Norm("rms", "bf16", "f32", residual=True), (129, 512), "nvfp4"),
    (Norm("softmax", "f32", "f32"), (37, 128), "mx"),
    (Norm("layer", "f32", "bf16"), (70, 64), "mx"),
    (Norm("rms", "bf16", "f32"), (33, 32), "mx"),
)
RANDOM_CASES = 17


def draw_norm(random):
    kind, x, weight = (random.choice(names) for names in (
        ("rms", "layer", "softmax"), ("bf16", "bf16", "f32"), ("bf16", "f32")))
    return Norm(str(kind), str(x), str(weight), *(random.random(2) < 0.4).tolist())


def draw_kind(random, norm, shape, family):
    dynamic = tuple(random.random() < 0.5 for _ in shape[:-1]) + (False,)
    form = {"x": norm.x, "shape": shape, "dynamic": dynamic, "swizzled": random.random() < 0.6}
    if family == "mx":
        return mx(str(random.choice(MX_RECIPES)), str(random.choice(tuple(CODECS))), **form)
    recipe = str(random.choice((*NVFP4_RECIPES, *FOUR_OVER_SIX)))
    forms = ("rank_0", "scalar") if recipe in FOUR_OVER_SIX else ("rank_0", "scalar", "row")
    return nvfp4(recipe, source=str(random.choice(("", "global_scale", "global_amax"))),
                 form=str(random.choice(forms)), **form)


def draw_case(random):
    norm, family = draw_norm(random), str(random.choice(("mx", "nvfp4")))
    batch = tuple(int(size) for size in random.integers(1, 4, random.integers(2)))
    shape = (*batch, int(random.integers(1, 150 // (1 + 2 * len(batch)))), 16)
    kind = draw_kind(random, norm, shape, family)
    step = 1 if kind.recipe in TAKE_TAILS else kind.block[1]
    k = int(random.integers(2, 700))
    kind.shape = (*shape[:-1], -(-k // step) * step)
    return norm, kind


class Call:
    """A norm and the quantization of its result, with arrays for both."""

    def __init__(self, random, norm, kind):
        self.norm, self.kind, self.shape = norm, kind, kind.shape
        self.known = tuple(None if is_dynamic else size
                           for is_dynamic, size in zip(kind.dynamic, kind.shape))
        self.op, (_, *self.types), self.results = kind.signature()
        self.norm_types = norm.operands(self.known)
        kinds = values.TAME if random.random() < 0.8 else (*values.TAME, *values.WILD)
        sizes = [self.shape] * (1 + norm.residual)
        sizes += [self.shape[-1:]] * (len(self.norm_types) - len(sizes))
        self.arrays = [values.floats(random, size, np.uint16 if "bf16" in type else np.float32,
                                     kinds)
                       for size, type in zip(sizes, self.norm_types)]
        of = self.shape[:-1] if kind.form == "row" else ()
        self.globals = [np.asarray(np.exp2(random.uniform(-4, 4, of)), np.float32)
                        for _ in self.types]

    def named(self, n, types, letter):
        return [f"%{letter}{n}_{i}" for i in range(len(types))], types

    def write(self, n, parts, given=None):
        """Lines, arguments, and results with their types of `parts`: norm, quantize or
        both, where `given` is what the norm gave."""
        names, types = [], []
        lines, results = "", []
        x = f"%g{n}"
        if "norm" in parts:
            arguments = [f"%x{n}_{i}" for i in range(len(self.norm_types))]
            names, types = arguments, list(self.norm_types)
            lines, x, total = self.norm.text(n, arguments, self.known)
            of_x = tensor(self.known, self.norm.x)
            results += [(total, of_x)] if total else []
            results += [(x, of_x)] if "quantize" not in parts else []
        else:
            names, types = [x], [tensor(self.known, self.norm.x)]
        if "quantize" in parts:
            operands = [f"%o{n}_{i}" for i in range(len(self.types))]
            names, types = names + operands, types + self.types
            lines += f"  %q{n}, %s{n} = blockscale.{self.op.format(x, *operands)}\n"
            results += list(zip((f"%q{n}", f"%s{n}"), self.results))
        return lines, list(zip(names, types)), results


def function(calls, parts):
    lines, arguments, results = "", [], []
    for n, call in enumerate(calls):
        text, needed, made = call.write(n, parts)
        lines, arguments, results = lines + text, arguments + needed, results + made
    return (f"func.func @calls({', '.join(f'{name}: {type}' for name, type in arguments)}) -> "
            f"({', '.join(type for _, type in results)}) {{\n{lines}"
            f"  return {', '.join(name for name, _ in results)} : "
            f"{', '.join(type for _, type in results)}\n}}\n"), [type for _, type in results]


def check(folder, calls):
    expect = Expectations()
    inputs = {"norm": [array for call in calls for array in call.arrays],
              "norm, quantize": [array for call in calls for array in call.arrays + call.globals]}

    def run(parts, place, arrays):
        text, types = function(calls, parts)
        place_name = "-".join(place[:2]).replace("--", "").replace("=", "-")
        name = f"{parts.replace(', ', '-')}-{place_name}"
        problem, loaded = run_module(text, arrays, len(types), folder / name, place)
        if problem:
            expect.record(parts, problem)
            expect.finish()
        return [with_one_nan(array, type) for array, type in zip(loaded, types)]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {(parts, place): pool.submit(run, parts, place, inputs[parts])
                for parts in inputs for place in PLACES
                if parts == "norm" or place != PLACES[0]}
        normed = jobs["norm", PLACES[0]].result()
        results = iter(normed)
        given, sums = [], []
        for call in calls:
            sums.append([next(results)] if call.norm.residual else [])
            given.append(next(results))
        quantized = iter(run("quantize", PLACES[0], [
            array for call, x in zip(calls, given) for array in [x, *call.globals]]))
        wanted = [[*total, next(quantized), next(quantized)] for total in sums]
        for place in PLACES[1:]:
            alone, fused = (iter(jobs[parts, place].result()) for parts in inputs)
            for call, x, total, all_wanted in zip(calls, given, sums, wanted):
                what = f"{place[1]}: {call.norm} {call.op} {call.shape}"
                expect.record(f"norm alone, {what}",
                              first_difference([next(alone) for _ in [*total, x]], [*total, x]))
                expect.record(what, first_difference([next(fused) for _ in all_wanted], all_wanted))
    expect.finish()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    cases = [(norm, draw_kind(random, norm, shape, family)) for norm, shape, family in CASES]
    cases += [draw_case(random) for _ in range(RANDOM_CASES)]
    check(options.folder, [Call(random, norm, kind) for norm, kind in cases])


main()
