#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time from a module to its PTX, in whole processes.

Runs blockscale-compile on the README's module and, beside it in the same run,
with --version, which is what starting a process that links libMLIR costs here.
Prints the minimum, median and maximum of both in milliseconds.
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measure(command):
    """Milliseconds of one run of `command`."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return 1000 * (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", nargs="?", default=ROOT / "examples/quantize.mlir")
    parser.add_argument("--target", default="sm_100a")
    parser.add_argument("--emit", default="ptx")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--tool", default=ROOT / "build/bin/blockscale-compile")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        rows = {
            f"{options.emit} for {options.target}": [
                options.tool, options.module, f"--target={options.target}",
                f"--emit={options.emit}", "-o", f"{folder}/out"],
            "process start (--version)": [options.tool, "--version"],
        }
        times = {name: [] for name in rows}
        for name, command in rows.items():
            measure(command)  # warm the page cache
        for _ in range(options.runs):
            for name, command in rows.items():
                times[name].append(measure(command))
    print(f"{'whole processes':32} {'min':>8} {'median':>8} {'max':>8}  ms, {options.runs} runs")
    for name, values in times.items():
        print(f"{name:32} {min(values):8.1f} {statistics.median(values):8.1f} {max(values):8.1f}")


if __name__ == "__main__":
    main()
