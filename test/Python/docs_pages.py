# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computed blocks of the documentation.

A table or text block below a line `<!-- computed: NAME -->` is the output of the
function NAME of the page's module, up to the next empty line. A module is also a
program: with --write it fills its page in, else it prints the page.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from logs import find_pages

PAGES = find_pages(ROOT)
MARKER = re.compile(r"(?m)^<!-- computed: (\S+) -->\n((?:.+\n)*)")


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(map(str, cells)) + " |\n" for cells in lines)


def text(*lines):
    return "".join(f"{line}\n" for line in ("```text", *lines, "```"))


def fill(page, functions):
    """`page` with every computed block as `functions` (a namespace) computes it."""
    return MARKER.sub(
        lambda m: f"<!-- computed: {m[1]} -->\n{functions[m[1]]()}", page)


def main(path, functions):
    page = fill(path.read_text(encoding="utf-8"), functions)
    if sys.argv[1:] == ["--write"]:
        path.write_text(page, encoding="utf-8")
    else:
        print(page, end="")
