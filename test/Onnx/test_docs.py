# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/Onnx.md shows runs as written, and its tables name every op."""

import contextlib
import io
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

from blockscale.onnx._export import _HANDLERS
from blockscale.onnx._importer import HANDLERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/Onnx.md"
sys.path.append(str(ROOT / "scripts"))

import docs_doors


class TestPage(unittest.TestCase):
    def setUp(self):
        self.text = PAGE.read_text(encoding="utf-8")

    def test_the_examples(self):
        blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", self.text)
        self.assertEqual(len(blocks), 2)
        output = io.StringIO()
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(output):
            os.chdir(folder)
            for block in blocks:
                exec(compile(block, str(PAGE), "exec"), {})
            os.chdir(before)
        self.assertIn("blockscale.dequantize", output.getvalue())
        self.assertIn("tensor<?x64xf32>", output.getvalue())

    def test_the_list_of_ops(self):
        page = docs_doors.PAGE.read_text(encoding="utf-8")
        self.assertEqual(page, docs_doors.fill(page, "onnx"),
                         "run scripts/docs_doors.py --write onnx")

    def test_the_tables(self):
        table = self.text.partition("### What is quantized")[2]
        for domain, name in HANDLERS:
            with self.subTest(name):
                self.assertIn("`quantize`" if domain == "blockscale" else f"`{name}`", table)
        exported = self.text.partition("## Export")[2]
        for name in _HANDLERS:
            if name.startswith("blockscale."):
                self.assertIn(f"`{name.partition('.')[2]}`", exported)


if __name__ == "__main__":
    unittest.main()
