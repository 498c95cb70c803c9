# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of a dynamic number of rows have kernels for few and for many of them: for one row, and
for the last and the first one of each range, a call launches the kernel with the tile of the remark
and no other, and gives the bytes of the CPU. What follows the product is in all kernels.

Usage: rows_branches.py FOLDER
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations, first_difference
from reference import to_bf16

N, K = 256, 512
# The largest bound that is tried.
MOST = 1024
SWIZZLED = "#blockscale.layout<swizzle_128x4>"
X, Y = f"tensor<?x{K}xbf16>", f"tensor<?x{N}xbf16>"
# The formats of both operands: data and scales, or none, and elements of a block. Blocks of the
# weight have different scales.
FORMS = {
    "weights alone": (None, ("f4E2M1FN", "f8E4M3FN", 16)),
    "both": (("f8E4M3FN", "f8E8M0FNU", 32), ("f8E4M3FN", "f8E8M0FNU", 32)),
    "plain": (None, None),
    "groups": (None, ("f4E2M1FN", "f8E4M3FN", 16)),
}
# Groups of rows, of which the first has a third, and each of which has a weight of its own.
GROUPS = 2
# Products of each family, and how the emulator runs them.
CASES = (
    ("weights alone", "sm_80"),
    ("weights alone", "sm_90a", "--schedule=adversarial", "--seed=1"),
    ("weights alone", "sm_120a"),
    ("both", "sm_89", "--schedule=adversarial", "--seed=2"),
    ("both", "sm_90a"),
    ("plain", "sm_80"),
    ("plain", "sm_100a", "--schedule=adversarial", "--seed=3"),
    ("groups", "sm_80"),
)
TILES = re.compile(r"up to (\d+) (\d+) x (\d+)|else (\d+) x (\d+)")


def quantize(name, type, form):
    """A quantization of %name, and the types of its results."""
    data, scale, block = form
    q = type.replace("bf16", data)
    s = type.replace(f"x{K}xbf16>", f"x{K // block}x{scale}, {SWIZZLED}>")
    return (f"  %q{name}, %s{name} = blockscale.quantize %{name} block [1, {block}] : {type} -> "
            f"{q}, {s}\n"), (q, s)


def make_module(form_of_x, form_of_w, has_groups):
    """@f of %x and %w, in bf16, and of the ends of groups: their product, quantized as the forms
    say, times -2."""
    lines, values, scales, block = "", [], [], 16
    w = f"tensor<{f'{GROUPS}x' if has_groups else ''}{N}x{K}xbf16>"
    ends = f"tensor<{GROUPS}xi32>"
    for name, type, form in (("x", X, form_of_x), ("w", w, form_of_w)):
        if form is None:
            values.append((f"%{name}", type))
            scales.append(("none", None))
            continue
        block = form[2]
        line, types = quantize(name, type, form)
        lines += line
        values.append((f"%q{name}", types[0]))
        scales.append((f"%s{name}", types[1]))
    types = ", ".join([value[1] for value in values] + [ends] * has_groups +
                      [scale[1] for scale in scales if scale[1]])
    product, given, given_ends = "scaled_mm", "", ""
    if has_groups:
        product, given = "scaled_grouped_mm", "offsets(%ends) "
        given_ends = f", %ends: {ends}"
    return (
        f"func.func @f(%x: {X}, %w: {w}{given_ends}) -> {Y} {{\n{lines}"
        f"  %p = blockscale.{product} {', '.join(value[0] for value in values)} {given}"
        f"scales({', '.join(scale[0] for scale in scales)}) block [1, {block}] : {types} -> {Y}\n"
        f"  %c0 = arith.constant 0 : index\n  %m = tensor.dim %x, %c0 : {X}\n"
        f"  %factor = arith.constant dense<-2.0> : tensor<{N}xbf16>\n"
        f"  %e = tensor.empty(%m) : {Y}\n"
        "  %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, "
        "affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], "
        'iterator_types = ["parallel", "parallel"]} '
        f"ins(%p, %factor : {Y}, tensor<{N}xbf16>) outs(%e : {Y}) {{\n"
        "  ^bb0(%a: bf16, %b: bf16, %o: bf16):\n    %t = arith.mulf %a, %b : bf16\n"
        f"    linalg.yield %t : bf16\n  }} -> {Y}\n  return %y : {Y}\n}}\n")


