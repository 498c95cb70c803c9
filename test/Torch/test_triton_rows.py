# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, rotary embedding and attention in Triton, without a GPU."""

import os
import subprocess
import sys
import unittest
from pathlib import Path


class InterpretedTest(unittest.TestCase):
    def test_kernels(self):
        """In a process of its own, as triton is told to interpret before it is imported."""
        done = subprocess.run(
            [sys.executable, Path(__file__).parent / "interpreted_rows.py"],
            env={**os.environ, "TRITON_INTERPRET": "1",
                 "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                 "PYTHONWARNINGS": "ignore"}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ran 5 tests", done.stderr)


if __name__ == "__main__":
    unittest.main()
