# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of training as kernels of SM100 in the emulator: each form, and each kind of layer.
scripts/long/training.sh has each kind in each form."""

import sys
import unittest
import unittest.mock
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parent))

import blockscale
from emulated_training import CHIP, run


class EmulatedTrainingTest(unittest.TestCase):
    def test_linear_layers(self):
        """A step is five launches without amaxes, and nine with those of x, the weight and the
        gradient: the forward pass quantizes the weight for both passes."""
        for form, wanted in (("mxfp8", [2, 3]), ("nvfp4", [5, 4])):
            self.assertEqual(run("linear", form), (wanted, []))

    def test_gated_mlp(self):
        self.assertEqual(run("gated", "mxfp8_32x32"), ([4, 9], []))

    def test_experts(self):
        self.assertEqual(run("experts", "nvfp4_torchao")[1], [])

    def test_gathered_weights(self):
        self.assertEqual(run("gathered", "nvfp4")[1], [])

    def test_faults(self):
        """A bit of one result under one schedule is noticed."""
        compile = blockscale.compile

        def compile_wrong(module, target="cpu", **options):
            compiled = compile(module, target=target, **options)

            def call(*arrays, **how):
                results = list(compiled(*arrays, **how))
                if target == CHIP and how["adversarial"]:
                    results[-1].view(torch.uint8).view(-1)[77] ^= 1
                return tuple(results)
            return call
        with unittest.mock.patch.object(blockscale, "compile", compile_wrong):
            problems = run("linear", "mxfp8")[1]
        self.assertEqual([each.split(", ")[0] for each in problems], [
            "forward of a linear layer in training: 1 of 512 bytes of result 4 differ",
            "backward of a linear layer in training: 1 of 24576 bytes of result 1 differ"])


if __name__ == "__main__":
    unittest.main()
