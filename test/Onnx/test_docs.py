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

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import blockscale.onnx
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

    def test_refused_nodes(self):
        """The errors that the page shows, but for the numbers of nodes."""
        codes = np.zeros((48, 64), np.uint8).view(ml_dtypes.float8_e4m3fn)
        scales = np.full((4, 48), 122, np.uint8).view(ml_dtypes.float8_e8m0fnu)
        graph = helper.make_graph(
            [helper.make_node("NonZero", ["x"], ["n"], name="/layer.0/NonZero"),
             helper.make_node("DequantizeLinear", ["w", "s"], ["d"], name="decode", axis=1,
                              block_size=16, output_dtype=TensorProto.FLOAT),
             helper.make_node("MatMul", ["x", "d"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["r", 48])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["r", 64]),
             helper.make_tensor_value_info("n", TensorProto.INT64, [2, None])],
            [numpy_helper.from_array(codes, "w"), numpy_helper.from_array(scales, "s")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
        with self.assertRaises(blockscale.onnx.UnsupportedError) as raised:
            blockscale.onnx.from_model(model)
        place = re.compile(r"(?m)^[^:\n]+:\d+: ")
        shown, = re.findall(r"(?ms)^```text\n(.*?)^```$", self.text)
        self.assertEqual(place.sub("", shown).splitlines(),
                         place.sub("", str(raised.exception)).splitlines())

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
