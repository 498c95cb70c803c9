# ===- test_reference_groups.py - The reference's groups ------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Groups of rows and columns, quantized alone."""

import unittest

import numpy as np

from golden import GoldenTest, cases, load, reference


class BoundsTest(unittest.TestCase):
    def test_groups_of_wrong_ends_are_empty(self):
        bounds = reference.group_bounds([-4, 20, 10, 70, 64], 64)
        self.assertEqual(bounds, [(0, 0), (0, 20), (20, 20), (20, 20), (20, 64)])
        bounds = reference.group_bounds([20, 32, 33, 64], 64, 16)
        self.assertEqual(bounds, [(0, 0), (0, 32), (32, 32), (32, 64)])

    def test_faults(self):
        for ends, fault in (
                ([-4, 20], "expected the end of group 0 to be at least 0, but got -4"),
                ([16, 32, 16], "expected the end of group 2 to be at least 32, but got 16"),
                ([16, 80, 8], "expected the end of group 1 to be at most 64, but got 80"),
                ([16, 20, 99], "expected the end of group 1 to be a multiple of 16, but got 20")):
            self.assertEqual(reference.group_fault(ends, 64, 16), fault)
        self.assertIsNone(reference.group_fault([0, 16, 16, 64], 64, 16))


class GroupsTest(GoldenTest):
    X = np.random.default_rng(5).normal(size=(64, 96)).astype(np.float32)

    def test_amax(self):
        x = self.X.copy()
        x[30, 3] = np.nan
        got = reference.group_amax(x, [16, 16, 40], 0)
        self.assertEqual(got[0], np.abs(x[:16]).max())
        self.assertEqual(got[1], 0)
        self.assertTrue(np.isnan(got[2]))
        got = reference.group_amax(self.X, [32, 96], 1)
        want = [np.abs(part).max() for part in (self.X[:, :32], self.X[:, 32:])]
        self.assertEqual(got.tolist(), want)

    def test_rows(self):
        offsets, g = [10, 10, 50], np.array([0.5, 9, 0.25], np.float32)
        codes, scale = reference.quantize_groups(
            lambda part, value: reference.quantize_nvfp4(part, global_scale=value),
            self.X,
            offsets,
            0,
            (1, 16),
            values=g,
        )
        for i, j, value in ((0, 10, g[0]), (10, 50, g[2])):
            want = reference.quantize_nvfp4(self.X[i:j], global_scale=value)
            np.testing.assert_array_equal(codes[i:j], want[0])
            np.testing.assert_array_equal(scale[i:j], want[1])
        self.assertFalse(codes[50:].any() or scale[50:].any())

    def test_columns_of_transposed_blocks(self):
        block = (32, 1)
        codes, scale = reference.quantize_groups(
            lambda part, _: reference.quantize_mx(part, block=block, transposed=True),
            self.X,
            [32, 64],
            0,
            block,
            transposed=True,
        )
        self.assertEqual((codes.shape, scale.shape), ((96, 64), (96, 2)))
        want = reference.quantize_mx(self.X, block=block, transposed=True)
        np.testing.assert_array_equal(codes, want[0])
        np.testing.assert_array_equal(scale, want[1])
        codes, scale = reference.quantize_groups(
            lambda part, _: reference.quantize_mx(part, block=(1, 32)),
            self.X,
            [32],
            1,
            (1, 32),
        )
        self.assertFalse(codes[:, 32:].any() or scale[:, 1:].any())
        self.assertTrue(codes[:, :32].any())

    def test_golden_operands(self):
        for name, case in cases("gmm_*_2d3d__*"):
            with self.subTest(name):
                want = case["in_a_scale_groups_blocked"].ravel()
                ends = case["in_offs"].tolist()
                got = reference.swizzle_groups(case["in_a_scale"], ends, 0).ravel()
                np.testing.assert_array_equal(got[: want.size], want)
                self.assertFalse(got[want.size :].any())

    def test_golden_square_weights(self):
        case = load("gmm_mxfp8_2d3d__160x128x64_E2_32x32")
        expanded = reference.expand_scale(case["in_b_scale_32x32"], 32, "k")
        np.testing.assert_array_equal(expanded, case["in_b_scale"])
        want = case["in_b_scale_blocked"]
        got = reference.swizzle(expanded).reshape(want.shape)
        np.testing.assert_array_equal(got, want)


class ExpandTest(unittest.TestCase):
    def test_forms(self):
        scale = np.arange(6, dtype=np.uint8).reshape(2, 3)
        k = reference.expand_scale(scale, 16, "k", size=20)
        self.assertEqual(k.shape, (20, 3))
        self.assertEqual(k[15].tolist(), [0, 1, 2])
        self.assertEqual(k[16].tolist(), [3, 4, 5])
        n = reference.expand_scale(scale, 16, "n")
        self.assertEqual(n.shape, (48, 2))
        self.assertEqual(n[31].tolist(), [1, 4])
        with self.assertRaisesRegex(ValueError, "'k' or 'n', but got 'm'"):
            reference.expand_scale(scale, 16, "m")


if __name__ == "__main__":
    unittest.main()
