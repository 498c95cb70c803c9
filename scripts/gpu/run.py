#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what pack.py packed on a GPU and compares it: python3 FOLDER/run.py [GLOB]

Needs a driver, Python and NumPy. GLOB selects golden cases. The last line is
`N passed, N failed`: golden arrays, and calls of kernels.
"""

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
RUNTIME = HERE / "lib/libBlockScaleRuntime.so"
FILL = 0xA5  # of what no kernel wrote

sys.path.insert(0, str(HERE / "python"))

import blockscale_runtime  # noqa: E402


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
    return (int(counts[1]), int(counts[2])) if counts else (0, 1)


def difference(got, want):
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"expected {want.dtype} {want.shape}, but got {got.dtype} {got.shape}"
    places = np.argwhere(got != want)
    if not len(places):
        return None
    at = tuple(places[0].tolist())
    return (f"{len(places)} of {want.size} bytes differ, first at {at}: expected {want[at]:#x}, "
            f"but got {got[at]:#x}")


def run_calls(device, path):
    """The calls of one bundle: how many are equal, and how many are not."""
    arrays = dict(np.load(path.parents[1] / f"{path.stem}.npz"))
    kinds = arrays.pop("kinds")
    inputs = [arrays[f"in{i}"] for i in range(sum(name.startswith("in") for name in arrays))]
    try:
        module = device.load(device.runtime.bundle(path))
        results = module.run("calls", *inputs, fill=FILL)
    except blockscale_runtime.Error as error:
        print(f"  MISMATCH {path.name}: {error.status}: {error}")
        return 0, len(kinds)
    failed = 0
    for i, kind in enumerate(kinds):
        problems = [difference(results[at], arrays[f"out{at}"]) for at in (2 * i, 2 * i + 1)]
        for result, problem in zip(("data", "scales"), problems):
            if problem:
                print(f"  MISMATCH {kind}: {result}: {problem}")
        failed += any(problems)
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
    print(f"date {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC")
    print("command", *(["python3"] + sys.argv))
    print(f"commit {about['commit']}, runtime {runtime.version().decode()}, Python "
          f"{sys.version.split()[0]}, NumPy {np.__version__}")
    print(f"{device.name}, compute capability {device.capability / 10}, driver version "
          f"{device.driver_version}", flush=True)
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
