# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of Hugging Face with one layer, whole, against PyTorch. scripts/long/transformers.sh has
more of them, on more targets."""

import importlib.util
import unittest

import blockscale
import blockscale.torch

HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
if HAS_TRANSFORMERS:
    import hugging_face as hf
    from hugging_face import Form

#: Of f32, relative to the largest value.
BOUND = 1e-5


@unittest.skipUnless(HAS_TRANSFORMERS,
                     "transformers is not installed (scripts/peers.sh exporter)")
class ModelsTest(unittest.TestCase):
    def check(self, form, sizes=((2, 9),), **options):
        model = hf.make_model(form)
        imported = blockscale.torch.from_export(hf.export(model, form))
        compiled = imported.compile(**options)
        for size in sizes:
            given = hf.make_inputs(form, *size)
            with self.subTest(form=str(form), size=size, **options):
                self.assertLess(hf.get_error(compiled(**given), model(**given)), BOUND)
        return compiled

    # Rotary embeddings of positions that are inputs, grouped heads, and a causal mask.
    def test_llama_of_any_size(self):
        form = Form("llama", is_dynamic=True, inputs=("mask", "positions"), layers=1)
        self.check(form, sizes=((2, 9), (1, 5), (3, 17)))

    # Sinks, and experts of which each token has two.
    def test_gpt_oss(self):
        form = Form("gpt_oss", options=(("experts", "grouped_mm"),), layers=1)
        compiled = self.check(form)
        given = dict(hf.make_inputs(form), use_cache=True)
        message = "use_cache: expected False, which the program was exported for, but got True"
        with self.assertRaisesRegex(blockscale.ArgumentError, message):
            compiled(**given)

    # Patches, in the emulator.
    def test_vit_on_a_gpu(self):
        self.check(Form("vit", is_dynamic=True, layers=1), sizes=((2,), (5,)), target="sm_100a")

    # Convolutions of sound.
    def test_the_encoder_of_whisper_on_a_gpu(self):
        self.check(Form("whisper", is_dynamic=True, layers=1), sizes=((1,), (3,)), target="sm_90a")


if __name__ == "__main__":
    unittest.main()
