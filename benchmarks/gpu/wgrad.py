#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times weight gradients of groups of any length beside those of groups of whole blocks.

  python3 benchmarks/gpu/wgrad.py pack FOLDER [--only GLOB]       # here
  python3 FOLDER/wgrad.py run [--only GLOB] [--out FOLDER]        # there

The other machine needs a Hopper GPU, torch and NumPy. dW[g] = dY[g]^T X[g] of the tokens that
group g has, of dY: TxN and X: TxK in bf16, both of which are quantized along tokens first. The
ends of groups are drawn at random, and the kernels read them on the device: `pad_groups` makes
whole blocks of them. The peer is the same module without `pad_groups`. It gets groups whose ends
are multiples of the unit: those that `pad_groups` makes, and, where groups have many rows, those
of as many tokens in all as before padding.

The clock is that of weight_only.py; all take turns. First the gradients are compared with the
peer's of the groups that `pad_groups` makes, and these with torch's in bf16, from which they differ
by what quantizing loses. A share is the peer's time over ours. Prints a table with the bars; writes
wgrad.json. The exit status is 1 if a result is wrong or a bar is missed.
"""

import sys
from dataclasses import dataclass

import numpy as np

from product_bench import Benchmark, capture, main

# Rows that groups are padded to a multiple of: 128 bytes of bf16, so that loads of a product along
# K begin where lines of memory do.
UNIT = 64
# The least share of the speed of the peer, and the mean rows of a group from which on the peer has
# as many tokens as before padding.
BAR, MANY_ROWS = 0.95, 2048
# The most that quantizing may change gradients, as a share of their norm.
MOST_LOST = {"MXFP8": 0.06, "NVFP4": 0.2}
TYPES = {"MXFP8": ("f8E4M3FN", "f8E8M0FNU", 32), "NVFP4": ("f4E2M1FN", "f8E4M3FN", 16)}


@dataclass(frozen=True)
class Case:
    name: str  # of the format
    groups: int
    tokens: int
    cols: int
    depth: int

    @property
    def label(self):
        return (f"{self.name}, {self.groups} groups of {self.tokens} tokens, "
                f"{self.cols}x{self.depth}")

    @property
    def file(self):
        return f"wgrad_{self.name}_{self.groups}_{self.tokens}_{self.cols}_{self.depth}"

    @property
    def ends(self):
        """The ends of groups, whose lengths are drawn."""
        random = np.random.default_rng(self.groups)
        return np.sort(random.integers(0, self.tokens + 1, self.groups - 1)).tolist() + [
            self.tokens]

    @property
    def padded_ends(self):
        lengths = np.diff([0, *self.ends])
        return np.cumsum((lengths + UNIT - 1) // UNIT * UNIT).tolist()

    @property
    def even_ends(self):
        """Ends that are multiples of the unit, of as many tokens as there are."""
        return [end // UNIT * UNIT for end in self.ends[:-1]] + [self.tokens]

    def module(self, tokens, is_padded):
        """@product of so many tokens."""
        data, scale, block = TYPES[self.name]
        rows = (tokens + self.groups * (UNIT - 1)) // UNIT * UNIT if is_padded else tokens
        ends = f"tensor<{self.groups}xi32>"
        sizes = {"dy": self.cols, "x": self.depth}
        codes = {name: f"tensor<{size}x{rows}x{data}>" for name, size in sizes.items()}
        scales = {name: f"tensor<{size}x{rows // block}x{scale}>" for name, size in sizes.items()}
        x, dy = (f"tensor<{tokens}x{sizes[name]}xbf16>" for name in ("x", "dy"))
        result = f"tensor<{self.groups}x{self.cols}x{self.depth}xbf16>"
        lines, known, value = [], "%ends", {name: f"%{name}" for name in sizes}
        for name, size in sizes.items():
            if is_padded:
                to = f"tensor<{rows}x{size}xbf16>"
                lines.append(
                    f"  %p{name}, %e{name} = blockscale.pad_groups %{name} offsets(%ends : {ends}) "
                    f"unit {UNIT} : tensor<{tokens}x{size}xbf16> -> {to}\n")
                value[name], known = f"%p{name}", "%ex"
        for name, size in sizes.items():
            lines.append(
                f"  %q{name}, %s{name} = blockscale.quantize {value[name]} block [{block}, 1] "
                f"transposed : tensor<{rows}x{size}xbf16> -> {codes[name]}, {scales[name]}\n")
        return (f"func.func @product(%x: {x}, %dy: {dy}, %ends: {ends}) -> {result} {{\n"
                f"{''.join(lines)}"
                f"  %dw = blockscale.scaled_grouped_mm %qdy, %qx offsets({known}) "
                f"scales(%sdy, %sx) block [1, {block}] : {codes['dy']}, {codes['x']}, {ends}, "
                f"{scales['dy']}, {scales['x']} -> {result}\n  return %dw : {result}\n}}\n")


CASES = [Case(name, *sizes) for name in TYPES for sizes in (
    (8, 8192, 2048, 4096), (32, 8192, 2048, 4096), (64, 8192, 1024, 2048), (8, 32768, 2048, 4096))]


def find_problem(torch, case, found, wanted, exact):
    """What is wrong with gradients; an empty text if there is nothing."""
    # The sums of f32 have other orders, and results are rounded to bf16.
    far = (found.float() - wanted.float()).abs() > 2**-7 * wanted.float().abs() + 2**-9 * (
        wanted.float().abs().amax((1, 2), keepdim=True))
    if far.any():
        return f"WRONG: {int(far.sum())} of {far.numel()} differ"
    lost = torch.linalg.vector_norm(wanted.float() - exact) / torch.linalg.vector_norm(exact)
    # NaN is no number that is at most another.
    return "" if lost <= MOST_LOST[case.name] else f"WRONG: {lost:.3f} of the norm is lost"


class Wgrad(Benchmark):
    name, cases = "wgrad", CASES
    columns = ("gradients", "padded rows", "us", "groups padded before, us",
               "whole blocks of all tokens, us", "share", "bar")

    def make_modules(self, case):
        return {f"{case.file}_any": case.module(case.tokens, is_padded=True),
                f"{case.file}_padded": case.module(case.padded_ends[-1], is_padded=False),
                f"{case.file}_even": case.module(case.tokens, is_padded=False)}

    def measure(self, machine, case):
        torch = machine.torch
        # Groups differ in magnitude, and so do columns.
        x, dy = (torch.randn((case.tokens, size), device="cuda") *
                 torch.randint(1, 9, (size,), device="cuda") for size in (case.depth, case.cols))
        x, dy = x.to(torch.bfloat16), dy.to(torch.bfloat16)
        padded = {"x": torch.zeros((case.padded_ends[-1], case.depth), dtype=x.dtype,
                                   device="cuda"),
                  "dy": torch.zeros((case.padded_ends[-1], case.cols), dtype=x.dtype,
                                    device="cuda")}
        exact = torch.zeros((case.groups, case.cols, case.depth), device="cuda")
        start = padded_start = 0
        for group, (end, padded_end) in enumerate(zip(case.ends, case.padded_ends)):
            to = slice(padded_start, padded_start + end - start)
            padded["x"][to], padded["dy"][to] = x[start:end], dy[start:end]
            exact[group] = dy[start:end].t().float() @ x[start:end].float()
            start, padded_start = end, padded_end

        def make_ends(ends):
            return torch.tensor(ends, dtype=torch.int32, device="cuda")

        works, results = {}, {}
        for name, tensors in (("any", (x, dy, make_ends(case.ends))),
                              ("padded", (padded["x"], padded["dy"],
                                          make_ends(case.padded_ends))),
                              ("even", (x, dy, make_ends(case.even_ends)))):
            works[name], results[name] = machine.make_call(f"{case.file}_{name}", "product",
                                                           tensors)
            works[name]()
        problem = find_problem(torch, case, results["any"], results["padded"], exact)
        calls, notes = capture(machine.clock, works, works)
        times = machine.clock.compare(calls)
        peer = "even" if case.tokens >= MANY_ROWS * case.groups else "padded"
        return {"label": case.label, "us": times, "problem": problem, "notes": notes,
                "rows": case.padded_ends[-1], "share": times[peer] / times["any"]}

    def verdict(self, row):
        return row["problem"] or ("met" if row["share"] >= BAR else "MISSED")

    def make_cells(self, row):
        times = (f"{row['us'][name]:.1f}" for name in ("any", "padded", "even"))
        return [row["label"], str(row["rows"]), *times, f"{row['share']:.2f}", str(BAR)]


if __name__ == "__main__":
    sys.exit(main(Wgrad(), __doc__))
