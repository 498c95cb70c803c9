# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check() finds nothing in checkpoints as others write them; long/test_clean_packages.py does the
same with those that packages write."""

import tempfile
import unittest
from pathlib import Path

import blockscale.checkpoint as checkpoint
from foreign import by_hand


class TestClean(unittest.TestCase):
    def test_files_by_hand(self):
        sources = by_hand.list_known()
        self.assertGreaterEqual(len(sources), 20)
        for name, make in sources.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                report = checkpoint.check(make().write(Path(folder, "model")))
                self.assertTrue(report.is_clean, report)


if __name__ == "__main__":
    unittest.main()
