#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generated modules on the CPU and as kernels of two chips, fused and not, for half an hour:
test/Execution/Inputs/differential.py with the seed of the day, which is printed. A module that
differs is kept in build/differential/kept; moved to test/Execution/Inputs/differential, `check`
runs it on every day. The last line is `N passed, N failed`.

  scripts/long/differential.py [MINUTES [SEED]]
"""

import datetime
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, PYTHON, ROOT, build


def main():
    today = f"{datetime.datetime.now(datetime.UTC):%Y%m%d}"
    minutes, seed = [*sys.argv[1:], *("30", today)[len(sys.argv) - 1:]]
    build()
    folder = BUILD / "differential"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "kept").mkdir(parents=True)
    return subprocess.run(
        [PYTHON, ROOT / "test/Execution/Inputs/differential.py", folder, f"--minutes={minutes}",
         f"--seed={seed}", f"--keep={folder / 'kept'}"],
        env={**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}).returncode


if __name__ == "__main__":
    sys.exit(main())
