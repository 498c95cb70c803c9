#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times modules for any number of rows beside those of each number.

  python3 benchmarks/gpu/by_rows.py pack FOLDER [--only GLOB]     # here
  python3 FOLDER/by_rows.py run [--only GLOB] [--out FOLDER]      # there

The other machine needs a Hopper GPU and torch. Y = X W^T as in weight_only.py, of prepacked
weights W: NxK, but M, the rows of X, is dynamic: the module has kernels for few and for many rows,
and the host chooses by those of a call. The peers are the module with M in its types, and a
module of any rows that quantizes X, too, as both_scaled.py does.

The clock is that of weight_only.py; all take turns. First results are compared with torch.mm in
f32. A share is the time of the fastest peer over ours. Prints a table with the bars; writes
by_rows.json. The exit status is 1 if a result is wrong or a bar is missed.
"""

import sys
from dataclasses import dataclass, replace

import both_scaled
import weight_only
from product_bench import Benchmark, capture, main

ROWS = (1, 16, 33, 64, 128, 200, 256, 512, 1024, 4096)
WEIGHTS = ((4096, 4096), (14336, 4096))
# The numbers of rows that have a bar, and the least share of the fastest peer's speed.
BARRED, BAR = (1, 4096), 0.95
FORMS = ("any", "static", "both")


@dataclass(frozen=True)
class Case(weight_only.Case):
    def get_file(self, form):
        """The name of a module: modules of any rows are those of all cases."""
        rows = f"_{self.rows}" if form == "static" else ""
        return f"rows_{self.name}_{self.cols}_{self.depth}_{form}{rows}"

    @property
    def file(self):
        return f"{self.get_file(FORMS[0])}_{self.rows}"

    def make_module(self, form):
        if form == "static":
            return weight_only.Case.module(self, is_prepacked=True)
        # No other tensor has as many rows as X has here.
        any_rows = replace(self, rows=7)
        module = (both_scaled.Case.module(any_rows) if form == "both" else
                  weight_only.Case.module(any_rows, is_prepacked=True))
        return module.replace("tensor<7x", "tensor<?x")


CASES = [Case(name, rows, *weights) for name in ("NVFP4", "MXFP8") for weights in WEIGHTS
         for rows in ROWS]


class ByRows(Benchmark):
    name, cases = "by_rows", CASES
    files = ("both_scaled.py", "humming_peer.py", "weight_only.py")
    columns = ("weights, MxNxK", "any rows, us", "M in the types, us", "X quantized, us",
               "share", "bar")

    def make_modules(self, case):
        return {case.get_file(form): case.make_module(form) for form in FORMS}

    def measure(self, machine, case):
        torch = machine.torch
        codes, scales, swizzled = weight_only.make_weights(torch, case)
        x = torch.randn((case.rows, case.depth), device="cuda").to(torch.bfloat16)
        wide = weight_only.dequantize(torch, case, codes, scales, weight_only.make_table(torch))
        packed = weight_only.block_prepacked(case, weight_only.prepack(torch, case, codes))
        works, problems = {}, []
        for form in FORMS:
            works[form], result = machine.make_call(case.get_file(form), "product",
                                                    (x, packed, swizzled))
            works[form]()
            # both_scaled.py checks products of quantized activations.
            problems.append("" if form == "both" else
                            weight_only.find_problem(torch, result, x, wide))
        calls, notes = capture(machine.clock, works, works)
        times = machine.clock.compare(calls)
        return {"label": case.label, "us": times, "problem": max(problems), "notes": notes,
                "share": min(times["static"], times["both"]) / times["any"],
                "bar": BAR if case.rows in BARRED else None}

    def make_cells(self, row):
        times = (f"{row['us'][form]:.1f}" for form in FORMS)
        return [row["label"], *times, f"{row['share']:.2f}", str(row["bar"] or "")]


if __name__ == "__main__":
    sys.exit(main(ByRows(), __doc__))
