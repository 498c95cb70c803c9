#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times products of groups of rows, each with block-scaled weights of its own, beside limits.

  python3 benchmarks/gpu/grouped.py pack FOLDER [--only GLOB]     # here
  python3 FOLDER/grouped.py run [--only GLOB] [--out FOLDER]      # there

The other machine needs a Hopper GPU and torch. Y = X W[g]^T for the rows of X: MxK in bf16 that
group g has, of prepacked NVFP4 weights W: GxNxK with swizzled scales, as in a layer of experts. All
groups have as many rows here; the kernel reads their ends on the device. The limit is the larger of
two times: all bytes of operands and results at the rate of a copy, and all operations at the rate of
cuBLAS bf16 in a product of 8192 x 8192 x 8192. Groups of 1024 rows are timed beside one dense
product of as many rows, too.

The clock is that of weight_only.py. First the rows of the first and the last group are compared with
torch.mm in f32. Prints a table with the bars; writes grouped.json. The exit status is 1 if a result
is wrong or a bar is missed.
"""

import argparse
import fnmatch
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import weight_only
from weight_only import BUILD, CHIP, HERE, ROOT

WEIGHTS = ((14336, 4096), (5760, 2880))
GROUPS = ((8, 1024), (8, 1), (8, 4), (8, 16), (8, 32), (8, 64), (128, 1), (128, 4), (128, 16),
          (128, 32), (128, 64))
# Weights that differ; groups beyond them have the same ones in places of their own.
DIFFERENT = 4
# The most times the limit that a product takes, from so many rows of a group on, and the least
# share of the dense product's speed.
MOST, LEAST_OF_DENSE = ((1, 1.6), (32, 1.8)), 0.9


@dataclass(frozen=True)
class Case(weight_only.Case):
    groups: int = 1

    @property
    def label(self):
        return f"{self.groups} groups of {self.rows}, {self.cols}x{self.depth}"

    @property
    def file(self):
        return f"grouped_{self.groups}_{self.rows}_{self.cols}_{self.depth}"

    @property
    def dense(self):
        """One product of the rows of all groups, if it is a bar."""
        rows = self.rows * self.groups
        return weight_only.Case(self.name, rows, self.cols, self.depth) if rows == 8192 and \
            self.groups == 8 else None

    def module(self):
        form, rows = self.format, self.rows * self.groups
        x, y = (f"tensor<{rows}x{size}xbf16>" for size in (self.depth, self.cols))
        w = (f"tensor<{self.groups}x{self.cols}x{self.depth}x{form.element}, "
             "#blockscale.data_layout<fragments_64x64>>")
        s = (f"tensor<{self.groups}x{self.cols}x{self.depth // form.block}x{form.scale}, "
             "#blockscale.layout<swizzle_128x4>>")
        ends = f"tensor<{self.groups}xi32>"
        return (f"func.func @product(%x: {x}, %w: {w}, %ends: {ends}, %s: {s}) -> {y} {{\n"
                "  %y = blockscale.scaled_grouped_mm %x, %w offsets(%ends) scales(none, %s) "
                f"block [1, {form.block}] : {x}, {w}, {ends}, {s} -> {y}\n"
                f"  return %y : {y}\n}}\n")


CASES = [Case("NVFP4", rows, *weights, groups) for weights in WEIGHTS for groups, rows in GROUPS]


def pack(options):
    sys.path.insert(0, str(ROOT / "scripts"))
    from log_head import describe_commit

    folder = options.folder
    folder.mkdir(parents=True)
    for path in [HERE / "grouped.py", HERE / "weight_only.py", HERE / "peers.py",
                 ROOT / "python/blockscale_runtime.py", ROOT / "scripts/log_head.py",
                 BUILD / "lib/libBlockScaleRuntime.so"]:
        shutil.copy(path, folder)
    cases = [case for case in CASES if fnmatch.fnmatch(case.label, options.only)]
    modules = {case.file: case.module() for case in cases}
    modules |= {case.dense.file: case.dense.module(is_prepacked=True)
                for case in cases if case.dense}
    for name, text in modules.items():
        source = folder / f"{name}.mlir"
        source.write_text(text)
        subprocess.run([BUILD / "bin/blockscale-compile", source, f"--target={CHIP}",
                        "--emit=bundle", "-o", source.with_suffix(".bundle")], check=True)
        source.unlink()
    (folder / "grouped_pack.json").write_text(json.dumps(
        {"commit": describe_commit(ROOT), "cases": [case.file for case in cases]}))


def make_operands(torch, case):
    """x, and codes, scales, prepacked codes and swizzled scales of all groups."""
    x = torch.randn((case.rows * case.groups, case.depth), device="cuda").to(torch.bfloat16)
    blocks = (case.cols // 64, case.depth // 64, 64 * 64 * case.format.bytes_of_two // 2)
    made = []
    for _ in range(min(DIFFERENT, case.groups)):
        codes, scales, swizzled = weight_only.make_weights(torch, case)
        made.append((codes, scales, weight_only.prepack(torch, case, codes).view(blocks),
                     swizzled))
    different = [torch.stack(arrays) for arrays in zip(*made)]
    copies = case.groups // len(made)
    return x, *different[:2], *(array.repeat(copies, *[1] * (array.dim() - 1))
                                for array in different[2:])


def make_ours(torch, device, runtime, case, tensors):
    import numpy as np
    module = device.load(runtime.bundle(HERE / f"{case.file}.bundle"))
    types = {torch.bfloat16: np.uint16, torch.uint8: np.uint8, torch.int32: np.int32}
    # Of an array only the shape and the type count.
    arrays = [np.broadcast_to(np.zeros((), types[t.dtype]), tuple(t.shape)) for t in tensors]
    whole = weight_only.Case(case.name, tensors[0].shape[0], case.cols, case.depth)
    return weight_only.make_ours(torch, whole, module, arrays, tensors)


def measure(torch, clock, device, runtime, case, rates):
    x, codes, scales, prepacked, swizzled = make_operands(torch, case)
    ends = torch.arange(1, case.groups + 1, dtype=torch.int32, device="cuda") * case.rows
    y, ours = make_ours(torch, device, runtime, case, (x, prepacked, ends, swizzled))
    works = {"ours": ours}
    if case.dense:
        dense = (x, prepacked[0], swizzled[0])
        works["dense"] = make_ours(torch, device, runtime, case.dense, dense)[1]
    for work in works.values():
        work()
    table = weight_only.make_table(torch)
    problem = ""
    for group in (0, case.groups - 1):
        of_group = slice(group * case.rows, (group + 1) * case.rows)
        wide = weight_only.dequantize(torch, case, codes[group % len(codes)],
                                      scales[group % len(codes)], table)
        problem = problem or weight_only.find_problem(torch, y[of_group], x[of_group], wide)
    times = clock.compare({name: clock.capture(work) for name, work in works.items()})
    moved = sum(t.numel() * t.element_size() for t in (x, prepacked, swizzled, y))
    flops = 2 * x.shape[0] * case.cols * case.depth
    limit = 1e6 * max(moved / rates["copy"], flops / rates["cuBLAS"])
    return {"label": case.label, "us": times, "limit_us": limit, "problem": problem,
            "times": times["ours"] / limit, "most": [m for least, m in MOST if case.rows >= least][-1],
            "share": times["dense"] / times["ours"] if case.dense else None}


def verdict(row):
    if row["problem"]:
        return row["problem"]
    good = row["share"] >= LEAST_OF_DENSE if row["share"] else row["times"] <= row["most"]
    return "met" if good else "MISSED"


def measure_rates(torch, clock):
    """Bytes and operations a second."""
    source = torch.zeros(1 << 30, dtype=torch.uint8, device="cuda")
    to = torch.empty_like(source)
    a, b = (torch.randn((8192, 8192), device="cuda").to(torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    times = clock.compare({"copy": clock.capture(lambda: to.copy_(source)),
                           "cuBLAS": clock.capture(lambda: torch.mm(a, b.t(), out=out))})
    return {"copy": 1e6 * 2 * source.numel() / times["copy"],
            "cuBLAS": 1e6 * 2 * 8192**3 / times["cuBLAS"]}


def run(options):
    import blockscale_runtime
    import torch
    from log_head import make_head
    from peers import Clock

    torch.manual_seed(0)
    options.out.mkdir(parents=True, exist_ok=True)
    about = json.loads((HERE / "grouped_pack.json").read_text())
    runtime = blockscale_runtime.Runtime(HERE / "libBlockScaleRuntime.so")
    device, clock = runtime.device(), Clock(torch)
    print(make_head(about["commit"], f"{device.name}, driver {device.driver_version}",
                    " ".join(["python3", *sys.argv])))
    rates = measure_rates(torch, clock)
    print(f"a copy: {rates['copy'] / 1e12:.2f} TB/s; cuBLAS bf16: {rates['cuBLAS'] / 1e12:.0f} "
          f"TFLOP/s; torch {torch.__version__}", end="\n\n")
    print("| groups, NxK | us | limit, us | times the limit | bar | share of dense | bar | |\n|"
          + " --- |" * 8)
    rows = []
    for case in CASES:
        if case.file not in about["cases"] or not fnmatch.fnmatch(case.label, options.only):
            continue
        row = measure(torch, clock, device, runtime, case, rates)
        rows.append(row)
        dense = f"{row['share']:.2f} | {LEAST_OF_DENSE}" if row["share"] else " | "
        print(f"| {row['label']} | {row['us']['ours']:.1f} | {row['limit_us']:.1f} | "
              f"{row['times']:.2f} | {'' if row['share'] else row['most']} | {dense} | "
              f"{verdict(row)} |", flush=True)
    (options.out / "grouped.json").write_text(json.dumps(
        {"commit": about["commit"], "device": device.name, "rows": rows}, indent=1) + "\n")
    return 0 if rows and all(verdict(row) == "met" for row in rows) else 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    here = commands.add_parser("pack", help="compile the cases into a folder")
    here.add_argument("folder", type=Path, help="is created, and must not exist")
    here.set_defaults(work=pack)
    there = commands.add_parser("run", help="time them on the GPU of this machine")
    there.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    there.set_defaults(work=run)
    for command in (here, there):
        command.add_argument("--only", default="*", metavar="GLOB", help="these cases")
    options = parser.parse_args()
    return options.work(options)


if __name__ == "__main__":
    sys.exit(main())
