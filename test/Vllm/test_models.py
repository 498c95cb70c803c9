# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of vLLM, loaded whole by its own loader, against those of transformers."""

import importlib.util
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("vllm") is None:
    print("test_models: skipped, no vLLM; scripts/peers.sh vllm installs it")
    raise unittest.SkipTest("no vLLM; scripts/peers.sh vllm installs it")

from vllm_models import (
    Models,
    compare_experts,
    compare_layers,
    families,
    list_experts,
    load_by_transformers,
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

    def test_stacks_of_experts_are_refused(self):
        folder = self.make("qwen3_moe", "blockscale")
        with self.assertRaisesRegex(ValueError, r"mlp\.experts': expected experts with tensors of "
                                    r"their own, .*, but got stacks of all, .*set_family saves"):
            self.models.load(folder)


if __name__ == "__main__":
    unittest.main()
