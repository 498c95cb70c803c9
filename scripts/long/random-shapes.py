#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thousands of random shapes of every op against numpy, bytes and bounds, and of
every kind of kernel for GPUs, in the emulator, against the CPU.

Runs test/Execution/Inputs/quantize.py, block_shapes.py, matmul.py, sm100_kernels.py,
strip_kernels.py, sm100_matmul.py, sm100_epilogue.py and gpu_*.py with many seeds, for
this CPU and for the x86-64 baseline, and planted_faults.py, which needs no compiler. A
process that crashes counts as one failure; its seed is in the output. The last line is
`N passed, N failed`.

  scripts/long/random-shapes.py [SEEDS [FIRST]]
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, PYTHON, ROOT, build

INPUTS = ROOT / "test/Execution/Inputs"
OPTIONS = {"quantize.py": ["--shapes", "10"], "block_shapes.py": ["--shapes", "10"],
           "matmul.py": ["--functions", "32", "--shapes", "10"], "sm100_kernels.py": [],
           "strip_kernels.py": [], "gpu_random.py": [], "sm100_matmul.py": ["--cases", "60"],
           "sm100_epilogue.py": [], "planted_faults.py": ["--draws", "3"],
           "gpu_read_once.py": [], "gpu_norms.py": []}
CHIPS = ("sm_100a", "sm_80", "sm_90a")


def run(job):
    """Failures of one process, its counts last."""
    script, seed, cpu = job
    options = ["--cpu", cpu, *OPTIONS[script]]
    if script in ("sm100_kernels.py", "strip_kernels.py"):
        options += ["--target", CHIPS[seed % 3]]
    # The tool there compiles for this CPU.
    if script.startswith("gpu_"):
        options = []
    if script in ("sm100_matmul.py", "sm100_epilogue.py", "planted_faults.py"):
        options = OPTIONS[script]
    paths = [str(BUILD / "bin"), os.environ["PATH"]]
    with tempfile.TemporaryDirectory(prefix="random-shapes-") as folder:
        process = subprocess.run(
            [PYTHON, INPUTS / script,
             *([] if script == "planted_faults.py" else [folder]), "--seed", str(seed), *options],
            capture_output=True, text=True, env={**os.environ, "PATH": ":".join(paths)})
    lines = process.stdout.splitlines()
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1] if lines else "")
    passed, failed = (int(counts[1]), int(counts[2])) if counts else (0, 0)
    if process.returncode != 0 and not failed:
        failed = 1
        lines += process.stderr.splitlines()[-20:]
    return passed, failed, [line for line in lines if not counts or line != counts[0]]


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    build()
    jobs = [(script, seed, "x86-64" if seed % 2 else "host")
            for seed in range(first, first + seeds) for script in OPTIONS]
    totals = [0, 0]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (script, seed, cpu), (passed, failed, lines) in zip(jobs, pool.map(run, jobs)):
            totals = [totals[0] + passed, totals[1] + failed]
            print(f"{script} --seed {seed} --cpu {cpu}: {passed} passed, {failed} failed",
                  flush=True)
            for line in lines:
                print(f"     {line}")
    print(f"{totals[0]} passed, {totals[1]} failed")
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())
