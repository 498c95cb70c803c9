# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs quantizers of what elementwise ops make in the emulator: fused with these ops,
some of which keep x in memory, too, and after a kernel of theirs. The bytes are those
of the CPU, where nothing is fused.

Usage: gpu_producers.py FOLDER [--seed SEED]
"""

import argparse
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from block_shapes import tensor
from expect import Expectations, first_difference
from gpu_calls import PLACES, run_module
from ops import with_one_nan
from sm100_kinds import mx, nvfp4

CASES_OF_A_BATCH = 10


@dataclass
class Producer:
    """`inputs` are elements and how they lie on x: full, rows, kept_rows (of size 1 along
    the columns), columns or single. `body` makes %y of the block arguments %0, %1, .. that
    are f32, or `text` makes %x<n> of {0}, {1}, .. in other ops."""

    name: str
    inputs: tuple
    body: str = ""
    text: str = ""
    x: str = "bf16"


SWIGLU = """%n = arith.negf %0 : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %s = arith.divf %0, %d : f32
    %r = arith.truncf %s : f32 to bf16
    %w = arith.extf %r : bf16 to f32
    %y = arith.mulf %w, %1 : f32"""
GELU = """%h = arith.mulf %0, %half : f32
    %z = {inner}
    %p = arith.addf %z, %one : f32
    %y = arith.mulf %h, %p : f32"""
GELU_ERF = GELU.format(inner="math.erf %u : f32").replace(
    "%h =", "%u = arith.mulf %0, %root : f32\n    %h =")
GELU_TANH = GELU.format(inner="math.tanh %u : f32").replace("%h =", """%sq = arith.mulf %0, %0 : f32
    %cb = arith.mulf %sq, %0 : f32
    %ca = arith.mulf %cb, %cubic : f32
    %su = arith.addf %0, %ca : f32
    %u = arith.mulf %su, %slope : f32
    %h =""")
FULL, HALF = ("bf16", "full"), ("f16", "full")
PRODUCERS = (
    Producer("swiglu", (FULL, FULL), SWIGLU),
    Producer("gelu_tanh", (FULL,), GELU_TANH),
    Producer("gelu_erf", (FULL,), GELU_ERF),
    Producer("residual", (FULL, FULL), text="%x{n} = arith.addf {0}, {1} : {x}"),
    Producer("chain", (FULL, FULL),
             text="%c{n} = arith.constant dense<-0.5> : {x}\n  %z{n} = arith.addf {0}, {1} : {x}\n"
                  "  %x{n} = arith.maximumf %z{n}, %c{n} : {x}"),
    Producer("scaled", (FULL, ("f32", "columns"), ("f32", "rows")),
             "%t = arith.mulf %0, %1 : f32\n    %y = arith.mulf %t, %2 : f32"),
    Producer("normed", (("f32", "full"), ("bf16", "columns"), ("bf16", "kept_rows")),
             "%t = arith.subf %0, %2 : f32\n    %q = math.rsqrt %1 : f32\n"
             "    %y = arith.mulf %t, %q : f32"),
    Producer("single", (FULL, ("f32", "single")), "%y = arith.maxnumf %0, %1 : f32"),
    Producer("wide", (("f32", "full"), FULL), "%y = arith.addf %0, %1 : f32", x="f32"),
    Producer("widened", (FULL,), "%y = arith.mulf %0, %0 : f32", x="f32"),
    # Arithmetic in f16 itself, which rounds after each op, and casts around that in f32.
    Producer("half", (HALF, HALF), text="%z{n} = arith.mulf {0}, {1} : {x}\n"
                                        "  %x{n} = arith.addf %z{n}, {1} : {x}", x="f16"),
    Producer("half_swiglu", (HALF, HALF), SWIGLU.replace("bf16", "f16"), x="f16"),
    Producer("half_scaled", (HALF, ("f16", "columns"), ("f16", "rows"), ("bf16", "single")),
             "%t = arith.mulf %0, %1 : f32\n    %u = arith.addf %t, %3 : f32\n"
             "    %y = arith.mulf %u, %2 : f32", x="f16"),
)
MAPS = {"full": "(d0, d1) -> (d0, d1)", "rows": "(d0, d1) -> (d0)",
        "kept_rows": "(d0, d1) -> (d0, 0)", "columns": "(d0, d1) -> (d1)",
        "single": "(d0, d1) -> ()"}
CONSTANTS = """  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %root = arith.constant 0.707106781 : f32
  %cubic = arith.constant 0.044715 : f32
  %slope = arith.constant 0.797884561 : f32
