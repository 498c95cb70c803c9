#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls with one fault on the CPU and in the emulator, through C and Python:
test/Execution/Inputs/silence.py with a seed of the day, which is printed. The last line is
`N passed, N failed`.

  scripts/long/silence.py [CALLS [SEED]]
"""

import datetime
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
PYTHON = ROOT / ".venv/bin/python"
SUBJECTS = 322  # 23 of each op
RESERVE = 1400
LEAST = 3  # calls of each op, operand, kind and target


def main():
    given = sys.argv[1:]
    calls, seed = given + ["5400", f"{datetime.date.today():%Y%m%d}"][len(given):]
    if "BLOCKSCALE_BUILD_DIR" not in os.environ:
        build = subprocess.run([ROOT / "scripts/build.sh", "all"])
        if build.returncode != 0:
            print("0 passed, 1 failed")
            return 1
    return subprocess.run(
        [PYTHON if PYTHON.exists() else sys.executable,
         ROOT / "test/Execution/Inputs/silence.py", f"--calls={calls}", f"--seed={seed}",
         f"--subjects={SUBJECTS}", f"--reserve={RESERVE}", f"--least={LEAST}"],
        env={**os.environ, "BLOCKSCALE_LIBRARY": str(BUILD / "lib/libBlockScaleC.so")}).returncode


if __name__ == "__main__":
    sys.exit(main())
