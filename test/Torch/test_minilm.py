# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""all-MiniLM-L6-v2 as a program of PyTorch, whose linear layers torchao quantized: the bytes of
its weights, and of what its first layers quantize, are those of docs/Accuracy.md."""

import sys
import time
import unittest
from pathlib import Path

import numpy as np
import torch
from models import CONFIGS, as_bytes, quantize
from torch import nn

import blockscale
import blockscale.torch

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/minilm"
CACHE = ROOT / ".cache/minilm"
#: Names of docs/Accuracy.md, by those of torchao's configurations.
FORMATS = {"mxfp8": "MXFP8", "nvfp4_no_global_scale": "NVFP4", "nvfp4": "NVFP4+global"}
#: Seconds that importing the whole model may take.
LIMIT = 10


def load_example():
    """The example's modules; the package `blockscale` stays the one that is tested."""
    # The package that reads the weights is among those of .venv.
    sys.path += map(str, ROOT.glob(".venv/lib/python3*/site-packages"))
    sys.path[:0] = [str(EXAMPLE), str(ROOT / "python")]
    try:
        import encoder
        import formats
        import tokenizer
        import weights
        from main import SENTENCES
    finally:
        del sys.path[:2]
    return encoder, formats, tokenizer, weights, SENTENCES


class Linear(nn.Module):
    """A layer that takes and gives bf16, among others of f32."""

    def __init__(self, weight, bias):
        super().__init__()
        n, k = weight.shape
        self.inner = nn.Linear(k, n).bfloat16()
        self.inner.weight.data, self.inner.bias.data = weight.bfloat16(), bias.bfloat16()

    def forward(self, x):
        return self.inner(x.bfloat16()).float()


class MiniLM(nn.Module):
    """Tokens [1, T] in int64 to a vector [1, H] of norm 1, by the first `count` layers."""

    def __init__(self, tensors, config, count):
        super().__init__()
        self.heads, self.count = config["num_attention_heads"], count
        self.epsilon = config["layer_norm_eps"]
        for name, tensor in tensors.items():
            if tensor.dtype == np.float32 and not name.startswith("pooler"):
                self.register_buffer(name.replace(".", "_"), torch.from_numpy(np.array(tensor)))
        self.linears = nn.ModuleDict({
            name.removesuffix(".weight").replace(".", "_"): Linear(
                torch.from_numpy(np.array(tensor)),
                torch.from_numpy(np.array(tensors[name.replace(".weight", ".bias")])))
            for name, tensor in tensors.items()
            if name.startswith("encoder.") and name.endswith(".weight") and tensor.ndim == 2
            and int(name.split(".")[2]) < count})
        self.eval().requires_grad_(False)

    def _linear(self, x, name):
        return self.linears[name](x)

    def _norm(self, x, name):
        return nn.functional.layer_norm(x, x.shape[-1:], getattr(self, f"{name}_weight"),
                                        getattr(self, f"{name}_bias"), self.epsilon)

    def forward(self, ids):
        x = nn.functional.embedding(ids, self.embeddings_word_embeddings_weight)
        x = x + self.embeddings_position_embeddings_weight[:ids.shape[1]]
        x = self._norm(x + self.embeddings_token_type_embeddings_weight[0],
                       "embeddings_LayerNorm")
        for number in range(self.count):
            name = f"encoder_layer_{number}_"
            q, k, v = (self._linear(x, f"{name}attention_self_{part}").view(
                1, -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)
                for part in ("query", "key", "value"))
            y = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)
            y = self._linear(y, f"{name}attention_output_dense")
            x = self._norm(x + y, f"{name}attention_output_LayerNorm")
            y = nn.functional.gelu(self._linear(x, f"{name}intermediate_dense"))
            x = self._norm(x + self._linear(y, f"{name}output_dense"), f"{name}output_LayerNorm")
        return nn.functional.normalize(x.mean(1), dim=1)


