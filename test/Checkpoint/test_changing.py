# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sources that are cut or written while they are read end calls with an error, and no process."""

import shutil
import tempfile
import unittest
from pathlib import Path

import changing
import decoders
from blockscale import checkpoint
from limited import Limited


class ChangingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.limited = cls.enterClassContext(Limited())

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.source = self.folder / "model"
        self.source.mkdir()
        self.good = decoders.pack_file(decoders.make_tensors("dense"))

    def expect(self, function, how, message, status=2):
        outcome = self.limited.call("changing", function, self.source, how, self.folder / "result")
        self.assertEqual(outcome.find_fault(), "", outcome.text)
        self.assertEqual(outcome.status, status, outcome.text)
        self.assertRegex(outcome.text, message)
        self.assertFalse((self.folder / "result").exists())

    def check(self, function, good):
        path = self.source / "model.safetensors"
        for how in ("half", "byte", "all", "write"):
            with self.subTest(function, how=how):
                path.write_bytes(good)
                left = {"half": len(good) // 2 // 4096 * 4096, "byte": len(good) - 1, "all": 0}
                found = (f"it had {len(good)} bytes and has {left[how]}$" if how in left
                         else "it was written")
                self.expect(function, how, f"(?m)^error: {path}: expected a file that stays as it "
                            f"is while it is read, but {found}")
                shutil.rmtree(self.folder / "result.partial", ignore_errors=True)

    def test_plain_sources(self):
        for function in ("quantize", "check", "diff", "read"):
            self.check(function, self.good)

    def test_quantized_sources(self):
        (self.source / "model.safetensors").write_bytes(self.good)
        checkpoint.quantize(self.source, self.folder / "quantized", changing.MXFP8)
        for name in ("config.json", "hf_quant_config.json"):
            (self.source / name).write_bytes((self.folder / "quantized" / name).read_bytes())
        self.check("convert", (self.folder / "quantized" / "model.safetensors").read_bytes())

    def test_sources_that_are_replaced(self):
        (self.source / "model.safetensors").write_bytes(self.good)
        self.expect("read_what_is_gone", "", "^done$", status=0)


if __name__ == "__main__":
    unittest.main()
