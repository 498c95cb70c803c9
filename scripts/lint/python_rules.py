# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python keeps the rules that pyproject.toml chooses among those of ruff."""

from common import run_python_tool

FOLDERS = ("benchmarks", "docs", "emulator", "examples", "python", "scripts", "test")


def check(root):
    folders = [name for name in FOLDERS if (root / name).exists()]
    if not folders:
        return
    # A cache would be written into the project, and saves less than a second.
    arguments = ["check", "--no-cache", "--quiet", "--output-format=concise", *folders]
    if not (root / "pyproject.toml").exists():
        arguments.insert(1, "--isolated")
    yield from run_python_tool("ruff", root, arguments)
