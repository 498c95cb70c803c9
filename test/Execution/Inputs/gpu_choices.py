# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms that kernels may have give the same bytes in the emulator as the CPU: what makes
x kept or computed again by two passes, and every tile of a warp that the lowering names.
Modules are lowered to kernels, edited and lowered on from there.

Usage: gpu_choices.py FOLDER
"""

import argparse
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import ON_CPU, run_module
from gpu_producers import PRODUCERS, Batch, Producer
from ops import with_one_nan
from sm100_kinds import mx, nvfp4

CHIPS = ("sm_100a", "sm_80")
COPY = Producer("copy", (("bf16", "full"),), "%y = arith.negf %0 : f32")
TILED = {"swizzled": True}
# Of rows that end within a tile of scales, and in columns as wide as two tiles.
SHAPE = (96, 288)
KINDS = (
    [mx("rceil", "f8E4M3FN", block=(32, 32), shape=SHAPE)],
    [mx("floor", "f4E2M1FN", block=(32, 32), shape=SHAPE, scale_dim="k")],
    [mx("rceil", "f8E4M3FN", block=(32, 1), transposed=True, shape=SHAPE, **TILED)],
    [mx("even", "f4E2M1FN", block=(32, 1), transposed=True, shape=SHAPE)],
    [nvfp4("torchao", block=(16, 16), shape=SHAPE, source="global_scale")],
    [nvfp4("te", block=(16, 1), transposed=True, shape=(96, 285), **TILED)],
    [nvfp4("mslk", block=(16, 16), transposed=True, scale_dim="n", shape=SHAPE, **TILED)],
    [mx("rceil", "f8E4M3FN", shape=SHAPE),
     mx("rceil", "f8E4M3FN", block=(32, 1), transposed=True, shape=SHAPE)],
    [nvfp4("torchao", shape=SHAPE),
     nvfp4("torchao", block=(16, 1), transposed=True, shape=SHAPE, **TILED)],
    [nvfp4("modelopt", shape=(91, 286), **TILED),
     nvfp4("modelopt", block=(16, 16), shape=(91, 286))],
)


def lower(text, options):
    """What blockscale-opt prints, and its errors."""
    run = subprocess.run(["blockscale-opt", "-", *options], input=text, capture_output=True,
                         text=True)
    return run.stdout, run.stderr


def form(text, chip, options=""):
    return lower(text, [f"--blockscale-to-gpu=chip={chip} to=form-kernels {options}"])[0]


def with_tile(formed, tile):
    """The module with a tile for the kernel that quantizes."""
    attribute = f"blockscale.strip = array<i64: {tile[0]}, {tile[1]}>"
    kernels = re.split(r"(?<=\n)(?=.*= blockscale\.kernel )", formed)
    at = next(i for i, kernel in enumerate(kernels) if "blockscale.quantize" in kernel)
    head, body = kernels[at].split("\n", 1)
    if "attributes {" in head:
        head = head.replace("attributes {", f"attributes {{{attribute}, ")
    else:
        head = re.sub(r"\{$", f"attributes {{{attribute}}} {{", head)
    return "".join([*kernels[:at], f"{head}\n{body}", *kernels[at + 1:]])


def legal_tiles(formed, chip):
    """Those that the error names where another one is asked for."""
    _, error = lower(with_tile(formed, (1, 1)), [f"--blockscale-to-gpu=chip={chip}"])
    named = re.search(r"expected blockscale.strip to be one of (.*), but got array<i64: 1, 1>",
                      error)
    found = re.findall(r"array<i64: (\d+), (\d+)>", named[1]) if named else []
    return [(int(rows), int(columns)) for rows, columns in found]


class Case:
    """A module, on the CPU and in forms of its kernels."""

    def __init__(self, random, producer, kinds, folder):
        self.batch, self.folder, self.runs = Batch(), folder, []
        self.batch.add(random, producer, kinds, False)
        self.name = self.batch.what[0][0]

    def run(self, pool, what, text, place):
        folder = self.folder / f"run{len(self.runs)}"
        self.runs.append((what, pool.submit(run_module, text, self.batch.arrays,
                                            len(self.batch.results), folder, place)))

    def compare(self, expect):
        types = [type for _, type in self.batch.results]
        wanted = None
        for what, run in self.runs:
            problem, arrays = run.result()
            got = [with_one_nan(array, type) for array, type in zip(arrays, types)]
            wanted = wanted or got
            expect.record(f"{self.name} {what}", problem or first_difference(wanted, got))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where to compile")
    folder = parser.parse_args().folder
    random, expect, cases = np.random.default_rng(0), Expectations(), []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        def add(producer, kinds):
            cases.append(Case(random, producer, kinds, folder / f"case{len(cases)}"))
            cases[-1].run(pool, "cpu", cases[-1].batch.module(), ON_CPU)
            return cases[-1]

        for producer in (*PRODUCERS[:3], PRODUCERS[5]):
            kind = nvfp4("torchao", shape=(48, 64), source="global_amax", dynamic=(False, False))
            case = add(producer, [kind])
            for recompute, name in (("never", "kept"), ("always", "recomputed")):
                formed = form(case.batch.module(), CHIPS[0], f"recompute={recompute}")
                expect.record(f"{case.name}: form", None if f'"{name}"' in formed else formed)
                case.run(pool, name, formed, ("--on=emulator", f"--target={CHIPS[0]}"))
        for i, kinds in enumerate(KINDS):
            case, chip = add(COPY, kinds), CHIPS[i % len(CHIPS)]
            formed = form(case.batch.module(), chip)
            tiles = legal_tiles(formed, chip)
            expect.record(f"{case.name}: several tiles", None if len(tiles) > 1 else tiles)
            for tile in tiles:
                case.run(pool, f"tile {tile}", with_tile(formed, tile),
                         ("--on=emulator", f"--target={chip}"))
        for case in cases:
            case.compare(expect)
    expect.finish()


if __name__ == "__main__":
    main()
