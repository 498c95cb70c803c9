#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every lint over the project: one line per lint, its findings below it.

The last line is `N passed, N failed`; the exit status is 1 if any failed.
"""

import argparse
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

LINTS = ["layers", "copies", "near_copies", "lanes", "releases", "licence", "mirror", "text",
         "seeds", "format", "imported_names", "python_rules", "python_types"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path,
                        default=Path(__file__).resolve().parents[2],
                        help="the project to look at (default: this one)")
    parser.add_argument("lints", nargs="*", metavar="LINT",
                        help=f"the lints to run (default: {' '.join(LINTS)})")
    arguments = parser.parse_args()
    if unknown := set(arguments.lints) - set(LINTS):
        parser.error(f"no lint named {', '.join(sorted(unknown))}")

    failed = 0
    chosen = arguments.lints or LINTS
    for name in chosen:
        lint = importlib.import_module(name)
        findings = list(lint.check(arguments.root))
        failed += bool(findings)
        print(f"{'FAIL' if findings else 'pass'} {name}: {lint.__doc__.splitlines()[0]}")
        for finding in findings:
            print(f"     {finding}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
