# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of plain operands on sm_90a whose CTAs share rows of A in pairs, in the emulator
under both schedules: tails of M, N and K, an odd number of tiles along N, a batch, groups of rows
and of K with empty ones and rows behind the last, MN-major operands, a quantizer behind. The sums
are exact, and results are the bytes of the CTAs that load alone.

Usage: sm90_pairs.py FOLDER
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from gpu_calls import SCHEDULES, run_places
from reference import to_bf16

TILE = "rows = 256, cols = 128, stages = 4, band = 2, ctas = 4"
PLACES = [("--on=emulator", "--target=sm_90a", *schedule) for schedule in SCHEDULES]


def bf16(*shape):
    return f"tensor<{'x'.join(map(str, shape))}xbf16>"


def make_function(arguments, product, results, behind=""):
    """The text, with a place for the schedule; `arguments` are types by names."""
    head = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
    values = "%y" if not behind else "%q, %s"
    return (f"func.func @f({head}) -> ({', '.join(results)}) {{{{\n  %y = blockscale.{product}\n"
            f"  {behind}\n  return {values} : {', '.join(results)}\n}}}}\n")


def dense(m, n, k, batch=(), major="", behind=""):
    a = bf16(*batch, *((k, m) if "a" in major else (m, k)))
    b = bf16(*batch, *((k, n) if "b" in major else (n, k)))
    y = bf16(*batch, m, n)
    flags = "".join(f"mn_major_{side} " for side in major)
    product = (f"scaled_mm %a, %b {flags}scales(none, none) block [1, 16] {{schedule}} : {a}, {b} "
               f"-> {y}")
    results = [y]
    if behind:
        results = [f"tensor<{m}x{n}xf8E4M3FN>",
                   f"tensor<{m}x{n // 32}xf8E8M0FNU, #blockscale.layout<swizzle_128x4>>"]
        behind = f"%q, %s = blockscale.quantize %y block [1, 32] : {y} -> {', '.join(results)}"
    return make_function({"a": a, "b": b}, product, results, behind), [a, b], len(results)


def grouped(m, n, k, groups, are_rows):
    a, b = bf16(m, k), bf16(groups, n, k) if are_rows else bf16(n, k)
    y, ends = bf16(m, n) if are_rows else bf16(groups, m, n), f"tensor<{groups}xi32>"
    product = (f"scaled_grouped_mm %a, %b offsets(%e) scales(none, none) block [1, 16] {{schedule}}"
               f" : {a}, {b}, {ends} -> {y}")
    return make_function({"a": a, "b": b, "e": ends}, product, [y]), [a, b], 1


CASES = {
    "tails": (dense(300, 400, 208), ()),
    "one tile of a pair": (dense(520, 100, 64), ()),
    "no tail of K": (dense(256, 256, 256), ()),
    "a batch": (dense(260, 264, 144, batch=(2,)), ()),
    "mn_major a": (dense(264, 300, 144, major="a"), ()),
    "mn_major b": (dense(300, 264, 144, major="b"), ()),
    "a quantizer behind": (dense(300, 160, 144, behind="rows"), ()),
    "groups of rows": (grouped(700, 384, 144, 5, are_rows=True), (0, 10, 300, 300, 690)),
    "groups of K": (grouped(300, 264, 400, 4, are_rows=False), (0, 16, 160, 384)),
}


def get_shape(type):
    return tuple(map(int, type[len("tensor<"):-len("xbf16>")].split("x")))


def check(folder, number):
    (text, types, count), ends = list(CASES.values())[number]
    random = np.random.default_rng(number)
    # Sums of products are whole numbers that f32 has.
    arrays = [to_bf16(random.integers(-8, 9, get_shape(type)).astype(np.float32))
              for type in types]
    if ends:
        arrays.append(np.array(ends, np.int32))
    runs = []
    for more in ("", ", multicast = 2"):
        schedule = f"{{blockscale.schedule = #blockscale.gemm_schedule<{TILE}{more}>}}"
        runs.append(run_places(text.format(schedule=schedule), arrays, count,
                               folder / f"{number}{bool(more)}", PLACES))
    (wrong, wanted), *_ = runs[0]
    return [wrong or problem or first_difference(got, wanted) for problem, got in runs[1]]


def main():
    expect = Expectations()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(check, Path(sys.argv[1]), i) for i in range(len(CASES))]
        for name, job in zip(CASES, jobs):
            for place, problem in zip(PLACES, job.result()):
                expect.record(f"{name}, {place[2]}", problem)
    expect.finish()


if __name__ == "__main__":
    main()
