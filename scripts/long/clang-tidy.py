#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy 22 over every source of the default build, by the project's .clang-tidy.

A file passes where it draws no warning. The last line is `N passed, N failed`.
"""

import functools
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from clang_tidy import show, sources, warnings, write_database
from long_programs import ROOT, run_script


def main():
    run_script("build.sh", "all")
    database = write_database(ROOT / "build")
    failed = 0
    paths = sources(database)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found_by_path = pool.map(functools.partial(warnings, database), paths)
        for path, found in zip(paths, found_by_path):
            failed += bool(found)
            show(path, found)
    print(f"{len(paths) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
