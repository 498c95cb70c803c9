# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blockscale-import of programs that torch.export.save wrote."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import torch
from torch import nn

import blockscale
import blockscale.torch
from blockscale import _import
from models import CONFIGS, as_bytes, make_mlp


class FileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.model, self.output = self.folder / "model.pt2", self.folder / "model.mlir"

    def run_main(self):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            status = _import.main([str(self.model), "-o", str(self.output), "--name", "run"])
        return status, errors.getvalue()

    def save(self, model, *args):
        program = torch.export.export(model, args)
        torch.export.save(program, self.model)
        return program

    def test_a_quantized_model(self):
        x = torch.randn(5, 96).bfloat16()
        program = self.save(make_mlp(CONFIGS["mxfp8"]), x)
        self.assertEqual(self.run_main(), (0, ""))
        self.assertIn("func.func @run(%input: tensor<5x96xbf16>)", self.output.read_text())
        found = blockscale.compile(self.output)(x)
        wanted = blockscale.torch.from_export(program).compile()(x)
        self.assertTrue((as_bytes(found) == as_bytes(wanted)).all())

    def test_a_million_elements_are_no_text_of_ops(self):
        self.save(nn.Linear(1024, 1024), torch.randn(2, 1024))
        self.assertEqual(self.run_main(), (0, ""))
        ops, _, resources = self.output.read_text().partition("{-#")
        self.assertLess(len(ops), 4000)
        self.assertGreater(len(resources), 8 * 1024 * 1024)

    def test_what_is_refused(self):
        class Model(nn.Module):
            def forward(self, x):
                return torch.erfinv(x) + torch.kthvalue(x, 2, keepdim=True)[0]

        line = Model.forward.__code__.co_firstlineno + 1
        self.save(Model(), torch.randn(4, 8))
        status, errors = self.run_main()
        self.assertEqual(status, 1)
        self.assertEqual(len(errors.splitlines()), 2)
        for name in ("erfinv = aten.erfinv.default", "kthvalue = aten.kthvalue.default"):
            self.assertIn(f"blockscale-import: error: {__file__}:{line}: {name}: expected an op "
                          "that is imported", errors)
        self.assertFalse(self.output.exists())

    def test_damaged_files(self):
        self.save(nn.Linear(8, 8), torch.randn(4, 8))
        whole = self.model.read_bytes()
        for content in (b"", b"text", whole[:len(whole) // 2]):
            self.model.write_bytes(content)
            status, errors = self.run_main()
            self.assertEqual(status, 1)
            self.assertRegex(errors, "error: cannot read '.*model.pt2': expected a program that "
                                     "torch.export.save wrote, but got")
            self.assertEqual(len(errors.splitlines()), 1)
        self.model.unlink()
        self.assertRegex(self.run_main()[1], "error: cannot read '.*model.pt2': expected a file")
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    unittest.main()
