#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times chains of products as decoding has them, with launches that overlap and without.

  python3 benchmarks/gpu/overlap.py pack FOLDER [--only GLOB]      # here
  python3 FOLDER/overlap.py run [--only GLOB] [--out FOLDER]       # there

The other machine needs a Hopper GPU and torch. A chain is one function of 16 layers: products of
one or 16 rows of bf16 by prepacked NVFP4 weights of 4096x4096, 14336x4096 and 4096x14336, each of
which reads the result of the one before. All weights are different ones, 1.2 GB in all, so that
each comes from memory. In chains with sums, a layer adds what it began with to its result, by a
kernel of its own or in that of the product, as the compiler has it. The module is compiled with
`--overlap-launches` and without (docs/LaunchPlan.md, launches that overlap).

The clock is that of weight_only.py; both take turns, each as one CUDA graph. First the results are
compared, which must be the same bytes. A gain is the time of ordinary launches over that of those
that overlap; a share is the time that a copy of as many bytes takes, read and written ones
together, over that of ours. Prints a table; writes overlap.json. The exit status is 1 if a byte
differs.
"""

import sys
from dataclasses import dataclass

import weight_only
from product_bench import Benchmark, capture, main

LAYERS = 16
WEIGHTS = ((4096, 4096), (14336, 4096), (4096, 14336))
FORMS = ("ordinary", "overlapped")
FORMAT = weight_only.FORMATS["NVFP4"]


@dataclass(frozen=True)
class Case:
    rows: int
    adds: bool

    @property
    def label(self):
        return f"{LAYERS} layers, M = {self.rows}" + (", sums" if self.adds else "")

    @property
    def file(self):
        return f"overlap_{self.rows}" + ("_sums" if self.adds else "")

    @property
    def weight_bytes(self):
        return LAYERS * sum(n * k * 9 // 16 for n, k in WEIGHTS)

    def module(self):
        def row(size):
            return f"tensor<{self.rows}x{size}xbf16>"

        width = WEIGHTS[0][1]
        arguments, lines, last = [f"%x: {row(width)}"], [], "%x"
        for layer in range(LAYERS):
            first = last
            for number, (n, k) in enumerate(WEIGHTS):
                name = f"{layer}_{number}"
                w = f"tensor<{n}x{k}xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>"
                s = f"tensor<{n}x{k // 16}xf8E4M3FN, #blockscale.layout<swizzle_128x4>>"
                arguments += [f"%w{name}: {w}", f"%s{name}: {s}"]
                lines.append(f"%y{name} = blockscale.scaled_mm {last}, %w{name}"
                             f" scales(none, %s{name}) block [1, 16]"
                             f" : {row(k)}, {w}, {s} -> {row(n)}")
                last = f"%y{name}"
            if self.adds:
                lines.append(f"%e{layer} = tensor.empty() : {row(width)}")
                lines.append(f"%r{layer} = linalg.add ins({first}, {last} : {row(width)},"
                             f" {row(width)}) outs(%e{layer} : {row(width)}) -> {row(width)}")
                last = f"%r{layer}"
        body = "".join(f"  {line}\n" for line in lines)
        return (f"func.func @chain({', '.join(arguments)}) -> {row(width)} {{\n{body}"
                f"  return {last} : {row(width)}\n}}\n")


CASES = [Case(rows, adds) for rows in (1, 16) for adds in (False, True)]


def make_weights(torch):
    """Codes and scales of all layers: a row's sums are about as large as its elements."""
    weights = []
    for _ in range(LAYERS):
        for n, k in WEIGHTS:
            codes = torch.randint(0, 256, (n // 64, k // 64, 64 * 32), dtype=torch.uint8,
                                  device="cuda")
            # Subnormal numbers of E4M3: n / 512.
            low = 2 if k < 10000 else 1
            scales = torch.randint(low, low + 2, (n // 128, k // 64, 32, 4, 4), dtype=torch.uint8,
                                   device="cuda")
            weights += [codes, scales]
    return weights


class Overlap(Benchmark):
    name, cases = "overlap", CASES
    files = ("humming_peer.py", "weight_only.py")
    columns = ("chain", "GB of weights", "ordinary, us", "overlapped, us", "gain",
               "share of a copy")

    def make_modules(self, case):
        return {f"{case.file}_{form}": case.module() for form in FORMS}

    def get_options(self, name):
        return ("--overlap-launches",) if name.endswith(FORMS[1]) else ()

    def start(self, machine, options, cases):
        torch = machine.torch
        self.weights = make_weights(torch)
        self.source = torch.empty(CASES[0].weight_bytes // 2, dtype=torch.uint8, device="cuda")
        self.target = torch.empty_like(self.source)
        return ""

    def measure(self, machine, case):
        torch = machine.torch
        x = torch.randn((case.rows, WEIGHTS[0][1]), device="cuda").to(torch.bfloat16)
        works, results = {}, {}
        for form in FORMS:
            works[form], results[form] = machine.make_call(f"{case.file}_{form}", "chain",
                                                           (x, *self.weights))
            for _ in range(10):
                works[form]()
        works["copy"] = lambda: self.target.copy_(self.source)
        machine.device.synchronize()
        calls, notes = capture(machine.clock, works, list(works))
        times = machine.clock.compare(calls)
        bits = [results[form].view(torch.int16) for form in FORMS]
        differ = int((bits[0] != bits[1]).sum())
        is_number = bool(torch.isfinite(results[FORMS[0]]).all()) and bool(bits[0].any())
        problem = f"WRONG: {differ} elements" if differ else "" if is_number else "NO NUMBERS"
        return {"label": case.label, "us": times, "problem": problem, "bar": None, "notes": notes,
                "bytes": case.weight_bytes, "gain": times[FORMS[0]] / times[FORMS[1]],
                "share": times["copy"] / times[FORMS[1]]}

    def make_cells(self, row):
        times = (f"{row['us'][form]:.1f}" for form in FORMS)
        return [row["label"], f"{row['bytes'] / 1e9:.2f}", *times, f"{row['gain']:.3f}",
                f"{row['share']:.2f}"]


if __name__ == "__main__":
    sys.exit(main(Overlap(), __doc__))
