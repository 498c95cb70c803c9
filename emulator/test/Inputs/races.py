# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what the emulator makes of each case of test/Data/races with what the head of its
file says (scripts/gpu/races.py), under both schedules; prints a line a case, and their numbers.

    races.py FOLDER TEMPORARY
"""

import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts/gpu"))
from races import SCRATCH_BYTES, VERDICTS, read_kernels

SCHEDULES = (["--schedule=prompt"], ["--schedule=adversarial", "--seed=1"])


def run(kernel, case, schedule, folder):
    """The findings, and the CRC-32 of the result where there is one."""
    given, result = folder / "in.npy", folder / "out.npy"
    np.save(given, np.frombuffer(kernel.make_input(), np.uint32))
    result.unlink(missing_ok=True)
    run = subprocess.run(
        ["blockscale-emulate", kernel.path, "--kernel=race", f"--grid={kernel.grid}",
         f"--block={kernel.block}", f"--cluster={kernel.cluster}",
         f"--arg=out:{result}:uint32:{kernel.words}",
         f"--arg=in:{given}", f"--arg=zero:{SCRATCH_BYTES}", f"--arg=u32:{case.number}", *schedule],
        capture_output=True, text=True)
    is_good = run.returncode == 0
    return run.stderr, zlib.crc32(np.load(result).tobytes()) if is_good else None


def find_problem(case, findings, crc):
    if case.verdict == "reported":
        return None if case.finding in findings else (
            f"expected a finding with '{case.finding}', but got '{findings}'")
    if findings or crc is None:
        return f"expected no finding, but got '{findings}'"
    if case.verdict == "accepted" and crc != case.crc:
        return f"expected the result {case.crc:08x}, but got {crc:08x}"
    return None


def main(folder, temporary):
    temporary.mkdir(parents=True, exist_ok=True)
    is_right, counts = True, Counter()
    for kernel in read_kernels(folder):
        for case in kernel.cases:
            for schedule in SCHEDULES:
                problem = find_problem(case, *run(kernel, case, schedule, temporary))
                is_right &= not problem
                if problem:
                    break
            print(f"{kernel.name} {case.number}: {problem or case.verdict}")
            counts[case.verdict] += 1
    print(*(f"{counts[verdict]} {verdict}" for verdict in VERDICTS), sep=", ")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
