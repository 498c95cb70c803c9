# ===- test_reference_nvfp4.py - The reference's NVFP4 recipes ------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""NVFP4 quantization against golden; mslk, which no other software here computes,
against vectors that a program of its own wrote from the formula."""

import unittest

import numpy as np

from golden import (
    FORMULA,
    IS_NAN,
    TRAINING,
    GoldenTest,
    blocks_of_every_amax,
    blocks_of_every_pattern,
    cases,
    floats,
    load,
    reference,
)
from blockscale_reference import E2M1


class Nvfp4Test(GoldenTest):
    def check(self, case, prefix, recipe, **factors):
        x = floats(case["in_x"])
        codes, scale = reference.quantize_nvfp4(x, recipe, **factors)
        self.assertCodes(scale, case[f"out_{prefix}_scale"], "e4m3")
        want = reference.unpack(case[f"out_{prefix}_qdata"])
        known = np.repeat(~IS_NAN["e4m3"](scale), 16, -1)[..., : x.shape[-1]]
        if prefix != "ao_single":
            known &= self.sound(x, factors)
        self.assertCodes(codes, want[..., : x.shape[-1]], where=known)
        self.assertFalse(want[..., x.shape[-1] :].any())
        blocked = case.get(f"out_{prefix}_scale_blocked")
        if blocked is not None:
            got = reference.swizzle(scale).reshape(*scale.shape[:-2], -1)
            self.assertCodes(got, blocked, "e4m3")
        return codes, scale

    @staticmethod
    def sound(x, factors):
        """Whether the global scale is a normal number, for each matrix."""
        with np.errstate(all="ignore"):
            g = np.abs(x).max(axis=(-2, -1)) / np.float32(2688)
        g = np.asarray(factors.get("global_scale", g))[..., None, None]
        return np.isfinite(g) & (g >= 2.0**-126)

    def for_each_case(self, array, check):
        """Calls check(case) on every case that has out_<array>_scale."""
        held = [(n, c) for n, c in cases("nvfp4__*") if f"out_{array}_scale" in c]
        self.assertTrue(held)
        for name, case in held:
            with self.subTest(f"{name} {array}"):
                check(case)

    def test_torchao_one_level(self):
        def check(case):
            codes, scale = self.check(case, "ao_single", "torchao")
            want = floats(case["out_ao_single_dequant_f32"])
            self.check_values(reference.dequantize_nvfp4(codes, scale), want, scale)

        self.for_each_case("ao_single", check)

    def test_torchao_two_levels(self):
        def check(case):
            g = reference.global_scale(np.abs(floats(case["in_x"])).max())
            want = floats(case["out_ao_dyn_per_tensor_scale"])[0]
            np.testing.assert_array_equal(g, want)
            codes, scale = self.check(case, "ao_dyn", "torchao", global_scale=g)
            if g >= 2.0**-126:
                got = reference.dequantize_nvfp4(codes, scale, "torchao", g)
                self.check_values(got, floats(case["out_ao_dyn_dequant_f32"]), scale)

        self.for_each_case("ao_dyn", check)

    def check_values(self, got, want, scale):
        """Equal f32 bits, but for blocks of NaN."""
        known = np.repeat(~IS_NAN["e4m3"](scale), 16, -1)
        np.testing.assert_array_equal(
            got.view(np.uint32)[known], want.view(np.uint32)[known]
        )

    def test_torchao_static_global_scale(self):
        for array in ("ao_static0", "ao_static1", "ao_static2"):

            def check(case):
                g = floats(case[f"in_{array}_per_tensor_scale"])[0]
                self.check(case, array, "torchao", global_scale=g)

            self.for_each_case(array, check)

    def test_torchao_batch(self):
        for name, case in cases("nvfp4_3d__*"):
            with self.subTest(name):
                g = reference.global_scale(
                    np.abs(floats(case["in_x"])).max(axis=(1, 2))
                )
                want = floats(case["out_ao_dyn_per_expert_scale"])
                np.testing.assert_array_equal(g, want)
                self.check(case, "ao_dyn", "torchao", global_scale=g)

    def test_te(self):
        def check(case):
            amax = np.abs(floats(case["in_x"])).max()
            np.testing.assert_array_equal(amax, floats(case["out_te_amax"])[0])
            self.check(case, "te", "te", global_amax=amax)

        self.for_each_case("te", check)

    def check_blocks(self, case, array, recipe="te", **options):
        """Codes and scales of one amax for the whole tensor."""
        x = floats(case["in_x"])
        options.setdefault("global_amax", reference.amax(x))
        codes, scale = reference.quantize_nvfp4(x, recipe, **options)
        if options.get("block") == (16, 16):
            scale = reference.expand_scale(scale, 16, "k")
        self.assertCodes(scale, case[f"out_{array}_scale"], "e4m3")
        want = reference.unpack(case[f"out_{array}_qdata"])
        known = np.repeat(~IS_NAN["e4m3"](scale), 16, -1)[: len(codes)]
        self.assertCodes(codes, want, where=known[:, : codes.shape[1]])

    def test_te_blocks(self):
        forms = {
            "te_t": {"block": (16, 1), "transposed": True},
            "te2d": {"block": (16, 16)},
            "te2d_t": {"block": (16, 16), "transposed": True},
        }
        for array, options in forms.items():
            self.for_each_case(
                array, lambda case: self.check_blocks(case, array, **options)
            )

    def test_te_amax_for_each_row(self):
        def check(case):
            amax = reference.amax(floats(case["in_x"]), of="row")
            np.testing.assert_array_equal(amax, floats(case["out_terow_amax"]))
            self.check_blocks(case, "terow", global_amax=amax)

        self.for_each_case("terow", check)

    def test_te_4over6(self):
        for error in ("mae", "mse"):
            self.for_each_case(
                f"te46{error}",
                lambda case: self.check_blocks(
                    case, f"te46{error}", f"te_4over6_{error}"
                ),
            )

    def test_te_4over6_of_tiles(self):
        # 4.5 is 3 * 1.5; the tile's 16 rows share the scale of that choice.
        x = np.zeros((16, 16), np.float32)
        x[0, 0], x[15, 15] = 6, 4.5
        for recipe in ("te_4over6_mae", "te_4over6_mse"):
            for transposed in (False, True):
                codes, scale = reference.quantize_nvfp4(
                    x, recipe, global_amax=1536, block=(16, 16), transposed=transposed
                )
                self.assertEqual(scale.tolist(), [[0x3C]])
                self.assertEqual((codes[0, 0], codes[15, 15]), (6, 5))

    def test_te_4over6_decode_scale_stands_for_an_amax(self):
        x = floats(load("nvfp4__normal_128x256_bf16")["in_x"])
        for recipe in ("te_4over6_mae", "te_4over6_mse"):
            g = np.float32(2.0**-7)
            np.testing.assert_equal(
                reference.quantize_nvfp4(x, recipe, global_scale=g),
                reference.quantize_nvfp4(x, recipe, global_amax=1536 * g),
            )

    def test_dequantize_rows_and_tiles(self):
        rng = np.random.default_rng(1)
        codes = rng.integers(0, 16, (32, 48), np.uint8)
        rows = rng.random(32, np.float32)
        scale = rng.integers(1, 127, (32, 3), np.uint8)
        got = reference.dequantize_nvfp4(codes, scale, "te", rows)
        for i in range(32):
            one = codes[i : i + 1], scale[i : i + 1]
            want = reference.dequantize_nvfp4(*one, "te", rows[i])
            np.testing.assert_array_equal(got[i : i + 1], want)
        got = reference.dequantize_nvfp4(codes, scale[:2], "te", block=(16, 16))
        want = reference.dequantize_nvfp4(codes, np.repeat(scale[:2], 16, 0), "te")
        np.testing.assert_array_equal(got, want)

    def test_modelopt(self):
        def check(case):
            g = reference.global_scale(np.abs(floats(case["in_x"])).max(), "modelopt")
            np.testing.assert_array_equal(g, floats(case["out_mo_scale2"])[0])
            self.check(case, "mo", "modelopt", global_scale=g)

        self.for_each_case("mo", check)

    def test_rejects_tails(self):
        for recipe in ("torchao", "mslk"):
            with self.assertRaisesRegex(ValueError, "multiple of 16, but got 40"):
                reference.quantize_nvfp4(np.ones((2, 40)), recipe)

    def test_every_pattern(self):
        golden = load("edge__block_amax_all_bf16")
        recipes = {
            "ao_single": ("torchao", {}),
            "ao_pts1": ("torchao", {"global_scale": 1.0}),
            "ao_pts2m10": ("torchao", {"global_scale": 2.0**-10}),
            "te_amax2688": ("te", {"global_amax": 2688.0}),
            "mo_s2one": ("modelopt", {"global_scale": 1.0}),
        }
        for kind in ("one", "solo"):
            x = blocks_of_every_pattern(kind, 16)
            for name, (recipe, factors) in recipes.items():
                with self.subTest(f"{kind} {name}"):
                    codes, scale = reference.quantize_nvfp4(x, recipe, **factors)
                    key = f"out_{kind}_nv_{name}_"
                    self.assertCodes(scale[:, 0], golden[key + "scale"], "e4m3")
                    known = ~np.isnan(x[:, :1])
                    self.assertCodes(codes[:, :4], golden[key + "q4"], where=known)
                    self.assertTrue((codes[~known[:, 0]] == 7).all())

    def test_torchao_training(self):
        """Rows, squares in both directions and transformed columns are those of torchao's kernels,
        without and with -0."""
        for kind, signs in (("grid_128x128x128", 0), ("outlier_128x256x128", 0),
                            ("sparse_128x128x128", 100), ("tiny_128x128x128", 0)):
            case = load(f"torchao_nvfp4__{kind}", TRAINING)
            self.assertGreaterEqual((case["in_x"] == 0x8000).sum(), signs)
            for operand, source, block in (
                    ("forward_input", "x", (1, 16)), ("forward_weight", "weight", (16, 16)),
                    ("dgrad_gradient", "gradient", (1, 16)), ("dgrad_weight", "weight", (16, 16)),
                    ("wgrad_gradient", "gradient", (1, 16)), ("wgrad_input", "x", (1, 16))):
                x = floats(case[f"in_{source}"])
                if operand not in ("forward_input", "forward_weight", "dgrad_gradient"):
                    x = x.T
                if operand.startswith("wgrad"):
                    x = reference.hadamard(x)
                with self.subTest(f"{kind} {operand}"):
                    amax = reference.amax(x)
                    self.assertEqual(amax, floats(case[f"out_{operand}_amax"]))
                    codes, scale = reference.quantize_nvfp4(
                        x, "torchao_training", block=block, global_amax=amax)
                    want = reference.unpack(case[f"out_{operand}_data"])
                    self.assertCodes(codes, want)
                    self.assertCodes(scale.repeat(block[0], 0), case[f"out_{operand}_scales"])

    def test_mslk_vectors(self):
        vectors = load("mslk", FORMULA)
        for i, value in enumerate(floats(vectors["in_value"])):
            with self.subTest(f"{i} {value}"):
                factors = {}
                if vectors["in_is_amax"][i]:
                    factors["global_amax"] = value
                    g = reference.global_scale(value, "mslk")
                    self.assertEqual(g, floats(vectors[f"out_decode_{i}"])[0])
                elif not vectors["in_is_absent"][i]:
                    factors["global_scale"] = value
                x = blocks_of_every_amax(16)
                codes, scale = reference.quantize_nvfp4(x, "mslk", **factors)
                self.assertCodes(scale[:, 0], vectors[f"out_scale_{i}"], "e4m3")
                known = scale[:, 0] != 0x7F
                factor = floats(vectors[f"out_multiplier_{i}"])[scale[known, 0] - 1]
                with np.errstate(all="ignore"):
                    want = E2M1.encode(x[known, 0] * factor)
                self.assertCodes(codes[known, 0], want)

    def test_mslk_floor_and_zero(self):
        codes, scale = reference.quantize_nvfp4(np.zeros((1, 16)), "mslk")
        self.assertEqual((scale.item(), int(codes.max())), (0x01, 0))
        # An amax of 6 has scale 1, and each element its nearest code.
        row = np.array([[6, -3, 0.25, 0.75, -0.0, 5, 2.5, 1.25] * 2], np.float32)
        codes, scale = reference.quantize_nvfp4(row, "mslk")
        self.assertEqual(scale.item(), 0x38)
        self.assertEqual(codes[0, :8].tolist(), [7, 13, 0, 2, 8, 6, 4, 2])

    def test_mslk_amax_floor(self):
        self.assertEqual(
            reference.global_scale(np.float32(0), "mslk"),
            np.float32(1) / (np.float32(2688) / np.float32(1e-8)),
        )

    def test_nonzero_amax(self):
        amaxes = np.array([0, 2.0 ** -149, 1344 * 2.0 ** -149, 1345 * 2.0 ** -149, 3, np.inf],
                          np.float32)
        np.testing.assert_array_equal(reference.nonzero_amax(amaxes),
                                      [2688, 2688, 2688, *amaxes[3:]])
        self.assertTrue(np.isnan(reference.nonzero_amax(np.nan)))

    def test_te_of_a_decode_scale(self):
        row = np.array([[6.0] + [0.0] * 15], np.float32)
        for g, byte in ((1.0, 0x38), (0.0, 0x38), (0.5, 0x40), (2.0, 0x30)):
            scale = reference.quantize_nvfp4(row, "te", global_scale=g)[1]
            self.assertEqual(scale.item(), byte)


if __name__ == "__main__":
    unittest.main()
