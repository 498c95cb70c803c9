# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our files in the packages that they are for: transformers computes with them what it computes
with the numbers that they stand for, torchao and compressed-tensors read these numbers, and check()
finds no fault in what the packages write.

transformers 5.24 reads the experts of compressed-tensors' MXFP4 alone: those of NVFP4 without their
global scale, also from files that compressed-tensors wrote, and those of MXFP8 not at all."""

import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "Data"))

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.simplefilter("ignore")

import numpy as np
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import preset_name_to_scheme
from safetensors import safe_open
from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict
from transformers import AutoModelForCausalLM

import blockscale.checkpoint as checkpoint
import decoders
import make_checkpoint_vectors
from test_faults import find_amaxes

SAMPLE = torch.arange(48)[None] * 7 % decoders.VOCABULARY


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def make_policy(format, **more):
    return {"version": 1, "rules": [{"format": format, **more}]}


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()


def compute(model):
    return model(SAMPLE).logits.float()


def get_distance(first, second):
    return float((first - second).square().mean().sqrt())


class TestReaders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        cls.sources = {family: decoders.write_decoder(cls.folder / family, family, shards=1)
                       for family in decoders.CONFIGS}
        cls.logits = {family: compute(load(cls.folder / family)) for family in decoders.CONFIGS}

    def quantize(self, family, policy, layout):
        """A quantized checkpoint, and one with the numbers that it stands for."""
        target = self.folder / f"{family}-{len(list(self.folder.iterdir()))}"
        checkpoint.quantize(self.folder / family, target, policy, layout=layout,
                            amaxes=find_amaxes(self.sources[family]))
        plain = target.with_name(target.name + "-plain")
        checkpoint.convert(target, plain, "plain")
        return target, plain

    def test_transformers_computes_with_the_numbers_of_the_files(self):
        for family, format, layout, more in (
                ("dense", "nvfp4", "compressed-tensors", {"weight_only": True}),
                ("dense", "mxfp4", "compressed-tensors", {"weight_only": True}),
                ("dense", "mxfp8", "compressed-tensors", {"weight_only": True}),
                ("moe", "mxfp4", "compressed-tensors", {"weight_only": True}),
                ("gptoss", "mxfp4", "gpt-oss", {})):
            with self.subTest(family=family, format=format):
                target, plain = self.quantize(family, make_policy(format, **more), layout)
                found, expected = compute(load(target)), compute(load(plain))
                self.assertTrue(torch.equal(found, expected))
                # The quantized model is near the plain one, and not the plain one.
                distance = get_distance(found, self.logits[family])
                self.assertGreater(distance, 0.01)
                self.assertLess(distance, 0.5 * float(self.logits[family].std()))

    def test_transformers_quantizes_activations(self):
        """By our input scales, with noise of the size of that of weights."""
        for format in ("nvfp4", "mxfp4", "mxfp8"):
            with self.subTest(format):
                target, plain = self.quantize("dense", make_policy(format), "compressed-tensors")
                expected = compute(load(plain))
                model = load(target)
                if format == "nvfp4":
                    scale = model.model.layers[0].mlp.down_proj.input_global_scale
                    self.assertEqual(float(scale), 2688 / 12)
                noise = get_distance(expected, self.logits["dense"])
                found = get_distance(compute(model), expected)
                self.assertGreater(found, 0)
                self.assertLess(found, 3 * noise)

    def test_torchao_reads_the_same_numbers(self):
        for family, policy in (("dense", make_policy("nvfp4", weight_only=True)),
                               ("dense", make_policy("mxfp8")), ("dense", make_policy("mxfp4")),
                               ("moe", make_policy("nvfp4", weight_only=True))):
            with self.subTest(family=family, policy=policy):
                target, plain = self.quantize(family, policy, "torchao")
                numbers, count = decoders.read_folder(plain), 0
                state, metadata = {}, {}
                for path in target.glob("*.safetensors"):
                    with safe_open(path, framework="pt") as file:
                        state |= {name: file.get_tensor(name) for name in file.keys()}
                        metadata |= file.metadata()
                found, left = unflatten_tensor_state_dict(state, metadata)
                self.assertEqual(left, {})
                self.assertEqual(set(found), set(numbers))
                for name, tensor in found.items():
                    if type(tensor) is torch.Tensor:
                        continue
                    # Numbers of files that convert() writes are bf16.
                    values = tensor.dequantize(torch.float32).bfloat16().float()
                    np.testing.assert_array_equal(values.numpy(),
                                                  numbers[name].astype(np.float32))
                    count += 1
                self.assertGreater(count, 10)

    def test_compressed_tensors_reads_the_same_numbers(self):
        """Layer by layer, of experts too."""
        for format, preset, name in (("nvfp4", "NVFP4A16", "nvfp4-pack-quantized"),
                                     ("mxfp4", "MXFP4A16", "mxfp4-pack-quantized"),
                                     ("mxfp8", "MXFP8A16", "mxfp8-quantized")):
            target, plain = self.quantize("moe", make_policy(format, weight_only=True),
                                          "compressed-tensors")
            numbers, layers = decoders.read_folder(plain), {}
            for path in target.glob("*.safetensors"):
                with safe_open(path, framework="pt") as file:
                    for tensor in file.keys():
                        layer, _, part = tensor.rpartition(".")
                        layers.setdefault(layer, {})[part] = file.get_tensor(tensor)
            compressor = BaseCompressor.get_value_from_registry(name)
            scheme = preset_name_to_scheme(preset, ["Linear"])
            count = 0
            for layer, state in layers.items():
                if "weight_scale" not in state:
                    continue
                with self.subTest(format=format, layer=layer):
                    values = compressor.decompress(state, scheme)["weight"]
                    expected = numbers[f"{layer}.weight"].astype(np.float32)
                    np.testing.assert_array_equal(values.bfloat16().float().numpy(), expected)
                    count += 1
            self.assertEqual(count, 23)

    def test_files_of_packages_have_no_faults(self):
        """But for an expert of zeros alone, whose scales are NaN in some of them."""
        count = 0
        with tempfile.TemporaryDirectory() as scratch:
            for case, source in make_checkpoint_vectors.make_cases(
                    Path(scratch), "modelopt|compressed_tensors|torchao"):
                target = self.folder / case.name
                make_checkpoint_vectors.write_checkpoint(case, source, target)
                count += 1
                with self.subTest(case.name):
                    report = checkpoint.check(target)
                    self.assertEqual([str(finding) for finding in report.findings
                                      if "layers.1.mlp.experts.3.down_proj" not in finding.name
                                      or case.family != "moe"], [])
        self.assertGreater(count, 20)


if __name__ == "__main__":
    unittest.main()
