#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares products of a Hopper GPU with those of two other targets:

* of the CPU, at the sizes of models. The CPU's code is carried as shared libraries, and runs on
  the GPU's machine;
* of SM100 in the emulator, drawn at random as for test/Execution/sm100-matmul.test. The
  emulator's results are carried.

  scripts/gpu/compare_products.py pack FOLDER [--cases N] [--seed N]      # here
  python3 FOLDER/scripts/gpu/compare_products.py run                      # there

Where sums are exact in f32, both targets store the same bytes. Other results are within the bound
of the exact product on both. The other machine needs a Hopper GPU, its driver, Python, NumPy and
80 GiB of memory. The last line is `N passed, N failed`; the exit status is 1 if one failed.
"""

import argparse
import os
import shutil
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHIP = "sm_90a"
COPIES = ("python/blockscale_runtime.py", "python/blockscale_object.py",
          "python/blockscale_reference/*.py", "scripts/log_head.py",
          "scripts/gpu/compare_products.py", "scripts/gpu/packed.py", "scripts/gpu/packing.py",
          "test/batches.py", "test/Execution/Inputs/*.py")

sys.path[:0] = [str(ROOT / name) for name in ("scripts", "python", "test/Execution/Inputs")]

import numpy as np

import blockscale_object
import even_scales
import exact
import sm100_matmul
from expect import Expectations, first_difference
from gpu_calls import run_places
from packed import FILL, Pack
from packing import BUILD, build_bundle, describe, make_folder
from products import CODECS, PLAIN, Case, Op
from reference import to_bf16

NVFP4 = {"scale": "f8E4M3FN", "b": "f4E2M1FN"}
MXFP4 = {"scale": "f8E8M0FNU", "b": "f4E2M1FN"}
MXFP6 = {"scale": "f8E8M0FNU", "b": "f6E2M3FN"}
MXFP8 = {"scale": "f8E8M0FNU", "b": "f8E4M3FN"}
SQUARE = {"M": 4096, "N": 4096, "K": 4096}
# An odd number of rows, and columns that no tile divides.
RAGGED = {"M": 1021, "N": 14327, "K": 4096}
SPLIT = {"M": 48, "N": 1000, "K": 14336}
EXPERTS, MANY_EXPERTS = ({"M": rows, "N": 5760, "K": 2880, "G": count}
                         for rows, count in ((8192, 8), (256, 32)))
DEPTHS = {"M": 2048, "N": 2048, "K": 8192, "G": 5}


def op(format, shape, a="bf16", result="bf16", **more):
    return Op("mm", a=a, result=result, shape={"B": (), **shape}, dynamic="", layout_b="swizzled",
              **({} if a in PLAIN else {"layout_a": "swizzled"}), **format, **more)


# By name. Each is computed from operands whose sums are exact, and from random ones.
LARGE = {
    "nvfp4": op(NVFP4, SQUARE, is_prepacked=True, global_b="rank_0"),
    "nvfp4 beside f16": op(NVFP4, RAGGED, a="f16", result="f32", bias="f32"),
    "nvfp4 split": op(NVFP4, SPLIT, result="f32", is_prepacked=True),
    "mxfp4": op(MXFP4, RAGGED, is_prepacked=True),
    "mxfp6": op(MXFP6, SQUARE, result="f32"),
    "mxfp8": op(MXFP8, SQUARE, is_prepacked=True, bias="bf16"),
    "nvfp4 both": op(NVFP4, SQUARE, a="f4E2M1FN", global_a="rank_0", global_b="rank_0"),
    "mxfp8 both": op(MXFP8, RAGGED, a="f8E4M3FN", result="f32"),
    "mxfp4 experts": op(MXFP4, EXPERTS, kind="rows", is_prepacked=True, bias="bf16",
                        has_bias_each=True),
    "nvfp4 experts": op(NVFP4, MANY_EXPERTS, kind="rows", global_b="each"),
    "mxfp8 depths": op(MXFP8, DEPTHS, kind="columns", result="f32"),
}


def draw_ends(random, op):
    """Groups of uneven sizes, one of them empty."""
    if op.kind == "mm":
        return ()
    extent, unit = (op.shape["M"], 1) if op.kind == "rows" else (op.shape["K"], 32)
    ends = np.sort(random.integers(0, extent // unit + 1, op.shape["G"])) * unit
    ends[1], ends[-1] = ends[0], extent
    return tuple(ends.tolist())


def small_numbers(random, element, shape):
    """Data of whole numbers up to 3 in magnitude, or of E2M1 all of its values."""
    if element == "f4E2M1FN":
        return random.integers(0, 16, shape, np.uint8)
    drawn = random.integers(-3, 4, shape).astype(np.float32)
    if element in PLAIN:
        return to_bf16(drawn) if element == "bf16" else drawn.astype(np.float16)
    return CODECS[element].encode(np.arange(-3, 4))[(drawn + 3).astype(np.int8)]


def draw_large(name, is_exact):
    """The case of an op of LARGE."""
    op = LARGE[name]
    random = np.random.default_rng((list(LARGE).index(name), is_exact))
    ends = draw_ends(random, op)
    of_b = (len(ends),) if op.kind == "rows" else ()
    shapes = {"a": (op.shape["M"], op.shape["K"]), "b": (*of_b, op.shape["N"], op.shape["K"])}
    given = {}
    for side, shape in shapes.items():
        element, scaled = getattr(op, side), (*shape[:-1], shape[-1] // op.block)
        if is_exact:
            given[side] = small_numbers(random, element, shape)
        if element not in PLAIN:
            given[f"s{side}"] = (exact.scales(random, op.scale, scaled) if is_exact else
                                 even_scales.scales(random, op.scale, scaled, range(-4, 5)))
    case = Case(op, random, ends, **given, bias_share=2.0**-2)
    if is_exact and op.kind == "rows":
        for start, end, b in zip([0, *ends], ends, case.values[1]):
            exact.demand(case.values[0][start:end], b)
    elif is_exact:
        exact.demand(*case.values)
    return case


def get_stem(name):
    return name.replace(" ", "_")


def pack(options):
    folder = options.folder
    make_folder(folder, COPIES)

    def pack_large(name):
        stem, text = get_stem(name), LARGE[name].text()
        build_bundle(text, CHIP, folder / f"{stem}.bundle")
        with tempfile.TemporaryDirectory() as work:
            shutil.copy(blockscale_object.build_library(
                BUILD / "bin/blockscale-compile", text, f"{work}/code", "x86-64-v3"),
                folder / f"{stem}.so")

    def pack_small(number):
        op, case, _ = sm100_matmul.draw(options.seed, number)
        build_bundle(op.text(), CHIP, folder / f"{number}.bundle")
        with tempfile.TemporaryDirectory() as work:
            ((failed, results),) = run_places(op.text(), case.arguments, 1, Path(work),
                                              [["--on=emulator", "--target=sm_100a"]])
        if failed:
            sys.exit(failed)
        np.savez_compressed(folder / f"{number}.npz", results[0])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(pack_large, LARGE))
        list(pool.map(pack_small, range(options.cases)))
    describe(folder, seed=options.seed, cases=options.cases)


def run(_):
    packed, lock, expect = Pack(ROOT), threading.Lock(), Expectations()
    about = packed.about

    def execute(stem, arguments):
        """The result, and the problem of the call."""
        with lock:
            results, problem = packed.run(f"{stem}.bundle", "mm", *arguments)
        return results and results[0], problem

    def compute(stem, arguments, like):
        """The result of the CPU."""
        result = np.empty_like(like)
        result.view(np.uint8)[...] = FILL
        blockscale_object.Object.load(ROOT / f"{stem}.so").call(
            "mm", *map(np.ascontiguousarray, arguments), result)
        return result

    def compare_large(key):
        """The case's name, what is wrong, and how the results agree."""
        name, is_exact = key
        case, stem = draw_large(name, is_exact), get_stem(name)
        on_gpu, problem = execute(stem, case.arguments)
        problem = problem or case.problem(on_gpu)
        if not problem:
            on_cpu = compute(stem, case.arguments, on_gpu)
            if wrong := case.problem(on_cpu):
                problem = f"CPU: {wrong}"
            elif is_exact:
                problem = first_difference([on_cpu], [on_gpu])
        sizes = ", ".join(f"{case.op.shape[letter]}" for letter in "MNKG"
                          if letter in case.op.shape)
        return f"{name} ({sizes})", problem, "equal" if is_exact else "within the bound"

    # Operands are drawn, and the CPU multiplies, on several threads; each may need 16 GiB.
    with ThreadPoolExecutor(5) as pool:
        for name, problem, kind in pool.map(compare_large,
                                            [(name, each) for name in LARGE for each in (0, 1)]):
            print(f"CPU and GPU, {name}: {problem or kind}", flush=True)
            expect.record(name, problem)
    equal = 0
    for number in range(about["cases"]):
        op, case, _ = sm100_matmul.draw(about["seed"], number)
        emulated = np.load(ROOT / f"{number}.npz")["arr_0"]
        on_gpu, problem = execute(f"{number}", case.arguments)
        # draw() gives exact sums to these, whose results are rounded more than once.
        if not problem and op.scaling:
            problem = first_difference([emulated], [on_gpu])
            equal += not problem
        elif not problem:
            problem = case.problem(on_gpu) or case.problem(emulated)
        expect.record(f"case {number}: {op}", problem)
    print(f"SM100 in the emulator and GPU: {about['cases']} products, {equal} of them with exact "
          "sums and equal")
    expect.finish()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    here = commands.add_parser("pack", help="compile the cases into a folder")
    here.add_argument("folder", type=Path, help="is created, and must not exist")
    here.add_argument("--cases", type=int, default=40, help="of SM100")
    here.add_argument("--seed", type=int, default=1)
    here.set_defaults(work=pack)
    there = commands.add_parser("run", help="run them on the GPU of this machine")
    there.set_defaults(work=run)
    options = parser.parse_args()
    options.work(options)


if __name__ == "__main__":
    main()
