# ===- test_reference_matmul.py - The reference's products ----------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Scaled and grouped products against golden f64 sums."""

import unittest

import numpy as np

from golden import GoldenTest, cases, floats, reference


class ProductTest(GoldenTest):
    @staticmethod
    def operand(case, name, nvfp4):
        codes, scale = case[f"in_{name}_q"], case[f"in_{name}_scale"]
        if nvfp4:
            return reference.dequantize_nvfp4(reference.unpack(codes), scale)
        return reference.dequantize_mx(codes, scale)

    def check(self, case, product):
        # Golden is the f64 sum rounded to f32 once.
        for got, key in ((product.value, "y_f32"), (product.absdot, "absdot_f32")):
            want = floats(case["out_" + key])
            slack = 2.0**-23 * product.absdot
            self.assertLessEqual(np.max(np.abs(got - want) - slack), 0)

    def test_dense(self):
        for name, case in cases("mm_*"):
            with self.subTest(name):
                a, b = (self.operand(case, n, "nvfp4" in name) for n in "ab")
                factor = 1.0
                for n in "ab":
                    if f"in_{n}_per_tensor_scale" in case:
                        factor *= float(floats(case[f"in_{n}_per_tensor_scale"])[0])
                self.check(case, reference.scaled_matmul(a, b, factor))

    def test_grouped(self):
        for name, case in cases("gmm_*"):
            with self.subTest(name):
                a, b = (self.operand(case, n, "nvfp4" in name) for n in "ab")
                ends = case["in_offs"].tolist()
                self.check(case, reference.scaled_grouped_matmul(a, b, ends))


if __name__ == "__main__":
    unittest.main()
