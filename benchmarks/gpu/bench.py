#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times GPU kernels beside copies of the same bytes.

  python3 FOLDER/bench.py [--only GLOB] [--out FOLDER]

FOLDER is what pack.py packed; the machine needs a GPU, its driver, Python and NumPy.
Each function and a copy of as many bytes as it reads and writes are captured into CUDA
graphs. Before every replay 256 MiB are overwritten, so that inputs come from memory.
A round takes the median of 25 replays of each, in turn; of three rounds the best counts
for each. The share is the copy's time over the function's. First the bytes of the
results are compared with what the CPU computed.

Prints a table with the bars; writes bench.json and bench.svg. The exit status is 1 if
a result differs or a bar is missed.
"""

import argparse
import fnmatch
import hashlib
import json
import statistics
import sys
from pathlib import Path

import numpy as np

import blockscale_runtime
from cases import CASES
from chart import write_chart
from cuda import Driver
from log_head import make_head

HERE = Path(__file__).resolve().parent
FLUSH_BYTES = 256 << 20
REPLAYS, ROUNDS, WARM_UPS = 25, 3, 3


class Timer:
    def __init__(self, driver):
        self.driver = driver
        self.flush = driver.allocate(FLUSH_BYTES)

    def median(self, graph):
        times = []
        for _ in range(REPLAYS):
            self.driver.fill(self.flush, FLUSH_BYTES)
            times.append(self.driver.microseconds(graph))
        return statistics.median(times)

    def compare(self, works):
        """Microseconds of each work: the best round's median, and all rounds'."""
        graphs = []
        for work in works:
            for _ in range(WARM_UPS):
                work()
            self.driver.synchronize()
            graphs.append(self.driver.capture(work))
        rounds = [[self.median(graph) for graph in graphs] for _ in range(ROUNDS)]
        return [(min(times), list(times)) for times in zip(*rounds)]


class Buffers:
    """Memory of the GPU that lives as long as a `with`."""

    def __init__(self, driver):
        self.driver, self.addresses = driver, []

    def allocate(self, size):
        self.addresses.append(self.driver.allocate(max(size, 1)))
        return self.addresses[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.synchronize()
        for address in self.addresses:
            self.driver.free(address)


def measure(case, digests, runtime, device, driver, timer):
    module = device.load(runtime.bundle(HERE / f"{case.name}.bundle"))
    function, arguments = module.function(case.name), case.arguments()
    call = function.call(*arguments)
    with Buffers(driver) as buffers:
        inputs = []
        for argument in arguments:
            inputs.append(buffers.allocate(argument.nbytes))
            device.upload(inputs[-1], argument)
        results = [np.empty(shape, buffer.dtype) for shape, buffer
                   in zip(call.shapes, function.results)]
        outputs = [buffers.allocate(result.nbytes) for result in results]
        workspace = buffers.allocate(call.workspace_bytes)

        def launch():
            call.launch(module, inputs, outputs, workspace, driver.stream)

        launch()
        driver.synchronize()
        for address, result in zip(outputs, results):
            device.download(address, result)
        is_equal = digests == [hashlib.sha256(r.tobytes()).hexdigest() for r in results]

        moved = sum(array.nbytes for array in (*arguments[:case.tensors], *results))
        source, to = (buffers.allocate(moved // 2) for _ in range(2))
        (ours, rounds), (copy, copies) = timer.compare(
            [launch, lambda: driver.copy(to, source, moved // 2)])
    return {"name": case.name, "label": case.label, "bytes": moved, "is_equal": is_equal,
            "us": ours, "copy_us": copy, "rounds_us": rounds, "copy_rounds_us": copies,
            "gbps": moved / ours * 1e-3, "share": copy / ours, "bar": case.bar}


def verdict(row):
    if not row["is_equal"]:
        return "DIFFERS from the CPU"
    if row["bar"] is None:
        return ""
    return "met" if row["share"] >= row["bar"] else "MISSED"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", metavar="GLOB", help="these cases")
    parser.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    options = parser.parse_args()
    # A folder that cannot be made is an error now, not after the measurements.
    options.out.mkdir(parents=True, exist_ok=True)
    about = json.loads((HERE / "pack.json").read_text())
    runtime = blockscale_runtime.Runtime(HERE / "libBlockScaleRuntime.so")
    try:
        device, driver = runtime.device(), Driver()
    except blockscale_runtime.Error as error:
        print(f"error: {error}")
        return 1
    timer = Timer(driver)
    print(make_head(about["commit"], f"{device.name}, driver {device.driver_version}",
                    " ".join(["python3", *sys.argv])), end="\n\n")
    print("| function | us | copy us | GB/s | share of the copy | bar | |\n|" + " --- |" * 7)
    rows = []
    for case in CASES:
        if case.name not in about["digests"] or not fnmatch.fnmatch(case.name, options.only):
            continue
        row = measure(case, about["digests"][case.name], runtime, device, driver, timer)
        rows.append(row)
        print(f"| {row['label']} | {row['us']:.1f} | {row['copy_us']:.1f} | {row['gbps']:.0f} | "
              f"{row['share']:.2f} | {row['bar'] or ''} | {verdict(row)} |", flush=True)
    (options.out / "bench.json").write_text(json.dumps(
        {"commit": about["commit"], "device": device.name, "rows": rows}, indent=1) + "\n")
    write_chart(options.out / "bench.svg", f"Share of the rate of a copy, {device.name}", rows)
    is_good = bool(rows) and all(verdict(row) in ("", "met") for row in rows)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
