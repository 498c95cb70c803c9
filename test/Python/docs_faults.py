#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The faults in docs/CheckpointFaults.md that test/Checkpoint/faults.py plants, those that are told
and those that are not (docs_pages.py)."""

import sys

from docs_pages import ROOT, main, table

sys.path.append(str(ROOT / "test/Checkpoint"))

import faults

PAGE = ROOT / "docs/CheckpointFaults.md"


def planted():
    return table(["fault", "planted into", "rule"], [
        [name.replace("_", " "), file, f"`{rule}`"] for name, file, rule, _, _ in faults.FAULTS])


def untold():
    return table(["fault", "why nothing tells it"], [
        [name.replace("_", " "), reason] for name, _, reason, _ in faults.UNTOLD])


if __name__ == "__main__":
    main(PAGE, globals())
