#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy 22 over the sources that changed, by the project's .clang-tidy.

Changed is what differs from the merge base with `main` or `origin/main`; where that is the
last commit, what the last commit changed. A file passes where it draws no warning. Of more
files than are asked for, the first in the order of their names are looked at, on every machine
the same ones, and the others are skipped. The last line is `N passed, N failed, N skipped`.

  scripts/clang_tidy.py [--build BUILD] [--most FILES]
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOL = "clang-tidy-22"
FOLDERS = ("lib", "tools", "emulator/lib", "emulator/tools")
INCLUDED = re.compile(r'^#include "(.+)"$', re.M)


def split_batch(command):
    """The compile commands of the sources that one command compiles: those that CMake has
    put together in a jumbo build, or the one source."""
    path = Path(command["directory"], command["file"])
    if "Unity" not in path.parts:
        return [command]
    return [{"directory": command["directory"], "file": source,
             "command": command["command"].replace(str(path), source)}
            for source in INCLUDED.findall(path.read_text())]


def write_database(build):
    """Writes a compile database with one command for each source, whatever the build has,
    and returns its folder."""
    commands = json.loads((build / "compile_commands.json").read_text())
    folder = build / "clang-tidy"
    folder.mkdir(exist_ok=True)
    split = [each for command in commands for each in split_batch(command)]
    (folder / "compile_commands.json").write_text(json.dumps(split, indent=1))
    return folder


def sources(database):
    """The sources of a compile database, generated ones left out."""
    commands = json.loads((database / "compile_commands.json").read_text())
    paths = {Path(command["directory"], command["file"]).resolve() for command in commands}
    return sorted(path for path in paths
                  if any(path.is_relative_to(ROOT / folder) for folder in FOLDERS))


def warnings(database, path):
    """What clang-tidy says of a source, one line each."""
    run = subprocess.run([TOOL, "-p", database, "--quiet", path], capture_output=True, text=True)
    found = [line for line in run.stdout.splitlines()
             if " warning: " in line or " error: " in line]
    if run.returncode != 0 and not found:
        found = [f"{path}: clang-tidy: exit status {run.returncode}: {run.stderr.strip()}"]
    return found


def show(path, found):
    """Prints whether a source passes, and what it draws."""
    print(f"{'FAIL' if found else 'pass'} {path.relative_to(ROOT)}", flush=True)
    for line in found:
        print(f"     {line.replace(f'{ROOT}/', '')}")


def git(*arguments):
    """What git prints, or nothing where it fails or is not installed."""
    if shutil.which("git") is None:
        return ""
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else ""


def find_base():
    """The commit that sources are compared with: the merge base, of main itself the commit
    before its last one; nothing where the checkout has no such history."""
    head = git("rev-parse", "HEAD")
    bases = [git("merge-base", "HEAD", branch) for branch in ("origin/main", "main")]
    bases.append(git("rev-parse", "--verify", "--quiet", "HEAD~1"))
    return next((base for base in bases if base and base != head), "")


def changed_paths():
    """The files that differ from the base."""
    names = git("diff", "--name-only", "--diff-filter=d", find_base()).splitlines()
    return {ROOT / name for name in names}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="a finished build")
    parser.add_argument("--most", type=int, metavar="FILES", help="skip what is more than these")
    options = parser.parse_args()
    database = write_database(options.build.resolve())
    changed = changed_paths()
    paths = [path for path in sources(database) if path in changed]
    taken = paths[:options.most]
    failed = 0
    for path in taken:
        found = warnings(database, path)
        failed += bool(found)
        show(path, found)
    skipped = len(paths) - len(taken)
    for path in paths[len(taken):]:
        print(f"skip {path.relative_to(ROOT)}: behind the first {options.most}")
    if not paths:
        # Nothing to find fault with is a pass.
        print("no source changed")
    passed = max(len(paths), 1) - failed - skipped
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