def export(model, tokens):
    words = torch.export.Dim("words", min=2, max=128)
    ids = torch.tensor([tokens])
    return torch.export.export(model, (ids,), dynamic_shapes=({1: words},))


def get_bits(values):
    """Numbers of f64 as bf16 bits, rounded once through f32 that holds them."""
    import blockscale_reference
    return blockscale_reference.to_bf16(values)


class MiniLMTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        encoder, cls.formats, tokenizer, weights, sentences = load_example()
        try:
            cls.model = weights.load(str(CACHE))
        except weights.WeightsError as error:
            raise unittest.SkipTest(str(error)) from error
        cls.tokens = tokenizer.Tokenizer(cls.model.vocabulary).encode(sentences[0])
        cls.encoder = encoder.Encoder(cls.model)

    def get_format(self, config):
        return next(each for each in self.formats.FORMATS if each.name == FORMATS[config])

    def to_tiles(self, scale):
        import blockscale_reference
        return blockscale_reference.swizzle(scale).ravel()

    def test_bytes(self):
        sys.path.insert(0, str(ROOT / "python"))
        self.addCleanup(sys.path.remove, str(ROOT / "python"))
        for config in FORMATS:
            with self.subTest(config):
                # One format is tried on the whole model.
                count = self.model.config["num_hidden_layers"] if config == "mxfp8" else 1
                self.check(config, count)

    def check(self, config, count):
        model = MiniLM(self.model.tensors, self.model.config, count)
        program = export(quantize(model, CONFIGS[config]), self.tokens)
        start = time.process_time()
        imported = blockscale.torch.from_export(program)
        self.assertLess(time.process_time() - start, LIMIT)
        form = self.get_format(config)
        self.check_weights(imported, form)
        self.check_activations(imported, form)

    def check_weights(self, imported, form):
        constants = imported.constants
        for part in ("attention.self.query", "attention.output.dense", "output.dense"):
            name = f"encoder.layer.0.{part}"
            wanted = form.quantize(get_bits(self.model.tensors[f"{name}.weight"]))
            found = {key.rsplit("_", 1)[1]: tensor for key, tensor in constants.items()
                     if name.replace(".", "_").lower() + "_inner_weight" in key.lower()}
            self.assertTrue((as_bytes(found["data"])
                             == wanted.data.view(np.uint8).ravel()).all(), name)
            self.assertTrue((as_bytes(found["scale"])
                             == self.to_tiles(wanted.scale).view(np.uint8)).all(), name)
            if form.has_global:
                self.assertEqual(found["global"].item(), wanted.global_scale.item())

    def check_activations(self, imported, form):
        """What the first layers make of the tokens, from the same numbers in bf16."""
        quantizers = [op for op in imported.module.ops if op.name == "blockscale.quantize"][:3]
        module = imported.module
        observer = blockscale.compile(blockscale._trace.Module(
            module.name, module.arguments, module.ops,
            [value for op in quantizers for value in (op.operands[0], *op.results)],
            module.location, False))
        results = observer(torch.tensor([self.tokens]), *imported.constants.values())
        x = results[0].view(torch.uint16).numpy()
        wanted = form.quantize(x)
        for number in range(3):
            data, scale = results[3 * number + 1:3 * number + 3]
            self.assertTrue((as_bytes(data) == wanted.data.view(np.uint8).ravel()).all())
            self.assertTrue((as_bytes(scale)
                             == self.to_tiles(wanted.scale).view(np.uint8)).all())
        # The numbers are those of the example, but for roundings of norms in f32.
        _, inputs = self.encoder.run(self.tokens)
        exact = get_bits(inputs[0]["query"].astype(np.float32))
        steps = np.abs(x.astype(np.int32) - exact.astype(np.int32))
        self.assertLessEqual(steps.max(), 1)
        self.assertLess((steps != 0).mean(), 1e-3)


if __name__ == "__main__":
    unittest.main()
