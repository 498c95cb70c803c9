# ===- test_reference_hadamard.py - The reference's transform -------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The random Hadamard transform and its quantization against golden."""

import unittest

import numpy as np

from golden import GoldenTest, cases, floats, reference
from blockscale_reference.hadamard import SIGN_MASK


class HadamardTest(GoldenTest):
    def check_quantized(self, case, prefix, x, amax):
        np.testing.assert_array_equal(reference.amax(x), floats(case[f"out_{amax}"])[0])
        codes, scale = reference.quantize_nvfp4(x, "te", global_amax=reference.amax(x))
        self.assertCodes(scale, case[f"out_{prefix}scale"], "e4m3")
        self.assertCodes(codes, reference.unpack(case[f"out_{prefix}qdata"]))

    def test_golden(self):
        for name, case in cases("rht__*"):
            with self.subTest(name):
                x = floats(case["in_x"])
                y = reference.hadamard(x, dim=0).T
                np.testing.assert_array_equal(
                    reference.to_bf16(y), case["out_rht_t_bf16"]
                )
                np.testing.assert_array_equal(y, reference.hadamard(x.T, dim=1))
                plain = reference.hadamard(x, dim=0, sign_mask=0).T
                self.check_quantized(case, "", x, "amax_row")
                self.check_quantized(case, "t_", y, "amax_col")
                self.check_quantized(case, "nosign_t_", plain, "nosign_amax_col")

    def test_matrix(self):
        for name, case in cases("rht__*"):
            want = floats(case["out_hadamard_signed_f32"])
            np.testing.assert_array_equal(reference.hadamard(np.eye(16)), want)
            signs = np.where(case["out_sign"] < 0, 1 << np.arange(16), 0).sum()
            self.assertEqual(signs, SIGN_MASK, name)

    def test_batches_and_extents(self):
        values = np.random.default_rng(0).normal(size=(2, 3, 32))
        x = reference.from_bf16(reference.to_bf16(values))
        got = reference.hadamard(x)
        for i in range(2):
            np.testing.assert_array_equal(got[i], reference.hadamard(x[i]))
        with self.assertRaisesRegex(ValueError, "M to be a multiple of 16, but got 3"):
            reference.hadamard(x, dim=0)


if __name__ == "__main__":
    unittest.main()
