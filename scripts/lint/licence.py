# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources open with the licence lines, C++ and TableGen with an LLVM header.

The header's first line names the file: `//===- Name.h - One line ---*- C++ -*-===//`.
"""

from common import files, lines

LICENCE = ("Part of the BlockScale project, under the Apache License v2.0 with "
           "LLVM Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")


def check(root):
    for path in files(root, ".h", ".cpp", ".td", ".py", ".sh"):
        head = [line for number, line in lines(root, path) if number <= 8]
        if path.suffix in (".h", ".cpp", ".td"):
            if not head or not head[0].startswith(f"//===- {path.name} - "):
                yield f"{path}:1: expected the line to start with '//===- {path.name} - '"
            elif not head[0].endswith("===//"):
                yield f"{path}:1: expected the line to end with '===//'"
        # However the comment is wrapped.
        if LICENCE not in " ".join(line.strip("/#; ") for line in head):
            yield f"{path}: expected '{LICENCE}' in its first lines"
