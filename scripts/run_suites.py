#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the test suites of a finished build and adds up their counts.

Suites: lint, unit (GoogleTest), python (unittest), lit, conformance, fuzz, site (the
documentation), package (the Python package, installed), onnx, torch and jax (its import of models
of ONNX, PyTorch's programs and JAX's functions), checkpoint (checkpoints beside those of other
packages), tidy (clang-tidy over the files that changed). Each runs with its output in
BUILD/logs/SUITE.log, shown where something fails. A suite that crashes or runs no test counts as
one failure. The ten slowest tests of lit and unit are shown, and the processor time of all suites.
The last line is `N passed, N failed`, with `, N skipped` where some were.

Suites run side by side, each command on a core of its own, so that no core waits for one
long command. lit comes after them, because it keeps every core busy by itself.
"""

import argparse
import filecmp
import importlib.util
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import clang_tidy
import fuzz_corpus
import fuzz_seeds
import fuzz_seeds_ptx
import fuzz_seeds_readers

ROOT = Path(__file__).resolve().parents[1]
SHOWN_LINES = 200
# Random inputs of the fuzzers, and sources of clang-tidy: numbers, not seconds, so that a slow or
# busy machine checks the same.
FUZZ_RUNS = 200
FUZZ_PTX_RUNS = 2000
FUZZ_READERS_RUNS = 20000
TIDY_FILES = 10
SLOWEST = 10
# Instances of unit tests that scripts/long/spills.py runs instead.
LONG_INSTANCES = "Long*"
# Processes that share the tests of a unit test binary, where it takes long.
SHARDS = {"BlockScaleEmulatorTests": 4, "BlockScaleNumericsTests": 4}


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
    """One method per suite; each writes to a log and returns its Counts. Suites may run
    in threads of their own."""

    def __init__(self, build, timeout, cores=None):
        self.build = build
        self.timeout = timeout
        self.is_installed = False
        self.installing = threading.Lock()
        # Commands keep kernels in the user's cache, unless the variable is there.
        self.environment = dict(os.environ, BLOCKSCALE_BUILD_DIR=str(build),
                                BLOCKSCALE_CACHE_DIR="")
        # Sets of Python have one order, unless another is asked for.
        self.environment.setdefault("PYTHONHASHSEED", "0")
        # Each command has a core of its own: NumPy's threads would wait for work without a pause,
        # and sums of matrices would be in an order that goes by the number of cores.
        self.environment.setdefault("OPENBLAS_NUM_THREADS", "1")
        self.cores = threading.Semaphore(cores or os.cpu_count())
        self.seconds = {}  # of tests, by their names

    def run(self, log, *command, **environment):
        """Runs a command to its end or the time limit, as soon as a core is free for it;
        returns its exit status and its output, which is logged."""
        with self.cores:
            return self.run_now(log, *command, **environment)

    def run_now(self, log, *command, **environment):
        """Runs a command as `run` does, without waiting for a core."""
        process = subprocess.Popen(
            [str(word) for word in command], cwd=ROOT, env=self.environment | environment,
            text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
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
        shards = [(binary, shard, SHARDS.get(binary.name, 1)) for binary in binaries
                  for shard in range(SHARDS.get(binary.name, 1))]
        return self.sum_of(lambda shard: self.unit_binary(log, *shard), shards)

    def sum_of(self, count, items):
        """The counts of all items, side by side. The cores limit how many run at once."""
        if not items:
            return Counts()
        with ThreadPoolExecutor(len(items)) as pool:
            return sum(pool.map(count, items), Counts())

    def unit_binary(self, log, binary, shard=0, shards=1, instances=f"-{LONG_INSTANCES}"):
        """The tests of a binary, or one of the shares into which they are divided, that
        a filter of GoogleTest lets through."""
        report = self.build / f"logs/{binary.name}-{shard}.json"
        report.unlink(missing_ok=True)
        status, _ = self.run(log, binary, "--gtest_brief=1", f"--gtest_output=json:{report}",
                             f"--gtest_filter={instances}",
                             GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX=str(shard))
        if not report.exists():
            log.write(f"{binary}: no report, exit status {status}\n")
            return Counts(failed=1)
        tests = [(suite, test) for suite in json.loads(report.read_text())["testsuites"]
                 for test in suite["testsuite"]]
        for suite, test in tests:
            name = f"{binary.name} {suite.get('name')}.{test['name']}"
            self.seconds[name] = float(test.get("time", "0s").rstrip("s"))
        outcomes = ["FAILED" if "failures" in test else test["result"] for _, test in tests
                    if test.get("status") != "NOTRUN"]
        return counted(status, [(outcomes.count("COMPLETED"), outcomes.count("FAILED"),
                                 outcomes.count("SKIPPED"))])

    def python(self, log):
        return self.sum_of(lambda folder: self.python_folder(log, folder),
                           ["test/Python", "test/Conformance"])

    def python_folder(self, log, folder, interpreter=sys.executable, **environment):
        status, text = self.run(log, interpreter, "scripts/run_tests.py", "discover", "-s",
                                folder, **environment)
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
        status, _ = self.run_now(log, self.cached("LLVM_EXTERNAL_LIT"), "-sv", "--output",
                                 report, self.build / "test", self.build / "emulator/test")
        if not report.exists():
            return Counts(failed=1)
        tests = json.loads(report.read_text())["tests"]
        self.seconds |= {test["name"]: test.get("elapsed") or 0.0 for test in tests}
        codes = [test["code"] for test in tests]
        passed = sum(codes.count(code) for code in ("PASS", "FLAKYPASS", "XFAIL"))
        skipped = sum(codes.count(code) for code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"))
        return counted(status, [(passed, len(codes) - passed - skipped, skipped)])

    def conformance(self, log):
        return self.sum_of(lambda run: self.conformance_folder(log, *run),
                           [(cases, on) for cases in case_folders()
                            for on in ("emulator", "cpu")])

    def conformance_folder(self, log, cases, on):
        status, text = self.run(log, sys.executable, "test/Conformance/run.py", "--cases",
                                cases, "--on", on, "--jobs", 1)
        return counted(status, re.findall(
            r"^arrays equal (\d+), mismatching (\d+), unsupported (\d+)$", text, re.M))

    def fuzz(self, log):
        """Two tests for each fuzzer: no input ends the process, and what is
        generated is not so wrong that most of it is refused; every reader of
        files accepts some."""
        return self.sum_of(lambda fuzz: fuzz(log),
                           [self.fuzz_modules, self.fuzz_ptx, self.fuzz_readers])

    def fuzz_modules(self, log):
        folder = self.build / "fuzz"
        fuzz_seeds.write_seeds(folder / "seeds")
        fuzz_corpus.unpack(folder / "corpus")
        return self.fuzzer(log, "blockscale-fuzz", FUZZ_RUNS, folder,
                           [folder / "corpus", folder / "seeds"],
                           r"^generated (\d+), lowered to cpu (\d+)")

    def fuzz_ptx(self, log):
        folder = self.build / "fuzz-ptx"
        fuzz_seeds_ptx.write_seeds(folder / "seeds", self.build / "bin/blockscale-compile")
        return self.fuzzer(log, "blockscale-fuzz-ptx", FUZZ_PTX_RUNS, folder,
                           [folder / "seeds"],
                           r"^generated (\d+), verified \d+, executed (\d+)")

    def fuzz_readers(self, log):
        folder = self.build / "fuzz-readers"
        fuzz_seeds_readers.write_seeds(folder / "seeds", self.build / "bin/blockscale-compile")
        status, text = self.run(
            log, self.build / "bin/blockscale-fuzz-readers",
            "-seed=1", f"-runs={FUZZ_READERS_RUNS}", f"-artifact_prefix={folder}/",
            folder / "seeds")
        accepted = [int(count) for count in re.findall(r"(\d+) accepted", text)]
        are_useful = [all(accepted)] if accepted else []
        return counted(status, [(1 + useful, 1 - useful) for useful in are_useful])

    def fuzzer(self, log, name, runs, folder, inputs, pattern):
        status, text = self.run(
            log, self.build / "bin" / name, "-seed=1", f"-runs={runs}",
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
        with self.installing:
            return None if self.is_installed else self.install_now(log)

    def install_now(self, log):
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

    def onnx(self, log):
        """The import and export of models of ONNX, where there is onnx."""
        if importlib.util.find_spec("onnx") is None:
            print("   skipped: no onnx; scripts/setup.sh installs python/requirements.txt")
            return Counts(skipped=1)
        return self.install(log) or self.python_folder(log, "test/Onnx",
                                                       self.build / "package/bin/python")

    def torch(self, log):
        """The import of PyTorch's programs, where there are PyTorch and torchao, adapters of peft
        and checkpoints in transformers and vLLM, where there are these."""
        counts = self.importer(log, "test/Torch", "peers",
                               "no torch and torchao; scripts/peers.sh installs them")
        if not (ROOT / ".cache/peers/stamp").exists():
            return counts
        counts += self.importer(log, "test/Lora", "lora",
                                "no peft; scripts/peers.sh lora installs it")
        # With the newest release of transformers, and with an older one.
        for packages in ("lora", "transformers"):
            counts += self.importer(log, "test/Transformers", packages, "no transformers; "
                                    f"scripts/peers.sh {packages} installs it")
        counts += self.importer(log, "test/Vllm", "vllm",
                                "no vLLM; scripts/peers.sh vllm installs it")
        return counts

    def jax(self, log):
        """The import of JAX's functions, where there is JAX."""
        return self.importer(log, "test/Jax", "jax", "no jax; scripts/peers.sh jax installs it")

    def checkpoint(self, log):
        """Checkpoints beside those of other packages, and on a cluster where there is Ray."""
        refused = self.install(log)
        if refused:
            return refused
        packages = ROOT / ".cache/checkpoints"
        if (packages / "stamp").exists():
            return self.importer(log, "test/Checkpoint", "checkpoints", "")
        print("   without a cluster: no Ray; scripts/peers.sh checkpoints installs it")
        return self.python_folder(log, "test/Checkpoint", self.build / "package/bin/python")

    def importer(self, log, folder, packages, missing):
        """The tests of a folder, with the installed package and others of .cache."""
        interpreter = ROOT / ".cache" / packages / "bin/python"
        if not (ROOT / ".cache" / packages / "stamp").exists():
            print(f"   skipped: {missing}")
            return Counts(skipped=1)
        refused = self.install(log)
        if refused:
            return refused
        found, = self.build.glob("package/lib/python3*/site-packages/blockscale")
        return self.python_folder(log, folder, interpreter, PYTHONPATH=str(found.parent))

    def tidy(self, log):
        """clang-tidy over the first of the sources that changed."""
        if shutil.which(clang_tidy.TOOL) is None:
            print(f"   skipped: no {clang_tidy.TOOL}; scripts/setup.sh --check installs it "
                  "where apt has it")
            return Counts(skipped=1)
        if not clang_tidy.find_base():
            print("   skipped: clang-tidy knows no commit to compare the sources with")
            return Counts(skipped=1)
        status, text = self.run(log, sys.executable, "scripts/clang_tidy.py", "--build",
                                self.build, "--most", TIDY_FILES)
        return counted(status, re.findall(
            r"^(\d+) passed, (\d+) failed, (\d+) skipped$", text, re.M))


