#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what is too slow for `check`: the programs of scripts/long, in the order of their
names. Each ends with a line `N passed, N failed`, and so does this script.

Each program writes its own log, docs/logs/long/NAME.txt, as soon as it ends: commit, machine,
seconds, result, and the end of its output. With --resume, a program does not run whose log
holds for the code at hand: a log without failures of which nothing changed since its commit
(scripts/logs.py). So a run that was interrupted goes on where it was.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import logs
from log_head import DIRTY, LOGS, describe_commit, describe_machine, make_head

ROOT = Path(__file__).resolve().parents[1]
COUNTS = re.compile(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?")
RESULT = re.compile(rf"(?m)^result   {COUNTS.pattern}$")
SHOWN_LINES = 12


@dataclass(frozen=True)
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Counts(self.passed + other.passed, self.failed + other.failed,
                      self.skipped + other.skipped)

    def __str__(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def counts_of(match):
    return Counts(*(int(count or 0) for count in match.groups()))


def judge(status, lines):
    """The counts of a program by its last line. One that does not count, and one whose exit
    status its counts do not explain, has a failure more."""
    match = COUNTS.fullmatch(lines[-1]) if lines else None
    counts = counts_of(match) if match else Counts()
    if not match or (status and not counts.failed):
        counts += Counts(failed=1)
    return counts


def find_compiler(root):
    """The first line with which the compiler of the default build names itself, or nothing."""
    cache = root / "build/CMakeCache.txt"
    text = cache.read_text(encoding="utf-8") if cache.exists() else ""
    path = re.search(r"^CMAKE_C_COMPILER:\w+=(.+)$", text, re.M)
    if not path:
        return ""
    run = subprocess.run([path[1], "--version"], capture_output=True, text=True)
    return f", {run.stdout.splitlines()[0]}" if run.stdout else ""


def run_program(root, program):
    """Runs a program, whose output is shown and kept, and writes its log. Its counts."""
    kept = root / ".cache/logs/check-long" / f"{program.name}.log"
    kept.parent.mkdir(parents=True, exist_ok=True)
    commit = describe_commit(root)
    head = make_head(commit, describe_machine() + find_compiler(root),
                     f"scripts/check-long.sh --only {program.stem}")
    start = time.monotonic()
    with (open(kept, "w", encoding="utf-8") as file,
          subprocess.Popen([program], cwd=root, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace") as process):
        for line in process.stdout:
            print(line, end="", flush=True)
            file.write(line)
    seconds = time.monotonic() - start
    lines = kept.read_text(encoding="utf-8").splitlines()
    counts = judge(process.returncode, lines)
    if describe_commit(root) != commit:
        # Which code ran is not known where it changed meanwhile.
        head = replace(head, commit=commit.removesuffix(DIRTY) + DIRTY)
    log = root / LOGS / "long" / f"{program.stem}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    # A run that is interrupted leaves the log as it was.
    new = log.with_suffix(".new")
    new.write_text("\n".join([str(head), f"seconds  {seconds:.1f}", f"result   {counts}", "",
                              "The end of its output:", "",
                              *(line.rstrip() for line in lines[-SHOWN_LINES:]), ""]),
                   encoding="utf-8")
    new.replace(log)
    return counts


def find_held(root, log):
    """The counts of a log that holds for the code at hand, or None."""
    if log is None or logs.why_no_history(root) or logs.find_faults(root, log):
        return None
    match = RESULT.search((root / LOGS / log.name).read_text(encoding="utf-8"))
    return counts_of(match) if match else None


def find_programs(root):
    return [path for path in sorted((root / "scripts/long").iterdir())
            if path.is_file() and os.access(path, os.X_OK)]


def main(arguments=None, root=ROOT):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="run this program; may be given several times")
    parser.add_argument("--resume", action="store_true",
                        help="leave out programs whose logs hold for the code at hand")
    options = parser.parse_args(arguments)
    programs = {program.stem: program for program in find_programs(root)}
    for name in options.only or ():
        if name not in programs:
            parser.error(f"expected one of {', '.join(programs)}, but got {name}")
    if options.resume and (reason := logs.why_no_history(root)):
        parser.error(f"--resume: {reason}")
    listed = logs.read_manifest(root)
    total, summary = Counts(), []
    for name, program in programs.items():
        if options.only and name not in options.only:
            continue
        held = find_held(root, listed.get(f"long/{name}.txt")) if options.resume else None
        if held is not None:
            counts, how = held, "its log holds"
        else:
            print(f"\n==== {program.name}", flush=True)
            start = time.monotonic()
            counts = run_program(root, program)
            how = f"{time.monotonic() - start:.1f} s"
        total += counts
        summary.append(f"   {name:<20} {counts} ({how})")
    print("", *summary, "", total, sep="\n")
    return 1 if total.failed or total == Counts() else 0


if __name__ == "__main__":
    sys.exit(main())
