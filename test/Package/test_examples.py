# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of examples/python, which docs/Embedding.md and docs/Cache.md show, run as they are
written."""

import subprocess
import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples/python"
#: What each prints, somewhere.
PARTS = {
    "experts.py": ("blockscale.scaled_grouped_mm %data", ".target sm_100a",
                   "cvt.rn.satfinite.e2m1x2.f32", "tcgen05.mma", "remark: "),
    "calibrate.py": ("%amax = arith.constant",),
    "ahead.py": ("cpu True",),
}


class ExamplesTest(unittest.TestCase):
    def test_each_runs(self):
        self.assertEqual({path.name for path in FOLDER.glob("*.py")}, set(PARTS))
        for name, parts in PARTS.items():
            with self.subTest(name):
                run = subprocess.run([sys.executable, FOLDER / name], capture_output=True,
                                     text=True)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                for part in parts:
                    self.assertIn(part, run.stdout)


if __name__ == "__main__":
    unittest.main()
