#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The golden arrays on the emulator, with many seeds of the adversarial schedule,
and with the kernels of every other chip.

The last line is `N passed, N failed`: arrays, each once for each seed and chip.

  scripts/long/emulator-seeds.py [SEEDS [FIRST]]
"""

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from chip_list import list_chips
from long_programs import BUILD, PYTHON, ROOT, build

IN_CHECK = "sm_100a"


def run(*options):
    """Arrays that are equal and that are not; a run without a sum is one failure."""
    process = subprocess.run(
        [PYTHON, ROOT / "test/Conformance/run.py",
         "--cases", ROOT / "test/Data/golden", "--on", "emulator", "--jobs",
         str(os.cpu_count()), *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout.splitlines():
        if line.startswith("MISMATCH"):
            print(f"     {line}")
    sums = re.findall(r"^arrays equal (\d+), mismatching (\d+)", process.stdout, re.M)
    if len(sums) != 1 or int(sums[0][0]) == 0:
        print(process.stdout[-2000:])
        return 0, 1
    return tuple(map(int, sums[0]))


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    build()
    passed = failed = 0
    runs = [("--seed", str(seed)) for seed in range(first, first + seeds)]
    for options in runs + [("--target", chip) for chip in list_chips(BUILD) if chip != IN_CHECK]:
        equal, different = run(*options)
        print(f"{' '.join(options)}: {equal} equal, {different} different", flush=True)
        passed, failed = passed + equal, failed + different
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
