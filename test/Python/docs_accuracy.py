#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of docs/Accuracy.md, computed by the example (docs_pages.py).

Afterwards docs/images/make.py draws what the page says.
"""

import functools
import os
import re
import sys

import docs_pages
from docs_pages import ROOT, main

sys.path[:0] = [str(ROOT / "examples/minilm")]

import accuracy
import weights

PAGE = ROOT / "docs/Accuracy.md"
CACHE = ROOT / ".cache/minilm"
BUILD = os.environ.get("BLOCKSCALE_BUILD_DIR", str(ROOT / "build"))


@functools.cache
def tables():
    runs = accuracy.run(weights.load(str(CACHE)), BUILD)
    accuracy.check_reference(runs)
    return [accuracy.markdown(header, rows) for _, header, rows in accuracy.list_tables(runs)]


def vectors():
    return tables()[0]


def encoder_layers():
    return tables()[1]


def linear_layers():
    return tables()[2]


def frontends():
    """The table that scripts/long/models.sh ends with."""
    lines = (ROOT / "docs/logs/long/models.txt").read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("cosines; "))
    header, *rows = [line.split("; ") for line in lines[first:] if "; " in line]
    return docs_pages.table(["", *header[1:]], [
        [name, *(" to ".join(each.split()) for each in cells)] for name, *cells in rows])


def gpu():
    """What scripts/gpu/check_minilm.py printed on a GPU."""
    text = (ROOT / "docs/logs/minilm-h100.txt").read_text(encoding="utf-8")
    beside = {name: cells for name, *cells in re.findall(
        r"pass (\S+): vectors beside the CPU's: cosines (\S+) to (\S+), (\S+) of", text)}
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("format  ")) + 1
    rows = []
    for line in lines[first:first + 1 + len(beside)]:
        name, *cells = line.split()
        least, most, share = beside.get(name, ("", "", ""))
        rows.append([name, *cells, least and f"{least} to {most}",
                     share and f"{abs(float(share)):.1%}"])
    return docs_pages.table(["format", "mean cosine", "least", "largest change",
                             "cosines with the CPU's", "of the format's cost"], rows)


if __name__ == "__main__":
    main(PAGE, globals())
