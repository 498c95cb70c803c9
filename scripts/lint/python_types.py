# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package of Python has types, which mypy checks as strictly as it can."""

import os

from common import run_python_tool

FOLDER = "python/blockscale"


def check(root):
    if not (root / FOLDER).exists():
        return
    # Without a cache, so that an earlier run has no part in the result.
    yield from run_python_tool("mypy", root, [
        "--config-file=pyproject.toml", f"--cache-dir={os.devnull}", "--no-error-summary",
        "--hide-error-context", FOLDER])
