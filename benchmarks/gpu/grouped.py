#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times products of groups of rows, each with block-scaled weights of its own, beside limits.

  python3 benchmarks/gpu/grouped.py pack FOLDER [--only GLOB]     # here
  python3 FOLDER/grouped.py run [--only GLOB] [--out FOLDER]      # there

The other machine needs a Hopper GPU and torch. Y = X W[g]^T for the rows of X: MxK in bf16 that
group g has, of prepacked NVFP4 weights W: GxNxK with swizzled scales, as in a layer of experts. All
groups have as many rows here; the kernel reads their ends on the device. The limit is the larger of
two times: all bytes of operands and results at the rate of a copy, and all operations at the rate
of cuBLAS bf16 in a product of 8192 x 8192 x 8192. Groups of 1024 rows are timed beside one dense
product of as many rows, too; both take turns.

The clock is that of weight_only.py. First the rows of the first and the last group are compared
with torch.mm in f32. Prints a table with the bars; writes grouped.json. The exit status is 1 if a
result is wrong or a bar is missed.
"""

import sys
from dataclasses import dataclass

import weight_only
from product_bench import Benchmark, capture, main

WEIGHTS = ((14336, 4096), (5760, 2880))
GROUPS = ((8, 1024), (8, 1), (8, 4), (8, 16), (8, 32), (8, 64), (128, 1), (128, 4), (128, 16),
          (128, 32), (128, 64))
# Weights that differ; groups beyond them have the same ones in places of their own.
DIFFERENT = 4
# The most times the limit that a product takes, from so many rows of a group on, and the least
# share of the dense product's speed.
MOST, LEAST_OF_DENSE = ((1, 1.6), (32, 1.8)), 0.9


@dataclass(frozen=True)
class Case(weight_only.Case):
    groups: int = 1

    @property
    def label(self):
        return f"{self.groups} groups of {self.rows}, {self.cols}x{self.depth}"

    @property
    def file(self):
        return f"grouped_{self.groups}_{self.rows}_{self.cols}_{self.depth}"

    @property
    def dense(self):
        """One product of the rows of all groups, if it is a bar."""
        rows = self.rows * self.groups
        return weight_only.Case(self.name, rows, self.cols, self.depth) if rows == 8192 and \
            self.groups == 8 else None

    def module(self):
        form, rows = self.format, self.rows * self.groups
        x, y = (f"tensor<{rows}x{size}xbf16>" for size in (self.depth, self.cols))
        w = (f"tensor<{self.groups}x{self.cols}x{self.depth}x{form.element}, "
             "#blockscale.data_layout<fragments_64x64>>")
        s = (f"tensor<{self.groups}x{self.cols}x{self.depth // form.block}x{form.scale}, "
             "#blockscale.layout<swizzle_128x4>>")
        ends = f"tensor<{self.groups}xi32>"
        return (f"func.func @product(%x: {x}, %w: {w}, %ends: {ends}, %s: {s}) -> {y} {{\n"
                "  %y = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s) "
                f"block [1, {form.block}] : {x}, {w}, {ends}, {s} -> {y}\n"
                f"  return %y : {y}\n}}\n")


CASES = [Case("NVFP4", rows, *weights, groups) for weights in WEIGHTS for groups, rows in GROUPS]


def make_operands(torch, case):
    """x, and codes, scales, prepacked codes and swizzled scales of all groups."""
    x = torch.randn((case.rows * case.groups, case.depth), device="cuda").to(torch.bfloat16)
    made = []
    for _ in range(min(DIFFERENT, case.groups)):
        codes, scales, swizzled = weight_only.make_weights(torch, case)
        prepacked = weight_only.prepack(torch, case, codes)
        made.append((codes, scales, weight_only.block_prepacked(case, prepacked), swizzled))
    different = [torch.stack(arrays) for arrays in zip(*made)]
    copies = case.groups // len(made)
    return x, *different[:2], *(array.repeat(copies, *[1] * (array.dim() - 1))
                                for array in different[2:])


def measure_groups(machine, case, rates):
    torch, clock = machine.torch, machine.clock
    x, codes, scales, prepacked, swizzled = make_operands(torch, case)
    ends = torch.arange(1, case.groups + 1, dtype=torch.int32, device="cuda") * case.rows
    ours, y = machine.make_call(case.file, "product", (x, prepacked, ends, swizzled))
    works = {"ours": ours}
    if case.dense:
        works["dense"], _ = machine.make_call(case.dense.file, "product",
                                              (x, prepacked[0], swizzled[0]))
    for work in works.values():
        work()
    table = weight_only.make_table(torch)
    problem = ""
    for group in (0, case.groups - 1):
        of_group = slice(group * case.rows, (group + 1) * case.rows)
        wide = weight_only.dequantize(torch, case, codes[group % len(codes)],
                                      scales[group % len(codes)], table)
        problem = problem or weight_only.find_problem(torch, y[of_group], x[of_group], wide)
    calls, notes = capture(clock, works, works)
    times = clock.compare(calls)
    moved = sum(t.numel() * t.element_size() for t in (x, prepacked, swizzled, y))
    limit = 1e6 * max(moved / rates["copy"], case.groups * case.flops / rates["cuBLAS"])
    most = [most for least, most in MOST if case.rows >= least][-1]
    return {"label": case.label, "us": times, "limit_us": limit, "problem": problem,
            "notes": notes, "times": times["ours"] / limit, "most": most,
            "share": times["dense"] / times["ours"] if case.dense else None}


def measure_rates(torch, clock):
    """Bytes and operations a second."""
    source = torch.zeros(1 << 30, dtype=torch.uint8, device="cuda")
    to = torch.empty_like(source)
    a, b = (torch.randn((8192, 8192), device="cuda").to(torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    times = clock.compare({"copy": clock.capture(lambda: to.copy_(source)),
                           "cuBLAS": clock.capture(lambda: torch.mm(a, b.t(), out=out))})
    return {"copy": 1e6 * 2 * source.numel() / times["copy"],
            "cuBLAS": 1e6 * 2 * 8192**3 / times["cuBLAS"]}


class Grouped(Benchmark):
    name, cases = "grouped", CASES
    files = ("humming_peer.py", "weight_only.py")
    columns = ("groups, NxK", "us", "limit, us", "times the limit", "bar", "share of dense", "bar")

    def make_modules(self, case):
        modules = {case.file: case.module()}
        if case.dense:
            modules[case.dense.file] = case.dense.module(is_prepacked=True)
        return modules

    def start(self, machine, options, cases):
        self.rates = measure_rates(machine.torch, machine.clock)
        return (f"a copy: {self.rates['copy'] / 1e12:.2f} TB/s; "
                f"cuBLAS bf16: {self.rates['cuBLAS'] / 1e12:.0f} TFLOP/s")

    def measure(self, machine, case):
        return measure_groups(machine, case, self.rates)

    def verdict(self, row):
        if row["problem"]:
            return row["problem"]
        good = row["share"] >= LEAST_OF_DENSE if row["share"] else row["times"] <= row["most"]
        return "met" if good else "MISSED"

    def make_cells(self, row):
        cells = [row["label"], f"{row['us']['ours']:.1f}", f"{row['limit_us']:.1f}",
                 f"{row['times']:.2f}"]
        if row["share"]:
            return [*cells, "", f"{row['share']:.2f}", str(LEAST_OF_DENSE)]
        return [*cells, str(row["most"]), "", ""]


if __name__ == "__main__":
    sys.exit(main(Grouped(), __doc__))
