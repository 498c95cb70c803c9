# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The README shows the example file, and its two commands near the top."""

import os
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/quantize.mlir"
COMMANDS = ["./scripts/run-example.sh", "./scripts/check.sh"]


class DocsReadmeTest(unittest.TestCase):
    def setUp(self):
        self.readme = (ROOT / "README.md").read_text(encoding="utf-8")

    def test_module_is_the_example(self):
        # The file begins with a comment that the README says in other words.
        module = EXAMPLE.read_text(encoding="utf-8").split("\n\n", 1)[1]
        self.assertTrue(f"```mlir\n{module}```" in self.readme, f"show {EXAMPLE.name}")

    def test_commands(self):
        lines = self.readme.splitlines()
        for command in COMMANDS:
            at = next(i for i, line in enumerate(lines) if line.split("#")[0].strip() == command)
            self.assertLess(at, 60)
            self.assertTrue(os.access(ROOT / command, os.X_OK), command)


if __name__ == "__main__":
    unittest.main()
