# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""save_pretrained() of quantized models: what each family of files has, who reads it, and what no
family has a place for."""

import importlib.util
import json
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("transformers") is None:
    print("test_saving: skipped, no transformers; scripts/peers.sh transformers installs it")
    raise unittest.SkipTest("no transformers; scripts/peers.sh transformers installs it")

import torch

import blockscale
import blockscale.checkpoint
import blockscale.torch
import blockscale.transformers
from families import (
    decode,
    find_difference,
    get_ratio,
    load,
    make_checkpoint,
    make_inputs,
    quiet,
    read_tensors,
    save_plain,
    taken_over,
    write_tensors,
)

Config = blockscale.transformers.BlockScaleConfig
NVFP4 = {"format": "nvfp4", "weight_only": True, "recipe": "modelopt"}


def policy(rule):
    return {"version": 1, "rules": [{**rule, "match": {"location": "*layers*"}}]}


class SavingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for family in ("llama", "mixtral"):
            save_plain(family, cls.root / family)
        cls.x = make_inputs("llama")

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def quantize(self, rule, family="llama", **options):
        model = load(self.root / family)
        joint = blockscale.transformers.list_fused(model)
        blockscale.torch.quantize_(model, policy(rule), joint=joint, **options)
        return model

    def save_own(self):
        """A folder of the family blockscale, and its tensors."""
        model = self.quantize(NVFP4)
        blockscale.transformers.set_family(model, "blockscale")
        folder = self.save(model)
        return folder, read_tensors(folder)

    def save(self, model, folder="saved"):
        with quiet():
            model.save_pretrained(self.folder / folder)
        return self.folder / folder

    def test_families(self):
        """What is written is read again by its family, and written again with the same bytes. Files
        of other packages' families have no fault that the checker knows."""
        self.enterContext(taken_over())
        cases = [("blockscale", {"format": "nvfp4"}, "llama"),
                 ("blockscale", {"format": "nvfp4", "rht": True}, "mixtral"),
                 ("modelopt", NVFP4, "mixtral"),
                 ("modelopt", {"format": "mxfp8"}, "llama"),
                 ("compressed-tensors", {"format": "nvfp4", "weight_only": True}, "mixtral"),
                 ("compressed-tensors", {"format": "mxfp4"}, "llama"),
                 ("compressed-tensors", {"format": "mxfp8", "weight_only": True}, "mixtral")]
        for number, (family, rule, source) in enumerate(cases):
            with self.subTest(family, rule=rule, source=source):
                model = self.quantize(rule, source)
                blockscale.transformers.set_family(model, family)
                self.assertEqual(model.config.quantization_config.quant_method, family)
                first = self.save(model, f"{number}-first")
                members = json.loads((first / "config.json").read_text())["quantization_config"]
                self.assertEqual(members["quant_method"], family)
                again = load(first)
                self.assertEqual(
                    [str(each.form.weight.format) for each in again.modules()
                     if isinstance(each, blockscale.torch.QuantizedLinear)],
                    [str(each.form.weight.format) for each in model.modules()
                     if isinstance(each, blockscale.torch.QuantizedLinear)])
                second = self.save(again, f"{number}-second")
                self.assertEqual(find_difference(read_tensors(first), read_tensors(second)), [])
                self.assertEqual(json.loads((second / "config.json").read_text()),
                                 json.loads((first / "config.json").read_text()))
                if family != "blockscale":
                    self.assertEqual(blockscale.checkpoint.check(first).findings, ())

    def test_load_quantized(self):
        """load_quantized_ reads what is saved."""
        model = self.quantize(NVFP4)
        blockscale.transformers.set_family(model, "modelopt")
        plain = load(self.root / "llama")
        blockscale.torch.load_quantized_(plain, self.save(model))
        self.assertTrue(torch.equal(plain(**self.x).logits, model(**self.x).logits))

    def test_numbers_of_our_own_files(self):
        """Codes and scales that are no numbers are refused, as those of other families are."""
        folder, tensors = self.save_own()
        name = "model.layers.1.mlp.up_proj"
        for member, change, message in (
                ("scales", lambda each: torch.full_like(each, 0x7F), "that are numbers, but got"),
                ("scales", lambda each: each | 0x80, "scales that are not negative, but got some"),
                ("global_scale", lambda each: each * 0, "a positive, finite number, but got 0.0")):
            with self.subTest(member, message=message):
                key = f"{name}.{member}"
                write_tensors({**tensors, key: change(tensors[key])}, folder)
                with self.assertRaisesRegex(blockscale.ArgumentError,
                                            f"'{key}': expected .*{message}"):
                    load(folder)

    def test_shards(self):
        """Several files and their index."""
        model = self.quantize(NVFP4, "mixtral")
        blockscale.transformers.set_family(model, "modelopt")
        with quiet():
            model.save_pretrained(self.folder / "shards", max_shard_size="100KB")
        self.assertGreater(len(list((self.folder / "shards").glob("*.safetensors"))), 2)
        again = load(self.folder / "shards")
        self.assertTrue(torch.equal(again(**self.x).logits, load(self.save(model))(
            **self.x).logits))
        self.assertEqual(blockscale.checkpoint.check(self.folder / "shards").findings, ())

    def test_names_of_experts(self):
        """Those that the model's own checkpoints have."""
        model = self.quantize(NVFP4, "mixtral")
        for family, name in (
                ("modelopt", "model.layers.0.block_sparse_moe.experts.3.w1.weight_scale_2"),
                ("compressed-tensors",
                 "model.layers.0.block_sparse_moe.experts.0.w2.weight_packed"),
                ("blockscale", "model.layers.1.block_sparse_moe.experts.gate_up_proj.data")):
            blockscale.transformers.set_family(model, family)
            self.assertIn(name, read_tensors(self.save(model)))
        blockscale.transformers.set_family(model, "modelopt")
        self.assertIn("model.layers.0.block_sparse_moe.gate",
                      model.config.quantization_config.members["ignore"])

    def test_another_family(self):
        """A checkpoint of ModelOpt is saved as one of compressed-tensors, with the same codes."""
        make_checkpoint("llama", "modelopt-nvfp4", self.folder)
        model = load(self.folder / "quantized")
        blockscale.transformers.set_family(model, "compressed-tensors")
        decode(self.save(model), self.folder / "values")
        before = read_tensors(self.folder / "plain-values")
        self.assertEqual(find_difference(before, read_tensors(self.folder / "values")), [])

    def test_a_policy(self):
        """A plain checkpoint that is quantized when it is loaded: as quantize_ does it, in layers
        that loaders fuse with one global scale."""
        model = load(self.root / "llama", quantization_config=Config(policy(NVFP4),
                                                                     family="modelopt"))
        wanted = self.quantize(NVFP4)
        self.assertTrue(torch.equal(model(**self.x).logits, wanted(**self.x).logits))
        self.assertEqual(model.config.quantization_config.members["quant_algo"], "W4A16_NVFP4")
        self.assertEqual(blockscale.checkpoint.check(self.save(model)).findings, ())

    @unittest.skipIf(importlib.util.find_spec("compressed_tensors") is None,
                     "no compressed-tensors; scripts/peers.sh transformers installs it")
    def test_their_own_path(self):
        """What is saved loads in compressed-tensors' own path, with the logits of plain weights
        with the values of the codes."""
        for format in ("nvfp4", "mxfp4", "mxfp8"):
            with self.subTest(format):
                model = self.quantize({"format": format, "weight_only": True})
                blockscale.transformers.set_family(model, "compressed-tensors")
                saved = self.save(model, format)
                decode(saved, self.folder / f"{format}-values")
                theirs = load(saved)
                self.assertEqual(type(theirs.hf_quantizer).__name__, "CompressedTensorsHfQuantizer")
                expected = load(self.folder / f"{format}-values")(**self.x).logits
                self.assertTrue(torch.equal(theirs(**self.x).logits, expected))
                self.assertLess(get_ratio(model(**self.x).logits, expected), 0.03)

    def test_amaxes(self):
        """A static amax of activations becomes the input scale of the family, and comes back."""
        model = load(self.root / "llama")
        amaxes = blockscale.torch.calibrate(model, [self.x["input_ids"]])
        rule = {"format": "nvfp4", "recipe": "modelopt"}
        model = self.quantize(rule, amaxes=amaxes)
        blockscale.transformers.set_family(model, "modelopt")
        again = load(self.save(model))
        layer, name = again.model.layers[0].mlp.up_proj, "model.layers.0.mlp.up_proj"
        self.assertEqual(layer.form.activation.scaling, "scale")
        self.assertAlmostEqual(layer.input_global.item(), amaxes[name] / 2688, 8)
        self.assertLess(get_ratio(again(**self.x).logits, model(**self.x).logits), 0.03)

    def test_refused(self):
        cases = [
            ("modelopt", {"format": "mxfp4", "weight_only": True},
             "expected a weight in nvfp4, mxfp8, as modelopt has them, but got mxfp4"),
            ("modelopt", {"format": "mxfp8", "weight_only": True},
             "expected quantized activations, as ModelOpt MXFP8 always has them"),
            ("modelopt", {"format": "nvfp4"}, "a static scale of them, as ModelOpt NVFP4 has it"),
            ("compressed-tensors", {"format": "nvfp4", "rht": True},
             "but got a Hadamard transform"),
            ("compressed-tensors", {"format": "mxfp4", "activations": {"format": "mxfp8"}},
             "expected activations in mxfp4, as its weight, but got mxfp8"),
            ("gpt-oss", {"format": "mxfp4", "weight_only": True},
             "expected a stack of experts, as gpt-oss quantizes nothing else"),
        ]
        for family, rule, message in cases:
            with self.subTest(family, rule=rule):
                model = self.quantize(rule)
                with self.assertRaisesRegex(blockscale.ArgumentError, message):
                    blockscale.transformers.set_family(model, family)
                self.assertFalse(hasattr(model, "hf_quantizer"))
        model = load(self.root / "llama")
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "expected a model of transformers with quantized layers"):
            blockscale.transformers.set_family(model, "modelopt")
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected family to be one of"):
            blockscale.transformers.set_family(model, "gptq")

    def test_unequal_global_scales(self):
        """Loaders make one layer of q, k and v, with one global scale."""
        model = load(self.root / "llama")
        blockscale.torch.quantize_(model, policy(NVFP4))
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "expected the global scale of 'model.layers.0.*list_fused"):
            blockscale.transformers.set_family(model, "modelopt")
        blockscale.transformers.set_family(model, "blockscale")
        again = load(self.save(model))
        self.assertTrue(torch.equal(again(**self.x).logits, model(**self.x).logits))

    def test_a_damaged_mark(self):
        """Of the family blockscale, marks say how weights are quantized."""
        folder, tensors = self.save_own()
        layer = "model.layers.0.mlp.up_proj"
        for changes, message in (
                ({f"{layer}._extra_state": torch.zeros(512, dtype=torch.uint8)},
                 f"'{layer}._extra_state': expected a mark of JSON"),
                ({f"{layer}.scales": None}, f"expected a tensor '{layer}.scales', but got none"),
                ({f"{layer}.data": tensors[f"{layer}.data"][1:]},
                 f"'{layer}.data': expected torch.uint8 of shape"),
                ({f"{layer}._extra_state": None}, f"expected a tensor '{layer}.weight', but got")):
            with self.subTest(message):
                changed = {**tensors, **changes}
                write_tensors({name: each for name, each in changed.items() if each is not None},
                              folder)
                with self.assertRaisesRegex(blockscale.ArgumentError, message):
                    load(folder)


if __name__ == "__main__":
    unittest.main()
