# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C++ is laid out as clang-format 22 does it by the project's .clang-format."""

import re
import subprocess
from collections import Counter

from common import files

TOOL = "clang-format-22"


def check(root):
    paths = [str(path) for path in files(root, ".h", ".cpp")]
    if not paths:
        return
    run = subprocess.run([TOOL, "--dry-run", "-Werror", *paths], cwd=root,
                         capture_output=True, text=True)
    places = Counter(re.findall(r"^(.+?):\d+:\d+: error:", run.stderr, re.M))
    for path, count in places.items():
        yield f"{path}: {count} places differ; run {TOOL} -i {path}"
    if run.returncode != 0 and not places:
        yield f"{TOOL}: exit status {run.returncode}: {run.stderr.strip()}"
