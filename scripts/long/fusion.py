#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules with kernels of several ops against modules with a kernel for each op: in the
emulator, under both schedules, 200 random cases each of rows, transformed columns and their
amaxes with rounding to nearest, with stochastic rounding and in groups, and 200 of products
that read one quantized x; on the CPU all shapes of C13. Some of them are in
test/Execution/gpu-fusion.test and gpu-shared-scales.test.

Needs 4 GiB of memory and 2 GiB of disk. A process that crashes counts as one failure. The
last line is `N passed, N failed`.

  scripts/long/fusion.py [SEED]
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, PYTHON, ROOT, build

INPUTS = ROOT / "test/Execution/Inputs"


def run(script, *options):
    """What a script counts; its lines are printed."""
    paths = [str(BUILD / "bin"), os.environ["PATH"]]
    with tempfile.TemporaryDirectory(prefix="fusion-") as folder:
        process = subprocess.run(
            [PYTHON, INPUTS / script, folder, *options],
            capture_output=True, text=True, env={**os.environ, "PATH": ":".join(paths)})
    lines = process.stdout.splitlines()
    print(" ".join([f"{script}:", *options]), *lines, *process.stderr.splitlines()[-20:],
          sep="\n", flush=True)
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1] if lines else "")
    return (int(counts[1]), int(counts[2])) if counts else (0, 1)


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else "1"
    build()
    counts = [*(run("gpu_fusion.py", f"--kind={kind}", "--random=200", f"--seed={seed}")
                for kind in ("plain", "stochastic", "grouped")),
              run("gpu_shared_scales.py", "--random=200", f"--seed={seed}"),
              run("cpu_fusion.py")]
    passed, failed = (sum(each) for each in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
