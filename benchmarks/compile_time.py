#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time from a module to its PTX, in whole processes, for every kind of kernel.

    .venv/bin/python benchmarks/compile_time.py [--runs N] [--filter REGEX] [--peers]

Each kernel is a module of one function: those of cases.mlir that have kernels, the
quantizers of every recipe, block, form of results and further operand, and matrix products,
among them a layer of experts, which is several kernels. In each round
blockscale-compile runs once for every kernel and chip, and once with --version, which is
what starting a process that links libMLIR costs here. Prints minimum, median and maximum
in milliseconds, and the median of the processor time, which other work on the machine
raises less. The bar is on the median; the exit status is 1 if one is above.

--peers compiles the scale sweep with Triton too, in the environment that
scripts/long/compilers.sh makes (--triton names the interpreter of another one); ours must
take a tenth of its processor time, which for Triton is that of its first compilation in a
process that has started already.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/Execution/Inputs"))
# The folder is on the path now.
from block_shapes import CODECS, MX_FORMS, MX_RECIPES, NVFP4_FORMS, NVFP4_RECIPES
from cases import read_cases
from ops import function_of
from sm100_kinds import FOUR_OVER_SIX, mx, nvfp4

CHIPS = ("sm_100a", "sm_90a")
# Other chips with products by instructions of warps, and all that have those of plain operands.
WARP_CHIPS = ("sm_120a", "sm_80")
PLAIN_CHIPS = ("sm_90a", *WARP_CHIPS)
BAR, PRODUCT_BAR = 250, 300  # ms
SWEEP_BAR = 0.1  # of Triton's time
SHAPE = {"shape": (4096, 4096), "dynamic": (True, False)}
OTHERS = """
func.func @global_scale(%x: tensor<?x4096xbf16>) -> tensor<f32> {
  %a = blockscale.amax %x : tensor<?x4096xbf16> -> tensor<f32>
  %g = blockscale.global_scale %a recipe torchao : tensor<f32>
  return %g : tensor<f32>
}
// -----
func.func @amax_rows(%x: tensor<?x4096xbf16>) -> tensor<?xf32> {
  %a = blockscale.amax %x : tensor<?x4096xbf16> -> tensor<?xf32>
  return %a : tensor<?xf32>
}
// -----
func.func @amax_groups(%x: tensor<?x4096xbf16>, %o: tensor<8xi32>) -> tensor<8xf32> {
  %a = blockscale.amax %x offsets(%o : tensor<8xi32>) group_dim 0
      : tensor<?x4096xbf16> -> tensor<8xf32>
  return %a : tensor<8xf32>
}
// -----
#grouped = #blockscale.layout<swizzle_128x4, groups = 8, dim = 0>
func.func @swizzle_groups(%s: tensor<?x256xf8E4M3FN>, %o: tensor<8xi32>)
    -> tensor<?x256xf8E4M3FN, #grouped> {
  %t = blockscale.swizzle %s offsets(%o : tensor<8xi32>)
      : tensor<?x256xf8E4M3FN> -> tensor<?x256xf8E4M3FN, #grouped>
  return %t : tensor<?x256xf8E4M3FN, #grouped>
}
// -----
func.func @dequantize_mxfp8_32x32(%q: tensor<?x4096xf8E4M3FN>, %s: tensor<?x128xf8E8M0FNU>)
    -> tensor<?x4096xbf16> {
  %x = blockscale.dequantize %q, %s block [32, 32]
      : tensor<?x4096xf8E4M3FN>, tensor<?x128xf8E8M0FNU> -> tensor<?x4096xbf16>
  return %x : tensor<?x4096xbf16>
}
// -----
func.func @scale_sweep_hessian(%x: tensor<?x4096xbf16>, %a: tensor<f32>,
                               %h: tensor<256x16x16xf32>) -> tensor<?x256xf32> {
  %b = blockscale.scale_sweep %x global_amax(%a : tensor<f32>) hessian(%h : tensor<256x16x16xf32>)
      : tensor<?x4096xbf16> -> tensor<?x256xf32>
  return %b : tensor<?x256xf32>
}
"""


