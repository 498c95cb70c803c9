# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares expanded math, executed on the CPU, with numpy in float64: every bf16, and f32
at random, around the limits and next to quarter turns.

Usage: expand_math.py FOLDER
"""

import sys
from math import erf
from pathlib import Path

import numpy as np

from expect import Expectations
from gpu_calls import run_module

# Body that makes %y of %x, the function, and the ulp that it may be off; where its value
# is below 2^-124, that many 2^-125.
FUNCTIONS = {
    "exp": ("%y = math.exp %x : f32", np.exp, 0.9),
    "logistic": (("%n = arith.negf %x : f32\n    %e = math.exp %n : f32\n"
                  "    %d = arith.addf %e, %one : f32\n    %y = arith.divf %one, %d : f32"),
                 lambda x: np.exp(-np.logaddexp(0, -x)), 6),
    "tanh": ("%y = math.tanh %x : f32", np.tanh, 4),
    "erf": ("%y = math.erf %x : f32", np.vectorize(erf, otypes=[float]), 8),
    "rsqrt": ("%a = math.absf %x : f32\n    %y = math.rsqrt %a : f32",
              lambda x: 1 / np.sqrt(np.abs(x)), 1.5),
    "log": ("%y = math.log %x : f32", np.log, 2),
    "log2": ("%y = math.log2 %x : f32", np.log2, 3),
    "sin": ("%y = math.sin %x : f32", np.sin, 0.5001),
    "cos": ("%y = math.cos %x : f32", np.cos, 0.5001),
}
PLACE = ("--on=cpu",)


def get_inputs():
    """Numbers, infinities and NaN."""
    every_bf16 = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    random = np.random.default_rng(0)
    limits = [np.float32(limit) + np.arange(-2000, 2000, dtype=np.float32) * np.spacing(
        np.float32(limit)) for limit in (-87.4, -86.99, 88.7228, 89, 87, 0.3466, -0.3466, 0.5,
                                         -0.5, 1, 2, 2.0 ** -126, 2.0 ** -148)]
    # Next to whole and odd quarter turns, small and large.
    turns = np.concatenate([np.arange(2000), random.integers(0, 2 ** 24, 20000)])
    bits = random.integers(0, 2 ** 32, 40000, np.uint32)
    return np.concatenate([every_bf16, *limits, (turns * (np.pi / 4)).astype(np.float32),
                           random.uniform(-100, 100, 40000).astype(np.float32),
                           random.uniform(-131072, 131072, 40000).astype(np.float32),
                           bits.view(np.float32)])


def main():
    expect, x = Expectations(), get_inputs()
    body, results = "", []
    for name, (text, *_) in FUNCTIONS.items():
        results.append(f"%{name}")
        body += (f"  %{name} = linalg.generic {{indexing_maps = [#id, #id], iterator_types = "
                 f"[\"parallel\"]}} ins(%x : tensor<?xf32>) outs(%o : tensor<?xf32>) {{\n"
                 f"  ^bb0(%x: f32, %old: f32):\n    {text}\n    linalg.yield %y : f32\n"
                 f"  }} -> tensor<?xf32>\n").replace("^bb0(%x: f32", "^bb0(%x_: f32").replace(
                     " %x : f32\n", " %x_ : f32\n")
    types = ", ".join(["tensor<?xf32>"] * len(results))
    text = ("#id = affine_map<(i) -> (i)>\n"
            f"func.func @f(%x: tensor<?xf32>) -> ({types}) {{\n  %c0 = arith.constant 0 : index\n"
            "  %one = arith.constant 1.0 : f32\n  %m = tensor.dim %x, %c0 : tensor<?xf32>\n"
            f"  %o = tensor.empty(%m) : tensor<?xf32>\n{body}"
            f"  return {', '.join(results)} : {types}\n}}\n")
    problem, got = run_module(text, [x], len(results), Path(sys.argv[1]), PLACE)
    if problem:
        sys.exit(problem)
    for (name, (_, function, ulps)), y in zip(FUNCTIONS.items(), got):
        expect.record(name, find_error(x, y, function, ulps))
    expect.finish()


def find_error(x, y, function, ulps):
    """Where y is not the function of x, or None."""
    with np.errstate(all="ignore"):
        want = function(x.astype(np.float64))
        nearest = want.astype(np.float32)
        unit = np.spacing(np.maximum(np.abs(nearest), np.float32(2.0**-124))).astype(np.float64)
        unit = np.where(np.abs(want) < 2.0**-124, 2.0**-125 / ulps, unit)
        is_right = np.abs(y - want) <= ulps * unit
    is_right |= (nearest == y) | (np.isnan(want) & np.isnan(y))
    wrong = np.argwhere(~is_right)
    if not len(wrong):
        return None
    at = tuple(wrong[0])
    return f"{len(wrong)} values, first of {x[at]!r}: {y[at]!r}, not {want[at]!r}"


if __name__ == "__main__":
    main()
