# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchao's quantize_ with a configuration of ours gives the layers of our quantize_."""

import copy
import unittest
import warnings

import torch
import torchao.quantization
from torch import nn

import blockscale
import blockscale.torch
from blockscale.torchao import BlockScaleConfig


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 64, bias=False),
                         nn.LayerNorm(64), nn.Linear(64, 40)).bfloat16().eval()


class ConfigTest(unittest.TestCase):
    def test_bytes(self):
        """Of every member of the configuration."""
        x = torch.randn(5, 64).bfloat16()
        for config, rule, order in (
                (BlockScaleConfig(), {"format": "nvfp4", "weight_only": True}, None),
                (BlockScaleConfig("mxfp8", weight_only=False), {"format": "mxfp8"}, None),
                (BlockScaleConfig("nvfp4", order="chain"),
                 {"format": "nvfp4", "weight_only": True}, "chain"),
                (BlockScaleConfig("nvfp4", rule={"weights": {"sweep": True}}),
                 {"format": "nvfp4", "weight_only": True, "weights": {"sweep": True}}, None)):
            with self.subTest(config), torch.no_grad():
                model = make()
                wanted = copy.deepcopy(model)
                torchao.quantization.quantize_(model, config)
                blockscale.torch.quantize_(wanted, {
                    "version": 1, "leave_last_projection": False, "rules": [rule]}, order=order)
                self.assertIsInstance(model[0], blockscale.torch.QuantizedLinear)
                self.assertIsInstance(model[3], nn.LayerNorm)
                found, state = model.state_dict(), wanted.state_dict()
                self.assertEqual(list(found), list(state))
                for name, each in found.items():
                    self.assertTrue(torch.equal(each, state[name]), name)
                self.assertTrue(torch.equal(model(x), wanted(x)))

    def test_filters(self):
        """torchao's filter, and its configurations by names."""
        model = make()
        torchao.quantization.quantize_(model, BlockScaleConfig(), lambda module, name: name == "2")
        self.assertIsInstance(model[2], blockscale.torch.QuantizedLinear)
        self.assertIsInstance(model[0], nn.Linear)
        config = torchao.quantization.FqnToConfig({"0": BlockScaleConfig("mxfp4"),
                                                   "4": BlockScaleConfig("mxfp8")})
        model = make()
        torchao.quantization.quantize_(model, config, filter_fn=None)
        self.assertEqual([model[0].form.weight.format, model[4].form.weight.format],
                         ["mxfp4", "mxfp8"])
        self.assertIsInstance(model[2], nn.Linear)

    def test_left(self):
        """A layer that cannot be quantized stays plain, with the reason."""
        model = nn.Sequential(nn.Linear(20, 64), nn.Linear(64, 64)).bfloat16()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            torchao.quantization.quantize_(model, BlockScaleConfig())
        self.assertIsInstance(model[0], nn.Linear)
        self.assertIsInstance(model[1], blockscale.torch.QuantizedLinear)
        self.assertRegex("".join(str(each.message) for each in found), "20")

    def test_refused(self):
        """Wrong members are errors of the policy's reader, and nothing is quantized."""
        for config, message in ((BlockScaleConfig("nvfp5"), "nvfp5"),
                                (BlockScaleConfig(order="any"), "any"),
                                (BlockScaleConfig(rule={"formats": 1}), "formats")):
            model = make()
            with self.subTest(config), self.assertRaisesRegex(blockscale.Error, message):
                torchao.quantization.quantize_(model, config)
            self.assertIsInstance(model[0], nn.Linear)


if __name__ == "__main__":
    unittest.main()
