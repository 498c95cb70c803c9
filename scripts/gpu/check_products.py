#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of a scaled and a plain operand, drawn at random as for the emulator
(test/Execution/Inputs/sm90_matmul.py), on a GPU, and compares with numpy, within the bound. A
layer of experts (test/Execution/sm90-moe.test), and an encoder layer with attention
(test/Execution/encoder-layer.test), are compared with the CPU, and so are some rows of products as
large as models have them (large_products.py), of which all rows are compared with numpy:

  scripts/gpu/check_products.py pack FOLDER [--cases N] [--seed N] [--target CHIP]    # here
  python3 FOLDER/scripts/gpu/check_products.py run [--no-large]                       # there

The kernels are those of sm_90a, or of a chip that multiplies by plain mma.sync (mma_matmul.py),
which newer GPUs run, too. The other machine needs such a GPU, its driver, Python and NumPy, and for
large products 64 GiB of memory. The last line is `N passed, N failed`; the exit status is 1 if one
failed.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOPPER = "sm_90a"
COPIES = ("python/blockscale_runtime.py", "python/blockscale_reference/*.py",
          "scripts/log_head.py", "scripts/gpu/check_products.py", "scripts/gpu/packed.py",
          "scripts/gpu/packing.py", "scripts/gpu/large_products.py", "test/batches.py",
          "test/Execution/Inputs/*.py")
# A layer of experts, and one that returns the tensors that are quantized in it, too.
LAYER = "test/Execution/Inputs/moe.mlir"
# An encoder layer with attention.
ENCODER = "test/Execution/Inputs/encoder_layer.mlir"

sys.path[:0] = [str(ROOT / name) for name in ("scripts", "python", "test/Execution/Inputs")]

import numpy as np

import encoder_layer
import large_products
import mma_matmul
import sm90_matmul
import sm90_moe
import sm100_moe
from expect import Expectations, first_difference
from gpu_calls import run_places
from packed import Pack
from packing import build_bundle, describe, make_folder
from reference import from_bf16


def draw(chip, seed, number):
    """An op, its case and the text of its function."""
    if chip == HOPPER:
        return sm90_matmul.draw(seed, number)[:3]
    return mma_matmul.draw(seed, number, chip)[:3]


def pack_layers(folder, chip):
    """Two bundles of the layer, its arguments and the results of the CPU."""
    text = (ROOT / LAYER).read_text()
    for name, module in (("layer", text), ("quantized", sm90_moe.returning_quantized(text))):
        build_bundle(module, chip, folder / f"{name}.bundle")
        random, count = np.random.default_rng(7), 5 if name == "quantized" else 1
        for i, ends in enumerate(sm100_moe.ENDS):
            arrays = sm100_moe.Layer(random, ends).arrays()
            with tempfile.TemporaryDirectory() as work:
                ((failed, results),) = run_places(module, arrays, count, Path(work),
                                                  [["--on=cpu"]])
            if failed:
                sys.exit(failed)
            save_call(folder / f"{name}{i}.npz", arrays, results)


def pack_encoder(folder, chip):
    """The bundle of the layer, its arguments and the results of the CPU."""
    text = (ROOT / ENCODER).read_text()
    build_bundle(text, chip, folder / "encoder.bundle")
    arrays = encoder_layer.make_arguments(np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as work:
        ((failed, results),) = run_places(text, arrays, 3, Path(work), [["--on=cpu"]])
    if failed:
        sys.exit(failed)
    save_call(folder / "encoder.npz", arrays, results)


def pack_large(folder, chip):
    """Bundles of large products, and rows of the CPU's results."""
    for number, large in enumerate(large_products.LARGE):
        build_bundle(large.op.text(), chip, folder / f"large{number}.bundle")
        np.save(folder / f"large{number}.npy", large_products.compute_on_cpu(large))


def save_call(path, inputs, results):
    np.savez_compressed(path, **{f"in{j}": a for j, a in enumerate(inputs)},
                        **{f"out{j}": a for j, a in enumerate(results)})


def load_call(path):
    """The inputs and the results of a call."""
    arrays = np.load(path)
    return ([arrays[f"{kind}{j}"] for j in range(len(arrays)) if f"{kind}{j}" in arrays]
            for kind in ("in", "out"))


def run_encoder(expect, execute):
    """What is quantized before any product has the CPU's bytes, and the result is close."""
    inputs, wanted = load_call(ROOT / "encoder.npz")
    got, problem = execute("encoder.bundle", "layer", *inputs)
    expect.record("encoder layer", problem or encoder_layer.find_problem(wanted, got))


def run_layers(expect, execute):
    """Tensors that are quantized in the layer have the CPU's bytes; its result is within a step
    of bf16, in whose sums the order differs."""
    for name in ("layer", "quantized"):
        for i, ends in enumerate(sm100_moe.ENDS):
            inputs, wanted = load_call(ROOT / f"{name}{i}.npz")
            got, problem = execute(f"{name}.bundle", "moe", *inputs)
            expect.record(f"{name} of experts, ends {ends}", problem or
                          first_difference(got[:-1], wanted[:-1]) or sm100_moe.problem(
                              from_bf16(got[-1]), from_bf16(wanted[-1]), ends[-1]))


def run_large(expect, execute):
    for number, large in enumerate(large_products.LARGE):
        problem, equal = large_products.find_problem(
            large, lambda *arguments: execute(f"large{number}.bundle", "mm", *arguments),
            np.load(ROOT / f"large{number}.npy"))
        print(f"{large.name}: {100 * equal:.2f} % of the CPU's results are equal", flush=True)
        expect.record(large.name, problem)


def pack(options):
    folder = options.folder
    make_folder(folder, COPIES)

    def compile_case(number):
        *_, text = draw(options.target, options.seed, number)
        build_bundle(text, options.target, folder / f"{number}.bundle")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_case, range(options.cases)))
    pack_layers(folder, options.target)
    pack_encoder(folder, options.target)
    pack_large(folder, options.target)
    describe(folder, seed=options.seed, cases=options.cases, target=options.target)


def run(options):
    packed, expect = Pack(ROOT), Expectations()
    about = packed.about
    for number in range(about["cases"]):
        op, case, _ = draw(about["target"], about["seed"], number)
        got, problem = packed.run(f"{number}.bundle", "mm", *case.arguments)
        expect.record(f"case {number}: {op}", problem or case.problem(got[0]))
    run_layers(expect, packed.run)
    run_encoder(expect, packed.run)
    if not options.no_large:
        run_large(expect, packed.run)
    expect.finish()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    here = commands.add_parser("pack", help="compile the cases into a folder")
    here.add_argument("folder", type=Path, help="is created, and must not exist")
    here.add_argument("--cases", type=int, default=200)
    here.add_argument("--seed", type=int, default=1)
    here.add_argument("--target", default=HOPPER, choices=(HOPPER, *mma_matmul.CHIPS),
                      metavar="CHIP")
    here.set_defaults(work=pack)
    there = commands.add_parser("run", help="run them on the GPU of this machine")
    there.add_argument("--no-large", action="store_true", help="leave out large products")
    there.set_defaults(work=run)
    options = parser.parse_args()
    options.work(options)


if __name__ == "__main__":
    main()
