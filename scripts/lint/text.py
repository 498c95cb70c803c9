# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text files: no trailing blanks, tabs or CR, no notes to self, one final newline."""

import re

from common import files

SUFFIXES = (".h", ".cpp", ".td", ".py", ".sh", ".txt", ".cmake", ".md", ".mlir",
            ".json", ".in")
# Spelled in pieces, so that this file passes its own check.
NOTE = re.compile("|".join(rf"\b{word}\b" for word in ("TO" + "DO", "FIX" + "ME", "X" + "XX")))


def check(root):
    for path in files(root, *SUFFIXES):
        text = (root / path).read_bytes().decode("utf-8")
        for number, line in enumerate(text.split("\n"), start=1):
            if line != line.rstrip():
                yield f"{path}:{number}: trailing whitespace or carriage return"
            if "\t" in line:
                yield f"{path}:{number}: tab"
            if note := NOTE.search(line):
                yield f"{path}:{number}: {note.group()}: write an issue instead"
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            yield f"{path}: expected exactly one newline at the end"