# The longest come first, so that no core has nothing to do at the end.
NAMES = ["conformance", "unit", "fuzz", "python", "package", "onnx", "torch", "checkpoint", "jax",
         "tidy", "site", "lint", "lit"]
# Suites that keep every core busy.
ALONE = {"lit"}


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
    """Folders of vectors: the project's golden ones, those of other packages, and golden
    ones beside the checkout where they hold a case that the project's do not."""
    own = ROOT / "test/Data/golden"
    beside = ROOT.parent / "shared/golden"
    cases = [path.name for path in beside.glob("*.npz")]
    same, _, _ = filecmp.cmpfiles(own, beside, cases, shallow=False)
    folders = [own, ROOT / "test/Data/oracles"]
    return folders + ([beside] if len(same) != len(cases) else [])


def run_suite(suites, name):
    """Runs a suite and shows how it ended; returns its counts and seconds."""
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
    seconds = time.monotonic() - start
    shown = [f"\n== Tests: {name}"]
    if counts.failed:
        # The log's end, where each runner puts its failures.
        text = path.read_text(encoding="utf-8", errors="replace").splitlines()
        shown += [f"   | {line}" for line in text[-SHOWN_LINES:]]
        shown.append(f"   all of it: {path}")
    shown.append(f"   {name}: {counts} ({seconds:.1f} s)")
    print("\n".join(shown), flush=True)
    return counts, seconds


