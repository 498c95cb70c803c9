#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of docs/Kernels.md (docs_pages.py): the chips, from their table in C++, and the
instructions of recipes, as benchmarks/gpu/recipes.py printed them."""

import re

from docs_pages import ROOT, main, table
from log_tables import find_tables

PAGE = ROOT / "docs/Kernels.md"
CHIPS = ROOT / "lib/Target/Chip.cpp"
#: The CUDA of the first driver that knows a version of PTX (PTX ISA, release notes).
CUDA = {"7.0": "11.0", "7.1": "11.1", "8.1": "12.1", "8.8": "12.9", "9.0": "13.0"}


def chips():
    source = CHIPS.read_text(encoding="utf-8")
    kibibytes = dict(re.findall(r"(k\w+) = \{\d+, \d+, (\d+) << 10\}", source))
    rows = []
    for text in re.findall(r'makeChip\(("sm_.*?\})\),\n', source, re.DOTALL):
        name, ptx, *_ = re.findall(r'"(?:\+ptx)?(\w+)"', text)
        has = set(re.findall(r"&Chip::(\w+)", text))
        limits = re.search(r"\{\d+, \d+, (\d+) << 10\}|\b(k[A-Z]\w+)", text)
        version = f"{ptx[0]}.{ptx[1:]}"
        by = {True: "`cvt`", False: "arithmetic"}
        rows.append([
            name, by["fp4Cvt" in has], "`cvt.rs`" if "stochasticCvt" in has else "arithmetic",
            by["fp8Cvt" in has], 32 if "wideGlobalAccess" in has else 16,
            int(limits[1] or kibibytes[limits[2]]) - 1, version, CUDA[version]])
    return table(["", "to FP4, FP6, E8M0", "to E2M1 at random", "FP8", "widest access, bytes",
                  "shared memory, KiB", "PTX", "CUDA of the driver"], rows)


def recipes():
    found, = find_tables("recipes.txt")
    return found


if __name__ == "__main__":
    main(PAGE, globals())
