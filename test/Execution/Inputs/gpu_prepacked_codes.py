# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs quantizations whose codes are prepacked in the emulator, where one kernel does both, and on
the CPU, where two do: the bytes are the same, those of codes, of scales and of a global scale.
Kernels of overlapping launches read x before the amax is there.

Usage: gpu_prepacked_codes.py FOLDER
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from block_shapes import tensor
from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_launches
from gpu_round_trips import SWIZZLED, draw_x
from prepacked import PREPACKED

#: Where kernels run: a chip, and whether launches overlap.
TARGETS = (*((chip, ()) for chip in ("sm_90a", "sm_100a", "sm_80")),
           ("sm_90a", ("--overlap-launches",)))


def make_finite(x):
    """Without the infinity and the NaN, of which one would be the amax of all."""
    is_finite = np.isfinite(x) if x.dtype.kind == "f" else x & 0x7F80 != 0x7F80
    return np.where(is_finite, x, x.dtype.type(0))


@dataclass
class Case:
    """`shape` is that of x. `scaling` says where the global scale comes from: none, "scale" for an
    operand, "tensor" or "batch" for one that follows from the amax. `launches` are those of a
    GPU. Codes stay in rows unless they are `prepacked`."""

    shape: tuple
    data: str = "f4E2M1FN"
    recipe: str = ""
    scaling: str = ""
    x: str = "bf16"
    layout: str = SWIZZLED
    launches: int = 1
    dynamic: bool = True
    settled: bool = False
    prepacked: bool = True

    def text(self):
        is_nvfp4 = self.data == "f4E2M1FN" and self.recipe not in ("floor", "rceil")
        block, element = (16, "f8E4M3FN") if is_nvfp4 else (32, "f8E8M0FNU")
        shape = (*((None,) * (len(self.shape) - 1) if self.dynamic else self.shape[:-1]),
                 self.shape[-1])
        x, rows, blocks = (tensor(shape, each, layout) for each, layout in (
            (self.x, ""), (self.data, ""), (self.data, f", {PREPACKED}")))
        scale = tensor((*shape[:-1], self.shape[-1] // block), element,
                       self.layout and f", {self.layout}")
        number = tensor(shape[:-2] if self.scaling == "batch" else (), "f32")
        recipe = f" recipe {self.recipe}" if self.recipe else ""
        lines, given = "", f", %g: {number}" if self.scaling == "scale" else ""
        if self.scaling in ("tensor", "batch"):
            lines = (f"  %a = blockscale.amax %x : {x} -> {number}\n"
                     f"  %g = blockscale.global_scale %a{recipe} nonzero_amax : {number}\n")
        form = f" global_scale(%g : {number})" if self.scaling else ""
        is_made = bool(lines)
        results = ", ".join([blocks if self.prepacked else rows, scale] + [number] * is_made)
        settled = " {blockscale.settled}" if self.settled else ""
        prepack = f"  %p = blockscale.prepack %q : {rows} -> {blocks}\n" if self.prepacked else ""
        return (f"func.func @prepacked(%x: {x}{settled}{given}) -> ({results}) {{\n{lines}"
                f"  %q, %s = blockscale.quantize %x block [1, {block}]{recipe}{form} : {x} -> "
                f"{rows}, {scale}\n{prepack}"
                f"  return {'%p' if prepack else '%q'}, %s{', %g' if is_made else ''} : "
                f"{results}\n}}\n")

    def arrays(self, random):
        rows, *rest = self.shape
        x = draw_x(random, (rows + 1, *rest), self.x)
        if self.scaling in ("tensor", "batch"):
            x = make_finite(x)
        return [x[:rows], *([np.float32(0.02)] if self.scaling == "scale" else [])]

    def count_results(self):
        return 3 if self.scaling in ("tensor", "batch") else 2


CASES = (
    # Rows of one group of columns and of two, whole blocks of rows and parts of one, none at all.
    Case((64, 64)), Case((65, 128)), Case((130, 320)), Case((1, 256), dynamic=False),
    Case((0, 128), launches=0), Case((200, 64), layout=""), Case((37, 192), layout=""),
    Case((70, 128), "f8E4M3FN"), Case((3, 384), "f8E5M2"), Case((129, 128), "f8E4M3FN", layout=""),
    Case((40, 128), "f6E2M3FN"), Case((40, 128), "f6E3M2FN"), Case((66, 256), "i8"),
    Case((65, 128), recipe="rceil"), Case((33, 256), recipe="floor"),
    Case((130, 128), "f8E4M3FN", "floor", x="f32"), Case((70, 64), x="f16"),
    Case((70, 64), x="f32"), Case((65, 128), scaling="scale"),
    Case((65, 128), recipe="te", scaling="scale"),
    Case((65, 64), recipe="te_4over6_mae", scaling="scale"),
    Case((2, 70, 128)), Case((2, 2, 66, 128), "f8E4M3FN"), Case((3, 20, 64), layout=""),
    Case((70, 256), scaling="tensor", launches=2), Case((0, 128), scaling="tensor", launches=2),
    Case((128, 128), scaling="tensor", launches=2, dynamic=False),
    Case((3, 66, 128), scaling="tensor", launches=2),
    # The amaxes of matrices are cleared before they are raised.
    Case((3, 66, 128), scaling="batch", launches=4),
    Case((70, 256), scaling="tensor", launches=2, settled=True),
    Case((130, 128), "f8E4M3FN", settled=True),
    # Rows of codes that kernels of overlapping launches make by the same threads.
    Case((70, 256), scaling="tensor", launches=2, prepacked=False),
    Case((129, 64), recipe="te", scaling="tensor", launches=2, prepacked=False, layout=""),
    Case((70, 64), scaling="tensor", launches=2, prepacked=False, x="f32", settled=True),
    Case((0, 128), scaling="tensor", launches=2, prepacked=False),
    Case((33, 96), scaling="tensor", launches=2, prepacked=False),
    # What has two kernels: rows that are no multiple of four blocks.
    Case((66, 96), launches=2), Case((66, 64), "f8E4M3FN", launches=2),
)


def check(folder, case, number):
    random = np.random.default_rng(number)
    places = [ON_CPU, *(("--on=emulator", f"--target={chip}", "--profile", *overlap, *schedule)
                        for chip, overlap in TARGETS for schedule in SCHEDULES)]
    return run_launches(case.text(), case.arrays(random), case.count_results(),
                        folder / str(number), places)


def problem(case, wanted, got):
    for wrong, *_ in (wanted, got):
        if wrong:
            return wrong
    if got[2] != case.launches:
        return f"expected {case.launches} launches, but got {got[2]}"
    return first_difference(wanted[1], got[1])


def main():
    folder, expect = Path(sys.argv[1]), Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda i: check(folder, CASES[i], i), range(len(CASES)))
        for case, (wanted, *others) in zip(CASES, results):
            for i, got in enumerate(others):
                chip, overlap = TARGETS[i // len(SCHEDULES)]
                schedule = SCHEDULES[i % len(SCHEDULES)]
                expect.record(f"{chip} {overlap} {schedule}: {case}", problem(case, wanted, got))
    expect.finish()


if __name__ == "__main__":
    main()
