# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""calibrate(): the amaxes of a model's activations, by transformers on texts."""

import contextlib
import importlib.util
import io
import json
import tempfile
import unittest
from pathlib import Path

import blockscale
from blockscale import checkpoint
from blockscale.checkpoint import _command

HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
WORDS = ["<unk>", "a", "b", "c", "d", "e", "f", "g"]


def save_model(folder):
    """A small decoder with a tokenizer of words."""
    import tokenizers
    import torch
    import transformers
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    model = transformers.LlamaForCausalLM(config).bfloat16().eval()
    model.save_pretrained(folder)
    words = tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)},
                                        unk_token="<unk>")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer,
                                         unk_token="<unk>").save_pretrained(folder)
    return model


@unittest.skipUnless(HAS_TRANSFORMERS,
                     "transformers is not installed (scripts/peers.sh checkpoints)")
class CalibrateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = save_model(cls.root / "model")

    def test_amaxes(self):
        """The largest numbers that layers read, by a hook of the test."""
        import torch
        layer = self.model.model.layers[1].mlp.down_proj
        seen = []
        handle = layer.register_forward_pre_hook(
            lambda _, args: seen.append(args[0].abs().max().item()))
        with torch.no_grad():
            for ids in ([1, 2, 3], [4, 5, 6, 7]):
                self.model(torch.tensor([ids]))
        handle.remove()
        found = checkpoint.calibrate(self.root / "model", ["a b c", "d e f g a"], tokens=4)
        self.assertEqual(found["model.layers.1.mlp.down_proj"], max(seen))
        self.assertIn("model.layers.0.self_attn.q_proj", found)

    def test_from_texts_to_a_checkpoint(self):
        """The command's amaxes are those that quantize takes, and layers have input scales."""
        texts, amaxes = self.root / "texts.txt", self.root / "amaxes.json"
        texts.write_text("a b c\n\nd e f\n")
        with contextlib.redirect_stdout(io.StringIO()):
            status = _command.main(["calibrate", str(self.root / "model"), str(texts), "-o",
                                    str(amaxes)])
        self.assertEqual(status, 0)
        given = json.loads(amaxes.read_text())
        summary = checkpoint.quantize(self.root / "model", self.root / "nvfp4", {
            "version": 1, "rules": [{"format": "nvfp4"}]}, amaxes=given)
        self.assertEqual(summary.unused, ("lm_head",))
        self.assertEqual(checkpoint.check(self.root / "nvfp4").findings, ())

    def test_refused(self):
        for source, options, message in (
                (self.root / "none", {}, "expected a folder with a model"),
                (self.root / "model", {"tokens": 0}, "expected tokens to be 1 or more"),
                (self.root / "model", {"on": "tpu"}, "expected on to be cpu or cuda"),
                (self.root, {}, "to be a model of transformers with a tokenizer")):
            with self.subTest(message):
                with self.assertRaisesRegex(blockscale.ArgumentError, message):
                    checkpoint.calibrate(source, ["a b"], **options)
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected at least one text"):
            checkpoint.calibrate(self.root / "model", [])


class WithoutTransformersTest(unittest.TestCase):
    @unittest.skipIf(HAS_TRANSFORMERS, "there is transformers")
    def test_what_to_install(self):
        with self.assertRaisesRegex(ImportError, "'blockscale\\[torch\\]' transformers"):
            checkpoint.calibrate("model", ["a"])


if __name__ == "__main__":
    unittest.main()
