# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A long file is listed, with its reason, in scripts/lint/long-files.txt.

The limits are 500 lines for C++ and Python, 400 for TableGen. A line of the
list is `path: reason`; a listed file that is short or gone is a finding too.
"""

from common import files, lines

LIMITS = {".cpp": 500, ".h": 500, ".py": 500, ".td": 400}
LIST = "scripts/lint/long-files.txt"


def reasons(root):
    listed = {}
    if (root / LIST).exists():
        for _, line in lines(root, LIST):
            if line.strip() and not line.startswith("#"):
                path, _, reason = line.partition(":")
                listed[path.strip()] = reason.strip()
    return listed


def check(root):
    listed = reasons(root)
    for path in files(root, *LIMITS):
        limit = LIMITS[path.suffix]
        count = sum(1 for _ in lines(root, path))
        if count <= limit:
            continue
        if not listed.pop(str(path), ""):
            yield (f"{path}: expected at most {limit} lines, or a reason in {LIST}, "
                   f"but got {count}")
    for path in listed:
        yield f"{LIST}: {path} is not over its limit; remove its line"
