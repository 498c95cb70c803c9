# ===- test_reference_codecs.py - The reference's element formats ---------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Codes of all bf16 patterns, and of f32 values around every rounding boundary."""

import unittest

import numpy as np

from golden import GoldenTest, floats, load, reference
from blockscale_reference import E2M1, E4M3, E5M2


class CodecTest(GoldenTest):
    def check(self, element, want, x, nan):
        known = ~np.isnan(x) if nan == "none" else None
        self.assertCodes(element.encode(x), want, nan, known)

    def test_encode(self):
        every_bf16 = reference.from_bf16(np.arange(65536, dtype=np.uint16))
        boundaries = load("edge__casts_f32")
        for x, case in (
            (every_bf16, load("edge__casts_all_bf16")),
            (floats(boundaries["in_x"]), boundaries),
        ):
            self.check(E2M1, case["out_mld_e2m1"], x, "none")
            self.check(E4M3, case["out_torch_e4m3_clamp448"], x, "e4m3")
            # ml_dtypes does not saturate.
            inside = np.clip(x, -57344, 57344)
            mld = np.where(np.abs(x) > 57344, E5M2.encode(inside), case["out_mld_e5m2"])
            self.check(E5M2, mld, x, "e5m2")

    def test_decode_inverts_encode(self):
        for element, last in ((E2M1, 0x7), (E4M3, 0x7E), (E5M2, 0x7B)):
            codes = np.arange(last + 1, dtype=np.uint8)
            codes = np.concatenate([codes, codes | element.sign_bit])
            self.assertCodes(element.encode(element.decode(codes)), codes)

    def test_decode_beyond_finite(self):
        self.assertTrue(np.isnan(E4M3.decode([0x7F, 0xFF])).all())
        self.assertEqual(E5M2.decode([0x7C, 0xFC]).tolist(), [np.inf, -np.inf])
        self.assertTrue(np.isnan(E5M2.decode([0x7D, 0x7F])).all())
        self.assertEqual(reference.decode_e8m0([0, 127]).tolist(), [2.0**-127, 1.0])
        self.assertTrue(np.isnan(reference.decode_e8m0([255])).all())

    def test_bf16_rounds_to_even(self):
        values = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF], np.uint32)
        want = [0x3F80, 0x3F82, 0x3F81, 0x7F80]
        self.assertEqual(reference.to_bf16(values.view(np.float32)).tolist(), want)
        self.assertEqual(reference.to_bf16(np.float32("nan")) & 0x7FC0, 0x7FC0)


if __name__ == "__main__":
    unittest.main()
