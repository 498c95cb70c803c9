# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What check() says of transformers and llama.cpp, against the packages: what they read, and what
they do with checkpoints that break a rule."""

import contextlib
import importlib.util
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import blockscale.checkpoint as checkpoint
import fault_files
import faults
import test_faults
from blockscale.checkpoint._check._claims import DROPS_SIGN, RANDOM, READS_NAN, REFUSES_SHAPES

NEEDED = ("torch", "transformers", "compressed_tensors", "torchao")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
LAYER, SECOND = fault_files.LAYER, fault_files.SECOND


def load(folder):
    """The model and what transformers reports of its tensors, or the error that it ends in."""
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            return *transformers.AutoModelForCausalLM.from_pretrained(
                folder, output_loading_info=True, dtype=torch.bfloat16), ""
        except (RuntimeError, ValueError, OSError) as error:
            return None, {}, f"{type(error).__name__}: {error}"


@unittest.skipIf(MISSING, f"not installed (scripts/peers.sh checkpoints): {', '.join(MISSING)}")
class TestTransformers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(mock.patch.dict(os.environ, {"HF_HUB_OFFLINE": "1"}))
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.clean = test_faults.write_clean(cls.folder)

    def write(self, name, file, change=lambda files: None):
        files = self.clean[file].copy()
        change(files)
        files.write(self.folder / name)
        return self.folder / name

    def test_what_it_reads(self):
        """All tensors, where check() says so; else it says what becomes of the codes."""
        for file in self.clean:
            folder = self.write(f"{file}-read", file)
            said = checkpoint.check(folder).explain("transformers")
            _, info, error = load(folder)
            with self.subTest(file, said=said):
                if said == "reads it":
                    self.assertFalse(error)
                    self.assertFalse(info["missing_keys"] or info["mismatched_keys"])
                elif "without their global scales" in said:
                    # Logits tell, which scripts/long/foreign.sh compares.
                    self.assertFalse(error or info["missing_keys"])
                elif "has no place for codes of experts" in said:
                    self.assertTrue(error or any("experts" in key
                                                 for key in info["missing_keys"]))
                elif "refuses the shape of codes" in said:
                    self.assertIn("ignore_mismatched_sizes", error)
                else:
                    self.assertIn("takes codes for the numbers", said)
                    self.assertFalse(error or info["missing_keys"])
                    self.assertIn(f"{fault_files.DOWN}.weight_scale", info["unexpected_keys"])

    def expect_claim(self, folder, rule, text):
        """A finding of a rule, and what is said of transformers."""
        findings = checkpoint.check(folder).findings
        self.assertEqual({each.rule.name for each in findings}, {rule})
        self.assertIn(text, str(findings[0].rule.loaders["transformers"]))

    def test_what_is_missing(self):
        text = str(RANDOM["transformers"])
        for rule, name in (("whole-model", "model.norm.weight"),
                           ("alike-layers", f"{SECOND}input_layernorm.weight")):
            folder = self.write(rule, "fp8-blocks", lambda files: files.tensors.pop(name))
            self.expect_claim(folder, rule, text)
            _, info, error = load(folder)
            with self.subTest(rule):
                self.assertFalse(error)
                self.assertIn(name, info["missing_keys"])

    def test_shapes(self):
        def cut(files):
            files.tensors["model.norm.weight"] = files.tensors["model.norm.weight"][:64].copy()
        folder = self.write("cut", "fp8-blocks", cut)
        self.expect_claim(folder, "sizes-of-configuration", str(REFUSES_SHAPES["transformers"]))
        self.assertIn("ignore_mismatched_sizes", load(folder)[2])

    def test_heads_that_are_tied(self):
        def add(files):
            table = files.tensors["model.embed_tokens.weight"]
            files.tensors["lm_head.weight"] = table[::-1].copy()
        folder = self.write("tied", "fp8-blocks", add)
        self.expect_claim(folder, "ties", "leaves a plain head that differs untied")
        model, _, _ = load(folder)
        self.assertFalse(model.lm_head.weight.equal(model.model.embed_tokens.weight))

    def test_status_of_packed_tensors(self):
        def freeze(files):
            files.quantization["quantization_status"] = "frozen"
        folder = self.write("frozen", "compressed-tensors-nvfp4", freeze)
        self.expect_claim(folder, "packed-status", "initialises weights at random")
        _, info, error = load(folder)
        self.assertFalse(error)
        self.assertIn(f"{fault_files.OUT}.weight", info["missing_keys"])

    def test_shards_without_an_index(self):
        def split(files):
            files.shards, files.has_index = 2, False
        folder = self.write("split", "fp8-blocks", split)
        self.expect_claim(folder, "has-index", "does not find the tensors")
        self.assertIn("OSError", load(folder)[2])

    def test_metadata_of_torchao(self):
        plants = {plant.__name__: plant for _, _, _, plant, _ in faults.FAULTS}
        for name in ("layer_without_metadata", "layer_that_no_list_names"):
            folder = self.write(name, "torchao-nvfp4", plants[name])
            self.expect_claim(folder, "described-tensors", "stops: ")
            with self.subTest(name):
                self.assertTrue(load(folder)[2])

    def test_names_of_wrappers(self):
        def wrap(files):
            files.tensors = {f"_orig_mod.{name}": array for name, array in files.tensors.items()}
        folder = self.write("wrapped", "fp8-blocks", wrap)
        findings = checkpoint.check(folder).findings
        self.assertIn("names-of-wrappers", {each.rule.name for each in findings})
        self.assertIn("model.norm.weight", load(folder)[1]["missing_keys"])


@unittest.skipUnless(importlib.util.find_spec("gguf"),
                     "gguf is not installed (scripts/peers.sh checkpoints)")
class TestGguf(unittest.TestCase):
    """Scales of GGUF that are no numbers, by the package of llama.cpp."""

    def test_scales(self):
        from gguf import quants
        # Of doubled codes, so that scales are halves.
        nvfp4 = 2 * quants.NVFP4.ue4m3_to_fp32(np.array([0x7F, 0xFF, 0x38, 0xB8], np.uint8))
        self.assertEqual(list(nvfp4), [0, 480, 1, 1])
        with np.errstate(over="ignore"):
            mxfp4 = quants.MXFP4.e8m0_to_fp32_half(np.array([255], np.uint8))
        self.assertEqual(float(mxfp4[0]), 2.0 ** 127)
        self.assertIn("0x7F of NVFP4 as 0, 0xFF as 480, and 255 of MXFP4 as 2^128",
                      str(READS_NAN["llama.cpp"]))
        self.assertEqual(str(DROPS_SIGN["llama.cpp"]), "drops the sign")


if __name__ == "__main__":
    unittest.main()
