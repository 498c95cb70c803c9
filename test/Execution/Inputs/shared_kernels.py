# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs modules whose ops share kernels in the emulator, and with a kernel for each op: results have
the same bytes. Tensors lie side by side, in memory or computed; launches have several x, of which
each has code of its own; results of two products are stored beside what is made of them.

Usage: shared_kernels.py FOLDER
"""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import SCHEDULES, run_launches
from reference import to_bf16

CHIPS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
# Codes of E4M3 that are not NaN, and scales around 1.
CODES, SCALES = (0, 0x70), (124, 131)


@dataclass
class Module:
    """Lines of a function of arguments, whose types tell `rows` for their dynamic size, and the
    launches that it is."""

    arguments: str
    lines: str
    results: str
    launches: int
    rows: int = 0

    def text(self):
        values, types = zip(*(each.split(": ") for each in self.results.split("; ")))
        arguments = ", ".join(self.arguments.split("; "))
        return ("#id = affine_map<(i, j) -> (i, j)>\n"
                "#columns = affine_map<(i, j) -> (j)>\n#rows = affine_map<(i, j) -> (i, 0)>\n"
                f"func.func @f({arguments}) -> ({', '.join(types)}) {{\n{self.lines}\n"
                f"  return {', '.join(values)} : {', '.join(types)}\n}}\n")

    def arrays(self, random):
        for argument in self.arguments.split("; "):
            dims, element = re.fullmatch(r"%\w+: tensor<((?:[0-9?]+x)*)(\w+)>", argument).groups()
            shape = [self.rows if dim == "?" else int(dim) for dim in dims.split("x")[:-1]]
            if not shape:
                yield np.array(0.02, np.float32)
            elif element == "i64":
                yield random.integers(1 << 62, size=shape)
            elif element == "i32":
                yield np.array((17, 17, self.rows), np.int32)
            elif element.startswith("f8"):
                yield random.integers(*(SCALES if "E8M0" in element else CODES), shape,
                                      dtype=np.uint8)
            else:
                x = (random.standard_normal(shape)
                     * 2.0 ** random.integers(-5, 6, shape)).astype(np.float32)
                yield to_bf16(x) if element == "bf16" else x


def elementwise(name, inputs, type, body, maps=None):
    """`body` makes the f32 %made of %f0, %f1, .. for the elements of inputs, all of `type` unless
    they have other maps."""
    element = re.fullmatch(r".*x(\w+)>", type)[1]
    maps = maps or {}
    types = [maps.get(each, ("#id", type)) for each in inputs]
    wide = element == "f32"
    lines = [f"    %f{i} = arith.extf %b{i} : {element} to f32" for i in range(len(inputs))]
    arguments = ", ".join(f"%{'f' if wide else 'b'}{i}: {element}" for i in range(len(inputs)))
    end = "    linalg.yield %made : f32" if wide else (
        f"    %t = arith.truncf %made : f32 to {element}\n    linalg.yield %t : {element}")
    return (f"  %{name} = linalg.generic {{indexing_maps = "
            f"[{', '.join([each for each, _ in types] + ['#id'])}], "
            'iterator_types = ["parallel", "parallel"]} '
            f"ins({', '.join('%' + each for each in inputs)} : "
            f"{', '.join(each for _, each in types)}) outs(%{name}0 : {type}) {{\n"
            f"  ^bb0({arguments}, %old: {element}):\n"
            + "\n".join([*([] if wide else lines), body, end]) + f"\n  }} -> {type}")


def quantize(name, x, type, data, block, clauses=""):
    data, scale = data.split(", ")
    return (f"  %{name}, %{name}_s = blockscale.quantize %{x} block {block}{clauses} : {type} -> "
            f"{data}, {scale}")


def join(names, parts, type):
    parts = ", ".join(f"tensor<{part}>" for part in parts)
    return (f"  %x = tensor.concat dim(1) {', '.join('%' + name for name in names)} : ({parts}) -> "
            f"tensor<{type}>")


def product(name, b, n, element):
    return (f"  %{name} = blockscale.scaled_mm %a, %{b} scales(%sa, %s{b}) block [1, 32] : "
            f"tensor<?x64xf8E4M3FN>, tensor<{n}x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, "
            f"tensor<{n}x2xf8E8M0FNU> -> tensor<?x{n}x{element}>")


def kept(n, element, rows):
    """Two products of one A, whose results are stored beside their sum's."""
    type = f"tensor<?x{n}x{element}>"
    return Module(
        f"%a: tensor<?x64xf8E4M3FN>; %sa: tensor<?x2xf8E8M0FNU>; %b: tensor<{n}x64xf8E4M3FN>; "
        f"%sb: tensor<{n}x2xf8E8M0FNU>; %c: tensor<{n}x64xf8E4M3FN>; "
        f"%sc: tensor<{n}x2xf8E8M0FNU>; %h0: {type}",
        "\n".join((product("y", "b", n, element), product("z", "c", n, element),
                   elementwise("h", ("y", "z"), type, "    %made = arith.mulf %f0, %f1 : f32"))),
        f"%z: {type}; %h: {type}; %y: {type}", 0, rows)