def find_tiles(module, chip):
    """(The most rows, the tile) of each kernel, by the remark; None where any rows may follow."""
    printed = subprocess.run(
        ["blockscale-compile", module, f"--target={chip}", "--emit=ptx", "--remarks", "-o",
         "/dev/null"], stderr=subprocess.PIPE, text=True, check=True).stderr
    said = [line for line in printed.splitlines() if "tiles by the rows of a call" in line]
    return [(int(found[1]), f"{found[2]}x{found[3]}") if found[1] else
            (None, f"{found[4]}x{found[5]}")
            for line in said for found in TILES.finditer(line.rpartition("tiles by")[2])]


def make_numbers(random, shape):
    """Numbers whose products have exact sums in f32, in blocks of different magnitudes."""
    numbers = random.integers(-4, 5, shape) * np.float32(0.5)
    magnitudes = np.exp2(random.integers(-1, 2, (*shape[:-1], shape[-1] // 32)))
    return to_bf16((numbers * np.repeat(magnitudes, 32, -1)).astype(np.float32))


def launched(printed):
    """The kernels of products that a run launched."""
    return [line.split(":")[0] for line in printed.splitlines()
            if ".global read" in line and "_mm_" in line]


def check(folder, case, expect):
    folder.mkdir(parents=True, exist_ok=True)
    name, chip, *schedule = case
    random, has_groups = np.random.default_rng(len(name)), name == "groups"
    module = folder / "module.mlir"
    module.write_text(make_module(*FORMS[name], has_groups))
    tiles = find_tiles(module, chip)
    expect.record(f"{name}, {chip}: tiles", None if 2 <= len(tiles) <= 4 else f"{tiles}")
    if not tiles:
        return
    np.save(folder / "w.npy", make_numbers(random, (GROUPS, N, K) if has_groups else (N, K)))
    rows = [1] + [most + i for most, _ in tiles[:-1] if most <= MOST for i in (0, 1)]
    # Runs at a place follow each other, and are compiled once.
    places = (["--on=cpu", "--optimize=0"],
              ["--on=emulator", f"--target={chip}", *schedule, "--profile"])
    on_cpu, emulated = [], []
    for count in rows:
        np.save(folder / f"x{count}.npy", make_numbers(random, (count, K)))
        ends = folder / f"o{count}.npy"
        np.save(ends, np.array([count // 3, count], np.int32))
        inputs = ["--in", folder / f"x{count}.npy", "--in", folder / "w.npy"]
        if has_groups:
            inputs += ["--in", ends]
        for lines, where in zip((on_cpu, emulated), places):
            lines.append([module, *where, *inputs, "--out", folder / f"y{count}{where[0]}.npy"])
    ended = run_lines(on_cpu + emulated)
    for i, count in enumerate(rows):
        (_, said), (status, printed) = ended[i::len(rows)]
        what = f"{name} of {count} rows, {chip}"
        if status:
            expect.record(what, printed or said)
            continue
        wanted, result = (np.load(folder / f"y{count}{on}.npy")
                          for on in ("--on=cpu", "--on=emulator"))
        expect.record(f"{what}: numbers other than 0",
                      None if (wanted != 0).mean() > 0.8 else "few")
        expect.record(what, first_difference([wanted], [result]))
        tile = next(tile for most, tile in tiles if most is None or count <= most)
        kernels = launched(printed)
        expect.record(f"{what}: kernel", None if len(kernels) == 1 and f"_{tile}_" in kernels[0]
                      else f"expected one of {tile}, but got {kernels}")


def main():
    folder, expect = Path(sys.argv[1]), Expectations()
    for number, case in enumerate(CASES):
        check(folder / f"{number}", case, expect)
    expect.finish()


if __name__ == "__main__":
    main()
