# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rates of products with block-scaled weights on a Hopper GPU, from the log of
benchmarks/gpu/weight_only.py, drawn as that program draws its own."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/gpu"), str(ROOT / "test/Python"), str(ROOT / "scripts")]

# The folders are on the path now.
import chart
import weight_only
from log_head import read_heads
from log_tables import read_log, read_rows

LOG = "weight-only-h200.txt"
# Of a work that was not timed: no column, no cell, or one that says so.
MISSING = (None, "", "-")


def draw():
    log = read_rows(LOG)
    times = {}
    # Sizes that the program has since are not drawn.
    for case in (each for each in weight_only.CASES if each.label in log):
        row = log[case.label]
        cells = {"prepacked": row["us"]} | {
            name: row.get(f"{name}, us") for name in weight_only.PEERS}
        times[case] = {work: float(cell) for work, cell in cells.items() if cell not in MISSING}
    gpu = read_heads(read_log(LOG))[0].machine.split(",")[0]
    return chart.draw_rates(weight_only.describe_rates(gpu), weight_only.make_lines(times))
