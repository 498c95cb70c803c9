# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of vLLM, loaded whole by its own loader, against those of transformers."""

import importlib.util
import pickle
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("vllm") is None:
    print("test_models: skipped, no vLLM; scripts/peers.sh vllm installs it")
    raise unittest.SkipTest("no vLLM; scripts/peers.sh vllm installs it")

import torch

from vllm_models import (
    MODULES,
    Models,
    compare_experts,
    compare_layers,
    families,
    list_experts,
    load_by_transformers,
    read_config,
)


class ModelsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = Models()

    def make(self, family, layout):
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        families.save_plain(family, root / "plain")
        return families.quantize(root / "plain", root / "quantized", layout)

    def test_linear_layers(self):
        """All layers but tables and heads are quantized, and give the bytes of transformers'
        ones: with plain activations, and with quantized ones."""
        for layout in ("modelopt-nvfp4", "modelopt-mxfp8", "fp8-blocks", "blockscale"):
            with self.subTest(layout):
                folder = self.make("llama", layout)
                model = self.models.load(folder)
                names, ratios = compare_layers(model, load_by_transformers(folder))
                self.assertEqual(len(names), 8)
                self.assertEqual(set(ratios.values()), {0})
                # No tensor of a file stays beside what was made of it, and no plain copy is there.
                self.assertEqual([name for name, _ in model.named_parameters() if "proj" in name],
                                 [])

    def test_fused_files(self):
        """Files may have one tensor of what vLLM makes one layer of, as those of Phi-3 have."""
        folder = self.make("phi3", "packed-nvfp4")
        _, ratios = compare_layers(self.models.load(folder), load_by_transformers(folder))
        self.assertEqual(list(ratios.values()), [0] * 8)

    def test_experts(self):
        folder = self.make("qwen3_moe", "packed-mxfp4")
        model, door = self.models.load(folder), load_by_transformers(folder)
        found = list_experts(model)
        self.assertEqual(len(found), 2)
        for layer in found:
            self.assertEqual(compare_experts(layer, door), 0)
        self.assertEqual(set(compare_layers(model, door)[1].values()), {0})

    def test_scales_of_activations(self):
        """Activations are quantized by the scales that a checkpoint has for them: one for all parts
        of a layer, several of them, and one for all experts, the largest."""
        folder = self.make("qwen3_moe", "modelopt-nvfp4")
        tensors = families.read_tensors(folder)
        scalars = [name for name in tensors if name.endswith(".weight_scale_2")]
        for number, name in enumerate(sorted(scalars)):
            factor = 1 if ".layers.0." in name else 1 + number % 5
            tensors[name.replace("weight_scale_2", "input_scale")] = torch.tensor(2e-4 * factor)
        families.write_tensors(tensors, folder)
        model, door = self.models.load(folder), load_by_transformers(folder)
        self.assertEqual(set(compare_layers(model, door)[1].values()), {0})
        self.assertEqual([compare_experts(each, door) for each in list_experts(model)], [0, 0])
        attention = [model.get_submodule(f"model.layers.{number}.self_attn.qkv_proj")
                     for number in range(2)]
        self.assertEqual([len(getattr(each, MODULES)) for each in attention], [1, 3])
        self.assertIsNotNone(getattr(attention[0], MODULES)[0].form.activation)

    def test_scales_of_experts(self):
        """Scales of experts that are none are refused, also a NaN, which is nowhere a scale that is
        not there; and global scales that differ in one expert."""
        folder = self.make("qwen3_moe", "modelopt-nvfp4")
        plain, path = families.read_tensors(folder), "model.layers.0.mlp.experts"
        given = {f"{path}.{number}.{part}_proj.input_scale": torch.tensor(2e-4)
                 for number in range(4) for part in ("gate", "up", "down")}
        rule = "expected a positive, finite number"
        other = "expected the global scale of the other rows of its expert, .*"
        for role, number, name, value, place, expected in (
                ("input_scale", 2, "up_proj", float("nan"), "w13_.*' of expert 2, 'w3'", rule),
                ("input_scale", 1, "down_proj", 0.0, "w2_.*' of expert 1, 'w2'", rule),
                ("weight_scale_2", 3, "gate_proj", -1.0, "w13_.*' of expert 3, 'w1'", rule),
                ("weight_scale_2", 0, "up_proj", 3.0, r"experts\..*' of expert '0'", other)):
            message = place.replace(".*", role) + f": {expected}, but got {value}"
            with self.subTest(role, value=value):
                tensors = {**plain, **given}
                tensors[f"{path}.{number}.{name}.{role}"] = torch.tensor(value)
                families.write_tensors(tensors, folder)
                with self.assertRaisesRegex(ValueError, message):
                    self.models.load(folder)

    def test_processes(self):
        """vLLM sends the configuration to its processes, before and after it was asked."""
        folder = self.make("llama", "modelopt-nvfp4")
        config = read_config(folder)
        for _ in range(2):
            again = pickle.loads(pickle.dumps(config))
            path = "model.layers.0.mlp.down_proj"
            found = [each.files.find(path, [path], 256) for each in (again, config)]
            self.assertEqual(*found)
            self.assertEqual(found[0][0].layout.name, "ModelOpt NVFP4")

    def test_stacks_of_experts_are_refused(self):
        folder = self.make("qwen3_moe", "blockscale")
        with self.assertRaisesRegex(ValueError, r"mlp\.experts': expected experts with tensors of "
                                    r"their own, .*, but got stacks of all, .*set_family saves"):
            self.models.load(folder)


if __name__ == "__main__":
    unittest.main()
