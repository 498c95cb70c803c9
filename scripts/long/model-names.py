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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, ROOT, build, run_script


def main():
    run_script("peers.sh", "checkpoints")
    build()
    environment = {**os.environ, "BLOCKSCALE_LIBRARY": str(BUILD / "lib/libBlockScaleC.so"),
                   "BLOCKSCALE_CACHE_DIR": "", "PYTHONPATH": str(ROOT / "python"),
                   "PYTHONHASHSEED": "0"}
    return subprocess.run(
        [ROOT / ".cache/checkpoints/bin/python", ROOT / "test/Checkpoint/long/check_names.py",
         *sys.argv[1:]], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
