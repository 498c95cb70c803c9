#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times appends to caches of keys and values at a position in the GPU's memory.

  python3 benchmarks/gpu/append.py pack FOLDER [--only GLOB]      # here
  python3 FOLDER/append.py run [--only GLOB] [--out FOLDER]       # there

The other machine needs a Hopper GPU, torch and NumPy. A row of bf16, what 8 heads of 128 elements
have, is quantized into a cache of codes and one of scales, which the function writes in place. The
host knows no position: the kernel reads it, so that a graph of a decoding step can be replayed.
One module serves caches of 1 Ki and of 128 Ki positions. The peer is torch's index_copy_ of the
row as it is into a cache of bf16, which quantizes nothing; another is two calls of index_copy_, of
codes and of scales that were quantized before.

The clock is that of weight_only.py; ours and the peers take turns with both caches. First the row
is compared with the bytes that the CPU computes, and all else in the caches with what it was. The
bars: the larger cache takes as long as the smaller one within 5 %, and neither takes longer than
index_copy_ of bf16. Prints a table with the bars; writes append.json. The exit status is 1 if a
result is wrong or a bar is missed.
"""

import ctypes
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from product_bench import Benchmark, capture, get_build, main

ELEMENTS = 1024  # of a row: 8 heads of 128
SIZES = {"1 Ki": 1 << 10, "128 Ki": 1 << 17}
SMALL, LARGE = SIZES
PEERS = ("index_copy_", "two index_copy_")
# How much longer or shorter the larger cache may take.
WITHIN = 0.05
# What all bytes of a cache are before.
BEFORE = 17


@dataclass(frozen=True)
class Format:
    """A format of caches: its types, elements of a block, and bits of a code."""

    element: str
    scale: str
    block: int
    bits: int


FORMATS = {"MXFP8": Format("f8E4M3FN", "f8E8M0FNU", 32, 8),
           "NVFP4": Format("f4E2M1FN", "f8E4M3FN", 16, 4)}


@dataclass(frozen=True)
class Case:
    name: str  # of the format

    @property
    def label(self):
        return f"{self.name}, {ELEMENTS} elements"

    @property
    def file(self):
        return f"append_{self.name}"

    @property
    def row_bytes(self):
        """Of codes and of scales."""
        form = FORMATS[self.name]
        return ELEMENTS * form.bits // 8, ELEMENTS // form.block

    def module(self):
        form = FORMATS[self.name]
        columns = (f"{ELEMENTS}x{form.element}", f"{ELEMENTS // form.block}x{form.scale}")
        codes, scales = (f"tensor<?x{column}>" for column in columns)
        row, factors = (f"tensor<1x{column}>" for column in columns)
        x = f"tensor<1x{ELEMENTS}xbf16>"
        given = "{bufferization.writable = true}"

        def insert(part, cache, types):
            count = types[0].split("x")[1]
            return (f"tensor.insert_slice {part} into {cache}[%at, 0] [1, {count}] [1, 1]"
                    f" : {types[0]} into {types[1]}")

        return (f"func.func @append(%codes: {codes} {given}, %scales: {scales} {given}, %x: {x},\n"
                f"    %position: tensor<i32>) -> ({codes}, {scales}) {{\n"
                f"  %q, %s = blockscale.quantize %x block [1, {form.block}]"
                f" : {x} -> {row}, {factors}\n"
                "  %n = tensor.extract %position[] : tensor<i32>\n"
                "  %at = arith.index_cast %n : i32 to index\n"
                f"  %a = {insert('%q', '%codes', (row, codes))}\n"
                f"  %b = {insert('%s', '%scales', (factors, scales))}\n"
                f"  return %a, %b : {codes}, {scales}\n}}\n")


CASES = [Case(name) for name in FORMATS]


def draw_row():
    """Words of bf16 of normal numbers."""
    numbers = np.random.default_rng(1).normal(size=(1, ELEMENTS)).astype(np.float32)
    return (numbers.view(np.uint32) >> 16).astype(np.uint16)


def quantize_on_cpu(case, build):
    """The codes and scales of the row, as the CPU appends them to caches of two positions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "module.mlir").write_text(case.module())
        caches = [np.full((2, size), BEFORE, np.uint8) for size in case.row_bytes]
        command = [build / "bin/blockscale-run", folder / "module.mlir", "--on=cpu"]
        for i, array in enumerate([*caches, draw_row(), np.int32(1)]):
            np.save(folder / f"in{i}.npy", array)
            command += ["--in", folder / f"in{i}.npy"]
        outs = [folder / f"out{i}.npy" for i in range(len(caches))]
        for out in outs:
            command += ["--out", out]
        subprocess.run(command, check=True)
        return [np.load(out)[1:] for out in outs]


