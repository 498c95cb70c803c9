#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/long/checkpoints.sh runs: the stored results of other packages against the packages,
the tests of test/Checkpoint with more kills and more random weights, those of this folder, the gain
of a second worker, and the packages' times. The last line is `N passed, N failed, N skipped`."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COUNTS = re.compile(r"(?m)^(\d+) passed, (\d+) failed$")


def run_program(*arguments):
    """(passed, failed) of a program that counts in its last line, or by its exit status."""
    done = subprocess.run([sys.executable, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    found = COUNTS.findall(done.stdout)
    if not found:
        return (0, 1) if done.returncode else (1, 0)
    passed, failed = map(int, found[-1])
    return passed, max(failed, int(done.returncode != 0))


def run_tests(folder):
    """(passed, failed, skipped) of the tests of a folder."""
    suite = unittest.TestLoader().discover(str(folder), top_level_dir=str(folder))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors)
    return result.testsRun - failed - len(result.skipped), failed, len(result.skipped)


def main():
    os.environ["BLOCKSCALE_LONG"] = "1"
    here = Path(__file__).resolve().parent
    sys.path.insert(0, str(here.parent))
    rows = {
        "stored results of packages": run_program(
            ROOT / "test/Data/make_checkpoint_vectors.py", "--check"),
        "test/Checkpoint": run_tests(here.parent),
        "test/Checkpoint/long": run_tests(here),
        "a second worker": run_program(ROOT / "benchmarks/checkpoint_cluster.py", "--check"),
        "times of packages": run_program(ROOT / "benchmarks/checkpoint_peers.py", "--gib", "1.5",
                                         "--runs", "1", "--check"),
    }
    print()
    for name, counts in rows.items():
        print(f"   {name:<28} {counts[0]} passed, {counts[1]} failed")
    passed, failed, skipped = (sum(column) for column in zip(
        *((*counts, 0)[:3] for counts in rows.values())))
    print(f"\n{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
