#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules with kernels of several ops against modules with a kernel for each op: in the
emulator, under both schedules, on each of five chips 200 random cases each of rows, transformed
columns and their amaxes with rounding to nearest, with stochastic rounding and in groups, at
most three launches each, and 200 of products that read one quantized x; on the CPU all shapes
of C13. Some of them are in test/Execution/gpu-fusion.test and gpu-shared-scales.test. What
the tool runs in the emulator has to have all fences.

Needs 4 GiB of memory and 2 GiB of disk, and an hour of one core. A process that crashes counts as
one failure. The last line is `N passed, N failed`.

  scripts/long/fusion.py [SEED] [--jobs N] [--target CHIP]... [--kind KIND]...
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, PYTHON, ROOT, build

INPUTS = ROOT / "test/Execution/Inputs"
CHIPS = ("sm_100a", "sm_103a", "sm_110a", "sm_90a", "sm_120a")
KINDS = ("plain", "stochastic", "grouped")


def run(script, *options):
    """What a script counts, and its lines."""
    paths = [str(BUILD / "bin"), os.environ["PATH"]]
    with tempfile.TemporaryDirectory(prefix="fusion-") as folder:
        process = subprocess.run(
            [PYTHON, INPUTS / script, folder, *options],
            capture_output=True, text=True, env={**os.environ, "PATH": ":".join(paths)})
    lines = process.stdout.splitlines()
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed", lines[-1] if lines else "")
    passed, failed = (int(counts[1]), int(counts[2])) if counts else (0, 1)
    said = [" ".join([f"{script}:", *options]), *lines, *process.stderr.splitlines()[-20:]]
    return passed, failed, said


def list_programs(options):
    """Names and options, the longest first."""
    if not options.kind and not options.target:
        yield ("cpu_fusion.py",)
    for kind in reversed(options.kind or KINDS):
        for chip in options.target or CHIPS:
            yield ("gpu_fusion.py", f"--kind={kind}", f"--target={chip}", "--random=200",
                   f"--seed={options.seed + CHIPS.index(chip)}", "--jobs=1")
    if not options.kind and not options.target:
        yield "gpu_shared_scales.py", "--random=200", f"--seed={options.seed}", "--jobs=1"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="programs at once")
    parser.add_argument("--target", action="append", choices=CHIPS, metavar="CHIP",
                        help="the cases at random on this chip alone")
    parser.add_argument("--kind", action="append", choices=KINDS, help="of these cases alone")
    options = parser.parse_args()
    build()
    passed = failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for held, missed, said in pool.map(lambda program: run(*program), list_programs(options)):
            print(*said, sep="\n", flush=True)
            passed, failed = passed + held, failed + missed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