# Rows of x, the order of weights in memory, and their element, scale and block.
WEIGHT_ONLY = {
    f"product_{rows}_{element}_{scale}_{order}": (rows, order, element, scale, block)
    for rows in ("16", "8192", "?") for order in ("row_major", "prepacked")
    for element, scale, block in (("f4E2M1FN", "f8E4M3FN", 16), ("f4E2M1FN", "f8E8M0FNU", 32),
                                  ("f8E4M3FN", "f8E8M0FNU", 32))}
LAYER = ROOT / "test/Execution/Inputs/moe.mlir"


def weight_only(rows, order, element, scale, block):
    """A product of bf16 and 4096x4096 weights."""
    layout = ", #blockscale.data_layout<fragments_64x64>" if order == "prepacked" else ""
    x, y = f"tensor<{rows}x4096xbf16>", f"tensor<{rows}x4096xbf16>"
    w = f"tensor<4096x4096x{element}{layout}>"
    s = f"tensor<4096x{4096 // block}x{scale}, #blockscale.layout<swizzle_128x4>>"
    return (f"func.func @product(%x: {x}, %w: {w}, %s: {s}) -> {y} {{\n"
            f"  %y = blockscale.scaled_mm %x, %w scales(none, %s) block [1, {block}]"
            f" : {x}, {w}, {s} -> {y}\n  return %y : {y}\n}}\n")


def products():
    """Name, text, and the chips that have a kernel."""
    for name, text in read_cases().items():
        if "scaled_mm" in name:
            yield name, text, PLAIN_CHIPS if "weight" in name else (*CHIPS, *WARP_CHIPS)
    for name, form in WEIGHT_ONLY.items():
        yield name, weight_only(*form), PLAIN_CHIPS
    yield "layer_of_experts", LAYER.read_text(), (*CHIPS, *WARP_CHIPS)


def quantizers():
    """Names and kinds."""
    two_level = {"source": "global_scale", "swizzled": True}
    for recipe in (*NVFP4_RECIPES, *FOUR_OVER_SIX):
        yield f"{recipe} 1x16", nvfp4(recipe, **SHAPE)
        yield f"{recipe} 1x16 two-level swizzled", nvfp4(recipe, **two_level, **SHAPE)
        yield f"{recipe} 1x16 groups", nvfp4(recipe, extra=("offsets",), **SHAPE)
        yield f"{recipe} 16x1 transposed swizzled", nvfp4(
            recipe, block=(16, 1), transposed=True, **two_level, **SHAPE)
    for recipe in NVFP4_RECIPES:
        yield f"{recipe} 1x16 stochastic", nvfp4(recipe, extra=("rng",), **two_level, **SHAPE)
        yield f"{recipe} 1x16 block amaxes", nvfp4(recipe, extra=("block_amax",), **SHAPE)
        yield f"{recipe} 1x16 row scales", nvfp4(recipe, source="global_scale", form="row", **SHAPE)
        yield f"{recipe} 1x16 of f32", nvfp4(recipe, x="f32", **two_level, **SHAPE)
    for block, transposed, scale_dim, any_layout in NVFP4_FORMS[:-1]:
        name = f"te {block[0]}x{block[1]}{' transposed' * transposed} {scale_dim}".rstrip()
        yield name, nvfp4("te", block=block, transposed=transposed, scale_dim=scale_dim,
                          swizzled=any_layout, source="global_scale", **SHAPE)
    for recipe in MX_RECIPES:
        yield f"{recipe} f8E4M3FN 1x32", mx(recipe, "f8E4M3FN", **SHAPE)
    for data in CODECS:
        yield f"rceil {data} 1x32 swizzled", mx("rceil", data, swizzled=True, **SHAPE)
        for block, transposed, scale_dim, any_layout in MX_FORMS[:-1]:
            name = f"rceil {data} {block[0]}x{block[1]}{' transposed' * transposed} {scale_dim}"
            yield name.rstrip(), mx("rceil", data, block=block, transposed=transposed,
                                    scale_dim=scale_dim, swizzled=any_layout, **SHAPE)
    yield "rceil f4E2M1FN 1x32 stochastic", mx("rceil", "f4E2M1FN", extra=("rng",), **SHAPE)
    yield "rceil f8E4M3FN 1x32 groups", mx("rceil", "f8E4M3FN", extra=("offsets",), **SHAPE)


