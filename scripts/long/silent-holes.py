#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Removes one check of the source at a time, at random, and demands that calls with one fault
(test/Execution/Inputs/silence.py) notice within 1,000 calls.

  scripts/long/silent-holes.py [HOLES [SEED]]

Ten holes, with a seed of the day, which is printed. The source is a copy in build/silent-holes,
which is built once, and again with each hole. Where BLOCKSCALE_BUILD_DIR names a build, this
checkout itself gets the holes, one after the other, and is built there. The last line is
`N passed, N failed`.
"""

import datetime
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = ROOT if "BLOCKSCALE_BUILD_DIR" in os.environ else ROOT / "build/silent-holes"
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", SCRATCH / "build"))
PYTHON = ROOT / ".venv/bin/python"
CALLS = 1000
SUBJECTS = 140
RESERVE = 1400

_FAILURE = r'^ +(return Status::failure\(\s*(?:getName\(executable\) \+\s*)?"expected )'
#: How the checks of a file begin, of which a hole takes one away.
CHECKS = {
    "lib/Conversion/Emission/OperandChecks.cpp":
        r"^ +(site\.require(?:Sizes|GlobalSizes|Multiple)\()",
    "lib/Conversion/Emission/GroupRules.cpp": r"^ +(add\()is",
    "lib/Driver/Signature.cpp": _FAILURE,
    "lib/CAPI/Arrays.cpp": _FAILURE,
}
#: Checks that no call of one op reaches, by what they begin with: sizes of results follow from
#: those of operands, and so do those that the first of two operands would have to have; all sizes
#: are multiples of a block of one element; a and b of a product have one K; processors here read
#: any address; the others are of modules, or of what no array is.
NOT_REACHED = (
    r'site\.require\w+\(\s*"the result"', r'site\.requireSizes\("(?:a|data|block_amax)", op',
    r'site\.requireSizes\("scale", op\.getScale\(\), scales',
    r'site\.requireSizes\("(?:rng|offsets)"', r"site\.requireMultiple\(sizes\.end\(\)\[-2\]",
    r"site\.requireSizes\(toBlocks", r"site\.requireMultiple\(sizes\.a\.back",
    r'return Status::failure\(\s*"expected (?:a public|entry|a ranked|a dtype|a rank|a shape|data)',
    r'return Status::failure\(\s*"expected an address',
    r'return Status::failure\(getName\(executable\) \+ "expected " \+ getName\(role\)')


def find_end(text, place):
    """Where the statement that begins at a place ends: behind its semicolon, which may be in no
    string."""
    return re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^";])*;').match(text, place).end()


def find_holes(root):
    """Each check: its file, its place in that, and its text."""
    holes = []
    for path, pattern in CHECKS.items():
        text = (root / path).read_text(encoding="utf-8")
        for match in re.finditer(pattern, text, re.M):
            statement = text[match.start(1):find_end(text, match.start(1))]
            if not any(re.match(each, statement) for each in NOT_REACHED):
                holes.append((path, match.start(1), statement))
    return holes


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options)


def build():
    """Why the library is not built, or None."""
    made = run(["ninja", "-C", BUILD, "BlockScaleC"])
    return None if made.returncode == 0 else made.stdout[-2000:]


def copy_source():
    """Makes the copy, if one is needed, and builds it; why that failed, or None."""
    if SCRATCH == ROOT:
        return build()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.split("\0")
    for name in filter(None, files):
        target = SCRATCH / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    (SCRATCH / ".venv").symlink_to((ROOT / ".venv").resolve())
    made = run(["cmake", "--preset", "default"], cwd=SCRATCH)
    return build() if made.returncode == 0 else made.stdout[-2000:]


def find_silent(seed):
    """The first fault that was silent, or None, and whether the calls ran up to it."""
    command = [PYTHON if PYTHON.exists() else sys.executable,
               SCRATCH / "test/Execution/Inputs/silence.py", f"--calls={CALLS}",
               f"--subjects={SUBJECTS}", f"--reserve={RESERVE}", f"--seed={seed}"]
    library = str(BUILD / "lib/libBlockScaleC.so")
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", start_new_session=True,
                          env={**os.environ, "BLOCKSCALE_LIBRARY": library}) as process:
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith("SILENT "):
                os.killpg(process.pid, signal.SIGKILL)
                return lines[-1], True
    if process.returncode:
        return f"no counts: {' '.join(lines)[-500:]}", False
    return None, True


def main():
    given = sys.argv[1:]
    count, seed = map(int, given + ["10", f"{datetime.date.today():%Y%m%d}"][len(given):])
    print(f"seed {seed}", flush=True)
    passed = failed = 0

    def record(what, problem):
        nonlocal passed, failed
        passed, failed = passed + (problem is None), failed + (problem is not None)
        print(f"{what}: {'FAIL ' + problem if problem else 'as expected'}", flush=True)

    if problem := copy_source():
        record("the source as it is", problem)
        print("0 passed, 1 failed")
        return 1
    silent, _ = find_silent(seed)
    record("the source as it is", silent and f"expected nothing silent, but got {silent}")
    holes = find_holes(ROOT)
    for path, place, text in random.Random(seed).sample(holes, min(count, len(holes))):
        original = (ROOT / path).read_text(encoding="utf-8")
        what = f"without {path}: {' '.join(text.split())}"
        try:
            (SCRATCH / path).write_text(
                f"{original[:place]}static_cast<void>(0);{original[place + len(text):]}",
                encoding="utf-8")
            if problem := build():
                record(what, problem)
                continue
            silent, is_whole = find_silent(seed)
            print(f"  {silent}")
            record(what, None if silent and is_whole else
                   f"expected a silent fault within {CALLS} calls, but got {silent}")
        finally:
            (SCRATCH / path).write_text(original, encoding="utf-8")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
