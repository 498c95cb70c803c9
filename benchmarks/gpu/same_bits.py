#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the bits of random products of order chain with PyTorch's.

  python3 benchmarks/gpu/same_bits.py pack FOLDER [--only GLOB] [--target CHIP]            # here
  python3 FOLDER/same_bits.py run [--only GLOB] [--out FOLDER] [--draws N] [--seed N]      # there

The other machine needs a Hopper GPU and torch; it also runs kernels of sm_80 and sm_89. Y = X W^T,
of X: MxK in bf16 and W: NxK in a block-scaled format, and the same in groups of rows, by modules
for any number of rows: of row-major weights of any N and K, and on sm_90a of some prepacked ones.
M is 1 to 8192, groups have any ends, and may be empty. A tenth of the draws has sums of about
2^-110 to 2^-149, and a tenth sums near the largest number. Every tenth call is a CUDA graph, and
every tenth runs on a stream of its own. Half of the calls are of kernels by the schedule that the
model chooses, and half by measured choices (docs/Tuning.md) of the ones that it finds worse.

Every bit is compared with torch.mm, or torch._grouped_mm, of the dequantized weights. cuBLAS splits
no K: it has no workspace here. The first row of X is multiplied alone, too. Prints a table; writes
same_bits.json. The exit status is 1 if a bit differs.
"""

import os
import sys
from dataclasses import dataclass

# Before torch is imported: cuBLAS splits K where it has memory for sums.
os.environ |= {"CUBLAS_WORKSPACE_CONFIG": ":0:0", "CUBLASLT_WORKSPACE_SIZE": "0"}

import ctypes
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import weight_only
from product_bench import CHIP, ROOT, Benchmark, get_build, main

# N and K of prepacked weights; groups have the second ones.
PREPACKED = ((192, 320), (256, 1024), (4096, 512), (64, 4096))
GROUPS = 5
DRAWS = 400
MOST_ROWS, MOST_PRODUCTS = 8192, 1 << 33
MAGNITUDES = ("usual",) * 8 + ("tiny", "huge")
# What one draw in so many is besides.
RARELY = 10
# Schedules of a case, and the sizes that they are chosen for: rows, and all others.
CANDIDATES, SIZES = 4, "64,4096"
TUNED = "same_bits_tuned.json"


@dataclass(frozen=True)
class Case:
    name: str  # of the format
    form: str  # dense or groups
    weights: tuple = ()  # N and K of prepacked ones

    @property
    def format(self):
        return weight_only.FORMATS[self.name]

    @property
    def label(self):
        order = "prepacked {}x{}".format(*self.weights) if self.weights else "row-major"
        return f"{self.name}, {self.form}, {order}"

    @property
    def file(self):
        return "_".join(map(str, ("bits", self.name, self.form, *self.weights)))

    def module(self):
        form, is_dense = self.format, self.form == "dense"
        n, k = self.weights or ("?", "?")
        groups = f"{GROUPS}x"
        layout = ", #blockscale.data_layout<fragments_64x64>" if self.weights else ""
        of_each = "" if is_dense else groups
        blocks = "?" if k == "?" else k // form.block
        x, y = f"tensor<?x{k}xbf16>", f"tensor<?x{n}xbf16>"
        w = f"tensor<{of_each}{n}x{k}x{form.element}{layout}>"
        s = f"tensor<{of_each}{n}x{blocks}x{form.scale}, #blockscale.layout<swizzle_128x4>>"
        op, offsets, ends, type_of_ends = (
            ("scaled_mm", "", "", "") if is_dense else
            ("scaled_grouped_mm", " offsets(%ends)", f"%ends: tensor<{groups[:-1]}xi32>, ",
             f", tensor<{groups[:-1]}xi32>"))
        return (f"func.func @product(%x: {x}, %w: {w}, {ends}%s: {s}) -> {y} {{\n"
                f"  %y = blockscale.{op} %x, %w{offsets} scales(none, %s) block [1, {form.block}] "
                f"order chain : {x}, {w}{type_of_ends}, {s} -> {y}\n  return %y : {y}\n}}\n")


CASES = [Case(name, form, weights) for name in weight_only.FORMATS
         for form, some in (("dense", PREPACKED), ("groups", PREPACKED[1:2]))
         for weights in ((), *some)]


def swizzle(torch, scales):
    """Scales [.., N, K/B] in tiles of the layout swizzle_128x4, filled up with zeros."""
    *batch, rows, cols = scales.shape
    tiles = [-(-size // tile) for size, tile in zip((rows, cols), weight_only.TILE)]
    padded = torch.zeros((*batch, tiles[0] * 128, tiles[1] * 4), dtype=torch.uint8, device="cuda")
    padded[..., :rows, :cols] = scales
    split = padded.view(*batch, tiles[0], 4, 32, tiles[1], 4)
    last = len(batch)
    return split.permute(*range(last), last, last + 3, last + 2, last + 1, last + 4).contiguous()


class Draw:
    """Operands of a product, at random."""

    def __init__(self, torch, case, random):
        def integer(low, high):
            return int(torch.randint(low, high + 1, (), generator=random))

        self.case, self.magnitude = case, MAGNITUDES[integer(0, len(MAGNITUDES) - 1)]
        self.cols, self.depth = case.weights or (8 * integer(1, 128), 32 * integer(1, 64))
        most = min(MOST_ROWS, MOST_PRODUCTS // (self.cols * self.depth))
        self.rows = min(most, int(2 ** (13 * torch.rand((), generator=random).item())))
        self.rare = integer(0, RARELY - 1)
        self.ends = None
        groups = ()
        if case.form == "groups":
            groups = (GROUPS,)
            ends = sorted(integer(0, self.rows) for _ in range(GROUPS))
            self.ends = torch.tensor(ends, dtype=torch.int32, device="cuda")
        self.make_operands(torch, groups, integer)

    def make_operands(self, torch, groups, integer):
        form = self.case.format
        is_nvfp4 = form.block == 16
        bytes_of_row = self.depth * form.bytes_of_two // 2
        shape = (*groups, self.cols)
        self.codes = torch.randint(0, 256, (*shape, bytes_of_row), dtype=torch.uint8, device="cuda")
        if form.bytes_of_two == 2:
            self.codes[(self.codes & 127) == 127] = 0  # no NaN
        # Weights of an MX format take a part of the power of two, those of NVFP4 none.
        power = {"usual": 0, "tiny": -integer(110, 140), "huge": integer(110, 116)}[self.magnitude]
        of_scales = 0 if is_nvfp4 else power // 2
        low, high = (1, 126) if is_nvfp4 else (121 + of_scales, 130 + of_scales)
        self.scales = torch.randint(low, high + 1, (*shape, self.depth // form.block),
                                    dtype=torch.uint8, device="cuda")
        x = torch.randn((self.rows, self.depth), device="cuda")
        x *= torch.exp2(torch.randint(-4, 5, x.shape, device="cuda").float())
        self.x = (x.double() * 2.0 ** (power - of_scales)).to(torch.bfloat16)

    def dequantize(self, torch, table):
        case = weight_only.Case(self.case.name, 1, self.codes.shape[:-1].numel(), self.depth)
        wide = weight_only.dequantize(torch, case, self.codes.flatten(0, -2),
                                      self.scales.flatten(0, -2), table)
        return wide.view(*self.codes.shape[:-1], self.depth)

    def get_arguments(self, torch):
        codes = self.codes
        if self.case.weights:
            n, k = self.case.weights
            case = weight_only.Case(self.case.name, 1, n, k)
            blocks = [weight_only.block_prepacked(case, weight_only.prepack(torch, case, each))
                      for each in codes.view(-1, n, codes.shape[-1])]
            codes = blocks[0] if self.ends is None else torch.stack(blocks)
        ends = () if self.ends is None else (self.ends,)
        return [self.x, codes, *ends, swizzle(torch, self.scales)]

    def multiply(self, torch, wide):
        """What PyTorch computes, and the rows of it that are defined."""
        if self.ends is None:
            return torch.mm(self.x, wide.t()), self.rows
        return torch._grouped_mm(self.x, wide.transpose(-2, -1), offs=self.ends), int(self.ends[-1])


class Caller:
    """Calls the function of a packed module with tensors of any sizes."""

    def __init__(self, machine, file):
        self.torch = machine.torch
        self.module = machine.device.load(machine.runtime.bundle(machine.folder / f"{file}.bundle"))
        self.function = self.module.function("product")

    def prepare(self, tensors):
        torch = self.torch
        types = {torch.bfloat16: "uint16", torch.uint8: "uint8", torch.int32: "int32"}
        call = self.function.call(*((types[t.dtype], tuple(t.shape)) for t in tensors))
        y = torch.full(call.shapes[0], float("nan"), dtype=torch.bfloat16, device="cuda")
        space = torch.empty(max(call.workspace_bytes, 1), dtype=torch.uint8, device="cuda")

        def launch():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            call.launch(self.module, [t.data_ptr() for t in tensors], [y.data_ptr()],
                        space.data_ptr(), stream)

        return launch, y

    def run(self, tensors, rare=None):
        """The result; by a graph if `rare` is 0, and on a stream of its own if it is 1."""
        torch = self.torch
        launch, y = self.prepare(tensors)
        if rare == 0:
            launch()
            torch.cuda.synchronize()
            y.fill_(float("nan"))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                launch()
            graph.replay()
        elif rare == 1:
            torch.cuda.synchronize()
            with torch.cuda.stream(torch.cuda.Stream()):
                launch()
        else:
            launch()
        torch.cuda.synchronize()
        return y


class SameBits(Benchmark):
    name = "same_bits"
    chips = (CHIP, "sm_80", "sm_89")
    files = ("humming_peer.py", "weight_only.py")
    columns = ("weights", "kernels", "draws", "outputs", "differ from PyTorch", "rows alone",
               "differ alone")

    @property
    def cases(self):
        """Other chips read no prepacked weights."""
        return [case for case in CASES if self.chip == CHIP or not case.weights]

    def add_options(self, pack, run):
        run.add_argument("--draws", type=int, default=DRAWS, help="of each case")
        run.add_argument("--seed", type=int, default=1)

    def pack_more(self, options):
        """Compiles each module by the schedules that the model finds worse than its choice."""
        tuned = {}
        for case in self.cases:
            with tempfile.TemporaryDirectory() as root:
                module = Path(root) / "module.mlir"
                module.write_text(case.module())
                pack = Path(root) / "pack"
                subprocess.run([
                    sys.executable, ROOT / "python/blockscale_tune.py", "pack", pack, module,
                    f"--target={self.chip}", f"--candidates={CANDIDATES}",
                    f"--dynamic-sizes={SIZES}", "--bin", get_build(self.checkout) / "bin"],
                    check=True, stdout=subprocess.DEVNULL)
                product, = json.loads((pack / "pack.json").read_text())["cases"]
                tuned[case.file] = []
                for number, candidate in enumerate(product["candidates"][1:]):
                    name = f"{case.file}@{number}"
                    shutil.copy(pack / candidate["bundle"], options.folder / f"{name}.bundle")
                    tuned[case.file].append(name)
        (options.folder / TUNED).write_text(json.dumps(tuned))

    def start(self, machine, options, cases):
        self.tuned = json.loads((machine.folder / TUNED).read_text())
        self.draws = options.draws
        self.random = machine.torch.Generator().manual_seed(options.seed)
        machine.torch.manual_seed(options.seed)
        self.table = weight_only.make_table(machine.torch)
        return f"{options.draws} draws of each, seed {options.seed}"

    def make_modules(self, case):
        return {case.file: case.module()}

    def measure(self, machine, case):
        torch = machine.torch
        row = {"label": case.label, "outputs": 0, "differ": 0, "alone": 0, "differ_alone": 0,
               "notes": []}
        callers = [Caller(machine, file) for file in (case.file, *self.tuned[case.file])]
        for number in range(self.draws):
            caller = callers[0 if number % 2 or len(callers) == 1 else
                             1 + number // 2 % (len(callers) - 1)]
            draw = Draw(torch, case, self.random)
            arguments = draw.get_arguments(torch)
            got = caller.run(arguments, draw.rare)
            want, rows = draw.multiply(torch, draw.dequantize(torch, self.table))
            bits = [each[:rows].view(torch.int16) for each in (got, want)]
            wrong = int((bits[0] != bits[1]).sum())
            row["outputs"] += bits[0].numel()
            row["differ"] += wrong
            if wrong and len(row["notes"]) < 3:
                row["notes"].append(f"draw {number} by kernel {callers.index(caller)}: "
                                    f"{draw.rows}x{draw.cols}x{draw.depth}, {draw.magnitude}: "
                                    f"{wrong} differ")
            if draw.ends is None:
                alone = caller.run([draw.x[-1:].contiguous(), *arguments[1:]])
                row["alone"] += 1
                row["differ_alone"] += int((alone.view(torch.int16) != bits[0][-1:]).sum())
        wrong = row["differ"] + row["differ_alone"]
        return row | {"draws": self.draws, "kernels": len(callers),
                      "problem": f"WRONG: {wrong} differ" if wrong else ""}

    def verdict(self, row):
        return row["problem"] or "met"

    def make_cells(self, row):
        return [row["label"], *(str(row[name]) for name in (
            "kernels", "draws", "outputs", "differ", "alone", "differ_alone"))]


if __name__ == "__main__":
    sys.exit(main(SameBits(), __doc__))
