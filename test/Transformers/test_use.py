# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized models of transformers in use: generated with, compiled, trained, tied, resized,
copied, and loaded in little memory."""

import copy
import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("transformers") is None:
    print("test_use: skipped, no transformers; scripts/peers.sh transformers installs it")
    raise unittest.SkipTest("no transformers; scripts/peers.sh transformers installs it")

import torch
from transformers import Trainer, TrainingArguments

import blockscale
import blockscale.torch
import blockscale.transformers
from families import load, make_checkpoint, make_inputs, quiet, save_plain
from measure_memory import THRESHOLD

HERE = Path(__file__).resolve().parent
HEAD = {"version": 1, "leave_last_projection": False,
        "rules": [{"format": "nvfp4", "weight_only": True, "match": {"location": "lm_head"}}]}
TOKENS = [{"input_ids": list(range(3, 11)), "labels": list(range(3, 11))}] * 4


class UseTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        make_checkpoint("llama", "modelopt-nvfp4", cls.root)
        cls.x = make_inputs("llama")

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.model = load(self.root / "quantized")

    def train(self, model, **options):
        arguments = TrainingArguments(str(self.folder), report_to=[], use_cpu=True, max_steps=3,
                                      learning_rate=1e-2, disable_tqdm=True, save_strategy="no",
                                      per_device_train_batch_size=2, **options)
        with quiet():
            trainer = Trainer(model, arguments, train_dataset=TOKENS, eval_dataset=TOKENS)
            before = trainer.evaluate()["eval_loss"]
            trainer.train()
            return before, trainer.evaluate()["eval_loss"]

    def test_generate(self):
        """With a dynamic and with a static cache: the same tokens."""
        with quiet():
            found = [self.model.generate(**self.x, max_new_tokens=4, do_sample=False,
                                         cache_implementation=kind)
                     for kind in ("dynamic", "static")]
        self.assertEqual(found[0].shape, (2, 13))
        self.assertTrue(torch.equal(found[0], found[1]))

    def test_compile(self):
        expected = self.model(**self.x).logits
        compiled = torch.compile(self.model, backend="aot_eager", fullgraph=True)
        self.assertTrue(torch.equal(compiled(**self.x).logits, expected))
        self.assertTrue(self.model.hf_quantizer.is_compileable)

    def test_copies(self):
        expected = self.model(**self.x).logits
        for made in (copy.deepcopy(self.model), pickle.loads(pickle.dumps(self.model))):
            self.assertTrue(torch.equal(made(**self.x).logits, expected))
            self.assertEqual(made.config.quantization_config.quant_method, "modelopt")
            made.resize_token_embeddings(170)
            self.assertEqual(self.model.get_input_embeddings().num_embeddings, 160)

    def test_trainer(self):
        """What is plain is trained: a Trainer takes the model as it is."""
        self.model.model.norm.weight.requires_grad_(True)
        codes = self.model.model.layers[0].mlp.up_proj.data.clone()
        before, after = self.train(self.model)
        self.assertLess(after, before)
        self.assertTrue(torch.equal(self.model.model.layers[0].mlp.up_proj.data, codes))

    @unittest.skipIf(importlib.util.find_spec("peft") is None,
                     "no peft; scripts/peers.sh lora installs it")
    def test_adapters(self):
        from peft import LoraConfig, get_peft_model
        model = get_peft_model(self.model, LoraConfig(target_modules=["q_proj", "down_proj"]))
        before, after = self.train(model)
        self.assertLess(after, before)

    def test_resize(self):
        """A plain head gets other numbers of rows, and a quantized one none."""
        self.model.resize_token_embeddings(176)
        self.assertEqual(self.model(**self.x).logits.shape[-1], 176)
        model = load(self.root / "plain")
        blockscale.torch.quantize_(model, HEAD)
        blockscale.transformers.set_family(model, "blockscale")
        with quiet():
            model.save_pretrained(self.folder)
        model = load(self.folder)
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected a plain head.*got one in "
                                                              "nvfp4, whose rows are codes"):
            model.resize_token_embeddings(176)
        self.assertEqual(model.get_input_embeddings().num_embeddings, 160)
        self.assertEqual(model.resize_token_embeddings().num_embeddings, 160)

    def test_tied_heads(self):
        """A plain head stays tied to the embedding. A quantized one has the codes of its file, and
        ties of nothing."""
        save_plain("qwen3", self.folder / "plain")
        config = blockscale.transformers.BlockScaleConfig(
            {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True,
                                      "match": {"location": "*layers*"}}]})
        model = load(self.folder / "plain", quantization_config=config)
        with quiet():
            model.save_pretrained(self.folder / "first")
        model = load(self.folder / "first")
        self.assertIs(model.lm_head.weight, model.model.embed_tokens.weight)
        model.tie_weights()
        self.assertIs(model.lm_head.weight, model.model.embed_tokens.weight)
        blockscale.torch.quantize_(model, HEAD)
        blockscale.transformers.set_family(model, "blockscale")
        with quiet():
            model.save_pretrained(self.folder / "second")
        again = load(self.folder / "second")
        self.assertIsInstance(again.lm_head, blockscale.torch.QuantizedLinear)
        again.tie_weights()
        self.assertTrue(torch.equal(again(**self.x).logits, model(**self.x).logits))

    def test_memory(self):
        """A model of 18 MB, in a process of its own."""
        found = subprocess.run([sys.executable, str(HERE / "measure_memory.py")],
                               capture_output=True, text=True, env={**os.environ, **THRESHOLD})
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)


if __name__ == "__main__":
    unittest.main()
