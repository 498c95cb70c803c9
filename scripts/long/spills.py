#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembles the kernels of the chips and shapes that `check` leaves out, which must not
spill: the instances of unit tests whose names begin with Long. The last line is
`N passed, N failed`.

  scripts/long/spills.py
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import ROOT, run_script

BUILD = ROOT / "build"
TESTS = "BlockScaleEmitTests"
PYTHON = ROOT / ".venv/bin/python"

# What run_suites imports has packages of this environment.
if Path(sys.prefix) != ROOT / ".venv":
    os.execv(PYTHON, [PYTHON, *sys.argv])
import run_suites


def main():
    run_script("build.sh", TESTS)
    (BUILD / "logs").mkdir(exist_ok=True)
    suites = run_suites.Suites(BUILD, timeout=1800)
    counts = suites.unit_binary(sys.stdout, BUILD / "unittests" / TESTS,
                                instances=run_suites.LONG_INSTANCES)
    print(counts)
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
