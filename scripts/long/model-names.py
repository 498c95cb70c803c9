#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of layers of all model classes of the installed transformers, and models of some types
that are quantized and loaded by transformers: test/Checkpoint/long/check_names.py, with packages
that are installed where they are missing (5.4 GB). The last line is
`N passed, N failed, N skipped`.

  scripts/long/model-names.py [--only WORD] [--loaded all|TYPE,..]
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))


def main():
    steps = [[ROOT / "scripts/peers.sh", "checkpoints"]]
    if "BLOCKSCALE_BUILD_DIR" not in os.environ:
        steps.append([ROOT / "scripts/build.sh", "all"])
    for step in steps:
        if subprocess.run(step).returncode != 0:
            print("0 passed, 1 failed")
            return 1
    environment = {**os.environ, "BLOCKSCALE_LIBRARY": str(BUILD / "lib/libBlockScaleC.so"),
                   "BLOCKSCALE_CACHE_DIR": "", "PYTHONPATH": str(ROOT / "python"),
                   "PYTHONHASHSEED": "0"}
    return subprocess.run(
        [ROOT / ".cache/checkpoints/bin/python", ROOT / "test/Checkpoint/long/check_names.py",
         *sys.argv[1:]], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
