#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the test suites of a finished build and adds up their counts.

Suites: lint, unit (GoogleTest), python (unittest), lit, conformance, fuzz, site (the
documentation), package (the Python package, installed), torch (its import of PyTorch's
programs). Each runs with its output in BUILD/logs/SUITE.log, shown where
something fails. A suite that crashes or runs no test counts as one failure. The last line is
`N passed, N failed`, with `, N skipped` where some were.
"""

import argparse
import filecmp
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import fuzz_seeds
import fuzz_seeds_ptx

ROOT = Path(__file__).resolve().parents[1]
SHOWN_LINES = 200
FUZZ_SECONDS = 60
FUZZ_PTX_SECONDS = 10


@dataclass
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


class Suites:
    """One method per suite; each writes to a log and returns its Counts."""

    def __init__(self, build, timeout):
        self.build = build
        self.timeout = timeout
        self.is_installed = False
        self.environment = dict(os.environ, BLOCKSCALE_BUILD_DIR=str(build))

    def run(self, log, *command):
        """Runs a command to its end or the time limit; returns its exit status
        and its output, which is logged."""
        process = subprocess.Popen(
            [str(word) for word in command], cwd=ROOT, env=self.environment, text=True,
            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        try:
            text, _ = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            text += f"\n{command[0]}: no end after {self.timeout} s\n"
        log.write(text)
        return process.returncode, text

    def cached(self, name):
        """What the build's CMake cache has under a name, or nothing."""
        text = (self.build / "CMakeCache.txt").read_text(encoding="utf-8")
        found = re.search(rf"^{name}:\w+=(.*)$", text, re.M)
        return found[1] if found else ""

    def lint(self, log):
        status, text = self.run(log, sys.executable, "scripts/lint/run.py")
        return counted(status, re.findall(r"^(\d+) passed, (\d+) failed$", text, re.M))

    def unit(self, log):
        binaries = sorted(path for path in (self.build / "unittests").glob("*")
                          if path.is_file() and os.access(path, os.X_OK))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return sum(pool.map(lambda path: self.unit_binary(log, path), binaries),
                       Counts())

    def unit_binary(self, log, binary):
        report = self.build / f"logs/{binary.name}.json"
        report.unlink(missing_ok=True)
        status, _ = self.run(log, binary, "--gtest_brief=1", f"--gtest_output=json:{report}")
        if not report.exists():
            log.write(f"{binary}: no report, exit status {status}\n")
            return Counts(failed=1)
        outcomes = ["FAILED" if "failures" in test else test["result"]
                    for suite in json.loads(report.read_text())["testsuites"]
                    for test in suite["testsuite"]]
        return counted(status, [(outcomes.count("COMPLETED"), outcomes.count("FAILED"),
                                 outcomes.count("SKIPPED"))])

    def python(self, log):
        return sum((self.python_folder(log, folder)
                    for folder in ("test/Python", "test/Conformance")), Counts())

    def python_folder(self, log, folder, interpreter=sys.executable):
        status, text = self.run(log, interpreter, "-m", "unittest", "discover", "-s",
                                folder)
        ran = re.findall(r"^Ran (\d+) tests? in", text, re.M)
        ends = re.findall(r"^(?:OK|FAILED)(?: \((.*)\))?$", text, re.M)
        if len(ran) != 1 or len(ends) != 1:
            return Counts(failed=1)
        numbers = {kind: int(number) for kind, number in
                   re.findall(r"(failures|errors|skipped|unexpected successes)=(\d+)", ends[0])}
        skipped = numbers.pop("skipped", 0)
        failed = sum(numbers.values())
        return counted(status, [(max(0, int(ran[0]) - failed - skipped), failed, skipped)])

    def lit(self, log):
        report = self.build / "logs/lit.json"
        report.unlink(missing_ok=True)
        status, _ = self.run(log, self.cached("LLVM_EXTERNAL_LIT"), "-sv", "--output", report, self.build / "test")
        if not report.exists():
            return Counts(failed=1)
        codes = [test["code"] for test in json.loads(report.read_text())["tests"]]
        passed = sum(codes.count(code) for code in ("PASS", "FLAKYPASS", "XFAIL"))
        skipped = sum(codes.count(code) for code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"))
        return counted(status, [(passed, len(codes) - passed - skipped, skipped)])

    def conformance(self, log):
        return sum((self.conformance_folder(log, cases, on) for cases in case_folders()
                    for on in ("cpu", "emulator")), Counts())

    def conformance_folder(self, log, cases, on):
        status, text = self.run(log, sys.executable, "test/Conformance/run.py", "--cases",
                                cases, "--on", on)
        return counted(status, re.findall(
            r"^arrays equal (\d+), mismatching (\d+), unsupported (\d+)$", text, re.M))

    def fuzz(self, log):
        """Two tests for each fuzzer: no input ends the process, and what is
        generated is not so wrong that most of it is refused."""
        folder = self.build / "fuzz"
        fuzz_seeds.write_seeds(folder / "seeds")
        modules = self.fuzzer(log, "blockscale-fuzz", FUZZ_SECONDS, folder,
                              [ROOT / "test/Fuzz/corpus", folder / "seeds"],
                              r"^generated (\d+), lowered to cpu (\d+)")
        folder = self.build / "fuzz-ptx"
        fuzz_seeds_ptx.write_seeds(folder / "seeds", self.build / "bin/blockscale-compile")
        return modules + self.fuzzer(log, "blockscale-fuzz-ptx", FUZZ_PTX_SECONDS, folder,
                                     [folder / "seeds"],
                                     r"^generated (\d+), verified \d+, executed (\d+)")

    def fuzzer(self, log, name, seconds, folder, inputs, pattern):
        status, text = self.run(
            log, self.build / "bin" / name, f"-max_total_time={seconds}",
            f"-artifact_prefix={folder}/", *inputs)
        are_useful = [int(useful) * 5 >= int(generated)
                      for generated, useful in re.findall(pattern, text, re.M)]
        return counted(status, [(1 + useful, 1 - useful) for useful in are_useful])

    def site(self, log):
        """One test: the documentation site is built, without a warning."""
        if importlib.util.find_spec("mkdocs") is None:
            print("   skipped: no mkdocs; scripts/setup.sh installs docs/requirements.txt")
            return Counts(skipped=1)
        status, _ = self.run(log, sys.executable, "-m", "mkdocs", "build", "--strict",
                             "--site-dir", self.build / "site")
        return Counts(failed=1) if status else Counts(passed=1)

    def install(self, log):
        """Puts the Python package into an environment of its own, once; else says why not."""
        if self.is_installed:
            return None
        if self.cached("LLVM_USE_SANITIZER"):
            print("   skipped: Python loads no library of a sanitizer's build")
            return Counts(skipped=1)
        status, _ = self.run(log, "scripts/package.sh", self.build)
        self.is_installed = status == 0
        return None if self.is_installed else Counts(failed=1)

    def package(self, log):
        """The Python package, installed."""
        return self.install(log) or self.python_folder(log, "test/Package",
                                                       self.build / "package/bin/python")

    def torch(self, log):
        """The import of PyTorch's programs, where there are PyTorch and torchao."""
        interpreter = ROOT / ".cache/peers/bin/python"
        if not (ROOT / ".cache/peers/stamp").exists():
            print("   skipped: no torch and torchao; scripts/peers.sh installs them")
            return Counts(skipped=1)
        refused = self.install(log)
        if refused:
            return refused
        found, = self.build.glob("package/lib/python3*/site-packages/blockscale")
        self.environment["PYTHONPATH"] = str(found.parent)
        return self.python_folder(log, "test/Torch", interpreter)


NAMES = ["lint", "unit", "python", "lit", "conformance", "fuzz", "site", "package",
         "torch"]


def counted(status, rows):
    """Counts of a run that printed one row of numbers. No row, no test, or an
    exit status that its numbers do not explain is a failure of its own."""
    if len(rows) != 1:
        return Counts(failed=1)
    counts = Counts(*map(int, rows[0]))
    if counts.passed + counts.failed == 0 or (status != 0 and counts.failed == 0):
        counts.failed += 1
    return counts


def case_folders():
    """The project's vectors, and a folder of newer ones beside the checkout
    where that holds a case that the project's does not."""
    own = ROOT / "test/Data/golden"
    beside = ROOT.parent / "shared/golden"
    cases = [path.name for path in beside.glob("*.npz")]
    same, _, _ = filecmp.cmpfiles(own, beside, cases, shallow=False)
    return [own] + ([beside] if len(same) != len(cases) else [])


def run_suite(suites, name):
    print(f"\n== Tests: {name}", flush=True)
    start = time.monotonic()
    path = suites.build / "logs" / f"{name}.log"
    with open(path, "w", encoding="utf-8") as log:
        try:
            counts = getattr(suites, name)(log)
        except Exception as error:  # The other suites still run and count.
            log.write(f"{name}: {type(error).__name__}: {error}\n")
            counts = Counts(failed=1)
    if counts == Counts():
        counts.failed = 1
    if counts.failed:
        # The log's end, where each runner puts its failures.
        text = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in text[-SHOWN_LINES:]:
            print(f"   | {line}")
        print(f"   all of it: {path}")
    seconds = time.monotonic() - start
    print(f"   {name}: {counts} ({seconds:.1f} s)", flush=True)
    return counts, seconds


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build",
                        help="the build tree (default: build)")
    parser.add_argument("--only", action="append", choices=NAMES, metavar="SUITE",
                        help="run this suite; may be given several times")
    parser.add_argument("--timeout", type=float, default=1800, metavar="SECONDS",
                        help="limit for each command of a suite (default: 1800)")
    arguments = parser.parse_args()
    suites = Suites(arguments.build.resolve(), arguments.timeout)
    (suites.build / "logs").mkdir(parents=True, exist_ok=True)

    rows = [(name, *run_suite(suites, name)) for name in arguments.only or NAMES]
    total = sum((counts for _, counts, _ in rows), Counts())
    print("\n   suite         passed  failed  skipped  seconds")
    for name, counts, seconds in rows:
        print(f"   {name:<12} {counts.passed:>7} {counts.failed:>7} "
              f"{counts.skipped:>8} {seconds:>8.1f}")
    print(f"\n{total}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
