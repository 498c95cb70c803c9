# ===- test_reference_mx.py - The reference's MX rules --------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""MX quantization against golden; rceil_sat, which no other software here computes,
against vectors that a program of its own wrote from the formula."""

import unittest
from typing import ClassVar

import numpy as np

from golden import (
    FORMULA,
    GoldenTest,
    blocks_of_every_amax,
    blocks_of_every_pattern,
    cases,
    floats,
    load,
    newest,
    reference,
)
from blockscale_reference import E2M1, E2M3, E3M2, E4M3, E5M2, INT8


class MxTest(GoldenTest):
    FORMATS: ClassVar = {
        "": (E4M3, "e4m3"),
        "e5m2_": (E5M2, "e5m2"),
        "fp4_": (E2M1, "none"),
        "fp6e2m3_": (E2M3, "none"),
        "fp6e3m2_": (E3M2, "none"),
    }

    def test_rules(self):
        for name, case in cases("mx__*"):
            x = floats(case["in_x"])
            for prefix, (element, nan) in self.FORMATS.items():
                for rule in ("floor", "rceil", "ceil", "even"):
                    key = f"{rule}_1x32_"
                    if f"out_{prefix}ao018_{key}scale" not in case:
                        continue
                    with self.subTest(f"{name} {prefix}{rule}"):
                        codes, scale = reference.quantize_mx(x, element, rule)
                        want = newest(case, prefix, key + "scale")
                        self.assertCodes(scale, want, "e8m0")
                        want = newest(case, prefix, key + "qdata")
                        if element is E2M1:
                            want = reference.unpack(want)
                        known = (
                            np.repeat(scale != 255, 32, -1) if nan == "none" else None
                        )
                        self.assertCodes(codes, want, nan, known)
                        if not prefix:
                            want = newest(case, prefix, key + "scale_blocked")
                            got = reference.swizzle(scale).ravel()
                            self.assertCodes(got, want, "e8m0")

    def check_blocks(self, case, x, rule, blocks):
        block = {"32x1": (32, 1), "32x32": (32, 32)}[blocks]
        codes, scale = reference.quantize_mx(x, E4M3, rule, block)
        key = f"{rule}_{blocks}_"
        self.assertCodes(codes, newest(case, "", key + "qdata"), "e4m3")
        self.assertCodes(scale, newest(case, "", key + "scale"), "e8m0")
        turned = reference.quantize_mx(x, E4M3, rule, block, transposed=True)
        np.testing.assert_array_equal(turned[0], codes.swapaxes(-2, -1))
        np.testing.assert_array_equal(turned[1], scale.swapaxes(-2, -1))
        if blocks == "32x1":
            forms = {"": turned[1]}
        elif x.ndim == 3:
            forms = {"": reference.expand_scale(scale, 32, "n")}
        else:
            forms = {
                "_KxN32": reference.expand_scale(scale, 32, "n"),
                "_NxK32": reference.expand_scale(scale, 32, "k"),
            }
        for form, expanded in forms.items():
            want = newest(case, "", f"{key}scale_blocked{form}")
            got = reference.swizzle(expanded).reshape(want.shape)
            self.assertCodes(got, want, "e8m0")

    def test_columns_and_tiles(self):
        checked = 0
        for name, case in cases("mx__*"):
            for rule in ("floor", "rceil", "ceil", "even"):
                for blocks in ("32x1", "32x32"):
                    if f"out_ao018_{rule}_{blocks}_scale" in case:
                        with self.subTest(f"{name} {rule} {blocks}"):
                            self.check_blocks(case, floats(case["in_x"]), rule, blocks)
                            checked += 1
        self.assertGreater(checked, 40)

    def test_batches(self):
        for name, case in cases("mx3d__*"):
            for rule in ("floor", "rceil"):
                for blocks in ("32x1", "32x32"):
                    with self.subTest(f"{name} {rule} {blocks}"):
                        self.check_blocks(case, floats(case["in_x"]), rule, blocks)

    def test_dequantize(self):
        for name, case in cases("mx__*"):
            # Golden holds the values of 0.18.0 only, where its codes are its own.
            if "out_aoaug26_floor_1x32_qdata" not in case:
                with self.subTest(name):
                    got = reference.dequantize_mx(
                        case["out_ao018_floor_1x32_qdata"],
                        case["out_ao018_floor_1x32_scale"],
                    )
                    want = floats(case["out_ao018_floor_1x32_dequant_f32"])
                    np.testing.assert_array_equal(got, want)

    def test_dequantize_blocks(self):
        case = load("mx__normal_128x256_bf16")
        x = floats(case["in_x"])
        for block in ((32, 1), (32, 32)):
            codes, scale = reference.quantize_mx(x, E4M3, "rceil", block)
            got = reference.dequantize_mx(codes, scale, E4M3, block)
            turned = np.ascontiguousarray(codes.T), np.ascontiguousarray(scale.T)
            want = reference.dequantize_mx(*turned, E4M3, block[::-1]).T
            np.testing.assert_array_equal(got, want)
            self.assertLess(np.abs(got - x).max(), np.abs(x).max() / 16)

    def test_rejects_tails(self):
        with self.assertRaisesRegex(ValueError, "K to be a multiple of 32, but got 48"):
            reference.quantize_mx(np.ones((2, 48)))
        with self.assertRaisesRegex(ValueError, "M to be a multiple of 32, but got 33"):
            reference.quantize_mx(np.ones((33, 64)), block=(32, 32))

    def test_every_pattern(self):
        golden = load("edge__block_amax_all_bf16")
        for kind in ("one", "solo"):
            x = blocks_of_every_pattern(kind, 32)
            for rule in ("floor", "rceil", "ceil", "even"):
                with self.subTest(f"{kind} {rule}"):
                    codes, scale = reference.quantize_mx(x, E4M3, rule)
                    prefix = f"{kind}_mx_"
                    want = newest(golden, prefix, rule + "_scale")
                    self.assertCodes(scale[:, 0], want, "e8m0")
                    want = newest(golden, prefix, rule + "_q4")
                    self.assertCodes(codes[:, :4], want, "e4m3")

    def test_rceil_sat_vectors(self):
        vectors = load("rceil_sat", FORMULA)
        formats = (E2M1, "e2m1"), (E4M3, "e4m3"), (E5M2, "e5m2"), (INT8, "int8")
        for element, name in formats:
            with self.subTest(name):
                scale = reference.quantize_mx(
                    blocks_of_every_amax(32), element, "rceil_sat"
                )[1]
                self.assertCodes(scale[:, 0], vectors[f"out_{name}_scale"], "e8m0")

    def test_rceil_sat_differs_from_rceil_only_at_infinity(self):
        x = blocks_of_every_pattern("solo", 32)
        plain = reference.quantize_mx(x, E2M1, "rceil")[1]
        saturated = reference.quantize_mx(x, E2M1, "rceil_sat")[1]
        infinite = np.isinf(x).any(axis=-1, keepdims=True)
        self.assertEqual(int(infinite.sum()), 2)
        np.testing.assert_array_equal(saturated, np.where(infinite, 254, plain))


if __name__ == "__main__":
    unittest.main()
