# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ten model classes of transformers, quantized and used as people use models
(check_model_zoo.py). scripts/long/model-zoo.sh has all of them."""

import importlib.util
import unittest

import torch

import blockscale
import blockscale.torch

HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
if HAS_TRANSFORMERS:
    import check_model_zoo as zoo_check
    import model_zoo as zoo

#: Decoders with joined rows, grouped heads, experts and Conv1D, encoders, an encoder with a
#: decoder, and one of images.
TYPES = ("bert", "falcon", "gpt2", "llama", "mixtral", "opt", "phi", "qwen3", "t5", "vit")


@unittest.skipUnless(HAS_TRANSFORMERS,
                     "transformers is not installed (scripts/peers.sh checkpoints)")
class ModelZooTest(unittest.TestCase):
    def test_types(self):
        total = zoo_check.Outcome()
        for name in TYPES:
            with self.subTest(type=name):
                outcome = zoo_check.check_type(name, compiles=name == "llama")
                self.assertFalse(outcome.skipped, outcome.lines)
                self.assertEqual(outcome.failed, 0, "\n".join(outcome.lines))
                total.add(outcome)
        self.assertGreaterEqual(total.quantized, zoo_check.LEAST_SHARE * total.linear)

    # A check that finds nothing proves nothing: one scale of one layer is wrong by a factor of 2.
    def test_a_wrong_scale_is_found(self):
        for policy, rule in zoo_check.POLICIES.items():
            with self.subTest(policy=policy):
                model = zoo.make_model(*zoo.find_type("llama"))
                blockscale.torch.quantize_(model, {"version": 1, "rules": [rule]})
                layers = zoo_check.LayerCheck(model)
                layer = model.model.layers[0].mlp.down_proj
                layers._get_weight("model.layers.0.mlp.down_proj", layer)  # Before the fault.
                step = 1 if policy == "mxfp8" else 8
                with torch.no_grad():
                    layer.scales[0, 0] += step
                zoo_check.zoo.call(model, zoo.find_inputs(model))
                layers.remove()
                self.assertEqual(len(layers.problems), 1, layers.problems)
                self.assertIn("model.layers.0.mlp.down_proj", layers.problems[0])


if __name__ == "__main__":
    unittest.main()
