#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy 22 over every source of the default build, by the project's .clang-tidy.

A file passes where it draws no warning. The last line is `N passed, N failed`.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
FOLDERS = ("lib", "tools")


def sources():
    """The sources of the compilation database, generated ones left out."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    paths = {Path(command["directory"], command["file"]).resolve() for command in commands}
    return sorted(path for path in paths
                  if any(path.is_relative_to(ROOT / folder) for folder in FOLDERS))


def warnings(path):
    run = subprocess.run(["clang-tidy-22", "-p", BUILD, "--quiet", path],
                         capture_output=True, text=True)
    found = [line for line in run.stdout.splitlines()
             if " warning: " in line or " error: " in line]
    if run.returncode != 0 and not found:
        found = [f"{path}: clang-tidy: exit status {run.returncode}: {run.stderr.strip()}"]
    return found


def main():
    build = subprocess.run([ROOT / "scripts/build.sh", "all"])
    if build.returncode != 0:
        print("0 passed, 1 failed")
        return 1
    failed = 0
    paths = sources()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, found in zip(paths, pool.map(warnings, paths)):
            failed += bool(found)
            print(f"{'FAIL' if found else 'pass'} {path.relative_to(ROOT)}", flush=True)
            for line in found:
                print(f"     {line.replace(f'{ROOT}/', '')}")
    print(f"{len(paths) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
