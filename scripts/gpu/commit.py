# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a pack was made of."""

import shutil
import subprocess


def describe_commit(root):
    """'unknown' without git."""
    if not shutil.which("git"):
        return "unknown"
    return subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root,
                          capture_output=True, text=True).stdout.strip()
