#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times products as importers write them beside products of activations and weights alone.

  python3 benchmarks/gpu/decoded.py pack FOLDER [--only GLOB]     # here
  python3 FOLDER/decoded.py run [--only GLOB] [--out FOLDER]      # there

The other machine needs a Hopper GPU and torch. Importers write a `blockscale.dequantize` of NVFP4
weights with a global scale that is known at run time, which gives W: NxK in bf16, and then a
`linalg.matmul` of X: MxK in bf16 and W. Each element of W is rounded twice: the product of its
scale and the global scale to f32, and that of the code with it to bf16. The kernel of the product
decodes elements so. The peer is our `scaled_mm` of the same X, codes and scales, without the
global scale, whose kernel multiplies codes by scales alone. Codes are row-major, and scales are
swizzled, in both. torch.mm of weights that were dequantized before is timed, too.

The clock is that of weight_only.py; all take turns. First results are compared with torch.mm in
f32. A share is the time of scaled_mm over that of the importers' product. Prints a table with the
bars; writes decoded.json. The exit status is 1 if a result is wrong or a bar is missed.
"""

import sys
from dataclasses import dataclass

import weight_only
from product_bench import Benchmark, capture, main

ROWS = (1, 16, 64, 128, 256, 512, 1024, 4096, 8192)
WEIGHTS = ((8192, 8192), (4096, 4096))
# The least share of the speed of scaled_mm, from so many rows on.
BARS = ((1, 0.7), (1024, 0.95))
# The global scale, which is no power of two and has all bits of f32.
GLOBAL = float.fromhex("0x1.948b02p-7")


@dataclass(frozen=True)
class Case(weight_only.Case):
    @property
    def bar(self):
        return [bar for first, bar in BARS if self.rows >= first][-1]

    def module(self):
        form = self.format
        x, wide, y, sums = (
            f"tensor<{rows}x{cols}x{element}>" for rows, cols, element in (
                (self.rows, self.depth, "bf16"), (self.cols, self.depth, "bf16"),
                (self.rows, self.cols, "bf16"), (self.rows, self.cols, "f32")))
        w = f"tensor<{self.cols}x{self.depth}x{form.element}>"
        s = (f"tensor<{self.cols}x{self.depth // form.block}x{form.scale}, "
             "#blockscale.layout<swizzle_128x4>>")
        maps = ", ".join(f"affine_map<(m, n, k) -> ({dims})>" for dims in ("m, k", "n, k", "m, n"))
        return (
            f"func.func @product(%x: {x}, %w: {w}, %s: {s}, %g: tensor<f32>) -> {y} {{\n"
            f"  %d = blockscale.dequantize %w, %s block [1, {form.block}] "
            f"global_scale(%g : tensor<f32>) : {w}, {s} -> {wide}\n"
            f"  %zero = arith.constant 0.0 : f32\n  %e = tensor.empty() : {sums}\n"
            f"  %z = linalg.fill ins(%zero : f32) outs(%e : {sums}) -> {sums}\n"
            f"  %sums = linalg.matmul indexing_maps = [{maps}] ins(%x, %d : {x}, {wide}) "
            f"outs(%z : {sums}) -> {sums}\n"
            f"  %y = arith.truncf %sums : {sums} to {y}\n  return %y : {y}\n}}\n")


CASES = [Case("NVFP4", rows, *weights) for weights in WEIGHTS for rows in ROWS]


def dequantize(torch, case, codes, scales):
    """W as the module defines it."""
    element = weight_only.make_table(torch)[torch.stack([codes & 15, codes >> 4], dim=-1).int()]
    factors = scales.view(torch.float8_e4m3fn).float() * GLOBAL
    blocks = element.reshape(case.cols, -1, case.format.block).float() * factors.unsqueeze(-1)
    return blocks.reshape(case.cols, case.depth).to(torch.bfloat16)


class Decoded(Benchmark):
    name, cases = "decoded", CASES
    files = ("humming_peer.py", "weight_only.py")
    columns = ("weights, MxNxK", "us", "scaled_mm, us", "cuBLAS bf16, us", "share of scaled_mm",
               "bar")

    def make_modules(self, case):
        return {f"{case.file}_decoded": case.module(),
                f"{case.file}_alone": weight_only.Case.module(case, is_prepacked=False)}

    def measure(self, machine, case):
        torch = machine.torch
        codes, scales, swizzled = weight_only.make_weights(torch, case)
        x = torch.randn((case.rows, case.depth), device="cuda").to(torch.bfloat16)
        factor = torch.full((), GLOBAL, device="cuda")
        wide = dequantize(torch, case, codes, scales)
        works, problems = {}, []
        for name, form, tensors, of in (
                ("ours", "decoded", (x, codes, swizzled, factor), wide),
                ("scaled_mm", "alone", (x, codes, swizzled), weight_only.dequantize(
                    torch, case, codes, scales, weight_only.make_table(torch)))):
            works[name], result = machine.make_call(f"{case.file}_{form}", "product", tensors)
            works[name]()
            problems.append(weight_only.find_problem(torch, result, x, of))
        y = torch.empty((case.rows, case.cols), dtype=torch.bfloat16, device="cuda")
        works["cuBLAS bf16"] = lambda: torch.mm(x, wide.t(), out=y)
        calls, notes = capture(machine.clock, works, works)
        times = machine.clock.compare(calls)
        return {"label": case.label, "us": times, "problem": max(problems), "notes": notes,
                "share": times["scaled_mm"] / times["ours"], "bar": case.bar}

    def make_cells(self, row):
        times = (f"{row['us'][name]:.1f}" for name in ("ours", "scaled_mm", "cuBLAS bf16"))
        return [row["label"], *times, f"{row['share']:.2f}", str(row["bar"])]


if __name__ == "__main__":
    sys.exit(main(Decoded(), __doc__))