def squares(block, scales, clauses):
    """Two x of f32 in square blocks of 4 bits by one code, of which a fragment has few columns."""
    types = {name: (f"tensor<{rows}x160xf32>", f"tensor<{rows}x160xf4E2M1FN>",
                    f"tensor<{rows}x{scales}>") for name, rows in (("x", "?"), ("y", 96))}
    return Module(
        f"%x: {types['x'][0]}; %y: {types['y'][0]}; %g: tensor<f32>; %r: tensor<2xi64>",
        "\n".join(quantize(f"q{name}", name, x, f"{data}, {scale}",
                           f"[{block}, {block}] scale_dim k", clauses)
                  for name, (x, data, scale) in types.items()),
        "; ".join(f"%q{name}: {data}; %q{name}_s: {scale}"
                  for name, (_, data, scale) in types.items()), 1, 64)


SQUARE = "    %made = arith.mulf %f0, %f0 : f32"
SCALED = "    %made = arith.mulf %f0, %f1 : f32"
PAD = ("  %px, %e = blockscale.pad_groups %x offsets(%o : tensor<3xi32>) unit 32 : "
       "tensor<?x48xbf16> -> tensor<?x48xbf16>")
TE = " recipe te global_scale(%g : tensor<f32>)"
MODULES = (
    # Three tensors side by side: in memory, computed with a factor for each column, and computed
    # with one for each row. A fragment at the border has columns of one.
    Module("%a: tensor<?x48xbf16>; %b: tensor<?x16xbf16>; %c: tensor<?x96xbf16>; "
           "%f: tensor<16xbf16>; %g: tensor<?x1xbf16>; %n0: tensor<?x16xbf16>; "
           "%m0: tensor<?x96xbf16>",
           "\n".join((
               elementwise("n", ("b", "f"), "tensor<?x16xbf16>", SCALED,
                           {"f": ("#columns", "tensor<16xbf16>")}),
               elementwise("m", ("c", "g"), "tensor<?x96xbf16>", SCALED,
                           {"g": ("#rows", "tensor<?x1xbf16>")}),
               join("anm", ("?x48xbf16", "?x16xbf16", "?x96xbf16"), "?x160xbf16"),
               quantize("q", "x", "tensor<?x160xbf16>",
                        "tensor<?x160xf8E4M3FN>, tensor<?x5xf8E8M0FNU>", "[1, 32]"),
               quantize("p", "x", "tensor<?x160xbf16>",
                        "tensor<160x?xf8E4M3FN>, tensor<160x?xf8E8M0FNU>",
                        "[32, 1] transposed"))),
           "%q: tensor<?x160xf8E4M3FN>; %q_s: tensor<?x5xf8E8M0FNU>; "
           "%p: tensor<160x?xf8E4M3FN>; %p_s: tensor<160x?xf8E8M0FNU>", 1, 96),
    # Of f32, in one quantization; what a part is made of is stored, too.
    Module("%a: tensor<?x32xf32>; %b: tensor<?x80xf32>; %n0: tensor<?x80xf32>",
           "\n".join((
               elementwise("n", ("b",), "tensor<?x80xf32>", SQUARE),
               join("na", ("?x80xf32", "?x32xf32"), "?x112xf32"),
               quantize("p", "x", "tensor<?x112xf32>",
                        "tensor<112x?xf4E2M1FN>, tensor<112x?xf8E4M3FN>",
                        "[16, 1] transposed recipe torchao"))),
           "%p: tensor<112x?xf4E2M1FN>; %p_s: tensor<112x?xf8E4M3FN>; %n: tensor<?x80xf32>", 1,
           48),
    # Three x of other types, blocks and sizes; one is padded, and one computed.
    Module("%x: tensor<?x48xbf16>; %y: tensor<37x200xbf16>; %z: tensor<64x32xf32>; "
           "%o: tensor<3xi32>; %n0: tensor<64x32xf32>; %g: tensor<f32>",
           "\n".join((
               PAD,
               quantize("p", "px", "tensor<?x48xbf16>",
                        "tensor<48x?xf8E5M2>, tensor<48x?xf8E8M0FNU>",
                        "[32, 1] transposed offsets(%e : tensor<3xi32>)"),
               quantize("q", "y", "tensor<37x200xbf16>",
                        "tensor<37x200xf4E2M1FN>, tensor<37x13xf8E4M3FN>", "[1, 16]" + TE),
               quantize("r", "y", "tensor<37x200xbf16>",
                        "tensor<200x37xf4E2M1FN>, tensor<200x3xf8E4M3FN>",
                        "[16, 1] transposed" + TE),
               elementwise("n", ("z",), "tensor<64x32xf32>", SQUARE),
               quantize("s", "n", "tensor<64x32xf32>",
                        "tensor<64x32xf8E4M3FN>, tensor<2x32xf8E8M0FNU>", "[32, 1]"))),
           "%e: tensor<3xi32>; %p: tensor<48x?xf8E5M2>; %p_s: tensor<48x?xf8E8M0FNU>; "
           "%q: tensor<37x200xf4E2M1FN>; %q_s: tensor<37x13xf8E4M3FN>; "
           "%r: tensor<200x37xf4E2M1FN>; %r_s: tensor<200x3xf8E4M3FN>; "
           "%s: tensor<64x32xf8E4M3FN>; %s_s: tensor<2x32xf8E8M0FNU>", 1, 90),
    kept(96, "bf16", 130), kept(40, "f32", 33), kept(37, "bf16", 17),
    squares(16, "10xf8E4M3FN", TE), squares(16, "10xf8E4M3FN", TE + " rng(%r : tensor<2xi64>)"),
    squares(32, "5xf8E8M0FNU", ""),
)


def main():
    folder, expect = Path(sys.argv[1]), Expectations()

    def run(number, chip):
        module = MODULES[number]
        arrays = list(module.arrays(np.random.default_rng(number)))
        places = [("--on=emulator", f"--target={chip}", "--fuse=false"),
                  ("--on=emulator", f"--target={chip}", "--profile",
                   *SCHEDULES[number % len(SCHEDULES)])]
        return run_launches(module.text(), arrays, module.results.count("; ") + 1,
                            folder / f"{chip}-{number}", places)

    cases = [(number, chip) for number in range(len(MODULES)) for chip in CHIPS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (number, chip), runs in zip(cases, pool.map(lambda each: run(*each), cases),
                                        strict=True):
            (problem, wanted, _), (other, got, launches) = runs
            expected = MODULES[number].launches
            if expected and launches != expected:
                other = other or f"expected {expected} launches, but got {launches}"
            expect.record(f"{chip}: module {number}",
                          problem or other or first_difference(got, wanted))
    expect.finish()


if __name__ == "__main__":
    main()
