# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs quantizations whose codes are dequantized in the emulator, where one kernel does
both, and on the CPU, where two do: the bytes are the same, those of the values and, where
they are returned, those of codes and scales.

Usage: gpu_round_trips.py FOLDER
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
from norms import Norm
from ops import with_one_nan
from reference import to_bf16

CHIPS = ("sm_90a", "sm_100a", "sm_80")
SWIZZLED = "#blockscale.layout<swizzle_128x4>"


def square(argument, result, type, element, rank):
    """A line that computes the square of each element."""
    dims = ", ".join(f"d{i}" for i in range(rank))
    loops = ", ".join(['"parallel"'] * rank)
    identity = f"affine_map<({dims}) -> ({dims})>"
    return (f"  {result} = linalg.generic {{indexing_maps = [{identity}, {identity}], "
            f"iterator_types = [{loops}]}} ins({argument} : {type}) outs({argument} : {type}) {{\n"
            f"  ^bb0(%i: {element}, %o: {element}):\n    %m = arith.mulf %i, %i : {element}\n"
            f"    linalg.yield %m : {element}\n  }} -> {type}\n")


def draw_x(random, shape, element):
    """Elements of many sizes, zeros, an infinity and a NaN."""
    wide = random.standard_normal(shape) * 2.0 ** random.integers(-12, 13, shape)
    wide[random.random(shape) < 0.1] = 0
    flat = wide.reshape(-1)
    flat[random.integers(flat.size, size=2)] = np.inf, np.nan
    return {"bf16": lambda each: to_bf16(each.astype(np.float32)),
            "f16": lambda each: np.clip(each, -6e4, 6e4).astype(np.float16),
            "f32": lambda each: each.astype(np.float32)}[element](wide)


