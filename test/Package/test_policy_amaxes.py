# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies that name a file of amaxes (docs/Policy.md), for layers and for compiled modules."""

import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import blockscale
from blockscale._policy import Layer, Rules

MODULE = """
func.func @f(%x: tensor<32x64xf32>, %w: tensor<64x64xf32> {blockscale.weight})
    -> tensor<32x64xf32> {
  %zeros = arith.constant dense<0.0> : tensor<32x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x64xf32>)
      outs(%zeros : tensor<32x64xf32>) -> tensor<32x64xf32> loc("up")
  return %y : tensor<32x64xf32>
}
"""


class PolicyAmaxesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, amaxes, name="policy.json"):
        (self.folder / "amaxes.json").write_text(json.dumps(amaxes))
        policy = self.folder / name
        policy.write_text('{"version": 1, "amaxes": "amaxes.json", '
                          '"rules": [{"format": "nvfp4"}]}')
        return policy

    def test_layers(self):
        rules = Rules(self.write({"up": 2.5}))
        up, down = (rules.decide(Layer(name, 64, 64, False), "bf16").form.activation
                    for name in ("up", "down"))
        self.assertEqual((up.scaling, up.amax), ("amax", 2.5))
        self.assertEqual(down.scaling, "dynamic")

    def test_a_policy_that_is_no_file_takes_the_whole_name(self):
        self.write({"up": 2.5})
        policy = {"version": 1, "amaxes": str(self.folder / "amaxes.json"),
                  "rules": [{"format": "nvfp4"}]}
        found = Rules(policy).decide(Layer("up", 64, 64, False), "bf16").form.activation
        self.assertEqual(found.amax, 2.5)

    def test_errors(self):
        with self.assertRaisesRegex(
                blockscale.ArgumentError,
                r"amaxes\.json:1:8: expected the amax of 'up' to be positive and finite in f32, "
                "but got -1"):
            Rules(self.write({"up": -1}))

    def test_a_cached_function_is_that_of_its_amaxes(self):
        x, w = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float32)
        results = []
        with mock.patch.dict(os.environ, {"BLOCKSCALE_CACHE_DIR": str(self.folder / "cache")}):
            for amax in (4.0, 1.0, 4.0):
                function = blockscale.compile(MODULE, policy=self.write({"up": amax}))
                results.append(function(x[:32], w).tobytes())
        self.assertEqual(results[0], results[2])
        self.assertNotEqual(results[0], results[1])


if __name__ == "__main__":
    unittest.main()
