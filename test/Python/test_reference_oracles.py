# ===- test_reference_oracles.py - Recipes that others compute ------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The recipes tosa and compressed_tensors, and the format MXINT8, against arrays of
tosa_reference_model and compressed-tensors (test/Data/oracles)."""

import fnmatch
import os
import unittest

import numpy as np

from golden import IS_NAN, ROOT, GoldenTest, floats, load, reference
from blockscale_reference import E2M1, E2M3, E3M2, E4M3, E5M2, INT8
from blockscale_reference.nvfp4 import encode_scale

ORACLES = os.path.join(ROOT, "test", "Data", "oracles")

# Formats by the prefix of their arrays, with the kind of their NaN.
FORMATS = {
    "": (E4M3, "e4m3"),
    "e5m2_": (E5M2, "e5m2"),
    "fp4_": (E2M1, "none"),
    "fp6e2m3_": (E2M3, "none"),
    "fp6e3m2_": (E3M2, "none"),
    "int8_": (INT8, "none"),
}


def x_type_of(case):
    """The type of x in the arrays, where bf16 is stored as its bits."""
    return "bf16" if case["in_x"].dtype == np.uint16 else "f32"


def cases(glob):
    names = fnmatch.filter(sorted(os.listdir(ORACLES)), glob + ".npz")
    assert names, f"no case matches {glob}"
    return [(name[:-4], load(name[:-4], ORACLES)) for name in names]


def one_amax(amaxes):
    """Blocks of 32 with these amaxes."""
    x = np.zeros((len(amaxes), 32), np.float32)
    x[:, 0] = amaxes
    return x


def scales(amaxes, element, rule):
    return reference.quantize_mx(one_amax(amaxes), element, rule)[1][:, 0].tolist()


class OraclesTest(GoldenTest):
    def assertValues(self, got, want):
        """The same f32 or bf16 bits; any NaN stands for any other."""
        if want.dtype == np.uint16:
            got = reference.from_bf16(reference.to_bf16(got))
        want = floats(want)
        same = (got.view(np.uint32) == want.view(np.uint32)) | (
            np.isnan(got) & np.isnan(want)
        )
        self.assertEqual(got.shape, want.shape)
        self.assertTrue(same.all(), f"first at {np.argwhere(~same)[:1]}")

    def check_mx(self, case, recipe):
        """Codes, scales and values of every format; the number of formats."""
        x, checked = floats(case["in_x"]), 0
        for prefix, (element, nan) in FORMATS.items():
            key = f"out_{prefix}{recipe}_1x32_"
            if key + "scale" not in case:
                continue
            checked += 1
            with self.subTest(prefix):
                codes, scale = reference.quantize_mx(x, element, recipe)
                self.assertCodes(scale, case[key + "scale"], "e8m0")
                want = case[key + "qdata"]
                want = reference.unpack(want) if element is E2M1 else want
                known = np.repeat(scale != 255, 32, -1) if nan == "none" else None
                self.assertCodes(codes, want, nan, known)
                if key + "dequant_bf16" in case:
                    values = reference.dequantize_mx(want, scale, element)
                    self.assertValues(values, case[key + "dequant_bf16"])
        return checked

    # A wrong constant, tie or end of the range in the rule, or in INT8's codes.
    def test_tosa(self):
        for name, case in cases("tosa__*"):
            with self.subTest(name):
                self.assertEqual(self.check_mx(case, "tosa"), 6)

    # A wrong rounding of amax or sign of zero, which differs between the formats.
    def test_compressed_tensors_mx(self):
        for name, case in cases("compressed_tensors_mx__*"):
            with self.subTest(name):
                self.assertEqual(self.check_mx(case, "compressed_tensors"), 3)

    # A wrong value of a code, or of a product with the smallest or largest scale.
    def test_values_of_every_code(self):
        case = load("tosa_dequantize__every_code", ORACLES)
        for prefix, (element, _) in FORMATS.items():
            key = f"{prefix}tosa_1x32_"
            codes = case[f"in_{key}qdata"]
            codes = reference.unpack(codes) if element is E2M1 else codes
            values = reference.dequantize_mx(codes, case[f"in_{key}scale"], element)
            for result in ("f32", "bf16"):
                with self.subTest(f"{prefix}{result}"):
                    self.assertValues(values, case[f"out_{key}dequant_{result}"])

    # An operation in another order or width, a missing guard of the global scale.
    def test_compressed_tensors_nvfp4(self):
        for name, case in cases("compressed_tensors_nvfp4__*"):
            with self.subTest(name):
                x, x_type = floats(case["in_x"]), x_type_of(case)
                amax = np.abs(x).max()
                self.assertValues(amax[None], case["out_ct_amax"])
                encode = encode_scale("compressed_tensors", None, amax, x_type)
                self.assertValues(encode.reshape(1), case["out_ct_encode_scale"])
                self.check_nvfp4(case, "ct_", global_amax=amax)
                for i in range(3):
                    given = case.get(f"in_ct_static{i}_per_tensor_scale")
                    if given is not None:
                        prefix = f"ct_static{i}_"
                        self.check_nvfp4(case, prefix, global_scale=floats(given)[0])

    def check_nvfp4(self, case, prefix, **factors):
        x_type = x_type_of(case)
        codes, scale = reference.quantize_nvfp4(
            floats(case["in_x"]), "compressed_tensors", x_type=x_type, **factors
        )
        self.assertCodes(scale, case[f"out_{prefix}scale"], "e4m3")
        known = np.repeat(~IS_NAN["e4m3"](scale), 16, -1)
        want = reference.unpack(case[f"out_{prefix}qdata"])
        self.assertCodes(codes, want, where=known)
        for element in ("f32", "bf16"):
            key = f"out_{prefix}dequant_{element}"
            if key in case:
                values = reference.dequantize_nvfp4(
                    codes, scale, "compressed_tensors", factors["global_scale"]
                )
                self.assertValues(values, case[key])

    # The codes' meaning in a product.
    def test_mxint8_product(self):
        for name, case in cases("mm_mxint8__*"):
            with self.subTest(name):
                a, b = (
                    reference.dequantize_mx(case[f"in_{n}_q"], case[f"in_{n}_scale"], INT8)
                    for n in "ab"
                )
                product = reference.scaled_matmul(a, b)
                for key in ("y_f32", "tosa_y_f32"):
                    error = np.abs(product.value - floats(case["out_" + key]))
                    self.assertTrue((error <= product.bound()).all(), key)


class RuleTest(GoldenTest):
    """Where the recipes equal others and where not, on all bf16 amaxes."""

    AMAXES = reference.from_bf16(np.arange(0x8000, dtype=np.uint16))

    def differences(self, element, rule, other):
        one, two = (
            np.array(scales(self.AMAXES, element, r)) for r in (rule, other)
        )
        return self.AMAXES[(one != two) & np.isfinite(self.AMAXES)]

    # `tosa` is `even`, but for E4M3 and for amaxes that `even` rounds to infinity.
    def test_tosa_and_even(self):
        for element, first in ((E5M2, 1.875), (E3M2, 1.875), (E2M3, 1.9375), (E2M1, 1.75)):
            differ = self.differences(element, "tosa", "even")
            self.assertEqual(differ.min(), first * 2.0**127)
        differ = self.differences(E4M3, "tosa", "even")
        differ = np.frexp(differ[(differ < 2.0**127)])[0] * 2
        self.assertEqual((differ.min(), differ.max()), (1.8203125, 1.9296875))

    # `compressed_tensors` is `even` for E2M1 and E2M3, and for E4M3 `rceil`, but
    # where the scaled amax is 448 exactly.
    def test_compressed_tensors_and_others(self):
        for element in (E2M1, E2M3):
            differ = self.differences(element, "compressed_tensors", "even")
            self.assertEqual(differ.size, 0)
        differ = self.differences(E4M3, "compressed_tensors", "rceil")
        differ = differ[differ < 1.75 * 2.0**127]
        np.testing.assert_array_equal(differ, 1.75 * 2.0 ** np.arange(-119, 127))

    # Formats that compressed-tensors does not have.
    def test_compressed_tensors_refuses_other_formats(self):
        for element in (E5M2, E3M2, INT8):
            with self.assertRaisesRegex(ValueError, "expected E2M1, E2M3 or E4M3"):
                scales([1.0], element, "compressed_tensors")

    # The block that tosa cannot map into INT8: at its largest scale, 2^127.
    def test_int8_saturates_at_the_largest_scale_alone(self):
        largest = np.finfo(np.float32).max
        x = one_amax([largest, largest, 127.5 / 64, -2])
        x[1] = -largest
        codes, scale = reference.quantize_mx(x, INT8, "tosa")
        self.assertEqual(scale[:, 0].tolist(), [254, 254, 128, 128])
        self.assertEqual(codes[:, 0].tolist(), [127, 128, 64, 256 - 64])

    # Ties, both ends, and the code of NaN.
    def test_int8_codes(self):
        steps = [0.5, 1.5, -0.5, -1.5, 127.4, 127.5, 1e9, -127.5, -128.5, -np.inf]
        codes = INT8.encode(np.array(steps, np.float32) / 64)
        want = [0, 2, 0, -2, 127, 127, 127, -128, -128, -128]
        self.assertEqual(codes.view(np.int8).tolist(), want)
        self.assertEqual(INT8.encode(np.float32([np.nan, -0.0])).tolist(), [127, 0])
        every = np.arange(256, dtype=np.uint8)
        np.testing.assert_array_equal(INT8.encode(INT8.decode(every)), every)

    # With bf16 and f16, two of the operations round to that type.
    def test_x_type_changes_the_arithmetic_of_compressed_tensors(self):
        amax = np.float32(4.09375)
        for x_type, want in (("f32", 656.6107), ("bf16", 656.0), ("f16", 656.5)):
            got = encode_scale("compressed_tensors", None, amax, x_type)
            self.assertAlmostEqual(float(got), want, places=3)


if __name__ == "__main__":
    unittest.main()
