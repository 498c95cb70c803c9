# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blockscale.checkpoint.open: what is a checkpoint, what is in it, and what is refused."""

import json
import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale
import checkpoints
from blockscale import checkpoint


class OpenTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tensors, self.config = checkpoints.make_model()

    def write(self, **options):
        return checkpoints.write_model(self.folder / "model", self.tensors, self.config, **options)

    def refuse(self, path, message, error=blockscale.ArgumentError):
        with self.assertRaises(error) as caught:
            checkpoint.open(path)
        self.assertIn(message, str(caught.exception))

    def test_one_file_folders_and_indexes(self):
        """The same tensors by whatever path they are reached."""
        one = self.write()
        many = checkpoints.write_model(self.folder / "many", self.tensors, self.config, shards=3)
        bare = checkpoints.write_model(self.folder / "bare", self.tensors, self.config, shards=3)
        (bare / "model.safetensors.index.json").unlink()
        for path in (one, one / "model.safetensors", many, bare,
                     many / "model.safetensors.index.json"):
            found = checkpoint.open(path)
            self.assertEqual(set(found.tensors), set(self.tensors))
            self.assertEqual(found.config, self.config)
            for name, tensor in self.tensors.items():
                array = found.tensors[name].numpy()
                np.testing.assert_array_equal(array, tensor)
                self.assertEqual(array.dtype, tensor.dtype)
                self.assertFalse(array.flags.writeable)

    def test_views_are_no_copies(self):
        found = checkpoint.open(self.write())
        tensor = found.tensors["model.norm.weight"]
        self.assertTrue(np.shares_memory(tensor.numpy(), tensor.bytes()))
        array = tensor.numpy()
        del found, tensor
        np.testing.assert_array_equal(array, self.tensors["model.norm.weight"])

    def test_weights(self):
        found = checkpoint.open(self.write())
        weight = found.weights["model.layers.0.self_attn.k_proj"]
        self.assertEqual((weight.shape, weight.dtype, weight.layout.name),
                         ((32, 64), "bf16", "plain bf16"))
        stack = found.weights["model.layers.1.mlp.experts.gate_up_proj"]
        self.assertEqual((stack.shape, stack.is_transposed), ((3, 256, 64), False))
        self.assertNotIn("model.norm", found.weights)
        self.assertIn("model.norm.weight", found.others)

    def test_orders_of_stacks(self):
        """[E, K, N] is told from [E, N, K] by hidden_size; down_proj of square matrices goes by
        gate_up_proj beside it, and where nothing tells it is no weight."""
        self.tensors, self.config = checkpoints.make_model(transposed=True)
        found = checkpoint.open(self.write())
        for name, shape in (("gate_up_proj", (3, 256, 64)), ("down_proj", (3, 64, 128))):
            stack = found.weights[f"model.layers.1.mlp.experts.{name}"]
            self.assertEqual((stack.shape, stack.is_transposed), (shape, True))
        down = "model.layers.1.mlp.experts.down_proj"
        self.tensors[down] = self.tensors[down][:, :64]
        self.assertTrue(checkpoint.open(self.write()).weights[down].is_transposed)
        self.config["hidden_size"] = 48
        self.assertNotIn(down, checkpoint.open(self.write()).weights)

    def test_elements_that_are_not_aligned(self):
        """A tensor may begin at any byte."""
        path = self.folder / "odd.safetensors"
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        checkpoints.save(path, {"a": np.zeros(3, np.uint8), "x.weight": x})
        found = checkpoint.open(path).tensors["x.weight"]
        self.assertEqual(found.offset % 4, 3)
        np.testing.assert_array_equal(found.numpy(), x)

    def test_what_is_no_checkpoint(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.refuse(empty, "expected files of tensors (.safetensors, .gguf)")
        self.refuse(self.folder / "none.safetensors", "none.safetensors", blockscale.FileError)
        text = self.folder / "text.txt"
        text.write_text("x")
        self.refuse(text, "expected a folder or a file that ends in .safetensors or .gguf")

    def test_names_twice(self):
        folder = self.write()
        checkpoints.save(folder / "other.safetensors",
                         {"model.norm.weight": np.zeros(3, np.float32)})
        self.refuse(folder, "expected each tensor once, but got 'model.norm.weight'")

    def test_indexes(self):
        """An index names shards beside it, and all of their tensors."""
        folder = self.write(shards=2)
        path = folder / "model.safetensors.index.json"
        good = json.loads(path.read_text())
        name = "model.norm.weight"
        other = next(each for each in good["weight_map"].values()
                     if each != good["weight_map"][name])
        cases = [
            ("../model/" + good["weight_map"][name], "expected a shard in the same folder"),
            ("/etc/x.safetensors", "expected a shard in the same folder"),
            ("..", "expected a shard in the same folder"),
            (path.name, "expected a shard that ends in .safetensors or .gguf"),
            ("none.safetensors", "expected the shard 'none.safetensors' in its folder"),
            (other, f"expected '{name}' in '{other}', as the index says"),
            (3, "expected names of files in weight_map, but got 3"),
        ]
        for shard, message in cases:
            with self.subTest(shard):
                index = {"weight_map": {**good["weight_map"], name: shard}}
                path.write_text(json.dumps(index))
                self.refuse(folder, message)
        path.write_text(json.dumps({"weight_map": {**good["weight_map"], "extra": other}}))
        self.refuse(folder, f"expected 'extra' in '{other}', as the index says, but it is nowhere")
        del good["weight_map"][name]
        path.write_text(json.dumps(good))
        self.refuse(folder, f"'{name}' of")
        path.write_text('{"weight_map": {}}')
        self.refuse(folder, "expected a weight_map with names of tensors")
        path.write_text('{"weight_map": {"a": "x", "a": "y"}}')
        self.refuse(folder, "the member 'a' twice")
        path.write_text("[" * 100000)
        self.refuse(folder, "to be JSON")

    def test_configurations(self):
        """Members of other types than a loader reads are told."""
        folder = self.write()
        path = folder / "config.json"
        for text, message in (
                ("[]", "to be an object of JSON, but got list"),
                ("{", "to be JSON"),
                ('{"quantization_config": 3}', "quantization_config: expected an object of JSON"),
                ('{"quantization_config": {"quant_method": "modelopt", "ignore": 3}}',
                 "ignore: expected a list of names, but got 3"),
                (('{"quantization_config": {"quant_method": "compressed-tensors", '
                  '"config_groups": {"a": 1}}}'), "config_groups: a: expected an object"),
                (('{"quantization_config": {"quant_method": "modelopt", "quant_algo": '
                  '"MIXED_PRECISION", "quantized_layers": {"a": "NVFP4"}}}'),
                 "quantized_layers: a: expected an object")):
            with self.subTest(text):
                path.write_text(text)
                self.refuse(folder, message)

    def test_dtypes_without_numpy(self):
        path = self.folder / "x.gguf"
        checkpoints.save(path, {"x.weight": ("MXFP4", (2, 32), bytes(34))})
        tensor = checkpoint.open(path).tensors["x.weight"]
        self.assertEqual((tensor.dtype, tensor.shape, tensor.nbytes), ("MXFP4", (2, 32), 34))
        with self.assertRaisesRegex(blockscale.ArgumentError, "but got MXFP4"):
            tensor.numpy()

    def test_float8(self):
        path = self.folder / "x.safetensors"
        x = np.arange(32, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)
        checkpoints.save(path, {"x": x})
        np.testing.assert_array_equal(checkpoint.open(path).tensors["x"].numpy(), x)


if __name__ == "__main__":
    unittest.main()