@dataclass
class Trip:
    """`shape` is that of x; `returns` has q for codes, s for scales and v for values. With
    `made` x is the square of an argument, with `norm` its RMSNorm. `form` is what the
    quantization has besides, `operands` the types and arrays of that."""

    shape: tuple
    data: str = "f4E2M1FN"
    recipe: str = ""
    returns: str = "v"
    x: str = "bf16"
    value: str = "bf16"
    layout: str = ""
    form: str = ""
    operands: tuple = ()
    made: bool = False
    norm: bool = False
    dynamic: bool = True

    def text(self):
        is_nvfp4 = self.data == "f4E2M1FN" and self.recipe not in ("floor", "rceil")
        block, scale = (16, "f8E4M3FN") if is_nvfp4 else (32, "f8E8M0FNU")
        shape = (*self.shape[:-2], None if self.dynamic else self.shape[-2], self.shape[-1])
        cols = -(-self.shape[-1] // block)
        x = tensor(shape, self.x)
        types = {"q": tensor(shape, self.data), "s": tensor((*shape[:-1], cols), scale),
                 "v": tensor(shape, self.value)}
        if self.layout:
            types["s"] = f"{types['s'][:-1]}, {self.layout}>"
        arguments = {"%arg": x, **{f"%o{i}": type for i, (type, _) in enumerate(self.operands)}}
        lines, name = "", "%arg"
        if self.made:
            name, lines = "%x", square("%arg", "%x", x, self.x, len(shape))
        if self.norm:
            arguments["%weight"] = tensor(shape[-1:], "bf16")
            norm, name, _ = Norm("rms", self.x, "bf16").text(0, ["%arg", "%weight"], shape)
            lines = "".join(norm)
        recipe = f" recipe {self.recipe}" if self.recipe else ""
        form = self.form.format(*(f"%o{i}" for i in range(len(self.operands))))
        returned = ", ".join(f"%{letter}" for letter in self.returns)
        results = ", ".join(types[letter] for letter in self.returns)
        return (f"func.func @trip({', '.join(f'{n}: {t}' for n, t in arguments.items())}) -> "
                f"({results}) {{\n{lines}"
                f"  %q, %s = blockscale.quantize {name} block [1, {block}]{recipe}{form} : {x} -> "
                f"{types['q']}, {types['s']}\n"
                # Without the global scale, which quantizers have.
                f"  %v = blockscale.dequantize %q, %s block [1, {block}]{recipe} "
                f"unchecked_origins : {types['q']}, {types['s']} -> {types['v']}\n"
                f"  return {returned} : {results}\n}}\n")

    def arrays(self, random):
        x = draw_x(random, self.shape, self.x)
        weight = [to_bf16(np.ones(self.shape[-1:], np.float32))] if self.norm else []
        return [x, *(array for _, array in self.operands), *weight]

    def returned(self):
        """The element types of values, and nothing for codes and scales."""
        return [self.value if letter == "v" else "" for letter in self.returns]


def global_scale(value):
    return {"form": " global_scale({0} : tensor<f32>)",
            "operands": (("tensor<f32>", np.float32(value)),)}


def ends(*values):
    return {"form": " offsets({0} : tensor<3xi32>) group_dim 0",
            "operands": (("tensor<3xi32>", np.array(values, np.int32)),)}


TRIPS = (
    Trip((37, 128)), Trip((37, 128), returns="qsv"), Trip((130, 4096), dynamic=False),
    Trip((9, 4096), "f8E4M3FN", returns="sv"), Trip((33, 96), "f8E5M2", value="f32"),
    Trip((33, 96), "f6E2M3FN", returns="qv"), Trip((33, 64), "f6E3M2FN"),
    Trip((65, 64), "f4E2M1FN", "rceil"), Trip((33, 128), "f4E2M1FN", "floor", value="f16"),
    Trip((21, 128), recipe="torchao", x="f32", **global_scale(0.01)),
    Trip((21, 128), recipe="mslk", x="f16", returns="sv", **global_scale(0.5)),
    Trip((21, 53), recipe="te", returns="qsv", **global_scale(0.02)),
    Trip((21, 40), recipe="modelopt", **global_scale(0.02)),
    Trip((35, 64), recipe="te_4over6_mae", **global_scale(0.02)),
    Trip((2, 3, 19, 64)), Trip((2, 19, 80), returns="vs", layout=SWIZZLED),
    Trip((200, 128), returns="qsv", layout=SWIZZLED),
    Trip((64, 128), recipe="torchao", **ends(10, 10, 40)),
    Trip((64, 64), "f8E4M3FN", returns="qsv", **ends(0, 64, 64)),
    Trip((40, 128), made=True), Trip((40, 128), "f8E4M3FN", returns="qsv", made=True),
    Trip((40, 1024), norm=True), Trip((40, 256), "f8E4M3FN", returns="sv", norm=True),
)


def check(folder, trip, number):
    random = np.random.default_rng(number)
    places = [ON_CPU, *(("--on=emulator", f"--target={chip}", "--profile",
                         *SCHEDULES[i % len(SCHEDULES)]) for i, chip in enumerate(CHIPS))]
    return run_launches(trip.text(), trip.arrays(random), len(trip.returned()),
                        folder / str(number), places)


def problem(trip, wanted, got):
    for wrong, *_ in (wanted, got):
        if wrong:
            return wrong
    launches, count = getattr(trip, "launches", 1), got[2]
    if count != launches:
        return f"expected {launches} launches, but got {count}"
    return first_difference(*([with_one_nan(array, type)
                               for array, type in zip(arrays, trip.returned(), strict=True)]
                              for _, arrays, _ in (wanted, got)))


def main(trips=TRIPS):
    folder, expect = Path(sys.argv[1]), Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda i: check(folder, trips[i], i), range(len(trips)))
        for trip, (wanted, *others) in zip(trips, results):
            for chip, got in zip(CHIPS, others, strict=True):
                expect.record(f"{chip}: {trip}", problem(trip, wanted, got))
    expect.finish()


if __name__ == "__main__":
    main()
