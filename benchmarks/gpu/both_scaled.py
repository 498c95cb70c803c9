#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times products of activations that are quantized and block-scaled weights beside others.

  python3 benchmarks/gpu/both_scaled.py pack FOLDER [--only GLOB]     # here
  python3 FOLDER/both_scaled.py run [--only GLOB] [--out FOLDER]      # there

The other machine needs a Hopper GPU and torch. Y = Q(X) W^T, of X: MxK in bf16, which is quantized
to the format of W: NxK, prepacked and with swizzled scales, and Y: MxN in bf16. All start from X in
bf16 and the codes and scales of W, in one process:

  cuBLAS bf16      torch.mm of X itself and of weights that were dequantized before
  dequantize       torch.compile of a quantizer of X and of the dequantization of both, then
                   torch.mm
  dot_scaled       the same quantizer, then a Triton kernel of tl.dot_scaled (MXFP8 and MXFP4)

The clock is that of weight_only.py; all take turns: ours, cuBLAS, the others. First the result is
compared with torch.mm in f32 of the values to which our own quantizer brings X, which are compared
with X. The cases with bars come first.

Prints a table with the bars, the least speed beside a peer's; writes both_scaled.json. The exit
status is 1 if a result is wrong or a bar is missed.
"""

import sys
from dataclasses import dataclass

import weight_only
from product_bench import Benchmark, capture, main

SHAPES = ((4096, 4096, 4096), (512, 8192, 8192), (8192, 8192, 8192), (4096, 14336, 4096))
BARRED = SHAPES[0]
# The least speed of ours over that of a peer, for the first shape.
BARS = {"NVFP4": {"dequantize": 1.15}, "MXFP8": {"dequantize": 1.0, "dot_scaled": 3.0},
        "MXFP4": {"dot_scaled": 1.5}}
PEERS = ("cuBLAS bf16", "dequantize", "dot_scaled")
# The largest element, its exponent, and the share of the power of X that quantizing may lose.
LARGEST = {"f4E2M1FN": (6.0, 2), "f8E4M3FN": (448.0, 8)}
MOST_LOST = {"f4E2M1FN": 0.03, "f8E4M3FN": 0.002}


@dataclass(frozen=True)
class Case(weight_only.Case):
    @property
    def bars(self):
        return BARS[self.name] if (self.rows, self.cols, self.depth) == BARRED else {}

    def module(self):
        """@product, and @values of the quantized activations."""
        form = self.format
        x, y = (f"tensor<{self.rows}x{size}xbf16>" for size in (self.depth, self.cols))
        q, w = (f"tensor<{size}x{self.depth}x{form.element}>" for size in (self.rows, self.cols))
        t, s = (f"tensor<{size}x{self.depth // form.block}x{form.scale}"
                for size in (self.rows, self.cols))
        s += ", #blockscale.layout<swizzle_128x4>"
        w = f"{w[:-1]}, #blockscale.data_layout<fragments_64x64>>"
        block = f"block [1, {form.block}]"
        quantize = f"  %q, %t = blockscale.quantize %x {block} : {x} -> {q}, {t}>\n"
        return (f"func.func @product(%x: {x}, %w: {w}, %s: {s}>) -> {y} {{\n{quantize}"
                f"  %y = blockscale.scaled_mm %q, %w scales(%t, %s) {block} : {q}, {w}, {t}>, {s}> "
                f"-> {y}\n  return %y : {y}\n}}\n"
                f"func.func @values(%x: {x}) -> {x} {{\n{quantize}"
                f"  %v = blockscale.dequantize %q, %t {block} : {q}, {t}> -> {x}\n"
                f"  return %v : {x}\n}}\n")


# A run may be cut short, so the first shape of each format comes before the others.
CASES = [Case(name, *shape) for shape in SHAPES for name in weight_only.FORMATS]


def quantize(torch, case, x):
    """Codes and scale bytes of x, by torch: scales round down in MX, and what lies between two
    codes of E2M1 goes up. For the time that it takes, so ties may differ from ours."""
    form = case.format
    largest, power = LARGEST[form.element]
    blocks = x.float().reshape(case.rows, -1, form.block)
    amax = blocks.abs().amax(dim=-1, keepdim=True)
    if form.block == 16:
        scale = (amax / largest).clamp(2**-6, 448).to(torch.float8_e4m3fn)
        factor, scales = scale.float(), scale.view(torch.uint8)
    else:
        exponent = ((amax.view(torch.int32) >> 23) - power).clamp(1, 254)
        factor, scales = (exponent << 23).view(torch.float32), exponent.to(torch.uint8)
    values = (blocks / factor).clamp(-largest, largest).reshape(case.rows, case.depth)
    scales = scales.reshape(case.rows, -1)
    if form.bytes_of_two == 2:
        return values.to(torch.float8_e4m3fn).view(torch.uint8), scales
    size = values.abs()
    codes = sum((size >= middle).to(torch.uint8) for middle in (.25, .75, 1.25, 1.75, 2.5, 3.5, 5))
    codes = codes | ((values < 0).to(torch.uint8) << 3)
    pairs = codes.reshape(case.rows, -1, 2)
    return pairs[..., 0] | (pairs[..., 1] << 4), scales


def decode(torch, case, rows, codes, scales, table):
    """weight_only.dequantize of a matrix of `rows` rows."""
    return weight_only.dequantize(
        torch, weight_only.Case(case.name, case.rows, rows, case.depth), codes, scales, table)


def make_dot_scaled(case, quantizer, x, codes, scales, y):
    """Quantizing x, and a product by tl.dot_scaled."""
    def work():
        from dot_scaled import multiply
        multiply(quantizer(x), (codes, scales), y, case.depth, case.format.bytes_of_two == 1)

    return work


def find_problem(torch, case, x, values, y, wide):
    """What is wrong with the values of x, or with the product; empty if nothing is."""
    lost = ((values.float() - x.float())**2).sum() / (x.float()**2).sum()
    if not lost <= MOST_LOST[case.format.element]:
        return f"WRONG: quantizing loses {float(lost):.4f} of the power of X"
    return weight_only.find_problem(torch, y, values, wide)


def measure_both(machine, case):
    torch, clock = machine.torch, machine.clock
    codes, scales, swizzled = weight_only.make_weights(torch, case)
    x = torch.randn((case.rows, case.depth), device="cuda").to(torch.bfloat16)
    table = weight_only.make_table(torch)
    wide = decode(torch, case, case.cols, codes, scales, table)
    y = torch.empty((case.rows, case.cols), dtype=torch.bfloat16, device="cuda")

    weights = weight_only.block_prepacked(case, weight_only.prepack(torch, case, codes))
    ours, result = machine.make_call(case.file, "product", (x, weights, swizzled))
    get_values, values = machine.make_call(case.file, "values", (x,))
    ours()
    get_values()
    problem = find_problem(torch, case, x, values, result, wide)

    # Dynamo gives up on a function after so many shapes, and what was compiled then is not.
    torch.compiler.reset()
    quantizer = torch.compile(lambda t: quantize(torch, case, t), dynamic=False)

    def decode_both(t, w, s):
        return (decode(torch, case, case.rows, *quantize(torch, case, t), table),
                decode(torch, case, case.cols, w, s, table))

    both = torch.compile(decode_both, dynamic=False)

    def multiply_decoded():
        a, b = both(x, codes, scales)
        torch.mm(a, b.t(), out=y)

    works = {"ours": ours, "cuBLAS bf16": lambda: torch.mm(x, wide.t(), out=y),
             "dequantize": multiply_decoded}
    if case.format.block == 32:
        works["dot_scaled"] = make_dot_scaled(case, quantizer, x, codes, scales, y)
    calls, notes = capture(clock, works, ["ours"])
    times = clock.compare(calls)
    speed = {name: times[name] / times["ours"] for name in PEERS if name in times}
    # A peer that failed has no bar.
    missed = [f"MISSED {bar} of {name}" for name, bar in case.bars.items()
              if speed.get(name, bar) < bar]
    return {"label": case.label, "us": times, "problem": problem, "notes": notes, "speed": speed,
            "tflops": case.flops * 1e-6 / times["ours"],
            "bars": ", ".join(missed) or ("met" if case.bars else "")}


class BothScaled(Benchmark):
    name, cases = "both_scaled", CASES
    files = ("dot_scaled.py", "humming_peer.py", "weight_only.py")
    columns = ("both operands, MxNxK", "us", "TFLOP/s", *(f"{name}, us" for name in PEERS),
               *(f"speed of {name}" for name in PEERS))

    def make_modules(self, case):
        return {case.file: case.module()}

    def measure(self, machine, case):
        return measure_both(machine, case)

    def verdict(self, row):
        return row["problem"] or row["bars"]

    def make_cells(self, row):
        times = [f"{row['us'][name]:.1f}" if name in row["us"] else "" for name in PEERS]
        speeds = [f"{row['speed'][name]:.2f}" if name in row["speed"] else "" for name in PEERS]
        return [row["label"], f"{row['us']['ours']:.1f}", f"{row['tflops']:.0f}", *times, *speeds]


if __name__ == "__main__":
    sys.exit(main(BothScaled(), __doc__))
