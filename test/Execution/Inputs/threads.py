# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions with 1, 2 and 5 threads: quantizers give the reference's bytes,
products the same bytes for each number of threads.

Usage: threads.py FOLDER
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import products
import quantizers
from expect import Expectations

THREADS = (1, 2, 5)
RANDOM = np.random.default_rng(31)
SHAPE = {"B": (2,), "M": 317, "N": 190, "K": 544}
MX = {"scale": "f8E8M0FNU", "a": "f8E4M3FN", "b": "f8E5M2"}

QUANTIZERS = [
    quantizers.Op("te", "te", batch=1, layout="swizzled", source="computed_amax", form="each"),
    quantizers.Op("torchao", "torchao", x="bf16", batch=1, source="scale", form="scalar"),
    quantizers.Op("rceil", "rceil", "f8E4M3FN", batch=1, layout="swizzled"),
]
PRODUCTS = [
    products.Op("mm", batch=1, layout_a="swizzled", bias="f32"),
    # One panel of rows.
    products.Op("narrow", global_a="row", global_b="row"),
    products.Op("rows", "rows", **MX, layout_a="grouped"),
    products.Op("columns", "columns", **MX, layout_a="grouped", layout_b="grouped"),
]

expect = Expectations()
folder = Path(sys.argv[1])


def run(op, arguments, results, threads):
    module = folder / f"{op.name}.mlir"
    module.write_text(op.text())
    command = ["blockscale-run", module]
    for i, array in enumerate(arguments):
        np.save(folder / f"in{i}.npy", array)
        command += ["--in", folder / f"in{i}.npy"]
    outputs = [folder / f"out{i}.npy" for i in range(results)]
    for output in outputs:
        command += ["--out", output]
    subprocess.run(command, check=True,
                   env={**os.environ, "BLOCKSCALE_NUM_THREADS": str(threads)})
    return [np.load(output) for output in outputs]


for op in QUANTIZERS:
    op.shape = SHAPE
    case = quantizers.Case(op, RANDOM)
    for threads in THREADS:
        got = run(op, case.arguments, len(case.results), threads)
        expect.equal(f"@{op.name} on {threads} threads", case.comparable(got),
                     case.comparable(case.results))
for op in PRODUCTS:
    op.shape = SHAPE if op.kind == "mm" else {**SHAPE, "B": (), "G": 3}
    if op.name == "narrow":
        op.shape = {"B": (), "M": 5, "N": 700, "K": 544}
    case = products.Case(op, RANDOM, () if op.kind == "mm" else (96, 96, 288))
    results = [run(op, case.arguments, 1, threads) for threads in THREADS]
    expect.record(f"@{op.name}", case.problem(results[0][0]))
    for threads, result in zip(THREADS[1:], results[1:]):
        expect.equal(f"@{op.name} on {threads} threads", result, results[0])
expect.finish()
