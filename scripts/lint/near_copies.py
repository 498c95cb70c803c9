# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Families of kernels of products have no near copies of each other's files.

Two files of different families are near copies if they share half of the lines of the shorter one,
of 30 at least, or ten in a row, once the names of families are taken out. What is alike belongs to
lib/Conversion/Products. Lines that any file of C++ has do not count.
"""

import re
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path

CONVERSION = Path("lib/Conversion")
SHARE, ROW, SHORT = 0.5, 10, 30
COMMENT = re.compile(r"//.*")
USUAL = re.compile(r"[{}();\s]*|using .*;|#.*|namespace.*|public:|private:|return \w+\(\);")


def find_families(root):
    """The files of the folder of each family, by the name that its files begin with."""
    for path in sorted((root / CONVERSION).glob("To*/*Family.cpp")):
        yield path.name.removesuffix("Family.cpp"), path.parent


def read(path, names):
    """The lines of code of a file without the names of families."""
    text = COMMENT.sub("", path.read_text(encoding="utf-8"))
    lines = (names.sub("X", line.strip()) for line in text.splitlines())
    return [line for line in lines if not USUAL.fullmatch(line)]


def check(root):
    families = [*find_families(root)]
    names = re.compile("|".join(sorted((name for name, _ in families), key=len, reverse=True)),
                       re.I)
    found = [(path, read(path, names)) for _, folder in families
             for path in sorted(folder.iterdir()) if path.suffix in (".h", ".cpp")]
    for (path, mine), (other, theirs) in combinations(found, 2):
        shorter = min(len(mine), len(theirs))
        if path.parent == other.parent or not shorter:
            continue
        blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
        shared, row = sum(block.size for block in blocks), max(block.size for block in blocks)
        if row >= ROW or (shorter >= SHORT and shared >= SHARE * shorter):
            begin = next(mine[block.a] for block in blocks if block.size == row)
            yield (f"{path.relative_to(root)}: has {shared} of {shorter} lines in common with "
                   f"{other.relative_to(root)}, {row} of them in a row from '{begin}' on")
