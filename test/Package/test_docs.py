# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/Tosa.md shows of Python runs as written."""

import contextlib
import io
import os
import re
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/Tosa.md"
TOOL = ROOT / ".cache/tosa/bin/tosa-opt"


class TosaPageTest(unittest.TestCase):
    @unittest.skipUnless(TOOL.exists(), "tosa-tools are not installed (scripts/peers.sh tosa)")
    def test_the_example(self):
        block, = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(ROOT)
        output = io.StringIO()
        with (mock.patch.dict(os.environ, {"BLOCKSCALE_TOSA_OPT": str(TOOL)}),
              contextlib.redirect_stdout(output)):
            exec(compile(block, str(PAGE), "exec"), {})
        self.assertIn("tosa.matmul_t_block_scaled", output.getvalue())


if __name__ == "__main__":
    unittest.main()
