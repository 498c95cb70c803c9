#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes each case of the .mlir tests and examples as an input of blockscale-fuzz.

  scripts/fuzz_seeds.py FOLDER

Comments are left out, so that mutations hit code. A file is named after its
content; FOLDER is emptied first.
"""

import hashlib
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_BYTES = 8192


def cases(text):
    for case in text.split("\n// -----"):
        lines = [line for line in case.splitlines()
                 if line.strip() and not line.lstrip().startswith("//")]
        if lines:
            yield "\n".join(lines) + "\n"


def write_seeds(folder, roots=(ROOT / "test", ROOT / "examples")):
    """Fills `folder`; returns the number of inputs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for root in roots:
        for path in sorted(root.rglob("*.mlir")):
            for case in cases(path.read_text(encoding="utf-8")):
                data = case.encode()
                if len(data) <= MAX_BYTES:
                    (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)
    return sum(1 for _ in folder.iterdir())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    print(f"{write_seeds(Path(sys.argv[1]))} inputs")
