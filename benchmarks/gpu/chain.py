#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times products of order chain beside those of free order, and compares their bits with cuBLAS.

  python3 benchmarks/gpu/chain.py pack FOLDER [--only GLOB] [--target CHIP]   # here
  python3 FOLDER/chain.py run [--only GLOB] [--out FOLDER]                    # there

The other machine needs a Hopper GPU and torch. It also runs kernels of sm_80 and sm_89, which have
no bars. Y = X W^T as in weight_only.py, by `scaled_mm` with `order chain` and without it, of
prepacked weights on sm_90a and of row-major ones on the others. A result of order chain equals
torch.mm of the dequantized weights in every bit, where cuBLAS splits no K: it has no workspace
here.

The clock is that of weight_only.py; all take turns. A share is the time of free order over that of
order chain. Prints a table with the bars; writes chain.json. The exit status is 1 if a bit differs
or a bar is missed. Groups of rows have weights of their own, as in grouped.py; the first and the
last group are compared with cuBLAS, and are not timed there.
"""

import os
import sys
from dataclasses import dataclass

# Before torch is imported: cuBLAS splits K where it has memory for sums.
os.environ |= {"CUBLAS_WORKSPACE_CONFIG": ":0:0", "CUBLASLT_WORKSPACE_SIZE": "0"}

import grouped
import weight_only
from product_bench import Benchmark, capture, main

ROWS = (1, 16, 32, 64, 128, 256, 512, 1024, 4096, 8192)
WEIGHTS = ((8192, 8192), (14336, 4096), (4096, 14336), (4096, 4096))
# The least share of the speed of free order, from so many rows on.
BARS = ((1, 0.88), (129, 0.97))
FORMS = ("free", "chain")
# Numbers of groups, and rows of each; the weights, and the bar.
GROUPS = ((8, 1), (8, 16), (8, 64), (8, 1024), (64, 1), (64, 16), (64, 64))
GROUP_WEIGHTS, GROUP_BAR = ((14336, 4096), (5760, 2880)), 0.9
PACKED = ", #blockscale.data_layout<fragments_64x64>"


def set_order(module, case, form):
    """The module with the order of sums that `form` names."""
    of_block = f"block [1, {case.format.block}]"
    return module.replace(of_block, f"{of_block} order chain") if form == "chain" else module


@dataclass(frozen=True)
class Case(weight_only.Case):
    @property
    def bar(self):
        return [bar for first, bar in BARS if self.rows >= first][-1]

    def make_module(self, form, is_prepacked):
        return set_order(self.module(is_prepacked), self, form)

    def make_operands(self, torch, is_prepacked):
        """The tensors of a call, and rows of the result, of x and their dequantized weights."""
        codes, scales, swizzled = weight_only.make_weights(torch, self)
        x = torch.randn((self.rows, self.depth), device="cuda").to(torch.bfloat16)
        wide = weight_only.dequantize(torch, self, codes, scales, weight_only.make_table(torch))
        if is_prepacked:
            codes = weight_only.block_prepacked(self, weight_only.prepack(torch, self, codes))
        return (x, codes, swizzled), [(slice(0, self.rows), wide)]


@dataclass(frozen=True)
class GroupCase(grouped.Case):
    bar = GROUP_BAR

    def make_module(self, form, is_prepacked):
        module = self.module() if is_prepacked else self.module().replace(PACKED, "")
        return set_order(module, self, form)

    def make_operands(self, torch, is_prepacked):
        x, codes, scales, prepacked, swizzled = grouped.make_operands(torch, self)
        ends = torch.arange(1, self.groups + 1, dtype=torch.int32, device="cuda") * self.rows
        table = weight_only.make_table(torch)
        parts = [(slice(group * self.rows, (group + 1) * self.rows),
                  weight_only.dequantize(torch, self, codes[group % len(codes)],
                                         scales[group % len(codes)], table))
                 for group in (0, self.groups - 1)]
        if not is_prepacked:
            prepacked = codes.repeat(self.groups // len(codes), 1, 1)
        return (x, prepacked, ends, swizzled), parts


CASES = [Case(name, rows, *weights) for name in weight_only.FORMATS for weights in WEIGHTS
         for rows in ROWS if weights == WEIGHTS[0] or name == "NVFP4"]
CASES += [GroupCase("NVFP4", rows, *weights, groups) for weights in GROUP_WEIGHTS
          for groups, rows in GROUPS]


class Chain(Benchmark):
    name, cases = "chain", CASES
    chips = ("sm_90a", "sm_80", "sm_89")
    files = ("grouped.py", "humming_peer.py", "weight_only.py")
    columns = ("weights, MxNxK", "free, us", "chain, us", "cuBLAS bf16, us", "share of free",
               "bar")

    @property
    def is_prepacked(self):
        return self.chip == self.chips[0]

    def make_modules(self, case):
        return {f"{case.file}_{form}": case.make_module(form, self.is_prepacked)
                for form in FORMS}

    def measure(self, machine, case):
        torch = machine.torch
        tensors, parts = case.make_operands(torch, self.is_prepacked)
        works, results = {}, {}
        for form in FORMS:
            works[form], results[form] = machine.make_call(f"{case.file}_{form}", "product",
                                                           tensors)
            works[form]()
        differ, count, problem = 0, 0, ""
        for rows, wide in parts:
            x, y = tensors[0][rows], torch.mm(tensors[0][rows], wide.t())
            got = results["chain"][rows]
            differ += int((got.view(torch.int16) != y.view(torch.int16)).sum())
            count += y.numel()
            problem = problem or weight_only.find_problem(torch, results["free"][rows], x, wide)
        if differ:
            problem = f"WRONG: {differ} of {count} differ from cuBLAS"
        if not isinstance(case, GroupCase):
            y = torch.empty_like(results["chain"])
            works["cuBLAS bf16"] = lambda: torch.mm(tensors[0], parts[0][1].t(), out=y)
        calls, notes = capture(machine.clock, works, works)
        times = machine.clock.compare(calls)
        return {"label": case.label, "us": times, "notes": notes,
                "problem": problem,
                "share": times["free"] / times["chain"],
                "bar": case.bar if self.is_prepacked else None}

    def make_cells(self, row):
        times = (f"{row['us'][name]:.1f}" if name in row["us"] else ""
                 for name in (*FORMS, "cuBLAS bf16"))
        return [row["label"], *times, f"{row['share']:.2f}", str(row["bar"] or "")]


if __name__ == "__main__":
    sys.exit(main(Chain(), __doc__))
