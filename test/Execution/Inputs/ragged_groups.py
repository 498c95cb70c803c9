# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weight gradients of groups of any length: dW_g = dY_g^T X_g of groups padded on the device and
quantized along tokens, with ends drawn at random (empty groups, one row, odd numbers, one group
that has nearly all rows, rows behind the last group), on the CPU and in the emulator.

The reference cuts each group out, pads and quantizes it alone, and multiplies what the codes and
scales stand for in f64. Results are within the bound of docs/Numerics.md of that, though rows that
no group has are NaN; padded rows and ends are equal bit for bit.

Usage: ragged_groups.py FOLDER [--cases N] [--seed N] [--target PLACE].. [--each]
"""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import reference
from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_lines

CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
COLUMNS_X, COLUMNS_DY = 48, 40
MOST_ROWS = 400


@dataclass
class Format:
    """How tokens are quantized. `has_globals`: each group has a global scale of its own."""

    data: str
    scale: str
    block: int
    unit: int
    codec: object
    groups: int
    has_globals: bool = False

    @property
    def name(self):
        return f"{self.data}_{self.scale}_{self.unit}_{self.groups}".lower()

    def text(self):
        x, dy = f"tensor<?x{COLUMNS_X}xbf16>", f"tensor<?x{COLUMNS_DY}xbf16>"
        ends = f"tensor<{self.groups}xi32>"
        codes = {c: f"tensor<{c}x?x{self.data}>" for c in (COLUMNS_X, COLUMNS_DY)}
        scales = {c: f"tensor<{c}x?x{self.scale}>" for c in (COLUMNS_X, COLUMNS_DY)}
        result = f"tensor<{self.groups}x{COLUMNS_DY}x{COLUMNS_X}xf32>"
        lines = []

        def pad(name, type):
            lines.append(f"%p{name}, %e{name} = blockscale.pad_groups %{name} "
                         f"offsets(%o : {ends}) unit {self.unit} : {type} -> {type}")

        def quantize(name, type, columns):
            clauses = ""
            if self.has_globals:
                values = f"tensor<{self.groups}xf32>"
                lines.append(f"%m{name} = blockscale.amax %{name} offsets(%o : {ends}) : {type} "
                             f"-> {values}")
                lines.append(f"%g{name} = blockscale.global_scale %m{name} recipe torchao "
                             f"nonzero_amax : {values}")
                clauses = f" global_scale(%g{name} : {values}) offsets(%ex : {ends})"
            lines.append(f"%q{name}, %s{name} = blockscale.quantize %p{name} "
                         f"block [{self.block}, 1] transposed{clauses} : {type} -> "
                         f"{codes[columns]}, {scales[columns]}")

        for name, type in (("x", x), ("dy", dy)):
            pad(name, type)
        quantize("x", x, COLUMNS_X)
        quantize("dy", dy, COLUMNS_DY)
        factors = ""
        if self.has_globals:
            factors = "".join(f" global_scale_{side}(%g{name} : tensor<{self.groups}xf32>)"
                              for side, name in (("a", "dy"), ("b", "x")))
        lines.append(f"%dw = blockscale.scaled_grouped_mm %qdy, %qx offsets(%ex) "
                     f"scales(%sdy, %sx) block [1, {self.block}]{factors} : "
                     f"{codes[COLUMNS_DY]}, {codes[COLUMNS_X]}, {ends}, {scales[COLUMNS_DY]}, "
                     f"{scales[COLUMNS_X]} -> {result}")
        head = f"(%x: {x}, %dy: {dy}, %o: {ends})"
        first = lines[0]
        body = "\n  ".join(lines)
        return (f"func.func @wgrad{head} -> {result} {{\n  {body}\n  return %dw : {result}\n}}\n"
                f"func.func @pad{head} -> ({x}, {ends}) {{\n  {first}\n"
                f"  return %px, %ex : {x}, {ends}\n}}\n")

    def decode(self, rows):
        """The values [columns, padded rows] that a group's rows are quantized to, without the
        global scale, which is given, too."""
        if not len(rows):
            return np.zeros((rows.shape[1], 0)), np.float64(1)
        rows = np.concatenate([rows, np.zeros((-len(rows) % self.block, rows.shape[1]),
                                              np.float32)])
        if self.scale == "f8E8M0FNU":
            codes, scales = reference.quantize_mx(rows, self.codec, block=(self.block, 1),
                                                  transposed=True)
            scales, factor = reference.decode_e8m0(scales), np.float32(1)
        else:
            factor = np.float32(1)
            if self.has_globals:
                factor = reference.global_scale(reference.nonzero_amax(np.abs(rows).max()))
            codes, scales = reference.quantize_nvfp4(rows, global_scale=factor,
                                                     block=(self.block, 1), transposed=True)
            scales = reference.E4M3.decode(scales)
        values = self.codec.decode(codes).astype(np.float64)
        return values * np.repeat(scales.astype(np.float64), self.block, 1), np.float64(factor)


FORMATS = (
    Format("f8E4M3FN", "f8E8M0FNU", 32, 32, reference.E4M3, 5),
    Format("f4E2M1FN", "f8E4M3FN", 16, 32, reference.E2M1, 5),
    Format("f8E5M2", "f8E8M0FNU", 32, 128, reference.E5M2, 1),
    Format("f4E2M1FN", "f8E4M3FN", 16, 64, reference.E2M1, 9, has_globals=True),
    # A warp looks at the ends of 32 groups at a time.
    Format("f4E2M1FN", "f8E8M0FNU", 32, 64, reference.E2M1, 70),
    Format("f6E2M3FN", "f8E8M0FNU", 32, 32, reference.E2M3, 2),
)


def draw_ends(random, groups):
    """The number of rows, and ends."""
    rows = int(random.integers(1, MOST_ROWS))
    kind = random.integers(6)
    if kind == 0:
        lengths = np.zeros(groups, int)
    elif kind == 1:
        lengths = np.ones(groups, int)
    elif kind == 2:
        lengths = np.full(groups, 0)
        lengths[random.integers(groups)] = rows
    elif kind == 3:
        lengths = 2 * random.integers(0, max(rows // groups // 2, 1), groups) + 1
    elif kind == 4:
        lengths = random.integers(0, 3, groups) * 16
    else:
        lengths = np.diff(np.sort([0, *random.integers(0, rows + 1, groups)]))
    ends = np.cumsum(lengths)
    return max(rows, int(ends[-1])), ends.astype(np.int32)


@dataclass
class Case:
    """The arrays of a call, and what is wanted of it."""

    format: Format
    x: np.ndarray
    dy: np.ndarray
    ends: np.ndarray

    @staticmethod
    def draw(seed, number):
        random = np.random.default_rng((seed, number))
        format = FORMATS[number % len(FORMATS)]
        rows, ends = draw_ends(random, format.groups)
        arrays = [reference.from_bf16(reference.to_bf16(
            (random.standard_normal((rows, columns)) * 2.0 ** random.integers(-6, 6)).astype(
                np.float32))) for columns in (COLUMNS_X, COLUMNS_DY)]
        # Behind the last group nothing matters.
        arrays[0][ends[-1]:] = np.nan
        return Case(format, *arrays, ends)

    def wanted(self):
        """The exact products and their bounds."""
        values, bounds = [], []
        for i, j in reference.group_bounds(self.ends, len(self.x)):
            (a, fa), (b, fb) = self.format.decode(self.dy[i:j]), self.format.decode(self.x[i:j])
            product = reference.scaled_matmul(a, b, fa * fb)
            values.append(product.value)
            # Sums may have the depth of all groups.
            product.depth = len(self.x) + len(self.ends) * self.format.unit
            bounds.append(product.bound() + np.abs(product.value) * 2.0**-22)
        return np.stack(values), np.stack(bounds)

    def problem(self, got):
        """What is wrong with dW."""
        value, bound = self.wanted()
        places = np.argwhere(~(np.abs(got - value) <= bound))
        if not len(places):
            return None
        at = tuple(places[0].tolist())
        return (f"{len(places)} of {got.size} elements are wrong, first at {at}: expected "
                f"{value[at]} within {bound[at]}, but got {got[at]} (ends {self.ends.tolist()})")


def run(folder, cases, place, schedule):
    """The problems of each of some cases with one format, by number."""
    options = ON_CPU if place == "cpu" else ("--on=emulator", f"--target={place}", *schedule)
    folder.mkdir(parents=True, exist_ok=True)
    module = folder / "module.mlir"
    module.write_text(next(iter(cases.values())).format.text())
    lines = []
    for number, case in cases.items():
        paths = [folder / f"{number}-{i}.npy" for i in range(6)]
        for path, array in zip(paths, (reference.to_bf16(case.x), reference.to_bf16(case.dy),
                                       case.ends)):
            np.save(path, array)
        inputs = [word for path in paths[:3] for word in ("--in", path)]
        lines.append([module, "--entry=wgrad", *options, *inputs, "--out", paths[3]])
        lines.append([module, "--entry=pad", *options, *inputs, "--out", paths[4],
                      "--out", paths[5]])
    ended = run_lines(lines, env={**os.environ, "BLOCKSCALE_NUM_THREADS": "1"})
    problems = {}
    for (number, case), product, padding in zip(cases.items(), ended[::2], ended[1::2]):
        if product[0] or padding[0]:
            problems[number] = [f"exit status {status}: {said[-2000:]}"
                                for status, said in (product, padding)]
            continue
        got = [np.load(folder / f"{number}-{i}.npy") for i in range(3, 6)]
        padded, ends = reference.pad_groups(reference.to_bf16(case.x), case.ends,
                                            case.format.unit)
        problems[number] = [case.problem(got[0]), first_difference(got[1:], [padded, ends])]
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", type=int, default=36)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", metavar="PLACE", help="cpu or a chip")
    parser.add_argument("--each", action="store_true",
                        help="each case in every place, rather than in one in turn")
    options = parser.parse_args()
    places = options.target or ["cpu", *CHIPS]
    batches = {}
    for number in range(options.cases):
        case = Case.draw(options.seed, number)
        turns = places if options.each else [places[number // len(FORMATS) % len(places)]]
        for place in turns:
            schedule = number // (len(FORMATS) * len(places)) % len(SCHEDULES)
            batches.setdefault((place, schedule, case.format.name), {})[number] = case
    expect = Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {key: pool.submit(run, options.folder / "-".join(map(str, key)), cases, key[0],
                                 SCHEDULES[key[1]]) for key, cases in batches.items()}
        for (place, _, format), future in runs.items():
            for number, problems in future.result().items():
                for what, problem in zip(("dW", "padding"), problems):
                    expect.record(f"case {number} {format} on {place}: {what}", problem)
    expect.finish()


if __name__ == "__main__":
    main()
