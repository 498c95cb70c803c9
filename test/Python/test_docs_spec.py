# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/Spec.md says in words of zeros and NaN is what the numpy reference computes."""

import unittest

import numpy as np

from golden import reference
from blockscale_reference import E2M1, E2M3, E3M2, E4M3, E5M2, INT8
from docs_pages import ROOT

PAGE = ROOT / "docs/Spec.md"
FOUR_OVER_SIX = {"te_4over6_mae", "te_4over6_mse"}


class DocsSpecTest(unittest.TestCase):
    def says(self, sentence):
        self.assertIn(sentence, " ".join(PAGE.read_text(encoding="utf-8").split()))

    def test_negative_zeros(self):
        self.says("-0 stays -0 in data, except in `te`, `modelopt` and 4over6, in "
                  "`compressed_tensors` with f4E2M1FN data, and in MXINT8, which has no -0.")
        x = np.full((1, 32), -0.0, np.float32)
        for recipe in reference.nvfp4.RECIPES:
            codes, _ = reference.quantize_nvfp4(x, recipe)
            is_dropped = recipe in {"te", "modelopt", "compressed_tensors", *FOUR_OVER_SIX}
            with self.subTest(recipe):
                self.assertEqual((codes == 0).all(), is_dropped)
        for element in (E2M1, E2M3, E3M2, E4M3, E5M2, INT8):
            for rule in reference.mx.RULES:
                if rule == "compressed_tensors" and element not in (E2M1, E2M3, E4M3):
                    continue
                codes, _ = reference.quantize_mx(x, element, rule)
                is_dropped = element is INT8 or (rule == "compressed_tensors" and element is E2M1)
                with self.subTest(rule, element=element):
                    self.assertEqual((codes == 0).all(), is_dropped)

    def test_values(self):
        self.says("`compressed_tensors` in NVFP4 is "
                  "`f32(data[i]) * (f32(scale[b]) / (1 / global))`")
        one, number = np.float32(1), np.float32(1.3)
        codes, scales = np.arange(16, dtype=np.uint8)[None], np.array([[0x2B]], np.uint8)
        values = {"compressed_tensors": E4M3.decode(scales) / (one / number),
                  "torchao": number * E4M3.decode(scales)}
        for recipe, factor in values.items():
            with self.subTest(recipe):
                self.assertEqual(
                    reference.dequantize_nvfp4(codes, scales, recipe, global_scale=number).tolist(),
                    (E2M1.decode(codes) * factor.astype(np.float32)).tolist())
        self.assertNotEqual(*(value.item() for value in values.values()))

    def test_nan_in_a_tensor(self):
        self.says("NaN in a tensor makes `amax` NaN, then the global scale, and then every block "
                  "scale that is computed from it. In `compressed_tensors` the global scale of "
                  "such an amax is 1, so that only blocks with NaN are NaN.")
        x = np.ones((1, 32), np.float32)
        x[0, 3] = np.nan
        for recipe in reference.nvfp4.RECIPES:
            amax = np.float32(np.nan)
            _, scales = reference.quantize_nvfp4(x, recipe, global_amax=amax)
            decode = reference.global_scale(amax, recipe)
            with self.subTest(recipe):
                is_one = recipe == "compressed_tensors"
                self.assertEqual(decode == 1, is_one)
                self.assertEqual((scales & 0x7F == 0x7F).tolist(), [[True, not is_one]])


if __name__ == "__main__":
    unittest.main()
