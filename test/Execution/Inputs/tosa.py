# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of TOSA, run as they are, and what tosa_reference_model computes of them.

Casts have the same bytes. What is left out: codes under a NaN scale, which mean nothing, and
those of MXINT8 below 2^-48 of their scale, some of which the model makes 1 or -1
(docs/Rationale.md). Products are within the bound of docs/Numerics.md, section 13, of the exact
sum; so is the model's, and what follows them is rounded once more.

  tosa.py FOLDER [--on cpu|emulator] [--target CHIP]
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

from expect import Expectations, first_difference
from reference import E2M1, E2M3, E3M2, E4M3, E5M2, INT8, decode_e8m0, from_bf16

DATA = Path(__file__).resolve().parents[2] / "Data"
sys.path.insert(0, str(DATA))
import make_tosa_cases as maker

CODECS = {"f4E2M1FN": E2M1, "f6E2M3FN": E2M3, "f6E3M2FN": E3M2, "f8E4M3FN": E4M3,
          "f8E5M2": E5M2, "!tosa.mxint8": INT8}
NAN_SCALE = 255
F32_ROUNDING = 2.0**-24
#: Of a sum of K products, before its final rounding.
BOUND = 1e-6


def codes_of(stored, data):
    if data != "f4E2M1FN":
        return stored
    return np.stack([stored & 15, stored >> 4], -1).reshape(*stored.shape[:-1], -1)


def by_element(scales):
    return np.repeat(scales, maker.BLOCK, -1)


def decode(stored, scales, data):
    """f64 values of data and scales."""
    return (CODECS[data].decode(codes_of(stored, data)).astype(np.float64)
            * by_element(decode_e8m0(scales).astype(np.float64)))


def find_cast_problem(x, got, want, data):
    """How data and scales of x differ."""
    problem = first_difference(got[1:], want[1:])
    if problem:
        return f"scales: {problem}"
    codes = [codes_of(each[0], data) for each in (got, want)]
    kept = by_element(got[1]) != NAN_SCALE
    if data == "!tosa.mxint8":
        with np.errstate(invalid="ignore"):
            small = np.abs(x) < 2.0**-48 * by_element(decode_e8m0(got[1])).astype(np.float64)
        kept &= ~small | (codes[1] == 0)
    places = np.argwhere(kept & (codes[0] != codes[1]))
    if not len(places):
        return None
    at = tuple(places[0].tolist())
    return f"{len(places)} codes differ, first at {at}: {codes[0][at]}, then {codes[1][at]}"


def find_product_problem(operands, got, want, data, after=lambda sums: sums, slack=0.0):
    """How a product of A, its scales, B and its scales leaves the bound. `after` is what
    follows it, which does not enlarge differences but by `slack`."""
    with np.errstate(invalid="ignore"):
        a, b = (decode(*operands[i:i + 2], data) for i in (0, 2))
        exact = after(a @ np.swapaxes(b, -1, -2))
        terms = np.abs(a) @ np.swapaxes(np.abs(b), -1, -2)
    bound = BOUND * max(1, a.shape[-1] / 256) * terms + slack
    bound = bound + F32_ROUNDING * (np.abs(exact) + bound)
    for name, y in (("result", got), ("the model's result", want)):
        difference = np.abs(y.astype(np.float64) - exact)
        holds = (difference <= bound) | (np.isnan(y) & np.isnan(exact))
        if y.shape != exact.shape or not holds.all():
            if y.shape != exact.shape:
                return f"{name}: {y.shape} in place of {exact.shape}"
            at = tuple(np.argwhere(~holds)[0].tolist())
            return (f"{name}: {np.count_nonzero(~holds)} elements beyond the bound, first at "
                    f"{at}: {y[at]} in place of {exact[at]} +- {bound[at]}")
    return None


def find_problem(case, got):
    """How the results of a case differ from what they should be, or nothing."""
    want = case.outputs
    shapes = [(each.dtype, each.shape) for each in got], [(e.dtype, e.shape) for e in want]
    if shapes[0] != shapes[1]:
        return f"results {shapes[0]} in place of {shapes[1]}"
    if case.kind == "cast_to":
        x = case.inputs[0]
        x = from_bf16(x) if x.dtype == np.uint16 else x
        return find_cast_problem(x, got, want, case.data)
    if case.kind == "cast_from":
        if got[0].dtype == np.uint16:
            got, want = ([from_bf16(each[0])] for each in (got, want))
        return first_difference(got, want)
    if case.kind == "matmul":
        return find_product_problem(case.inputs, got[0], want[0], case.data)
    x, weight, bias = case.inputs
    slack = F32_ROUNDING * np.abs(bias)
    return (find_cast_problem(x, got[1:3], want[1:3], case.data)
            or find_cast_problem(weight, got[3:5], want[3:5], case.data)
            or find_product_problem(
                got[1:], got[0], want[0], case.data,
                lambda sums: np.maximum(sums + bias.astype(np.float64), 0), slack))


def run(cases, folder, options, is_dynamic=False):
    """The results of each case, or what blockscale-run says."""
    lines = []
    for i, case in enumerate(cases):
        module = folder / f"{i}.mlir"
        module.write_text(case.text(is_dynamic), encoding="utf-8")
        for j, array in enumerate(case.inputs):
            np.save(folder / f"{i}.in{j}.npy", array)
        arguments = [module, *options]
        for name, count in (("in", len(case.inputs)), ("out", len(case.results))):
            arguments += [f"--{name}={folder / f'{i}.{name}{j}.npy'}" for j in range(count)]
        lines.append(shlex.join(map(str, arguments)))
        for j in range(len(case.results)):
            (folder / f"{i}.out{j}.npy").unlink(missing_ok=True)
    done = subprocess.run(["blockscale-run", "--batch=-"], input="\n".join(lines) + "\n",
                          capture_output=True, text=True)
    for i, case in enumerate(cases):
        paths = [folder / f"{i}.out{j}.npy" for j in range(len(case.results))]
        yield [np.load(path) for path in paths] if all(p.exists() for p in paths) else done.stderr


def is_product_of_floats(case):
    return case.data != "!tosa.mxint8" or case.kind in ("cast_to", "cast_from")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--on", default="cpu")
    parser.add_argument("--target", default="")
    parser.add_argument("--dynamic", action="store_true")
    arguments = parser.parse_args()
    cases = maker.load(DATA / "tosa/cases.npz")
    if arguments.on == "emulator" and arguments.target != "sm_90a":
        # SM100 multiplies floating-point data alone.
        cases = [case for case in cases if is_product_of_floats(case)]
    options = [f"--on={arguments.on}"]
    if arguments.target:
        options.append(f"--target={arguments.target}")
    expectations = Expectations()
    results = run(cases, arguments.folder, options, arguments.dynamic)
    for case, got in zip(cases, results, strict=True):
        problem = got if isinstance(got, str) else find_problem(case, got)
        expectations.record(f"{case.kind} of {case.data}", problem)
    expectations.finish()


if __name__ == "__main__":
    main()
