# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PyTorch that were compiled ahead."""

import unittest

import torch

import blockscale as bs
import blockscale.torch as blockscale_torch


class TestAhead(unittest.TestCase):
    # A program imported anew finds what was compiled of it before.
    def test_a_program_is_loaded(self):
        def export(width):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU()).eval()
            x = torch.randn(4, 64)
            return model, x, blockscale_torch.from_export(torch.export.export(model, (x,)))

        model, x, imported = export(32)
        data = imported.compile_ahead(targets=["cpu", "sm_90a"])
        expected = imported.compile()(x)
        torch.testing.assert_close(expected, model(x))
        loaded = export(32)[2].load(data)
        self.assertTrue(loaded.compiled.is_loaded)
        self.assertTrue(torch.equal(loaded(x), expected))
        emulated = imported.load(data, target="sm_90a")
        torch.testing.assert_close(emulated(x), expected)
        with self.assertRaisesRegex(bs.ArgumentError, "expected a file with this program, whose "
                                    "module has the SHA-256 .*, but <bytes> has one with .*; "
                                    "compile it again"):
            export(48)[2].load(data)


if __name__ == "__main__":
    unittest.main()
