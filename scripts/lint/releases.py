# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One header asks for the release of LLVM, in at most 20 places.

The project builds with two releases of LLVM from one source. Where they differ, HEADER has
one name for both, so that a release that is given up is taken out in one place.
"""

import re
from pathlib import Path

from common import files, lines

HEADER = Path("include/blockscale/IR/Upstream.h")
MOST = 20
# Macros whose number can be compared; the version as a text, which tools print, cannot.
RELEASE = re.compile(r"\b(?:LLVM|MLIR)_VERSION_(?:MAJOR|MINOR|PATCH)\b|\b__clang_major__\b")


def check(root):
    places = 0
    for path in files(root, ".h", ".cpp", ".td", ".inc"):
        for number, line in lines(root, path):
            if not RELEASE.search(line):
                continue
            if path != HEADER:
                yield f"{path}:{number}: expected {HEADER} to ask for the release of LLVM"
                continue
            places += 1
    if places > MOST:
        yield f"{HEADER}: expected at most {MOST} places that ask for the release, but got {places}"
