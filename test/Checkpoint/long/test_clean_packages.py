# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check() finds nothing in checkpoints that ModelOpt, compressed-tensors, torchao, transformers and
gguf write: 40 of them with those that are made by hand as others write them."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "test/Checkpoint"), str(ROOT / "test/Data")]

import blockscale.checkpoint as checkpoint
from foreign import by_hand, by_packages

LEAST = 40


class TestClean(unittest.TestCase):
    def test_files_of_packages(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        clean = len(by_hand.list_known())
        for name in by_packages.CASES:
            source = by_packages.make_source(name, folder)
            if source.unknown:
                continue
            report = checkpoint.check(source.write(folder / f"{name}-written"))
            with self.subTest(name):
                self.assertTrue(report.is_clean, report)
                clean += 1
        print(f"{clean} checkpoints of others without a finding")
        self.assertGreaterEqual(clean, LEAST)


if __name__ == "__main__":
    unittest.main()
