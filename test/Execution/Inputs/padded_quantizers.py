# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels that pad groups where they load them in the emulator, under both schedules: tall and
square blocks, rows beside transformed columns, every type of x, global scales and tiles of each
group, whose warps have parts of a tile or all of it, random bits, rows of a dynamic length, an x
without rows. The bytes are the CPU's, which pads in memory.

Usage: padded_quantizers.py FOLDER
"""

import itertools
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_places
from reference import to_bf16

CHIPS = ("sm_80", "sm_100a", "sm_120a")
PLACES = [ON_CPU, *(("--on=emulator", f"--target={chip}", *schedule)
                    for chip, schedule in zip(CHIPS, itertools.cycle(SCHEDULES)))]
GROUPS = 3
ENDS = f"tensor<{GROUPS}xi32>"
TILES = f"#blockscale.layout<swizzle_128x4, groups = {GROUPS}, dim = 1>"
ROWS = ((90, (1, 34, 83)), (400, (130, 130, 391)), (64, (0, 64, 64)), (7, (0, 0, 0)),
        (0, (0, 0, 0)))
random = np.random.default_rng(50)


def padded(rows, unit):
    return (rows + GROUPS * (unit - 1)) // unit * unit


def function(rows, cols, element, unit, body, results, more=()):
    """The text, with {p} for the type of the padded rows, {n} for how many there are."""
    x = f"tensor<{rows if rows is not None else '?'}x{cols}x{element}>"
    number = "?" if rows is None else padded(rows, unit)
    fields = {"n": number, "p": f"tensor<{number}x{cols}x{element}>", "e": ENDS}
    for size in (16, 32):
        fields[f"n{size}"] = "?" if rows is None else -(-number // size)
    arguments = "".join(f", {argument}" for argument in more)
    types = ", ".join(results).format(**fields)
    return (f"func.func @f(%x: {x}, %o: {ENDS}{arguments}) -> ({types}) {{\n"
            f"  %p, %e = blockscale.pad_groups %x offsets(%o : {ENDS}) unit {unit} : {x} -> "
            f"{fields['p']}\n  {body.format(**fields)} : {types}\n}}\n")


def tall(cols, data, scale, block, clauses=""):
    """A quantizer of transposed columns, and its results."""
    results = [f"tensor<{cols}x{{n}}x{data}>", f"tensor<{cols}x{{n{block}}}x{scale}>"]
    return (f"%q, %s = blockscale.quantize %p block [{block}, 1] transposed {clauses}: {{p}} -> "
            f"{results[0]}, {results[1]}\n  return %q, %s, %e"), [*results, ENDS]


def rows_and_columns(cols):
    """Rows, and transformed columns in tiles of each group, with a global scale of each group."""
    results = [f"tensor<{{n}}x{cols}xf4E2M1FN>", f"tensor<{{n}}x{-(-cols // 16)}xf8E4M3FN>",
               f"tensor<{cols}x{{n}}xf4E2M1FN>", f"tensor<{cols}x{{n16}}xf8E4M3FN, {TILES}>"]
    groups = "global_scale(%g : tensor<3xf32>) offsets(%e : {e}) "
    return (f"%q, %s = blockscale.quantize %p block [1, 16] {groups}: {{p}} -> {results[0]}, "
            f"{results[1]}\n  %h = blockscale.hadamard %p dim 0 : {{p}}\n"
            f"  %c, %t = blockscale.quantize %h block [16, 1] transposed {groups}: {{p}} -> "
            f"{results[2]}, {results[3]}\n  return %q, %s, %c, %t"), results


def make_cases():
    """(Name, rows, columns, type of x, unit, body, results, more arguments and their arrays)."""
    values = np.array([0.25, 1, 3], np.float32)
    mxfp8 = tall(40, "f8E4M3FN", "f8E8M0FNU", 32)
    yield "tall", 40, "bf16", 32, *mxfp8, {}
    yield "tall f32", 24, "f32", 64, *tall(24, "f4E2M1FN", "f8E8M0FNU", 32), {}
    yield "tall f16 with odd columns", 37, "f16", 32, *tall(37, "f8E5M2", "f8E8M0FNU", 32), {}
    yield "tails", 48, "bf16", 16, *tall(48, "f4E2M1FN", "f8E4M3FN", 16, "recipe te "), {}
    yield ("random bits", 48, "bf16", 16,
           *tall(48, "f4E2M1FN", "f8E4M3FN", 16, "rng(%r : tensor<2xi64>) "),
           {"%r: tensor<2xi64>": np.array([5, 7], np.int64)})
    yield ("groups of tiles", 48, "bf16", 32,
           *tall(48, "f4E2M1FN", f"f8E4M3FN, {TILES}", 16,
                 f"global_scale(%g : tensor<3xf32>) offsets(%e : {ENDS}) "),
           {"%g: tensor<3xf32>": values})
    # The warps of a CTA have whole tiles of scales, or parts of some.
    for name, cols, element, unit, data, scale, block in (
            ("a tile of a CTA", 256, "bf16", 32, "f8E4M3FN", "f8E8M0FNU", 32),
            ("two tiles of a CTA", 128, "bf16", 16, "f4E2M1FN", "f8E4M3FN", 16),
            ("half a tile of a CTA", 128, "f32", 64, "f8E5M2", "f8E8M0FNU", 32),
            ("tiles of rows without columns", 160, "bf16", 48, "f4E2M1FN", "f8E4M3FN", 16)):
        yield (name, cols, element, unit,
               *tall(cols, data, f"{scale}, {TILES}", block, f"offsets(%e : {ENDS}) "), {})
    yield ("tiles of other groups", 128, "bf16", 32,
           *tall(128, "f4E2M1FN", f"f8E4M3FN, {TILES}", 16, f"offsets(%u : {ENDS}) "),
           {f"%u: {ENDS}": np.array([16, 16, 64], np.int32)})
    yield ("rows and columns in tiles of a CTA", 256, "bf16", 32, *rows_and_columns(256),
           {"%g: tensor<3xf32>": values})
    down = ["tensor<{n}x48xf8E4M3FN>", "tensor<{n32}x48xf8E8M0FNU>"]
    yield ("not transposed", 48, "bf16", 96,
           (f"%q, %s = blockscale.quantize %p block [32, 1] offsets(%e : {{e}}) : {{p}} -> "
           f"{down[0]}, {down[1]}\n  return %q, %s"), down, {})
    square = ["tensor<64x{n}xf8E4M3FN>", "tensor<64x{n32}xf8E8M0FNU>"]
    yield ("squares", 64, "bf16", 32,
           ("%q, %s = blockscale.quantize %p block [32, 32] transposed scale_dim n : {p} -> "
           f"{square[0]}, {square[1]}\n  return %q, %s, %e"), [*square, ENDS], {})
    yield ("rows and columns", 48, "bf16", 16, *rows_and_columns(48),
           {"%g: tensor<3xf32>": values})


def make_x(element, rows, cols, end):
    """NaN behind the last group."""
    x = random.standard_normal((rows, cols)).astype(np.float32)
    x[end:] = np.nan
    return to_bf16(x) if element == "bf16" else x.astype({"f16": np.float16}.get(element, x.dtype))


def check(folder, case, x, ends, is_dynamic):
    """The problem of each place but the first."""
    _, cols, element, unit, body, results, more = case
    text = function(None if is_dynamic else len(x), cols, element, unit, body, results, more)
    arrays = [x, np.array(ends, np.int32), *more.values()]
    (problem, wanted), *runs = run_places(text, arrays, len(results), folder, PLACES)
    return [problem or wrong or first_difference(got, wanted) for wrong, got in runs]


#: One group of an x without rows is not even a block: its end is stored all the same.
NOTHING = """
func.func @f(%x: tensor<?x16xbf16>, %o: tensor<1xi32>)
    -> (tensor<16x?xf8E4M3FN>, tensor<16x?xf8E8M0FNU>, tensor<1xi32>) {
  %p, %e = blockscale.pad_groups %x offsets(%o : tensor<1xi32>) unit 32
      : tensor<?x16xbf16> -> tensor<?x16xbf16>
  %q, %s = blockscale.quantize %p block [32, 1] transposed
      : tensor<?x16xbf16> -> tensor<16x?xf8E4M3FN>, tensor<16x?xf8E8M0FNU>
  return %q, %s, %e : tensor<16x?xf8E4M3FN>, tensor<16x?xf8E8M0FNU>, tensor<1xi32>
}
"""


def main():
    expect = Expectations()
    nothing = [np.zeros((0, 16), np.uint16), np.zeros(1, np.int32)]
    for place, (wrong, got) in zip(PLACES, run_places(NOTHING, nothing, 3,
                                                      Path(sys.argv[1]) / "nothing", PLACES)):
        wanted = [np.zeros((16, 0), np.uint8), np.zeros((16, 0), np.uint8), np.zeros(1, np.int32)]
        expect.record(f"nothing on {place}", wrong or first_difference(got, wanted))
    jobs = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, case in enumerate(make_cases()):
            for i, (rows, ends) in enumerate(ROWS):
                # Rows of a static and a dynamic number take turns; none is dynamic.
                is_dynamic = rows == 0 or (number + i) % 2 == 1
                if i > 2 and (number + i) % 3:
                    continue
                x = make_x(case[2], rows, case[1], ends[-1])
                folder = Path(sys.argv[1]) / f"{number}-{i}"
                jobs.append((f"{case[0]} of {rows} rows to {ends}",
                             pool.submit(check, folder, case, x, ends, is_dynamic)))
        for what, job in jobs:
            for chip, problem in zip(CHIPS, job.result()):
                expect.record(f"{what} on {chip}", problem)
    expect.finish()


if __name__ == "__main__":
    main()
