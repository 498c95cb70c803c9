# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How vLLM comes to give checkpoints to this package, and which."""

import importlib.util
import os
import tomllib
import unittest
from pathlib import Path
from unittest import mock

if importlib.util.find_spec("vllm") is None:
    print("test_register: skipped, no vLLM; scripts/peers.sh vllm installs it")
    raise unittest.SkipTest("no vLLM; scripts/peers.sh vllm installs it")

from vllm.model_executor.layers.quantization import (
    QUANTIZATION_METHODS,
    get_quantization_config,
)

import vllm_stubs  # noqa: F401
import blockscale.vllm
from blockscale.vllm import BlockScaleConfig, _config

ROOT = Path(__file__).resolve().parents[2]


class RegisterTest(unittest.TestCase):
    def setUp(self):
        self.enterContext(mock.patch.object(_config, "TAKEN", set()))
        self.enterContext(mock.patch("blockscale.vllm._register.TAKEN", _config.TAKEN))

    def override(self, method, user=None):
        return BlockScaleConfig.override_quantization_method({"quant_method": method}, user)

    def test_entry_point(self):
        """What vLLM calls in each process makes the quantization known, however often."""
        text = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        module, _, name = text["project"]["entry-points"]["vllm.general_plugins"][
            "blockscale"].partition(":")
        for _ in range(2):
            getattr(importlib.import_module(module), name)()
        self.assertEqual(QUANTIZATION_METHODS.count("blockscale"), 1)
        self.assertIs(get_quantization_config("blockscale"), BlockScaleConfig)

    def test_who_takes_a_checkpoint(self):
        """Checkpoints of others are vLLM's own, but for a user who says otherwise."""
        self.assertEqual(self.override("blockscale"), "blockscale")
        self.assertIsNone(self.override("modelopt"))
        self.assertIsNone(self.override("modelopt", "modelopt_fp4"))
        self.assertEqual(self.override("modelopt", "blockscale"), "blockscale")
        blockscale.vllm.take_over("modelopt")
        self.assertEqual(self.override("modelopt_fp4"), "blockscale")
        self.assertIsNone(self.override("modelopt_fp4", "modelopt_fp4"))
        self.assertIsNone(self.override("fp8"))
        blockscale.vllm.take_over()
        for method in ("compressed-tensors", "mxfp4", "gpt_oss_mxfp4", "fp8"):
            self.assertEqual(self.override(method), "blockscale")
        self.assertIsNone(self.override("gptq"))
        self.assertIsNone(BlockScaleConfig.override_quantization_method(None, None))
        with self.assertRaisesRegex(ValueError, "expected methods of modelopt, .* but got 'gptq'"):
            blockscale.vllm.take_over("gptq")

    def test_the_environment_takes_over(self):
        with mock.patch.dict(os.environ, BLOCKSCALE_VLLM_TAKE_OVER="fp8, mxfp4"):
            self.assertEqual(self.override("fp8"), "blockscale")
            self.assertIsNone(self.override("modelopt"))
        with mock.patch.dict(os.environ, BLOCKSCALE_VLLM_TAKE_OVER="all"):
            self.assertEqual(self.override("modelopt"), "blockscale")
        with (mock.patch.dict(os.environ, BLOCKSCALE_VLLM_TAKE_OVER="gptq"),
              self.assertRaisesRegex(ValueError, "BLOCKSCALE_VLLM_TAKE_OVER: expected methods .* "
                                     "but got 'gptq'")):
            self.override("modelopt")

    def test_configurations(self):
        with self.assertRaisesRegex(ValueError, "expected quant_method to be one of blockscale, .* "
                                    "but got 'gptq'"):
            BlockScaleConfig({"quant_method": "gptq"})
        with self.assertRaisesRegex(ValueError, "expected no transform_config, .* but got some"):
            BlockScaleConfig({"quant_method": "compressed-tensors", "config_groups": {},
                              "transform_config": {"config_groups": {"a": {}}}})
        old = BlockScaleConfig({"quant_method": "modelopt_fp4", "producer": {"name": "modelopt"},
                                "quantization": {"quant_algo": "NVFP4",
                                                 "exclude_modules": ["lm_head"]}})
        self.assertEqual(old.scheme.family, "modelopt")
        self.assertTrue(old.scheme.ignores("lm_head"))

    def test_layers_before_the_files(self):
        with self.assertRaisesRegex(ValueError, "expected a call of maybe_update_config"):
            BlockScaleConfig({"quant_method": "blockscale"}).files  # noqa: B018


if __name__ == "__main__":
    unittest.main()
