#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the code of this tree's compiler with that of another commit's: the PTX of each product
of benchmarks/compile_time.py on four chips; with --all that of its other kernels on the chips of
that benchmark, and their LLVM IR for the CPU; and with --modules both for each module in a folder,
as build/test/Execution has thousands once the tests ran. A change that only moves code makes the
same code, byte for byte but for the names of kernels. Both refusing a module with one message
counts as the same.

  scripts/long/ptx_same.py [BASE] [--all] [--modules FOLDER] [--tool COMPILER]

Without BASE it is the commit before this one. That commit is built in build/ptx_same, and only
once. Of each difference the first lines are shown. The last line is `N passed, N failed`.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import BUILD, PYTHON, ROOT, build

# What the benchmark imports has packages of this environment.
if Path(sys.prefix) != ROOT / ".venv" and PYTHON.is_relative_to(ROOT):
    os.execv(PYTHON, [PYTHON, *sys.argv])
sys.path.insert(0, str(ROOT / "benchmarks"))
from compile_time import CHIPS, modules, products

PRODUCT_CHIPS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
SHOWN_LINES = 12


def build_base(commit):
    """The compiler of a commit. Its folder is named by it, so that one that is there is it."""
    folder = ROOT / "build/ptx_same" / commit
    compiler = folder / "build/bin/blockscale-compile"
    if compiler.exists():
        return compiler
    if not (folder / ".git").exists():
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--force", "--detach", folder, commit], cwd=ROOT,
                       check=True)
    environment = dict(os.environ)
    if shutil.which("ccache"):
        environment |= {"CMAKE_C_COMPILER_LAUNCHER": "ccache",
                        "CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(folder),
                        "CCACHE_NOHASHDIR": "1"}
    if not (folder / ".venv").exists():
        (folder / ".venv").symlink_to(ROOT / ".venv")
    for command in (["cmake", "--preset", "default"],
                    ["ninja", "-C", "build", "blockscale-compile"]):
        subprocess.run(command, cwd=folder, env=environment, check=True)
    return compiler


def find_modules(folder):
    """Name and text of each module of the files in a folder, equal ones once."""
    found = {}
    for path in sorted(folder.rglob("*.mlir")):
        parts = re.split(r"^// -----.*$", path.read_text(encoding="utf-8"), flags=re.M)
        for number, text in enumerate(parts):
            found.setdefault(text, f"{path.relative_to(folder)} part {number}")
    return [(name, text) for text, name in found.items()]


def find_works(with_all, folder=None):
    """Name and text of modules, and the targets that they are compiled for."""
    works = [(name, text, PRODUCT_CHIPS) for name, text, _ in products()]
    if with_all:
        works += [(name, text, (*CHIPS, "cpu")) for name, text in modules().items()]
    if folder:
        works += [(name, text, (*PRODUCT_CHIPS, "cpu")) for name, text in find_modules(folder)]
    return works


def compile_module(compiler, path, chip):
    """The code, of GPUs without the names of kernels, or what the compiler says."""
    # Code of the CPU is compared before LLVM optimizes it, which takes the most time.
    form = ("--emit=llvm", "--optimize=0") if chip == "cpu" else ("--emit=ptx",)
    run = subprocess.run([compiler, path, f"--target={chip}", *form, "-o", "-"],
                         capture_output=True, text=True)
    if run.returncode:
        return f"exit status {run.returncode}: {run.stderr}"
    names = dict.fromkeys(re.findall(r"\.entry (\w+)", run.stdout))
    for number, name in enumerate(names):
        run.stdout = re.sub(rf"\b{name}(?=\b|_param_)", f"kernel{number}", run.stdout)
    return run.stdout


def compare(base, compiler, path, chip):
    """The first lines in which the compilers differ, their number, and whether code was made."""
    before, after = (compile_module(each, path, chip) for each in (base, compiler))
    lines = [] if before == after else list(difflib.unified_diff(
        before.splitlines(), after.splitlines(), "base", "this tree", lineterm="", n=1))
    return lines[:SHOWN_LINES], len(lines), not before.startswith("exit status")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", default="HEAD~1")
    parser.add_argument("--all", action="store_true", help="kernels that are no products, too")
    parser.add_argument("--modules", type=Path, metavar="FOLDER", help="modules in it, too")
    parser.add_argument("--tool", type=Path, help="instead of this tree's compiler")
    options = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--verify", f"{options.base}^{{commit}}"],
                            cwd=ROOT, capture_output=True, text=True)
    if commit.returncode:
        parser.error(f"expected a commit, but got '{options.base}'")
    if not options.tool:
        build("blockscale-compile")
    compiler = options.tool or BUILD / "bin/blockscale-compile"
    base = build_base(commit.stdout.strip())
    print(f"base {commit.stdout.strip()[:8]}", flush=True)
    passed = failed = refused = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = []
        for number, (name, text, chips) in enumerate(find_works(options.all, options.modules)):
            path = Path(folder, f"{number}.mlir")
            path.write_text(text, encoding="utf-8")
            runs += [(name, chip, pool.submit(compare, base, compiler, path, chip))
                     for chip in chips]
        for name, chip, run in runs:
            shown, count, is_ptx = run.result()
            refused += not is_ptx
            passed, failed = passed + (count == 0), failed + (count > 0)
            if count:
                print(f"FAIL {name} on {chip} differs in {count} lines of a diff:")
                print(*(f"  {line}" for line in shown), sep="\n", flush=True)
    print(f"{passed + failed - refused} modules became code, {refused} were refused")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
