# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every lint needs: the project's files and their text.

A lint is a module with `check(root)`, which yields one line per finding,
`path:line: message` or `path: message`, and a docstring whose first line says
what it checks.
"""

import os
import subprocess
import sys
from pathlib import Path

VENV = Path(__file__).resolve().parents[2] / ".venv/bin/python"
SKIPPED_FOLDERS = {".git", ".venv", ".cache", "__pycache__", "Data"}


def files(root, *suffixes):
    """Paths of the project's own files, relative to `root`, sorted; with
    `suffixes`, only names that end in one of them."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [
            name for name in folders
            if name not in SKIPPED_FOLDERS and name.split("-")[0] != "build"
        ]
        found += [
            (Path(folder) / name).relative_to(root)
            for name in names
            if not suffixes or name.endswith(suffixes)
        ]
    return sorted(found)


def lines(root, path):
    """The lines of a text file, numbered from 1."""
    text = (root / path).read_text(encoding="utf-8")
    return enumerate(text.splitlines(), start=1)


def run_python_tool(name, root, arguments):
    """The findings that a module of Python, which scripts/setup.sh installs into .venv, prints
    about the project, line by line."""
    interpreter = VENV if VENV.exists() else sys.executable
    run = subprocess.run([interpreter, "-m", name, *arguments], cwd=root, capture_output=True,
                         text=True)
    findings = run.stdout.splitlines()
    yield from findings
    if run.returncode != 0 and not findings:
        yield (f"{name}, which scripts/setup.sh installs: exit status {run.returncode}: "
               f"{run.stderr.strip()}")
