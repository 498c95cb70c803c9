#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of instructions of docs/Kernels.md: what benchmarks/gpu/recipes.py printed
(docs_pages.py)."""

from docs_pages import ROOT, main
from log_tables import find_tables

PAGE = ROOT / "docs/Kernels.md"


def recipes():
    found, = find_tables("recipes.txt")
    return found


if __name__ == "__main__":
    main(PAGE, globals())
