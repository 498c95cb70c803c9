# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""all-MiniLM-L6-v2 as a program of PyTorch, whose linear layers torchao quantized: the bytes of
its weights, and of what its first layers quantize, are those of docs/Accuracy.md."""

import sys
import time
import unittest

import numpy as np
import torch

import blockscale
import blockscale.torch
from minilm import CACHE, ROOT, MiniLM, load_example
from models import CONFIGS, as_bytes, quantize

#: Names of docs/Accuracy.md, by those of torchao's configurations.
FORMATS = {"mxfp8": "MXFP8", "nvfp4_no_global_scale": "NVFP4", "nvfp4": "NVFP4+global"}
#: Seconds that importing the whole model may take.
LIMIT = 10


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
