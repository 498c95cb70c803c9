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

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
PYTHON = ROOT / ".venv/bin/python"


def main():
    today = f"{datetime.datetime.now(datetime.timezone.utc):%Y%m%d}"
    minutes, seed = [*sys.argv[1:], *("30", today)[len(sys.argv) - 1:]]
    if "BLOCKSCALE_BUILD_DIR" not in os.environ:
        build = subprocess.run([ROOT / "scripts/build.sh", "all"])
        if build.returncode != 0:
            print("0 passed, 1 failed")
            return 1
    folder = BUILD / "differential"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "kept").mkdir(parents=True)
    return subprocess.run(
        [PYTHON if PYTHON.exists() else sys.executable,
         ROOT / "test/Execution/Inputs/differential.py", folder, f"--minutes={minutes}",
         f"--seed={seed}", f"--keep={folder / 'kept'}"],
        env={**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}).returncode


if __name__ == "__main__":
    sys.exit(main())
