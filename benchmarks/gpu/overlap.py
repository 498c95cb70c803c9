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
WIDTH, GATED, QUERIES = 4096, 14336, 6144
WEIGHTS = ((WIDTH, WIDTH), (GATED, WIDTH), (WIDTH, GATED))
DECODER_WEIGHTS = ((WIDTH, WIDTH), (GATED, WIDTH), (GATED, WIDTH), (WIDTH, GATED),
                   (QUERIES, WIDTH))
FORMS = ("ordinary", "overlapped")
FORMAT = weight_only.FORMATS["NVFP4"]


@dataclass(frozen=True)
class Case:
    rows: int
    form: str

    @property
    def label(self):
        return f"{LAYERS} layers, M = {self.rows}, {self.form}"

    @property
    def file(self):
        return f"overlap_{self.rows}_{self.form}"

    @property
    def weights(self):
        """N and K of the weights of a layer."""
        return DECODER_WEIGHTS if self.form == "decoder" else WEIGHTS

    @property
    def weight_bytes(self):
        return LAYERS * sum(n * k * 9 // 16 for n, k in self.weights)

    def module(self):
        writer = Writer(self)
        last = "%x"
        for layer in range(LAYERS):
            last = getattr(writer, f"write_{self.form}")(layer, last)
        return writer.finish(last)


class Writer:
    """Writes the function of a chain."""

    def __init__(self, case):
        self.case, self.lines, self.count = case, [], 0
        self.arguments = [f"%x: {self.type(WIDTH)}"]
        self.weights = 0

    def type(self, size):
        return f"tensor<{self.case.rows}x{size}xbf16>"

    def add(self, text):
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def multiply(self, x):
        """Writes the product by the next weights."""
        number, self.weights = self.weights, self.weights + 1
        n, k = self.case.weights[number % len(self.case.weights)]
        w = f"tensor<{n}x{k}xf4E2M1FN, #blockscale.data_layout<fragments_64x64>>"
        s = f"tensor<{n}x{k // 16}xf8E4M3FN, #blockscale.layout<swizzle_128x4>>"
        self.arguments += [f"%w{number}: {w}", f"%s{number}: {s}"]
        return self.add(f"blockscale.scaled_mm {x}, %w{number} scales(none, %s{number})"
                        f" block [1, 16] : {self.type(k)}, {w}, {s} -> {self.type(n)}")

    def join(self, one, other, size, body):
        """Writes an op on the elements %a and %b of two tensors, which gives %r."""
        made = self.add(f"tensor.empty() : {self.type(size)}")
        row = "affine_map<(d0, d1) -> (d0, d1)>"
        return self.add(
            f"linalg.generic {{indexing_maps = [{row}, {row}, {row}], iterator_types = "
            f"[\"parallel\", \"parallel\"]}} ins({one}, {other} : {self.type(size)}, "
            f"{self.type(size)}) outs({made} : {self.type(size)}) {{\n"
            f"  ^bb0(%p: bf16, %q: bf16, %o: bf16):\n"
            f"    %a = arith.extf %p : bf16 to f32\n    %b = arith.extf %q : bf16 to f32\n{body}"
            f"    %c = arith.truncf %r : f32 to bf16\n    linalg.yield %c : bf16\n"
            f"  }} -> {self.type(size)}")

    def sum(self, one, other):
        return self.join(one, other, WIDTH, "    %r = arith.addf %a, %b : f32\n")

    def gate(self, gate, up):
        """Writes silu(gate) * up, with f32 in between."""
        return self.join(gate, up, GATED, (
            "    %n = arith.negf %a : f32\n    %e = math.exp %n : f32\n"
            "    %one = arith.constant 1.0 : f32\n    %d = arith.addf %one, %e : f32\n"
            "    %s = arith.divf %a, %d : f32\n    %r = arith.mulf %s, %b : f32\n"))

    def norm(self, x):
        """Writes an RMSNorm without weights."""
        rows, wide = self.case.rows, self.type(WIDTH)
        zero = self.add("arith.constant 0.0 : f32")
        of_rows = f"tensor<{rows}xf32>"
        empty = self.add(f"tensor.empty() : {of_rows}")
        first = self.add(f"linalg.fill ins({zero} : f32) outs({empty} : {of_rows}) -> {of_rows}")
        maps = ("affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0, d1) -> (d0)>")
        total = self.add(
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = "
            f"[\"parallel\", \"reduction\"]}} ins({x} : {wide}) outs({first} : {of_rows}) {{\n"
            "  ^bb0(%p: bf16, %o: f32):\n    %a = arith.extf %p : bf16 to f32\n"
            "    %b = arith.mulf %a, %a : f32\n    %c = arith.addf %o, %b : f32\n"
            f"    linalg.yield %c : f32\n  }} -> {of_rows}")
        made = self.add(f"tensor.empty() : {wide}")
        return self.add(
            f"linalg.generic {{indexing_maps = [{maps[0]}, {maps[1]}, {maps[0]}], iterator_types = "
            f"[\"parallel\", \"parallel\"]}} ins({x}, {total} : {wide}, {of_rows}) "
            f"outs({made} : {wide}) {{\n  ^bb0(%p: bf16, %t: f32, %o: bf16):\n"
            "    %a = arith.extf %p : bf16 to f32\n"
            f"    %k = arith.constant {WIDTH}.0 : f32\n    %m = arith.divf %t, %k : f32\n"
            "    %e = arith.constant 1.0e-05 : f32\n    %d = arith.addf %m, %e : f32\n"
            "    %i = math.rsqrt %d : f32\n    %r = arith.mulf %a, %i : f32\n"
            f"    %c = arith.truncf %r : f32 to bf16\n    linalg.yield %c : bf16\n  }} -> {wide}")

    def write_products(self, layer, x):
        for _ in WEIGHTS:
            x = self.multiply(x)
        return x

    def write_sums(self, layer, x):
        return self.sum(x, self.write_products(layer, x))

    def write_decoder(self, layer, x):
        """What a decoder of Llama-3-8B has between two attentions; the output of attention is the
        queries."""
        if layer == 0:
            self.residual = x
        x = self.residual = self.sum(self.residual, self.multiply(x))
        n = self.norm(x)
        gate = self.multiply(n)
        h = self.gate(gate, self.multiply(n))
        x = self.residual = self.sum(x, self.multiply(h))
        y = self.multiply(self.norm(x))
        wide = self.type(QUERIES)
        return self.add(f"tensor.extract_slice {y}[0, 0] [{self.case.rows}, {WIDTH}] [1, 1] : "
                        f"{wide} to {self.type(WIDTH)}")

    def finish(self, last):
        body = "".join(f"  {line}\n" for line in self.lines)
        return (f"func.func @chain({', '.join(self.arguments)}) -> {self.type(WIDTH)} {{\n{body}"
                f"  return {last} : {self.type(WIDTH)}\n}}\n")


CASES = [Case(rows, form) for form in ("products", "sums", "decoder") for rows in (1, 16)]


def make_weights(torch, case):
    """Codes and scales of all layers: a row's sums are about as large as its elements."""
    weights = []
    for _ in range(LAYERS):
        for n, k in case.weights:
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
        # Operands of the cases, by the sizes of their weights.
        self.weights = {}
        most = max(case.weight_bytes for case in cases)
        self.source = torch.empty(most // 2, dtype=torch.uint8, device="cuda")
        self.target = torch.empty_like(self.source)
        return ""

    def measure(self, machine, case):
        torch = machine.torch
        x = torch.randn((case.rows, WIDTH), device="cuda").to(torch.bfloat16)
        weights = self.weights.get(case.weights) or make_weights(torch, case)
        self.weights[case.weights] = weights
        works, results = {}, {}
        for form in FORMS:
            works[form], results[form] = machine.make_call(f"{case.file}_{form}", "chain",
                                                           (x, *weights))
            for _ in range(10):
                works[form]()
        half = case.weight_bytes // 2
        works["copy"] = lambda: self.target[:half].copy_(self.source[:half])
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
