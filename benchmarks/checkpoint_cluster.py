#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much faster two workers of a Ray cluster quantize a checkpoint than one, a thread each.

    .cache/checkpoints/bin/python benchmarks/checkpoint_cluster.py [--gib N] [--runs N]
        [--folder F] [--check]

Makes the decoder of checkpoint.py, of about N GiB, in a folder, and quantizes it to NVFP4 with
global scales that fused layers share, on a cluster of one worker and on one of two, in turns. The
workers are there and have compiled what they need before the time begins: each cluster quantizes a
small checkpoint first. Prints the seconds of each run, the ratio of each pair, and the median of
the ratios. With --check the exit status is 1 if the median is below the bar of 1.6.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import blockscale.checkpoint as checkpoint
from checkpoint import POLICY, make_source

BAR = 1.6


def quantize(source, target, cluster):
    """Seconds that it takes; the result is removed."""
    begin = time.monotonic()
    checkpoint.quantize(source, target, POLICY, cluster=cluster)
    seconds = time.monotonic() - begin
    shutil.rmtree(target)
    return seconds


def measure(folder, workers):
    """Seconds of a cluster with that many workers."""
    with checkpoint.Cluster(workers=workers) as cluster:
        quantize(folder / "small", folder / "warm", cluster)
        return quantize(folder / "model", folder / "result", cluster)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=4, help="of the source (4)")
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs (3)")
    parser.add_argument("--folder", type=Path, help="where files are made")
    parser.add_argument("--check", action="store_true", help="fail below the bar")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = Path(scratch)
        make_source(folder / "small", 1)
        make_source(folder / "model", options.gib * 2 ** 30)
        ratios = []
        for number in range(options.runs):
            one, two = measure(folder, 1), measure(folder, 2)
            ratios.append(one / two)
            print(f"run {number}: 1 worker {one:.2f} s, 2 workers {two:.2f} s, ratio "
                  f"{one / two:.2f}", flush=True)
    median = statistics.median(ratios)
    print(f"median {median:.2f}, bar {BAR}")
    return 1 if options.check and median < BAR else 0


if __name__ == "__main__":
    sys.exit(main())
