# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blockscale.checkpoint.convert and diff: what is exact comes back bit for bit, and what is not is
told, block by block."""

import json
import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale
import checkpoints
from blockscale import checkpoint

Q, K = "model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.k_proj"
NVFP4 = {"format": "nvfp4", "activations": {"global_scale": {"amax": 6.0}}}


class CheckpointTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.plain = checkpoints.write_model(cls.root / "plain", *checkpoints.make_model())

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def quantize(self, name, rule, layout="modelopt", source=None):
        result = self.folder / name
        checkpoint.quantize(source or self.plain, result, {"version": 1, "rules": [rule]},
                            layout=layout)
        return result

    def convert(self, source, to, **options):
        self.number = getattr(self, "number", 0) + 1
        result = self.folder / f"{to}-{self.number}"
        return result, checkpoint.convert(source, result, to, **options)

    def make_gpt_oss(self, hidden=64, spread=3, seed=0):
        """Stacks of random codes with rows of gate and up by turns, and their biases."""
        random = np.random.default_rng(seed)
        tensors = {"model.norm.weight": np.ones(hidden, ml_dtypes.bfloat16)}
        path = "model.layers.0.mlp.experts."
        for name, rows in (("gate_up_proj", 2 * hidden), ("down_proj", hidden)):
            tensors[f"{path}{name}_blocks"] = random.integers(
                0, 256, (3, rows, hidden // 32, 16), dtype=np.uint8)
            tensors[f"{path}{name}_scales"] = (120 - random.integers(
                0, spread, (3, rows, hidden // 32))).astype(np.uint8)
            tensors[f"{path}{name}_bias"] = random.standard_normal(
                (3, rows), dtype=np.float32).astype(ml_dtypes.bfloat16)
        config = {"model_type": "gpt_oss", "hidden_size": hidden, "quantization_config": {
            "quant_method": "mxfp4", "modules_to_not_convert": []}}
        return checkpoints.write_model(self.folder / "gpt-oss", tensors, config), tensors


class ConvertTest(CheckpointTest):
    def check_round_trip(self, source, to, back):
        """Whether a checkpoint comes back by another layout, and both have the same numbers."""
        there, first = self.convert(source, to)
        again, second = self.convert(there, back)
        self.assertTrue(first.comes_back and second.comes_back)
        one, two = checkpoint.open(source), checkpoint.open(again)
        self.assertEqual({name: (tensor.dtype, tensor.shape, tensor.bytes().tobytes())
                          for name, tensor in one.tensors.items()},
                         {name: (tensor.dtype, tensor.shape, tensor.bytes().tobytes())
                          for name, tensor in two.tensors.items()})
        self.assertEqual(one.config, two.config)
        self.assertTrue(checkpoint.diff(source, there).is_equal)
        self.assertEqual(checkpoint.check(there).findings, ())
        return there

    def test_exact_pairs(self):
        """Formats that two layouts have come back bit for bit."""
        weights = {"format": "nvfp4", "weight_only": True}
        for name, rule, layout, to in (
                ("a", {"format": "mxfp8"}, "modelopt", "compressed-tensors"),
                ("b", {"format": "mxfp8"}, "modelopt", "torchao"),
                ("c", weights, "modelopt", "torchao"),
                ("d", {"format": "mxfp4"}, "compressed-tensors", "torchao")):
            with self.subTest(layout, to=to, rule=rule):
                self.check_round_trip(self.quantize(name, rule, layout), to, layout)

    def test_reciprocals(self):
        """Codes and scales of NVFP4 stay; a scalar is stored as its reciprocal, which comes back
        but for an ulp, and this is told."""
        source = self.quantize("source", NVFP4)
        packed, first = self.convert(source, "compressed-tensors")
        again, _ = self.convert(packed, "modelopt")
        one, two, three = map(checkpoint.open, (source, packed, again))
        differ = 0
        for name, weight in one.weights.items():
            if weight.layout.is_plain:
                continue
            other = two.weights[name]
            for role in ("data", "scales"):
                np.testing.assert_array_equal(weight.parts[role].bytes(),
                                              other.parts[role].bytes())
            for role in ("global_scale", "input_scale"):
                scale = weight.parts[role].numpy()
                turned = other.parts[role].numpy()
                self.assertEqual(turned.shape, (1,))
                self.assertEqual(turned[0], np.float32(1) / scale)
                back = three.weights[name].parts[role].numpy()
                self.assertLessEqual(abs(back - scale), np.spacing(scale))
                differ += int(back != scale)
        told = sum(not layer.comes_back for layer in first.layers)
        self.assertTrue(first.is_exact)
        self.assertEqual(told > 0, differ > 0)
        self.assertEqual(two.scheme.find(Q).algorithm, "nvfp4-pack-quantized")
        self.assertFalse((packed / "hf_quant_config.json").exists())
        self.assertEqual(checkpoint.check(packed).findings, ())
        self.assertEqual(checkpoint.check(again).findings, ())
        difference = checkpoint.diff(source, packed)
        self.assertTrue(difference.is_within(130))

    def test_plain_numbers(self):
        """f32 has all numbers; bf16 rounds them, and blocks are counted where it does."""
        source = self.quantize("source", NVFP4)
        found, exact = self.convert(source, "plain", dtype="f32")
        self.assertTrue(exact.is_exact)
        self.assertTrue(checkpoint.diff(source, found).is_equal)
        self.assertNotIn("quantization_config", checkpoint.open(found).config)
        self.assertEqual(checkpoint.check(found).findings, ())
        rounded, conversion = self.convert(source, "plain")
        array = checkpoint.open(rounded).tensors[f"{Q}.weight"].numpy()
        wanted = checkpoint.open(found).tensors[f"{Q}.weight"].numpy()
        np.testing.assert_array_equal(array, wanted.astype(ml_dtypes.bfloat16))
        layer = next(each for each in conversion.layers if each.name == Q)
        changed = (wanted != array.astype(np.float32)).reshape(64, 4, 16).any(-1).sum()
        self.assertEqual((layer.lost, layer.blocks), (changed, 256))

    def test_quantized_again(self):
        """Another format is only made where it is asked for."""
        source = self.quantize("source", {"format": "mxfp8"})
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected a format that gguf has"):
            checkpoint.convert(source, self.folder / "x.gguf", "gguf")
        self.assertFalse((self.folder / "x.gguf.partial").exists())
        found, conversion = self.convert(source, "compressed-tensors", format="nvfp4")
        layer = conversion.layers[0]
        self.assertEqual(layer.way, "quantized again")
        self.assertGreater(layer.sqnr, 18)
        self.assertGreater(layer.lost, 0)
        self.assertEqual(checkpoint.check(found).findings, ())
        one, two = checkpoint.open(source), checkpoint.open(found)
        values = checkpoints.decode("mxfp8", one.tensors[f"{Q}.weight"].numpy(),
                                    one.tensors[f"{Q}.weight_scale"].numpy())
        scale = two.tensors[f"{Q}.weight_global_scale"].numpy()
        again = checkpoints.decode("nvfp4", two.tensors[f"{Q}.weight_packed"].numpy(),
                                   two.tensors[f"{Q}.weight_scale"].numpy(), 1 / scale)
        self.assertLess(((values - again) ** 2).sum(), (values ** 2).sum() / 50)
        self.assertEqual(scale, two.tensors[f"{K}.weight_global_scale"].numpy())

    def test_stacks_become_experts(self):
        """Rows of gpt-oss that alternate are layers of experts, and come back, with their
        biases."""
        source, tensors = self.make_gpt_oss()
        found = self.check_round_trip(source, "compressed-tensors", "gpt-oss")
        opened = checkpoint.open(found)
        blocks = tensors["model.layers.0.mlp.experts.gate_up_proj_blocks"].reshape(3, 128, -1)
        name = "model.layers.0.mlp.experts.2.up_proj"
        np.testing.assert_array_equal(opened.tensors[f"{name}.weight_packed"].numpy(),
                                      blocks[2, 1::2])
        np.testing.assert_array_equal(
            opened.tensors[f"{name}.bias"].numpy(),
            tensors["model.layers.0.mlp.experts.gate_up_proj_bias"][2, 1::2])

    def test_gguf(self):
        """Codes of both formats, in ggml's order, and back; the values are those of its blocks."""
        weights = {"format": "nvfp4", "weight_only": True}
        for name, rule, layout in (("a", weights, "modelopt"),
                                   ("b", {"format": "mxfp4", "weight_only": True},
                                    "compressed-tensors")):
            with self.subTest(layout):
                source = self.quantize(name, rule, layout)
                path = self.folder / f"{name}.gguf"
                conversion = checkpoint.convert(source, path, "gguf")
                self.assertTrue(conversion.is_exact)
                self.assertTrue(checkpoint.diff(source, path).is_equal)
                self.assertEqual(checkpoint.check(path).findings, ())
                found = checkpoint.open(path)
                self.assertEqual(found.config["hidden_size"], 64)
                again, _ = self.convert(path, layout)
                one, two = checkpoint.open(source), checkpoint.open(again)
                self.assertEqual({each: tensor.bytes().tobytes()
                                  for each, tensor in one.tensors.items()},
                                 {each: tensor.bytes().tobytes()
                                  for each, tensor in two.tensors.items()})
                self.assertEqual(one.config["quantization_config"],
                                 two.config["quantization_config"])
        # The first block of MXFP4: a byte of scale, then elements j and j + 16 in byte j.
        block = found.tensors[f"{Q}.weight"].bytes(0, 17)
        codes = np.concatenate([block[1:] & 15, block[1:] >> 4])
        values = checkpoints.VALUES[codes] * np.float32(2.0) ** (int(block[0]) - 127)
        weight = checkpoint.open(source).weights[Q]
        wanted = checkpoints.decode("mxfp4", weight.parts["data"].numpy(),
                                    weight.parts["scales"].numpy())
        np.testing.assert_array_equal(values, wanted[0, :32])

    def test_quantized_to_gguf(self):
        """The same codes as in the layout whose recipe it is."""
        path = self.folder / "x.gguf"
        policy = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
        summary = checkpoint.quantize(self.plain, path, policy, layout="gguf")
        self.assertTrue(all(layer.sqnr > 18 for layer in summary.quantized))
        source = self.quantize("modelopt", policy["rules"][0])
        # But for experts: those of a stack share no scale with others there, as here.
        self.assertTrue(checkpoint.diff(source, path).is_within(18))
        names = {f"{Q}.weight", f"{K}.weight", "model.layers.0.mlp.down_proj.weight"}
        same = {each.name for each in checkpoint.diff(source, path).tensors if not each.different}
        self.assertLessEqual(names, same)
        stack = checkpoint.open(path).weights["model.layers.1.mlp.experts.gate_up_proj"]
        self.assertEqual((stack.shape, stack.parts["global_scale"].shape), ((3, 256, 64), (3,)))

    def test_quantized_by_ggml(self):
        """MXFP4 of GGUF is that of ggml's encoder: the exponent of the amax, and of two numbers
        that are as near the one with the lower index."""
        x = np.zeros((1, 32), np.float32)
        x[0, :4] = 6, 2.5, -0.25, 5
        source, path = self.folder / "x.safetensors", self.folder / "x.gguf"
        checkpoints.save(source, {"a.weight": x})
        checkpoint.quantize(source, path, {"version": 1, "leave_narrow": False, "rules": [
            {"format": "mxfp4", "cast": "bf16", "weight_only": True}]}, layout="gguf")
        block = checkpoint.open(path).tensors["a.weight"].bytes()
        self.assertEqual((block[0], list(block[1:5] & 15)), (127, [7, 4, 0, 6]))
        self.assertFalse(block[5:].any() or (block[1:5] >> 4).any())

    def test_mxfp4_to_nvfp4(self):
        """Powers of two: exact within 2^17 of the largest scale, and counted where it is not."""
        source, tensors = self.make_gpt_oss(spread=17)
        found, conversion = self.convert(source, "modelopt")
        self.assertTrue(conversion.is_exact)
        self.assertEqual(conversion.layers[0].way, "MXFP4 to NVFP4 by powers of two")
        self.assertTrue(checkpoint.diff(source, found).is_equal)
        self.assertEqual(checkpoint.check(found).findings, ())
        opened = checkpoint.open(found)
        self.assertEqual(opened.scheme.describe(), "modelopt (W4A16_NVFP4)")
        name = "model.layers.0.mlp.experts.1.gate_proj"
        # Gate and up share the largest exponent.
        scales = tensors["model.layers.0.mlp.experts.gate_up_proj_scales"][1]
        self.assertEqual(opened.tensors[f"{name}.weight_scale_2"].numpy(),
                         2.0 ** (int(scales.max()) - 127 - 8))
        path = self.folder / "gpt-oss" / "model.safetensors"
        tensors["model.layers.0.mlp.experts.down_proj_scales"][2, 5, 1] = 60
        checkpoints.save(path, tensors)
        found, conversion = self.convert(source, "compressed-tensors", format="nvfp4")
        self.assertEqual({layer.name: layer.lost for layer in conversion.layers if layer.lost},
                         {"model.layers.0.mlp.experts.2.down_proj": 1})
        self.assertFalse(conversion.is_exact)
        self.assertIn("1 of 128 blocks change", str(conversion))

    def test_mxfp4_to_fp8(self):
        """Exact where exponents are within 14 of each other."""
        source, _ = self.make_gpt_oss(hidden=256, spread=14)
        found, conversion = self.convert(source, "fp8-blocks")
        self.assertTrue(conversion.is_exact)
        self.assertTrue(checkpoint.diff(source, found).is_equal)
        opened = checkpoint.open(found)
        name = "model.layers.0.mlp.experts.0.up_proj"
        self.assertEqual(opened.tensors[f"{name}.weight_scale_inv"].shape, (2, 2))
        self.assertEqual(opened.scheme.family, "fp8-blocks")
        self.assertEqual(checkpoint.check(found).findings, ())

    def test_refused(self):
        source = self.quantize("source", NVFP4)
        for to, options, message in (
                ("awq", {}, "expected to to be one of modelopt, "),
                ("plain", {"format": "mxfp8"}, "expected no format with plain"),
                ("plain", {"dtype": "f64"}, "expected dtype to be one of f32, bf16, f16"),
                ("modelopt", {"dtype": "f32"}, "expected no dtype with modelopt"),
                ("gpt-oss", {}, "expected a format that gpt-oss has"),
                ("fp8-blocks", {}, "expected MXFP4 to make FP8 in blocks of"),
                ("modelopt", {"format": "mxfp4"}, "expected a format that modelopt has")):
            with self.subTest(to, **options):
                with self.assertRaises(blockscale.ArgumentError) as caught:
                    self.convert(source, to, **options)
                self.assertIn(message, str(caught.exception))
        self.assertEqual([each.name for each in self.folder.iterdir()], ["source"])

    def test_activations_that_a_layout_does_not_have(self):
        """A result that quantizes activations where the source does not says so."""
        source = self.quantize("source", {"format": "mxfp8", "weight_only": True},
                               "compressed-tensors")
        found, conversion = self.convert(source, "modelopt")
        self.assertIn(Q, conversion.other_activations)
        self.assertIn("activations are quantized where they were not", str(conversion))
        self.assertTrue(checkpoint.open(found).scheme.find(Q).quantizes_activations)

    def test_transforms_have_no_place_elsewhere(self):
        source = self.quantize("source", NVFP4)
        checkpoints.save(source / "more.safetensors",
                         {f"{Q}.pre_quant_scale": np.ones(64, np.float32)})
        for name in ("config.json", "hf_quant_config.json"):
            path = source / name
            path.write_text(path.read_text().replace('"NVFP4"', '"NVFP4_AWQ"'))
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected no transform"):
            self.convert(source, "compressed-tensors")

    def test_reports(self):
        _, conversion = self.convert(self.quantize("source", NVFP4), "plain")
        members = json.loads(conversion.to_json())
        self.assertFalse(members["is_exact"])
        self.assertIn("and 12 more", str(conversion))