def make_append(machine, case, caches, x, position):
    """A call that appends x to the caches of the GPU, in place."""
    module = machine.device.load(machine.runtime.bundle(machine.folder / f"{case.file}.bundle"))
    call = module.function("append").call(
        *(("uint8", tuple(cache.shape)) for cache in caches), ("uint16", tuple(x.shape)),
        ("int32", ()))
    places = [cache.data_ptr() for cache in caches]
    workspace = machine.torch.empty(max(call.workspace_bytes, 1), dtype=machine.torch.uint8,
                                    device="cuda")

    def launch():
        stream = ctypes.c_void_p(machine.torch.cuda.current_stream().cuda_stream)
        call.launch(module, [*places, x.data_ptr(), position.data_ptr()], places,
                    workspace.data_ptr(), stream)

    return launch


def find_problem(caches, row, at):
    """What is wrong with caches of which only the row `at` may have changed, or nothing. Sets all
    bytes back."""
    wrong = 0
    for cache, expected in zip(caches, row):
        wrong += int((cache[at] != expected).sum())
        cache[at] = BEFORE
        wrong += int((cache != BEFORE).sum())
        cache[:] = BEFORE
    return f"WRONG: {wrong} bytes" if wrong else ""


def make_works(machine, case, size, x, row):
    """Our call and the peers', for caches of `size` positions, and what is wrong with ours."""
    torch, at = machine.torch, size - 3
    caches = [torch.full((size, part.numel()), BEFORE, dtype=torch.uint8, device="cuda")
              for part in row]
    plain = torch.zeros((size, ELEMENTS), dtype=torch.bfloat16, device="cuda")
    position = torch.tensor(at, dtype=torch.int32, device="cuda")
    index = torch.tensor([at], device="cuda")
    ours = make_append(machine, case, caches, x, position)
    ours()
    machine.device.synchronize()
    problem = find_problem(caches, row, at)

    def copy_parts():
        for cache, part in zip(caches, row):
            cache.index_copy_(0, index, part)

    return {"ours": ours, PEERS[0]: lambda: plain.index_copy_(0, index, x),
            PEERS[1]: copy_parts}, problem


class Append(Benchmark):
    name, cases = "append", CASES
    columns = ("row", *(f"{work}, {size}, us" for work in ("ours", *PEERS) for size in SIZES),
               f"{LARGE} / {SMALL}", "share of index_copy_", "bars")

    def make_modules(self, case):
        return {case.file: case.module()}

    def pack_more(self, options):
        arrays = {"x": draw_row()}
        build = get_build(self.checkout)
        for case in self.cases:
            for part, array in zip(("codes", "scales"), quantize_on_cpu(case, build)):
                arrays[f"{case.file}_{part}"] = array
        np.savez(options.folder / "append_rows.npz", **arrays)

    def start(self, machine, options, cases):
        with np.load(machine.folder / "append_rows.npz") as arrays:
            self.rows = {name: machine.torch.from_numpy(arrays[name]).cuda()
                         for name in arrays.files if name != "x"}
            words = machine.torch.from_numpy(arrays["x"].view(np.int16)).cuda()
        self.x = words.view(machine.torch.bfloat16)
        return ""

    def measure(self, machine, case):
        row = [self.rows[f"{case.file}_{part}"] for part in ("codes", "scales")]
        works, problems = {}, []
        for size, positions in SIZES.items():
            of_size, problem = make_works(machine, case, positions, self.x, row)
            works |= {f"{name}, {size}": work for name, work in of_size.items()}
            problems.append(problem)
        calls, notes = capture(machine.clock, works,
                               [name for name in works if not name.startswith(PEERS[1])])
        times = machine.clock.compare(calls)
        machine.device.synchronize()
        return {"label": case.label, "us": times, "problem": max(problems), "notes": notes,
                "larger": times[f"ours, {LARGE}"] / times[f"ours, {SMALL}"],
                "share": min(times[f"{PEERS[0]}, {size}"] / times[f"ours, {size}"]
                             for size in SIZES)}

    def verdict(self, row):
        if row["problem"]:
            return row["problem"]
        is_met = 1 - WITHIN <= row["larger"] <= 1 + WITHIN and row["share"] >= 1
        return "met" if is_met else "MISSED"

    def make_cells(self, row):
        times = (f"{row['us'][name]:.2f}" if name in row["us"] else ""
                 for name in (f"{work}, {size}" for work in ("ours", *PEERS) for size in SIZES))
        return [row["label"], *times, f"{row['larger']:.3f}", f"{row['share']:.2f}",
                f"1 within {WITHIN}; 1"]


if __name__ == "__main__":
    sys.exit(main(Append(), __doc__))
