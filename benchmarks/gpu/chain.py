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
or a bar is missed.
"""

import os
import sys
from dataclasses import dataclass

# Before torch is imported: cuBLAS splits K where it has memory for sums.
os.environ |= {"CUBLAS_WORKSPACE_CONFIG": ":0:0", "CUBLASLT_WORKSPACE_SIZE": "0"}

import weight_only
from product_bench import Benchmark, capture, main

ROWS = (1, 16, 32, 64, 128, 256, 512, 1024, 4096, 8192)
WEIGHTS = ((8192, 8192), (14336, 4096), (4096, 14336), (4096, 4096))
# The least share of the speed of free order, from so many rows on.
BARS = ((1, 0.88), (129, 0.97))
FORMS = ("free", "chain")


@dataclass(frozen=True)
class Case(weight_only.Case):
    @property
    def bar(self):
        return [bar for first, bar in BARS if self.rows >= first][-1]

    def make_module(self, form, is_prepacked):
        module = self.module(is_prepacked)
        of_block = f"block [1, {self.format.block}]"
        return module.replace(of_block, f"{of_block} order chain") if form == "chain" else module


CASES = [Case(name, rows, *weights) for name in weight_only.FORMATS for weights in WEIGHTS
         for rows in ROWS if weights == WEIGHTS[0] or name == "NVFP4"]


class Chain(Benchmark):
    name, cases = "chain", CASES
    chips = ("sm_90a", "sm_80", "sm_89")
    files = ("humming_peer.py", "weight_only.py")
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
        codes, scales, swizzled = weight_only.make_weights(torch, case)
        x = torch.randn((case.rows, case.depth), device="cuda").to(torch.bfloat16)
        wide = weight_only.dequantize(torch, case, codes, scales, weight_only.make_table(torch))
        weights = codes
        if self.is_prepacked:
            weights = weight_only.block_prepacked(case, weight_only.prepack(torch, case, codes))
        works, results = {}, {}
        for form in FORMS:
            works[form], results[form] = machine.make_call(f"{case.file}_{form}", "product",
                                                           (x, weights, swizzled))
            works[form]()
        y = torch.empty((case.rows, case.cols), dtype=torch.bfloat16, device="cuda")
        works["cuBLAS bf16"] = lambda: torch.mm(x, wide.t(), out=y)
        works["cuBLAS bf16"]()
        differ = int((results["chain"].view(torch.int16) != y.view(torch.int16)).sum())
        problem = f"WRONG: {differ} of {y.numel()} differ from cuBLAS" if differ else ""
        calls, notes = capture(machine.clock, works, works)
        times = machine.clock.compare(calls)
        return {"label": case.label, "us": times, "notes": notes,
                "problem": problem or weight_only.find_problem(torch, results["free"], x, wide),
                "share": times["free"] / times["chain"],
                "bar": case.bar if self.is_prepacked else None}

    def make_cells(self, row):
        times = (f"{row['us'][name]:.1f}" for name in (*FORMS, "cuBLAS bf16"))
        return [row["label"], *times, f"{row['share']:.2f}", str(row["bar"] or "")]


if __name__ == "__main__":
    sys.exit(main(Chain(), __doc__))
