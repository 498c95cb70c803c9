#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of kernel on every chip but sm_100a, in the emulator under both schedules: the
bytes of the CPU, or of products those within the bound of docs/Numerics.md. `check` runs all
kinds on sm_100a, and a sample on the others.

The chips are those that the compiler lists. A line says what ran for a chip; the last one is
`N passed, N failed`.

  scripts/long/emulator-chips.py [CHIP...]
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from chip_list import list_chips  # noqa: E402

BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
INPUTS = ROOT / "test/Execution/Inputs"
PYTHON = ROOT / ".venv/bin/python"
# Quantizers, which take a chip; and the other ops, whose chips the environment names.
QUANTIZERS = ("sm100_kernels.py", "strip_kernels.py")
OTHERS = ("gpu_amax.py", "gpu_amax_passes.py", "gpu_dequantize.py", "gpu_expand_scale.py",
          "gpu_grouped_transforms.py", "gpu_groups.py", "gpu_hadamard.py", "gpu_norms.py",
          "gpu_plain.py", "gpu_prepack.py", "gpu_producers.py", "gpu_random.py",
          "gpu_read_once.py", "gpu_scale_sweep.py", "gpu_sections.py", "gpu_swizzle.py")
# Products by tcgen05; those of sm_90a are in `check`.
PRODUCTS = (("sm100_matmul.py", "--cases=90"), ("sm100_epilogue.py",))
TCGEN05_CHIPS = ("sm_103a", "sm_110a")
IN_CHECK = "sm_100a"


def list_runs(chip):
    """Pairs of a program with its options and the environment."""
    runs = [((name, f"--target={chip}"), {}) for name in QUANTIZERS]
    runs += [((name,), {"BLOCKSCALE_TEST_CHIPS": chip}) for name in OTHERS]
    if chip in TCGEN05_CHIPS:
        runs += [((*each, f"--target={chip}"), {}) for each in PRODUCTS]
    return runs


def run(program, environment):
    """Passed, failed, and what a failing program said last."""
    name, *options = program
    with tempfile.TemporaryDirectory(prefix="emulator-chips-") as folder:
        process = subprocess.run(
            [PYTHON if PYTHON.exists() else sys.executable, INPUTS / name, folder, *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **environment,
                 "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"})
    lines = process.stdout.splitlines()
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1] if lines else "")
    passed, failed = (int(counts[1]), int(counts[2])) if counts else (0, 1)
    if process.returncode and not failed:
        failed = 1
    return passed, failed, lines[-20:] if failed else []


def main():
    if "BLOCKSCALE_BUILD_DIR" not in os.environ:
        if subprocess.run([ROOT / "scripts/build.sh", "all"]).returncode != 0:
            print("0 passed, 1 failed")
            return 1
    chips = sys.argv[1:] or [chip for chip in list_chips(BUILD) if chip != IN_CHECK]
    totals = [0, 0]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(chip, program, pool.submit(run, program, environment))
                for chip in chips for program, environment in list_runs(chip)]
        for chip, program, job in jobs:
            passed, failed, said = job.result()
            totals = [totals[0] + passed, totals[1] + failed]
            print(f"{chip} {program[0]}: {passed} passed, {failed} failed", flush=True)
            for line in said:
                print(f"     {line}")
    print(f"{totals[0]} passed, {totals[1]} failed")
    return 1 if totals[1] else 0


if __name__ == "__main__":
    sys.exit(main())
