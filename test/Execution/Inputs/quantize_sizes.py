# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs quantize and dequantize, every recipe and two data types of each of MX, on
chosen sizes: one block, tails, more than a step of a row and more than a tile of
scales, nothing; on the baseline CPU and on this one, with parallel ranges of
several sizes.

Usage: quantize_sizes.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import values
from expect import Expectations
from module import Module
from ops import CPUS, RANGE_SIZES
from quantizers import CODECS, MX_RECIPES, Case, Op

# Where 16 blocks beside each other all have usual factors, the CPU finds codes of bf16 by
# comparing. One block of another kind among them would leave that untested.
ORDINARY = [(values.ordinary,), (values.ordinary, values.ordinary_with_nan)]
LONG = [((), 3, 16 * 32), ((), 2, 16 * 21)]
TAILS = {"torchao": (0, 0), "mslk": (0, 0), "te": (1, 7), "modelopt": (9, 15)}

random = np.random.default_rng(11)
expect = Expectations()
# Ops, the (batch, M, K, values of the global operand) to call them with, and kinds of blocks.
calls = []


def add(recipe, sizes, data="f4E2M1FN", factors=(None,), kinds=None, **options):
    op = Op(f"f{len(calls)}", recipe, data, **options)
    op.shape = dict(zip("BMK", sizes[0]))
    calls.append((op, [(*size, factor) for size in sizes for factor in factors], kinds))


for recipe, tails in TAILS.items():
    rows = [((), m, 16 * blocks + tail) for tail in {0, *tails}
            for m, blocks in ((1, 1), (3, 5), (130, 16), (257, 21))]
    add(recipe, [*rows, ((), 0, 16), ((), 5, 0)], x="bf16")
    add(recipe, rows, layout="swizzled", source="scale", form="scalar", factors=(2.0**-9, 0.37))
    add(recipe, [((2, 3), 140, 32 + tails[1])], x="bf16", layout="swizzled", batch=2, dynamic="B",
        source="amax", form="each", factors=(1.0, 1e38, 1e-30))
    add(recipe, [((), 37, 272 + tails[0])], x="bf16", dynamic="", source="amax", form="scalar",
        factors=(2.5, 0.0))
    for kinds in ORDINARY:
        add(recipe, LONG, x="bf16", kinds=kinds)
    add(recipe, LONG, x="bf16", kinds=ORDINARY[1], source="amax", form="scalar", factors=(1000.0,))
for i, recipe in enumerate(MX_RECIPES):
    for kinds in ORDINARY:
        add(recipe, [((), 2, 32 * 32)], x="bf16", kinds=kinds)
    data, other = (list(CODECS)[j % len(CODECS)] for j in (i, i + 1))
    sizes = [((), m, 32 * blocks) for m, blocks in ((1, 1), (131, 3), (9, 8), (3, 19), (0, 1))]
    add(recipe, sizes, data, x=("bf16", "f32")[i % 2], layout=("linear", "swizzled")[i // 2 % 2])
    add(recipe, [((2,), 129, 288)], other, x=("f32", "bf16")[i % 2], layout="swizzled", batch=1,
        dynamic="")

for cpu in CPUS:
    folder = Path(sys.argv[1]) / cpu
    folder.mkdir(parents=True, exist_ok=True)
    module = Module("".join(op.text() for op, *_ in calls), folder, cpu=cpu)
    for op, sizes, kinds in calls:
        for batch, m, k, factor in sizes:
            op.shape = {"B": batch, "M": m, "K": k}
            if factor is not None and op.form == "each":
                factor *= random.uniform(0.5, 2, batch)
            x = values.floats(random, (*batch, m, k), np.uint16, kinds) if kinds else None
            case = Case(op, random, factor, x)
            for range_size in RANGE_SIZES:
                got = module.call(op.name, *case.arguments, range_size=range_size)
                expect.equal(f"{cpu}: {op}, {range_size} items a range", case.comparable(got),
                             case.comparable(case.results))
expect.finish()