def modules():
    """Name and text of each but products, those of the file first."""
    texts = {name: text for name, text in read_cases().items() if "scaled_mm" not in name}
    for part in OTHERS.split("// -----\n"):
        texts[re.search(r"@(\w+)\(", part)[1]] = part
    for name, kind in quantizers():
        texts[name] = function_of("quantize", *kind.signature())
    return texts


def measure(command):
    """Milliseconds of a run of `command`: by the clock, and of processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    run = subprocess.run(command, stdout=subprocess.DEVNULL)
    elapsed = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return 1000 * elapsed, 1000 * spent


def compare_with_triton(python, rows):
    """Those whose share of Triton's time for the sweep is above the bar."""
    missed = []
    print("\n| scale sweep, until the PTX | Triton, ms | processor time | ours | share |\n"
          "| --- | --- | --- | --- | --- |")
    for row in (row for row in rows if row["name"] == "scale_sweep"):
        with tempfile.TemporaryDirectory() as cache:
            run = subprocess.run(
                [python, ROOT / "benchmarks/triton_sweep.py", re.sub("[a-z_]", "", row["chip"])],
                env={**os.environ, "TRITON_CACHE_DIR": cache}, check=True, text=True,
                stdout=subprocess.PIPE)
        triton = json.loads(run.stdout)
        share = row["cpu"] / (1000 * triton["ptx_cpu"])
        print(f"| Triton {triton['version']}, {row['chip']} | {1000 * triton['ptx']:.0f} | "
              f"{1000 * triton['ptx_cpu']:.0f} | {row['cpu']:.0f} | {share:.3f} |")
        missed += [row] if share > SWEEP_BAR else []
    return missed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--filter", default=".", help="kernels whose names match")
    parser.add_argument("--chip", action="append", help=f"instead of {', '.join(CHIPS)}")
    parser.add_argument("--tool", default=ROOT / "build/bin/blockscale-compile")
    parser.add_argument("--peers", action="store_true", help="compile the sweep with Triton, too")
    parser.add_argument("--triton", default=ROOT / ".cache/compilers/venv/bin/python")
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    options = parser.parse_args()
    if options.peers and not pathlib.Path(options.triton).exists():
        parser.error(f"no {options.triton}: run scripts/long/compilers.sh, which installs "
                     "Triton there, or name a Python that has it with --triton")

    with tempfile.TemporaryDirectory() as folder:
        commands = {("process start (--version)", ""): [options.tool, "--version"]}
        works = [(name, text, CHIPS) for name, text in modules().items()] + list(products())
        for number, (name, text, chips) in enumerate(works):
            if not re.search(options.filter, name):
                continue
            path = pathlib.Path(folder) / f"{number}.mlir"
            path.write_text(text)
            for chip in options.chip or chips:
                commands[name, chip] = [options.tool, path, f"--target={chip}", "--emit=ptx",
                                        "-o", f"{folder}/out"]
        times = {key: [] for key in commands}
        measure(next(iter(commands.values())))  # warm the page cache
        for _ in range(options.runs):
            for key, command in commands.items():
                times[key].append(measure(command))

    rows = [{"name": name, "chip": chip, "min": min(walls), "median": statistics.median(walls),
             "max": max(walls), "cpu": statistics.median(cpus)}
            for (name, chip), measured in times.items()
            for walls, cpus in [list(zip(*measured))]]
    start, *rows = rows
    bars = {name: PRODUCT_BAR for name, *_ in products()}
    print(f"Whole processes, ms, {options.runs} runs each; the bar is {BAR} on the median, and "
          f"{PRODUCT_BAR} for products.\n\n"
          "| kernel | chip | min | median | max | processor time |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for row in (start, *sorted(rows, key=lambda row: -row["median"])):
        print(f"| {row['name']} | {row['chip']} | {row['min']:.0f} | {row['median']:.0f} | "
              f"{row['max']:.0f} | {row['cpu']:.0f} |")
    missed = [row for row in rows if row["median"] > bars.get(row["name"], BAR)]
    within = sum(row["cpu"] <= bars.get(row["name"], BAR) for row in rows)
    print(f"\n{len(rows) - len(missed)} of {len(rows)} within their bar; "
          f"{within} by processor time.")
    if options.peers:
        missed += compare_with_triton(options.triton, rows)
    if options.json:
        options.json.write_text(json.dumps({"start": start, "kernels": rows}, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
