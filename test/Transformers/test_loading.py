# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""from_pretrained() of quantized checkpoints: what stays quantized, where it is, and what is
refused."""

import importlib.util
import json
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("transformers") is None:
    print("test_loading: skipped, no transformers; scripts/peers.sh transformers installs it")
    raise unittest.SkipTest("no transformers; scripts/peers.sh transformers installs it")

import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification
from transformers.quantizers.auto import AUTO_QUANTIZER_MAPPING

import blockscale
import blockscale.transformers
from blockscale.torch import QuantizedLinear
from families import (
    find_difference,
    get_ratio,
    load,
    make_checkpoint,
    make_inputs,
    quiet,
    read_tensors,
    write_tensors,
)

LAYER = "model.layers.0.mlp.up_proj"
Config = blockscale.transformers.BlockScaleConfig


class LoadingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        make_checkpoint("llama", "modelopt-nvfp4", cls.root)
        cls.tensors = read_tensors(cls.root / "quantized")
        cls.x = make_inputs("llama")

    def setUp(self):
        self.folder = self.root / "quantized"

    def write(self, **members):
        """A copy of the checkpoint, whose config.json has other members."""
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for file in (self.root / "quantized").iterdir():
            (self.folder / file.name).write_bytes(file.read_bytes())
        config = json.loads((self.folder / "config.json").read_text())
        for name, value in members.items():
            config.pop(name) if value is None else config.update({name: value})
        (self.folder / "config.json").write_text(json.dumps(config))

    def test_what_stays_quantized(self):
        """No parameter and no buffer is a plain copy of a quantized weight: a model has the bytes
        of its file, and a global scale for each row of layers that lie together in memory."""
        model = load(self.folder)
        layers = [each for each in model.modules() if isinstance(each, QuantizedLinear)]
        self.assertEqual(len(layers), 14)
        attention = model.model.layers[0].self_attn
        self.assertEqual({type(each) for each in attention.children()}, {QuantizedLinear})
        held = [*model.parameters(), *model.buffers()]
        file = sum(each.nbytes for each in self.tensors.values())
        self.assertLess(sum(each.nbytes for each in held), 1.03 * file)
        names = {name for name, _ in model.named_parameters()}
        self.assertNotIn(f"{LAYER}.weight", names)
        self.assertIn("lm_head.weight", names)
        self.assertEqual(model.config.quantization_config.quant_method, "modelopt")
        self.assertTrue(model.is_quantized)

    def test_logits(self):
        found, expected = load(self.folder), load(self.root / "plain-values")
        self.assertLess(get_ratio(found(**self.x).logits, expected(**self.x).logits), 0.03)

    def test_options(self):
        """What a user says beside config.json."""
        model = load(self.folder, quantization_config=Config(order="chain"))
        self.assertEqual(model.model.layers[0].mlp.up_proj.form.order, "chain")
        model = load(self.folder, quantization_config=Config(weight_only=False))
        self.assertEqual(model.model.layers[0].mlp.up_proj.form.activation.format, "nvfp4")

    def test_dtypes(self):
        """f32 is rounded to bf16 in front of products that take no f32."""
        expected = load(self.folder)(**self.x).logits
        found = load(self.folder, torch.float32)(**self.x).logits
        self.assertEqual(found.dtype, torch.float32)
        self.assertLess(get_ratio(found, expected), 0.03)

    def test_hf_quant_config_alone(self):
        """Older files say in it alone how they are quantized. transformers reads config.json, so
        that a user says that the checkpoint is quantized."""
        expected = load(self.folder)(**self.x).logits
        self.write(quantization_config=None)
        model = load(self.folder, quantization_config=Config())
        self.assertTrue(torch.equal(model(**self.x).logits, expected))
        members = model.config.quantization_config.members
        self.assertEqual((members["quant_method"], members["quant_algo"], members["ignore"]),
                         ("modelopt", "W4A16_NVFP4", ["lm_head"]))
        with self.assertRaisesRegex(blockscale.ArgumentError, "or a policy, but got neither"):
            load(self.root / "plain", quantization_config=Config())

    def test_other_heads(self):
        """A model without the head, and one with a new one."""
        with quiet():
            base = AutoModel.from_pretrained(self.folder, dtype=torch.bfloat16)
            made = AutoModelForSequenceClassification.from_pretrained(self.folder,
                                                                      dtype=torch.bfloat16)
        whole = load(self.folder)
        expected = whole.model(**self.x).last_hidden_state
        self.assertTrue(torch.equal(base(**self.x).last_hidden_state, expected))
        self.assertTrue(torch.equal(made.model(**self.x).last_hidden_state, expected))
        self.assertEqual(type(made.score), torch.nn.Linear)

    def test_a_base_model_into_one_with_a_head(self):
        with quiet(), tempfile.TemporaryDirectory() as folder:
            AutoModel.from_pretrained(self.folder).save_pretrained(folder)
            model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
        expected = load(self.folder).model(**self.x).last_hidden_state
        self.assertTrue(torch.equal(model.model(**self.x).last_hidden_state, expected))

    def test_device_maps(self):
        expected = load(self.folder)(**self.x).logits
        for devices in ("cpu", "auto", {"": "cpu"}, {"model": "cpu", "lm_head": "cpu"}):
            with self.subTest(devices):
                model = load(self.folder, device_map=devices)
                self.assertTrue(torch.equal(model(**self.x).logits, expected))
        with self.assertRaisesRegex(blockscale.ArgumentError, "hold the whole model.*cpu, disk"):
            load(self.folder, device_map={"model": "cpu", "lm_head": "disk"}, offload_folder="off")

    def test_devices_of_layers(self):
        """A module is put where the device map says, under the longest of its paths."""
        quantizer = blockscale.transformers.BlockScaleQuantizer(Config())
        quantizer.validate_environment(device_map={"model": 0, "model.layers.1": "cuda:1",
                                                   "model.layers.10": "cuda:2"})
        for name, device in ((LAYER, "cuda:0"), ("model.layers.1.mlp.up_proj", "cuda:1"),
                             ("model.layers.10.mlp.up_proj", "cuda:2"), ("head", "cpu")):
            self.assertEqual(quantizer._place(name), torch.device(device))

    def refuse(self, changes, *messages):
        """Loading says all of it in one error, and no more."""
        self.write()
        changed = {**self.tensors, **changes}
        write_tensors({name: each for name, each in changed.items() if each is not None},
                      self.folder)
        with self.assertRaises(blockscale.ArgumentError) as caught:
            load(self.folder)
        lines = str(caught.exception).split("\n")
        self.assertEqual(len(lines), len(messages), lines)
        for line, message in zip(sorted(lines), sorted(messages)):
            self.assertIn(message, line)

    def test_missing_tensors(self):
        all_of_one = {name: None for name in self.tensors if name.startswith(f"{LAYER}.")}
        self.refuse(
            {**all_of_one, "model.layers.1.input_layernorm.weight": None,
             "model.layers.1.mlp.down_proj.weight_scale": None,
             "model.layers.1.mlp.gate_proj.weight_scale_2": None},
            f"expected a tensor '{LAYER}.weight', but got none",
            "expected a tensor 'model.layers.1.input_layernorm.weight', but got none",
            "expected 'model.layers.1.mlp.down_proj.weight_scale', as ModelOpt NVFP4 has it, but",
            "expected 'model.layers.1.mlp.gate_proj.weight_scale_2', as ModelOpt NVFP4 has it, but")

    def test_wrong_tensors(self):
        scales = self.tensors["model.layers.1.mlp.up_proj.weight_scale"]
        self.refuse(
            {f"{LAYER}.weight": self.tensors[f"{LAYER}.weight"][1:],
             "model.layers.1.mlp.up_proj.weight_scale": torch.full_like(scales, float("nan")),
             "model.layers.0.input_layernorm.weight": torch.ones(3, dtype=torch.bfloat16),
             "model.layers.0.self_attn.q_proj.weight_scale_2": torch.tensor(0.0)},
            f"'{LAYER}.weight': expected shape [256, 64] for 256 rows and 128 columns of nvfp4, "
            "but got [255, 64]",
            "'model.layers.0.input_layernorm.weight': expected shape [128], but got [3]",
            "'model.layers.0.self_attn.q_proj.weight_scale_2': expected a positive, finite number",
            "'model.layers.1.mlp.up_proj.weight_scale': expected scales that are numbers, but got "
            f"{scales.numel()} NaN")

    def test_a_layout_that_modules_do_not_have(self):
        self.refuse({f"{LAYER}.weight": torch.zeros(256, 128, dtype=torch.int8),
                     f"{LAYER}.weight_scale_2": None, f"{LAYER}.weight_scale": torch.ones(256, 1)},
                    f"expected the tensors of a layout that modules have, but got '{LAYER}.weight")

    def test_transforms(self):
        """A layer that reads other activations than those in front of it would compute others."""
        self.refuse({f"{LAYER}.pre_quant_scale": torch.ones(128)},
                    "expected no factors of activations, which no layer here multiplies them by, "
                    f"but got '{LAYER}.pre_quant_scale'")

    def test_files_that_are_none(self):
        self.write()
        (self.folder / "model.safetensors").unlink()
        torch.save(self.tensors, self.folder / "pytorch_model.bin")
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected files of safetensors.*bin"):
            load(self.folder)

    def test_tensors_of_other_runtimes(self):
        """Scales of the KV cache are for others: nothing is said of them, and nothing fails."""
        self.write()
        write_tensors({**self.tensors, "model.layers.0.self_attn.k_proj.k_scale": torch.ones(())},
                      self.folder)
        with quiet():
            model, info = AutoModelForCausalLM.from_pretrained(
                self.folder, dtype=torch.bfloat16, output_loading_info=True)
        self.assertEqual({name: list(each) for name, each in info.items()}["unexpected_keys"], [])
        self.assertEqual(list(info["missing_keys"]), [])
        self.assertEqual(find_difference(model.state_dict(), load(self.folder).state_dict()), [])


class RegistrationTest(unittest.TestCase):
    def test_methods(self):
        for method in ("blockscale", "modelopt"):
            self.assertIs(AUTO_QUANTIZER_MAPPING[method],
                          blockscale.transformers.BlockScaleQuantizer)

    def test_take_over(self):
        before = dict(AUTO_QUANTIZER_MAPPING)
        self.addCleanup(AUTO_QUANTIZER_MAPPING.update, before)
        blockscale.transformers.take_over("mxfp4")
        self.assertIs(AUTO_QUANTIZER_MAPPING["mxfp4"], blockscale.transformers.BlockScaleQuantizer)
        self.assertIs(AUTO_QUANTIZER_MAPPING["compressed-tensors"], before["compressed-tensors"])
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "methods of compressed-tensors, mxfp4, fp8"):
            blockscale.transformers.take_over("gptq")

    def test_configurations_that_are_refused(self):
        for options, message in (({"family": "gguf"}, "expected family to be one of blockscale"),
                                 ({"order": "any"}, "expected order to be one of free, chain"),
                                 ({"weight_only": 1.5}, "expected weight_only to be True")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                Config(**options)


if __name__ == "__main__":
    unittest.main()