class DiffTest(CheckpointTest):
    def test_layers_by_their_difference(self):
        """The least alike come first, with what changed."""
        source = self.quantize("source", NVFP4)
        found = checkpoint.diff(self.plain, source)
        ratios = [each.sqnr for each in found.tensors]
        self.assertEqual(ratios, sorted(ratios))
        self.assertLess(ratios[0], 25)
        self.assertEqual(ratios[-1], np.inf)
        self.assertFalse(found.is_equal)
        self.assertTrue(found.is_within(15))
        self.assertFalse(found.is_within(30))
        self.assertEqual((found.only_first, found.only_second), ((), ()))
        self.assertIn("8 of 28 tensors have the same numbers", str(found))

    def test_numbers(self):
        """Sums, largest differences and counts, with NaN and infinities that are equal or not."""
        a = np.array([[1, 2, 3, np.nan, np.inf, 5]], np.float32)
        b = np.array([[1, 2.5, 3, np.nan, np.inf, np.nan]], np.float32)
        for name, array in (("a", a), ("b", b)):
            checkpoints.save(self.folder / f"{name}.safetensors",
                             {"x": array, "y.weight": np.ones((2, 2), np.float32)})
        found = checkpoint.diff(self.folder / "a.safetensors", self.folder / "b.safetensors")
        first = found.tensors[0]
        self.assertEqual((first.name, first.different, first.largest, first.noise),
                         ("x", 2, 0.5, 0.25))
        self.assertEqual(first.signal, 1 + 4 + 9 + 0)
        self.assertEqual(found.tensors[1].sqnr, np.inf)

    def test_names_and_shapes(self):
        checkpoints.save(self.folder / "a.safetensors", {
            "x": np.ones(3, np.float32), "y": np.ones(3, np.float32)})
        checkpoints.save(self.folder / "b.safetensors", {
            "x": np.ones(4, np.float32), "z": np.ones(3, np.float32)})
        found = checkpoint.diff(self.folder / "a.safetensors", self.folder / "b.safetensors")
        self.assertEqual((found.only_first, found.only_second), (("y",), ("z",)))
        self.assertEqual(found.tensors[0].message, "expected shape [3], but got [4]")
        self.assertFalse(found.is_equal or found.is_within(0))
        self.assertIn("only the first has 'y'", str(found))
        self.assertEqual(json.loads(found.to_json())["tensors"][0]["sqnr_db"], None)

    def test_stacks_and_experts(self):
        """Experts of a stack are those of layers of their own."""
        other = checkpoints.write_model(self.folder / "experts",
                                        *checkpoints.make_model(per_expert=True))
        self.assertTrue(checkpoint.diff(self.plain, other).is_equal)

    def test_refused(self):
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected threads to be 1 or more"):
            checkpoint.diff(self.plain, self.plain, threads=0)


if __name__ == "__main__":
    unittest.main()
