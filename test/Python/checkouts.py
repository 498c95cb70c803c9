# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A checkout of git in a temporary folder, for tests of what asks git."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

# Neither the user's settings nor the repository of the caller, whose hooks name it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
ENVIRONMENT |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
for role in ("AUTHOR", "COMMITTER"):
    ENVIRONMENT |= {f"GIT_{role}_NAME": "a test", f"GIT_{role}_EMAIL": "test@localhost"}


def git(root, *arguments):
    run = subprocess.run(["git", *arguments], cwd=root, env=ENVIRONMENT, check=True,
                         capture_output=True, text=True)
    return run.stdout.strip()


class CheckoutTest(unittest.TestCase):
    """Tests on `self.root`, a checkout without a commit."""

    def setUp(self):
        if not shutil.which("git"):
            self.skipTest("there is no git")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "checkout"
        self.root.mkdir()
        git(self.root, "init", "--quiet")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self):
        """Commits everything; the commit's name, as logs have it."""
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "--allow-empty", "--message", "a change")
        return git(self.root, "describe", "--always")
