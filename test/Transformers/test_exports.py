# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of experts of models of transformers, quantized, exported and imported by
blockscale.torch.from_export, against PyTorch. scripts/long/exports.sh has whole models."""

import importlib.util
import sys
import unittest
import warnings
from pathlib import Path

if importlib.util.find_spec("transformers") is None:
    print("test_exports: skipped, no transformers; scripts/peers.sh transformers installs it")
    raise unittest.SkipTest("no transformers; scripts/peers.sh transformers installs it")

import torch

sys.path.append(str(Path(__file__).resolve().parents[1] / "Torch"))

import blockscale.torch
import exported_zoo as zoo
import hugging_face as hf
from blockscale.torch._modules import QuantizedExperts


def find_block(model):
    """The last layer of experts with its router."""
    return [module for module in model.modules()
            if any(isinstance(child, QuantizedExperts) for child in module.children())][-1]


class ExpertsTest(unittest.TestCase):
    def test_every_family(self):
        torch.manual_seed(0)
        for name in zoo.EXPERTS:
            with self.subTest(name), torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                block = find_block(zoo.make_quantized(name))
                x = torch.randn(2, 9, 64)
                # One of the experts has no rows, or few: all rows are as the first one.
                same = x[:1, :1].expand(2, 9, 64).contiguous()
                imported = blockscale.torch.from_export(torch.export.export(block, (x,)))
                self.assertIn("blockscale.scaled_grouped_mm", str(imported.module))
                compiled = imported.compile()
                for given in (x, same):
                    self.assertLess(hf.get_error(compiled(given), block(given)), zoo.BOUND)


if __name__ == "__main__":
    unittest.main()