def run_all(suites, names):
    """(name, counts, seconds) of suites: those that share the cores, then the others."""
    shared = [name for name in names if name not in ALONE]
    outcomes = {}
    if shared:
        print(f"\n== Tests, side by side: {', '.join(shared)}", flush=True)
        with ThreadPoolExecutor(len(shared)) as pool:
            outcomes |= zip(shared, pool.map(lambda name: run_suite(suites, name), shared))
    outcomes |= {name: run_suite(suites, name) for name in names if name in ALONE}
    return [(name, *outcomes[name]) for name in names]


def print_slowest(seconds):
    """The tests that took longest, of suites that tell how long each took."""
    slowest = sorted(seconds.items(), key=lambda item: -item[1])[:SLOWEST]
    if slowest:
        print(f"\n   the {len(slowest)} slowest tests")
    for name, took in slowest:
        print(f"   {took:>7.1f} s  {name}")


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

    rows = run_all(suites, arguments.only or NAMES)
    print_slowest(suites.seconds)
    total = sum((counts for _, counts, _ in rows), Counts())
    print("\n   suite         passed  failed  skipped  seconds")
    for name, counts, seconds in rows:
        print(f"   {name:<12} {counts.passed:>7} {counts.failed:>7} "
              f"{counts.skipped:>8} {seconds:>8.1f}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\n   {used.ru_utime + used.ru_stime:.0f} CPU seconds")
    print(f"\n{total}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
