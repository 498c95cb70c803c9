# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two or three products that read one quantized x with linear scales, in groups of rows or
without, in the emulator under both schedules. There is one quantizer, which writes the
scales as the products read them, and no other kernel but the products. All bytes are those
of a function for each product, which swizzles the scales by itself.

Usage: gpu_shared_scales.py FOLDER [--random N] [--target CHIP]... [--seed SEED]
                            [--jobs N]
"""

import argparse
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import values
from expect import Expectations, first_difference
from gpu_calls import SCHEDULES, run_places
from ops import SWIZZLED, tensor

CHIPS = ("sm_100a", "sm_120a", "sm_110a", "sm_103a")
GROUPS = 3
FORMATS = {"nvfp4": ("f4E2M1FN", "f8E4M3FN", 16), "mxfp8": ("f8E4M3FN", "f8E8M0FNU", 32),
           "mxfp4": ("f4E2M1FN", "f8E8M0FNU", 32)}


@dataclass(frozen=True)
class Case:
    """Products of x, [rows, k], by matrices of `columns` rows each."""

    format: str
    rows: int
    k: int
    columns: tuple
    is_grouped: bool
    is_dynamic: bool
    has_global: bool

    def write(self, products, swizzles=False):
        """A function of some of the products. Where it `swizzles`, it does so before each."""
        data, scale, block = FORMATS[self.format]
        rows = "?" if self.is_dynamic else self.rows
        x, q = tensor((rows, self.k), "bf16"), tensor((rows, self.k), data)
        s = tensor((rows, self.k // block), scale)
        ends = f"tensor<{GROUPS}xi32>"
        given, body, results = [f"%x: {x}", f"%ends: {ends}", "%g: tensor<f32>"], [], []
        glob, of_a = (f" global_scale{of}(%g : tensor<f32>)" if self.has_global else ""
                      for of in ("", "_a"))
        body.append(f"%q, %s = blockscale.quantize %x block [1, {block}]{glob} : {x} -> {q}, {s}")
        lead = (GROUPS,) if self.is_grouped else ()
        for i in products:
            n = self.columns[i]
            w = tensor((*lead, n, self.k), data)
            ws = tensor((*lead, n, self.k // block), scale, SWIZZLED)
            given += [f"%w{i}: {w}", f"%ws{i}: {ws}"]
            operand, type = "%s", s
            if swizzles:
                operand, layout, offsets = f"%t{i}", SWIZZLED, ""
                if self.is_grouped:
                    layout = f"#blockscale.layout<swizzle_128x4, groups = {GROUPS}, dim = 0>"
                    offsets = f" offsets(%ends : {ends})"
                type = tensor((rows, self.k // block), scale, layout)
                body.append(f"{operand} = blockscale.swizzle %s{offsets} : {s} -> {type}")
            y = tensor((rows, n), "bf16")
            op, offsets, extra = "scaled_mm", "", ""
            if self.is_grouped:
                op, offsets, extra = "scaled_grouped_mm", " offsets(%ends)", f"{ends}, "
            body.append(f"%y{i} = blockscale.{op} %q, %w{i}{offsets} scales({operand}, %ws{i}) "
                        f"block [1, {block}]{of_a} : {q}, {w}, {extra}{type}, {ws} -> {y}")
            results.append((f"%y{i}", y))
        names, types = (", ".join(part) for part in zip(*results))
        lines = "".join(f"  {line}\n" for line in body)
        return (f"func.func @products({', '.join(given)}) -> ({types}) {{\n{lines}"
                f"  return {names} : {types}\n}}\n")

    def draw(self, random):
        """x, the ends, the global scale, and data and scales of each matrix."""
        data, scale, block = FORMATS[self.format]
        x = values.floats(random, (self.rows, self.k), np.uint16, values.TAME)
        ends = np.sort(random.integers(0, self.rows + 1, GROUPS)).astype(np.int32)
        arrays = [x, ends, np.array(np.exp2(random.uniform(-2, 2)), np.float32)]
        lead = (GROUPS,) if self.is_grouped else ()
        codes = 2 if data == "f4E2M1FN" else 1
        low, high = (0x30, 0x40) if scale == "f8E4M3FN" else (120, 130)
        for n in self.columns:
            bound = 256 if codes == 2 else 0x70
            tiles = (*lead, -(-n // 128), -(-(self.k // block) // 4), 32, 4, 4)
            arrays.append((random.integers(0, bound, (*lead, n, self.k // codes), np.uint8),
                           random.integers(low, high, tiles, np.uint8)))
        return arrays


def pick(random, choices):
    return choices[random.integers(len(choices))]


def draw_case(random):
    name = pick(random, tuple(FORMATS))
    step = 64 if name == "nvfp4" else 128
    return Case(name, int(random.integers(1, 200)), step * int(random.integers(1, 4)),
                tuple(32 * int(random.integers(1, 5)) for _ in range(random.integers(2, 4))),
                bool(random.random() < 0.5), bool(random.random() < 0.5),
                name == "nvfp4" and bool(random.random() < 0.5))


def find_kernels(module, chip):
    """The ops of the dialect besides products, in the order of the kernels."""
    pipeline = f"--blockscale-to-gpu=chip={chip} to=form-kernels"
    run = subprocess.run(["blockscale-opt", module, pipeline], capture_output=True, text=True,
                         check=True)
    return [op for op in ("quantize", "swizzle", "dequantize", "amax")
            for _ in range(run.stdout.count(f"= blockscale.{op} "))]


def check(case, arrays, folder, chip):
    """What is wrong, for each schedule, and with the kernels."""
    on = ("--on=emulator", f"--target={chip}")
    common, matrices = arrays[:3], arrays[3:]
    operands = [*common, *(array for pair in matrices for array in pair)]
    every = range(len(case.columns))
    shared = run_places(case.write(every), operands, len(case.columns), folder / "shared",
                        [(*on, *schedule) for schedule in SCHEDULES])
    alone = [run_places(case.write([i], swizzles=True), [*common, *matrices[i]], 1,
                        folder / f"alone{i}", [on])[0] for i in every]
    kernels = find_kernels(folder / "shared/module.mlir", chip)
    yield None if kernels == ["quantize"] else f"kernels besides products: {kernels}"
    wanted = [result for _, results in alone for result in results]
    failed = next((problem for problem, _ in alone if problem), None)
    for problem, results in shared:
        yield failed or problem or first_difference(results, wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--random", type=int, default=12, metavar="N", help="so many cases")
    parser.add_argument("--target", action="append", metavar="CHIP", help="of the emulator")
    parser.add_argument("--seed", type=int, default=0, help="of what is random")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="processes at once")
    options = parser.parse_args()
    random, expect = np.random.default_rng(options.seed), Expectations()
    chips = options.target or CHIPS
    cases = [draw_case(random) for _ in range(options.random)]
    arrays = [case.draw(random) for case in cases]
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(lambda *of: list(check(*of)), case, given,
                            options.folder / str(i), chips[i % len(chips)])
                for i, (case, given) in enumerate(zip(cases, arrays))]
        for i, (case, run) in enumerate(zip(cases, runs)):
            for problem in run.result():
                expect.record(f"{chips[i % len(chips)]}: {case}", problem)
    expect.finish()


if __name__ == "__main__":
    main()
