# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The conformance kit on quantizers of other packages, each by its recipe and by those of others.

A package that is not installed is skipped; scripts/long/vectors.sh has all."""

import importlib.util
import pathlib
import sys
import unittest

# Behind the installed package.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import blockscale_vectors as kit
import foreign_quantizers as foreign

# By recipe: the package, its quantizer, and how it scales elements.
NVFP4 = {
    "torchao": ("torchao", foreign.torchao_nvfp4, "x * ((1 / g) / s)"),
    "te": ("transformer_engine", foreign.transformer_engine_nvfp4,
           "x * min(1 / (s * (1 / S)), FLT_MAX)"),
    "modelopt": ("modelopt", foreign.modelopt_nvfp4, "x / (s * g)"),
    "compressed_tensors": ("compressed_tensors", foreign.compressed_tensors_nvfp4, "x / (s / S)"),
}
# What scales of zeros, or the least scale, differ by: (package, recipe).
ZEROS = {
    ("torchao", "te"): "least scale: 2^-6 instead of none",
    ("torchao", "modelopt"): "least scale: 2^-6 instead of 2^-9",
    ("torchao", "compressed_tensors"): "least scale: 2^-6 instead of none",
    ("te", "torchao"): "least scale: none instead of 2^-6",
    ("te", "modelopt"): "least scale: none instead of 2^-9",
    ("te", "compressed_tensors"): "scale that rounds to 0: 0 instead of 0.125",
    ("modelopt", "torchao"): "least scale: 2^-9 instead of 2^-6",
    ("modelopt", "te"): "1 where that is 0",
    ("modelopt", "compressed_tensors"): "least scale: 2^-9 instead of none",
    ("compressed_tensors", "torchao"): "scale that rounds to 0: 0.125 instead of 0",
    ("compressed_tensors", "te"): "scale that rounds to 0: 0.125 instead of 0",
    ("compressed_tensors", "modelopt"): "scale that rounds to 0: 0.125 instead of 0",
}


class ForeignTest(unittest.TestCase):
    def need(self, package):
        # Modules that stand for TransformerEngine's have no spec.
        if package not in sys.modules and importlib.util.find_spec(package) is None:
            self.skipTest(f"no {package}; scripts/long/vectors.sh installs it")

    def check_package(self, maker):
        """Its recipe has its bytes, and each of the others names how it differs."""
        package, quantizer, formula = NVFP4[maker]
        self.need(package)
        got = kit.check(quantizer, maker, tails=maker in ("te", "modelopt"))
        self.assertTrue(got.conforms, got)
        for recipe, (_, _, other) in NVFP4.items():
            if recipe == maker:
                continue
            with self.subTest(f"{maker} by the recipe of {recipe}"):
                got = str(kit.check(quantizer, recipe, tails=False))
                self.assertIn(f"what elements are rounded from: {formula} instead of {other}", got)
                self.assertIn(ZEROS[maker, recipe], got)
                self.assertNotIn("by no rule", got)
                keeps = (maker == "torchao", recipe == "torchao")
                if keeps[0] != keeps[1]:
                    self.assertIn("-0: kept instead of lost" if keeps[0] else
                                  "-0: lost instead of kept", got)
                else:
                    self.assertNotIn("-0: ", got.split("This input")[0])

    def test_torchao(self):
        self.check_package("torchao")

    def test_torchao_without_a_global_scale(self):
        self.need("torchao")
        got = kit.check(foreign.torchao_nvfp4, "torchao", global_amax=False)
        self.assertTrue(got.conforms, got)

    def test_transformer_engine(self):
        self.check_package("te")

    def test_modelopt(self):
        self.check_package("modelopt")

    def test_compressed_tensors(self):
        self.check_package("compressed_tensors")

    def check_mx(self, quantizer, recipe, *findings):
        got = kit.check(quantizer, recipe)
        self.assertEqual([str(finding.change) for finding in got.findings], list(findings), got)
        self.assertNotIn("by no rule", str(got))

    def test_torchao_mx(self):
        """The release 0.18, whose rules of infinity and of the least scale are not torchao's main
        branch's, whose rules the recipes have."""
        self.need("torchao")
        for mode in ("floor", "ceil", "even"):
            self.check_mx(foreign.torchao_mx(mode), mode, "scale of infinity: 247 instead of 255",
                          "elements under scale 0: times 2^126 instead of times 2^127")
        self.check_mx(
            foreign.torchao_mx("rceil"), "rceil",
            "scale: amax / largest rounded up, 254 at most (rceil_sat) instead of amax / largest "
            "rounded up to a power of two (rceil)",
            "elements under scale 0: times 1 instead of times 2^127")

    def test_modelopt_mx(self):
        self.need("modelopt")
        self.check_mx(
            foreign.modelopt_mxfp8, "rceil",
            "scale: amax / largest rounded up, 254 at most (rceil_sat) instead of amax / largest "
            "rounded up to a power of two (rceil)", "scale of NaN: 0 instead of 255")

    def test_compressed_tensors_mx(self):
        self.need("compressed_tensors")
        self.check_mx(
            foreign.compressed_tensors_mx, "mx_compressed_tensors",
            "scale of infinity: 127 instead of 255", "scale of NaN: 0 instead of 255",
            "elements under the scale of infinity: divided by infinity instead of as under others")


if __name__ == "__main__":
    unittest.main()
