#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what pack.py packed on a GPU and compares it: python3 FOLDER/run.py [GLOB]

Needs a driver, Python and NumPy. GLOB selects golden cases. The last line is
`N passed, N failed`: golden arrays, and calls of kernels.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
RUNTIME = HERE / "lib/libBlockScaleRuntime.so"
FILL = 0xA5  # of what no kernel wrote

sys.path[:0] = [str(HERE / "python"), str(HERE / "scripts")]

import blockscale_runtime
from log_head import make_head


def run_conformance(chip, only):
    """Arrays that are equal and that are not."""
    process = subprocess.run(
        [sys.executable, HERE / "test/Conformance/run.py", "--cases", HERE / "golden",
         "--on", "cuda", "--bundles", HERE / "conformance" / chip, "--runtime", RUNTIME,
         "--only", only],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout.splitlines():
        if not line.startswith(("unsupported", "superseded", "reference")):
            print(f"  {line}")
    counts = re.search(r"^arrays equal (\d+), mismatching (\d+)", process.stdout, re.M)
    if not counts:
        print(f"  golden arrays: no counts, exit status {process.returncode}")
        return 0, 1
    return int(counts[1]), int(counts[2])


def with_one_nan(array, type):
    """An array in the storage form of `type`, with every NaN the same: its sign and
    payload mean nothing."""
    if array.dtype.kind == "f":
        return np.where(np.isnan(array), array.dtype.type(np.nan), array)
    if type.rstrip(">").endswith("bf16"):
        return np.where((array & 0x7FFF) > 0x7F80, np.uint16(0x7FFF), array)
    return array


def difference(got, want, type):
    got, want = with_one_nan(got, type), with_one_nan(want, type)
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"expected {want.dtype} {want.shape}, but got {got.dtype} {got.shape}"
    bits = np.dtype(f"u{want.itemsize}")
    got, want = (np.ascontiguousarray(array).view(bits) for array in (got, want))
    places = np.argwhere(got != want)
    if not len(places):
        return None
    at = tuple(places[0].tolist())
    return (f"{len(places)} of {want.size} elements differ, first at {at}: expected "
            f"{want[at]:#x}, but got {got[at]:#x}")


def run_calls(device, path):
    """The calls of one bundle: how many are equal, and how many are not."""
    arrays = dict(np.load(path.parents[1] / f"{path.stem}.npz"))
    kinds = arrays.pop("kinds")
    # Quantizers give data and scales.
    counts = arrays.pop("counts", [2] * len(kinds))
    types = arrays.pop("types", [""] * sum(counts))
    inputs = [arrays[f"in{i}"] for i in range(sum(name.startswith("in") for name in arrays))]
    try:
        module = device.load(device.runtime.bundle(path))
        results = module.run("calls", *inputs, fill=FILL)
    except blockscale_runtime.Error as error:
        print(f"  MISMATCH {path.name}: {error.status}: {error}")
        return 0, len(kinds)
    failed = at = 0
    for kind, count in zip(kinds, counts):
        problems = [difference(results[i], arrays[f"out{i}"], str(types[i]))
                    for i in range(at, at + count)]
        for i, problem in enumerate(problems):
            if problem:
                print(f"  MISMATCH {kind}: result {i}: {problem}")
        failed += any(problems)
        at += count
    return len(kinds) - failed, failed


def run_kernels(device, chip):
    passed = failed = 0
    for path in sorted((HERE / "kernels" / chip).glob("*.bundle")):
        equal, different = run_calls(device, path)
        passed, failed = passed + equal, failed + different
    print(f"  kinds of kernels equal {passed}, mismatching {failed}")
    return passed, failed


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else "*"
    about = json.loads((HERE / "pack.json").read_text())
    runtime = blockscale_runtime.Runtime(RUNTIME)
    try:
        device = runtime.device()
    except blockscale_runtime.Error as error:
        print(f"error: {error}\n0 passed, 1 failed")
        return 1
    machine = (f"{device.name}, compute capability {device.capability / 10}, driver version "
               f"{device.driver_version}")
    print(make_head(about["commit"], machine, " ".join(["python3", *sys.argv])))
    print(f"runtime {runtime.version().decode()}, Python {sys.version.split()[0]}, "
          f"NumPy {np.__version__}", flush=True)
    totals = []
    for chip in about["chips"]:
        print(f"golden arrays, kernels for {chip}")
        totals.append(run_conformance(chip, only))
        print(f"every kind of kernel against the CPU, kernels for {chip}")
        totals.append(run_kernels(device, chip))
        sys.stdout.flush()
    passed, failed = map(sum, zip(*totals))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
