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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, PYTHON, ROOT, build

SUBJECTS = 322  # 23 of each op
RESERVE = 1400
LEAST = 3  # calls of each op, operand, kind and target


def main():
    given = sys.argv[1:]
    calls, seed = given + ["5400", f"{datetime.date.today():%Y%m%d}"][len(given):]
    build()
    return subprocess.run(
        [PYTHON,
         ROOT / "test/Execution/Inputs/silence.py", f"--calls={calls}", f"--seed={seed}",
         f"--subjects={SUBJECTS}", f"--reserve={RESERVE}", f"--least={LEAST}"],
        env={**os.environ, "BLOCKSCALE_LIBRARY": str(BUILD / "lib/libBlockScaleC.so")}).returncode


if __name__ == "__main__":
    sys.exit(main())
