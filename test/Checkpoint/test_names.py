# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `quantize` plans for models of ten types of transformers, against the classes of their
modules; and a model whose head has another name in files, read back by transformers."""

import importlib.util
import tempfile
import unittest
from pathlib import Path

from blockscale import checkpoint
from blockscale.checkpoint import _model_table

HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
MODELS = ("LlamaForCausalLM", "MixtralForCausalLM", "Qwen3_5MoeForConditionalGeneration",
          "DeepseekV3ForCausalLM", "GPT2LMHeadModel", "GPTNeoXForCausalLM", "DbrxForCausalLM",
          "BertForMaskedLM", "T5ForConditionalGeneration", "LlavaForConditionalGeneration")


@unittest.skipUnless(HAS_TRANSFORMERS,
                     "transformers is not installed (scripts/peers.sh checkpoints)")
class NamesTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_ten_models(self):
        import model_kinds
        layers = 0
        for name in MODELS:
            with self.subTest(model=name):
                planned = model_kinds.Planned(model_kinds.build(name), self.folder / name)
                self.assertEqual(list(model_kinds.find_faults(planned, name)), [])
                self.assertEqual(planned.said, "")
                layers += len(planned.quantized)
        self.assertGreater(layers, 100)

    def test_the_judge_finds_faults(self):
        """A table and a router that are quantized, a layer that is left, and a group in two."""
        import model_kinds
        planned = model_kinds.Planned(model_kinds.build("MixtralForCausalLM"),
                                      self.folder / "model")
        path = "model.layers.0."
        group = next(group for group in planned.groups if f"{path}self_attn.q_proj" in group)
        planned.groups += [[group.pop()], ["model.embed_tokens"],
                           [f"{path}block_sparse_moe.gate"]]
        planned.left["model.layers.0.self_attn.o_proj"] = "it is a norm of MixtralForCausalLM"
        faults = "\n".join(model_kinds.find_faults(planned, "MixtralForCausalLM"))
        self.assertEqual(faults.count("\n"), 3)
        for text in ("several global scales", "kind 'embedding'", "kind 'router'",
                     "is a linear layer, and is left"):
            self.assertIn(text, faults)

    def test_a_head_of_another_name(self):
        """transformers ignores layers by the names of modules."""
        import torch
        import transformers
        torch.manual_seed(0)
        model = transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(
            vocab_size=96, hidden_size=64, intermediate_size=128, num_hidden_layers=1,
            num_attention_heads=4)).to(torch.bfloat16)
        model.save_pretrained(self.folder / "model")
        self.assertIn("embed_out.weight", checkpoint.open(self.folder / "model").tensors)
        policy = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
        checkpoint.quantize(self.folder / "model", self.folder / "result", policy,
                            layout="compressed-tensors")
        _, info = transformers.AutoModelForCausalLM.from_pretrained(
            self.folder / "result", output_loading_info=True)
        self.assertEqual({name: keys for name, keys in info.items() if keys}, {})

    def test_the_version(self):
        import transformers
        self.assertEqual(_model_table.get_version(), transformers.__version__)


if __name__ == "__main__":
    unittest.main()