"""


def get_map(spread, rank):
    """With leading dimensions as rows have them."""
    leading = "".join(f"b{i}, " for i in range(rank - 2))
    dims, results = MAPS[spread].split(" -> ")
    results = results.replace("(d0", f"({leading}d0") if "d0" in results else results
    return f"affine_map<{dims.replace('(', f'({leading}', 1)} -> {results}>"


def get_shape(spread, shape):
    return {"full": shape, "rows": shape[:-1], "kept_rows": (*shape[:-1], 1),
            "columns": shape[-1:], "single": ()}[spread]


def draw(random, element, shape):
    """Of moderate size, some zero, infinite or NaN."""
    x = np.asarray(random.standard_normal(shape) * np.exp2(random.integers(-4, 5, shape)),
                   np.float32)
    special = random.random(shape)
    for i, value in enumerate((0.0, -0.0, np.inf, -np.inf, np.nan, 1e-39, 200.0)):
        x = np.where((special > i * 1e-3) & (special < (i + 1) * 1e-3), np.float32(value), x)
    x = np.asarray(x, np.float32)
    if element == "f32":
        return x
    if element == "f16":
        return x.astype(np.float16)
    return (x.view(np.uint32) >> 16).astype(np.uint16).reshape(shape)


class Batch:
    """A function that is several cases."""

    def __init__(self):
        self.arguments, self.arrays, self.body, self.results, self.what = [], [], [], [], []

    def add_argument(self, type, array):
        self.arguments.append(f"%a{len(self.arrays)}: {type}")
        self.arrays.append(array)
        return f"%a{len(self.arrays) - 1}"

    def add(self, random, producer, kinds, keeps_x):
        """Quantizations of one x; where `keeps_x` it is a result, too. One that is
        quantized under its own amax is made in a kernel apart."""
        shape, dynamic = kinds[0].shape, kinds[0].dynamic
        sizes = tuple(None if flag else size for flag, size in zip(dynamic, shape))
        number = len(self.what)
        x_type = tensor(sizes, producer.x)
        inputs = []
        for element, spread in producer.inputs:
            type = tensor(get_shape(spread, sizes), element)
            inputs.append((self.add_argument(type, draw(random, element, get_shape(spread, shape))),
                           type))
        self.body.append(self._text(producer, inputs, x_type, len(shape), number))
        if keeps_x:
            self.results.append((f"%x{number}", x_type))
        for i, kind in enumerate(kinds):
            op, (_, *types), results = kind.signature()
            if kind.source == "global_amax":
                operands = [f"%g{number}_{i}"]
                self.body.append(f"  {operands[0]} = blockscale.amax %x{number} : {x_type} -> "
                                 f"{types[0]}\n")
            else:
                operands = [self.add_argument(type, array) for type, array in
                            zip(types, kind.arguments(random, shape)[1:], strict=True)]
            made = [f"%r{number}_{i}_{j}" for j in range(2)]
            self.body.append(f"  {', '.join(made)} = blockscale."
                             f"{op.format(f'%x{number}', *operands)}\n")
            self.results += zip(made, results)
        self.what.append(((f"{producer.name} {[kind.signature()[0] for kind in kinds]} {shape}"
                           f"{' kept' * keeps_x}"), keeps_x + 2 * len(kinds)))

    @staticmethod
    def _text(producer, inputs, x_type, rank, number):
        """The ops that make %x<number>."""
        names, types = zip(*inputs)
        if producer.text:
            return "  " + producer.text.format(*names, x=x_type, n=number) + "\n"
        first = next(i for i, (_, spread) in enumerate(producer.inputs) if spread == "full")
        text, sizes = "", []
        for dim, size in enumerate(x_type[len("tensor<"):].split("x")[:-1]):
            if size == "?":
                sizes.append(f"%d{number}_{dim}")
                text += (f"  %i{number}_{dim} = arith.constant {dim} : index\n"
                         f"  {sizes[-1]} = tensor.dim {names[first]}, %i{number}_{dim} : "
                         f"{types[first]}\n")
        body, arguments = producer.body, []
        for i, (element, _) in enumerate(producer.inputs):
            arguments.append(f"%{'f' if element == 'f32' else 'b'}{i}: {element}")
            if element != "f32":
                body = f"%f{i} = arith.extf %b{i} : {element} to f32\n    {body}"
            body = re.sub(rf"%{i}\b", f"%f{i}", body)
        if producer.x != "f32":
            body += f"\n    %o = arith.truncf %y : f32 to {producer.x}"
        maps = [get_map(spread, rank) for _, spread in producer.inputs] + [get_map("full", rank)]
        iterators = ", ".join(['"parallel"'] * rank)
        return (f"{text}  %e{number} = tensor.empty({', '.join(sizes)}) : {x_type}\n"
                f"  %x{number} = linalg.generic {{indexing_maps = [{', '.join(maps)}], "
                f"iterator_types = [{iterators}]}}\n"
                f"      ins({', '.join(names)} : {', '.join(types)}) "
                f"outs(%e{number} : {x_type}) {{\n"
                f"  ^bb0({', '.join(arguments)}, %old: {producer.x}):\n    {body}\n"
                f"    linalg.yield {'%y' if producer.x == 'f32' else '%o'} : {producer.x}\n"
                f"  }} -> {x_type}\n")

    def module(self):
        types = ", ".join(type for _, type in self.results)
        return (f"func.func @calls({', '.join(self.arguments)}) -> ({types}) {{\n{CONSTANTS}"
                f"{''.join(self.body)}  return {', '.join(name for name, _ in self.results)} : "
                f"{types}\n}}\n")


def quantizers(random, producer, m, k):
    """Kinds of x that kernels make: of rows, which take all, in blocks of several rows, and
    of rows and columns."""
    def of(build, *which, **form):
        # A splat has a static shape.
        dynamic = (*(random.random() < 0.5 and producer.name != "chain"
                     for _ in form["shape"][1:]), form.pop("dynamic_k", False))
        return build(*which, x=producer.x, dynamic=dynamic, **form)

    shape = (m, k)
    tiles = {"swizzled": bool(random.random() < 0.5)}
    yield [of(mx, "rceil", "f8E4M3FN", shape=shape, **tiles)]
    yield [of(nvfp4, "torchao", shape=shape, **tiles, source="global_scale")]
    yield [of(nvfp4, "torchao", shape=shape, source="global_amax")]
    yield [of(nvfp4, "te", shape=(m, k - 3), **tiles)]
    yield [of(nvfp4, "te_4over6_mae", shape=(2, m, k), **tiles)]
    m = -(-m // 32) * 32
    shape = (m, k)
    yield [of(mx, "floor", "f4E2M1FN", block=(32, 32), shape=shape)]
    yield [of(nvfp4, "torchao", block=(16, 1), transposed=True, shape=(2, m, k), **tiles)]
    if producer.x != "bf16":
        yield [of(mx, "rceil", "f8E4M3FN", shape=shape, **tiles, dynamic_k=True)]
        yield [of(nvfp4, "mslk", shape=(2, m, k), source="global_scale", form="each",
                  dynamic_k=True)]
    else:
        row = of(mx, "rceil", "f8E4M3FN", shape=shape, **tiles)
        column = of(mx, "rceil", "f8E4M3FN", block=(32, 1), transposed=True, shape=shape, **tiles)
        column.dynamic = row.dynamic
        yield [row, column]
        yield [of(mx, "rceil", "f8E5M2", shape=shape, dynamic_k=producer.name != "chain")]
        row = of(nvfp4, "modelopt", shape=(m - 5, k - 2), **tiles)
        column = of(nvfp4, "modelopt", block=(16, 16), shape=(m - 5, k - 2))
        column.dynamic = row.dynamic
        yield [row, column]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    cases = []
    for producer in PRODUCERS:
        m, k = int(random.integers(1, 90)), 32 * int(random.integers(1, 6))
        cases += [(producer, kinds, random.random() < 0.4)
                  for kinds in quantizers(random, producer, m, k)]
    batches = []
    for i, (producer, kinds, keeps_x) in enumerate(cases):
        if i % CASES_OF_A_BATCH == 0:
            batches.append(Batch())
        batches[-1].add(random, producer, kinds, keeps_x)
    expect = Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [[pool.submit(run_module, batch.module(), batch.arrays, len(batch.results),
                             options.folder / f"batch{i}-{j}", place)
                 for j, place in enumerate(PLACES)] for i, batch in enumerate(batches)]
        for batch, places in zip(batches, runs):
            compare(expect, batch, [run.result() for run in places])
    expect.finish()


def compare(expect, batch, runs):
    problems = [problem for problem, _ in runs if problem]
    for problem in problems:
        expect.record(batch.what[0][0], problem)
    if problems:
        return
    types = [type for _, type in batch.results]
    wanted, *others = [[with_one_nan(array, type) for array, type in zip(arrays, types)]
                       for _, arrays in runs]
    for place, got in zip(PLACES[1:], others):
        at = 0
        for what, count in batch.what:
            expect.record(f"{place[1]}: {what}",
                          first_difference(wanted[at:at + count], got[at:at + count]))
            at += count


if __name__ == "__main__":
    main()
