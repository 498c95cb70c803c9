#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times products of two bf16 operands, without scales, beside cuBLAS.

  python3 benchmarks/gpu/plain.py pack FOLDER [--only GLOB] [--target CHIP]       # here
  python3 FOLDER/plain.py run [--only GLOB] [--out FOLDER]                        # there

The other machine needs a Hopper GPU and torch. It also runs kernels of sm_80, which have a bar of
their own. Y = X W^T, of X: MxK and W: NxK, is a `scaled_mm` of two plain operands; Y = X W, of W:
KxN, is a `linalg.matmul` as frontends write it, whose kernels read W as it lies. Groups of rows of
X, whose ends the kernel reads on the device, have a W each. The peer is torch.mm or, of groups,
torch._grouped_mm of the same tensors, in one process.

The clock is that of weight_only.py. First results are compared with torch.mm in f32. A share is
the peer's time over ours. Prints a table with the bars; writes plain.json. The exit status is 1 if
a result is wrong or a bar is missed.
"""

import sys
from dataclasses import dataclass

from product_bench import Benchmark, capture, main
from weight_only import find_problem

# The least shares by M, N and K, and of groups by their number; those of kernels of sm_80.
BARS = {(4096, 4096, 4096): 0.95, (8192, 8192, 8192): 0.95, (4096, 14336, 4096): 0.9}
OLDER_BARS = {(4096, 4096, 4096): 0.55}
GROUPS_BAR = 1.0
SIZES = (*BARS, (16, 8192, 8192), (128, 8192, 8192), (1024, 8192, 8192))
GROUPS = (8, 64)


@dataclass(frozen=True)
class Case:
    """A product, whose W is KxN if it lies across; groups share the rows evenly."""

    rows: int
    cols: int
    depth: int
    is_across: bool = False
    groups: int = 1

    @property
    def label(self):
        of = f", {self.groups} groups" if self.groups > 1 else ""
        return f"{self.rows}x{self.cols}x{self.depth}{', W KxN' if self.is_across else ''}{of}"

    @property
    def file(self):
        order = "kn" if self.is_across else "nk"
        return f"plain_{self.rows}_{self.cols}_{self.depth}_{order}_{self.groups}"

    @property
    def weights(self):
        shape = (self.depth, self.cols) if self.is_across else (self.cols, self.depth)
        return (self.groups, *shape) if self.groups > 1 else shape

    def module(self):
        x, y = (f"tensor<{self.rows}x{size}xbf16>" for size in (self.depth, self.cols))
        w = f"tensor<{'x'.join(map(str, self.weights))}xbf16>"
        ends = f"tensor<{self.groups}xi32>"
        if self.is_across:
            wide = f"tensor<{self.rows}x{self.cols}xf32>"
            return (f"func.func @product(%x: {x}, %w: {w}) -> {y} {{\n"
                    f"  %zero = arith.constant 0.0 : f32\n  %e = tensor.empty() : {wide}\n"
                    f"  %z = linalg.fill ins(%zero : f32) outs(%e : {wide}) -> {wide}\n"
                    f"  %s = linalg.matmul ins(%x, %w : {x}, {w}) outs(%z : {wide}) -> {wide}\n"
                    f"  %y = arith.truncf %s : {wide} to {y}\n  return %y : {y}\n}}\n")
        if self.groups > 1:
            return (f"func.func @product(%x: {x}, %w: {w}, %ends: {ends}) -> {y} {{\n"
                    "  %y = blockscale.scaled_grouped_mm %x, %w offsets(%ends) "
                    f"scales(none, none) block [1, 16] : {x}, {w}, {ends} -> {y}\n"
                    f"  return %y : {y}\n}}\n")
        return (f"func.func @product(%x: {x}, %w: {w}) -> {y} {{\n"
                "  %y = blockscale.scaled_mm %x, %w scales(none, none) block [1, 16]"
                f" : {x}, {w} -> {y}\n  return %y : {y}\n}}\n")


CASES = [*(Case(*sizes, is_across) for sizes in SIZES for is_across in (False, True)),
         *(Case(8192, 14336, 4096, groups=groups) for groups in GROUPS)]


def make_works(machine, case):
    """Our call and the peer's, and what is wrong with our result."""
    torch = machine.torch
    x, w = (torch.randn(shape, device="cuda").to(torch.bfloat16)
            for shape in ((case.rows, case.depth), case.weights))
    if case.groups == 1:
        along = w if not case.is_across else w.t()
        ours, y = machine.make_call(case.file, "product", (x, w))
        out = torch.empty_like(y)
        ours()
        return {"ours": ours, "torch": lambda: torch.mm(x, along.t(), out=out)}, find_problem(
            torch, y, x, along)
    each = case.rows // case.groups
    ends = torch.arange(1, case.groups + 1, dtype=torch.int32, device="cuda") * each
    ours, y = machine.make_call(case.file, "product", (x, w, ends))
    ours()
    problem = ""
    for group in (0, case.groups - 1):
        of_group = slice(group * each, (group + 1) * each)
        problem = problem or find_problem(torch, y[of_group], x[of_group], w[group])
    return {"ours": ours,
            "torch": lambda: torch._grouped_mm(x, w.transpose(1, 2), offs=ends)}, problem


class Plain(Benchmark):
    name, cases = "plain", CASES
    chips = ("sm_90a", "sm_80")
    files = ("humming_peer.py", "weight_only.py")
    columns = ("MxNxK", "us", "TFLOP/s", "torch, us", "share", "bar")

    def make_modules(self, case):
        return {case.file: case.module()}

    def get_bar(self, case):
        """The least share of a case; None if it has none."""
        sizes = (case.rows, case.cols, case.depth)
        if self.chip != self.chips[0]:
            return OLDER_BARS.get(sizes) if case.groups == 1 else None
        return BARS.get(sizes) if case.groups == 1 else GROUPS_BAR

    def measure(self, machine, case):
        works, problem = make_works(machine, case)
        calls, notes = capture(machine.clock, works, works)
        times = machine.clock.compare(calls)
        return {"label": case.label, "us": times, "problem": problem, "notes": notes,
                "share": times["torch"] / times["ours"], "bar": self.get_bar(case),
                "tflops": 2e-6 * case.rows * case.cols * case.depth / times["ours"]}

    def make_cells(self, row):
        return [row["label"], f"{row['us']['ours']:.1f}", f"{row['tflops']:.0f}",
                f"{row['us']['torch']:.1f}", f"{row['share']:.2f}", str(row["bar"] or "")]


if __name__ == "__main__":
    sys.exit(main(Plain(), __doc__))
