# ===- test_reference_sweep.py - The reference's scale sweep --------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The sweep over 126 scales, and quantizing with its winners, against golden."""

import unittest

import numpy as np

from golden import GoldenTest, cases, floats, load, reference
from blockscale_reference import E2M1
from blockscale_reference.sweep import CANDIDATES, sweep_loss, sweep_scale


class SweepTest(GoldenTest):
    def test_winners(self):
        for name, case in cases("sweep__*"):
            with self.subTest(name):
                x, g = floats(case["in_x"]), floats(case["in_global_amax"])[0]
                self.assertEqual(reference.amax(x), g)
                np.testing.assert_array_equal(
                    CANDIDATES, floats(case["out_candidates"])
                )
                got = reference.scale_sweep(x, g)[:, 0]
                fused = floats(case["out_triton_best_amax"])
                np.testing.assert_array_equal(got, fused)
                other = got != floats(case["out_best_amax"])
                self.assertLessEqual(int(other.sum()), 1)
                loss = sweep_loss(x[:, None], got[:, None] / np.float32(6))[:, 0]
                best = floats(case["out_loss_best"])
                self.assertTrue((loss[other] <= best[other] * (1 + 1e-5)).all())

    def test_export(self):
        for name, case in cases("sweep__*"):
            with self.subTest(name):
                x, g = floats(case["in_x"]), floats(case["in_global_amax"])[0]
                best = floats(case["out_best_amax"])[:, None]
                codes, scale = reference.quantize_nvfp4(
                    x, "modelopt", global_amax=g, block_amax=best
                )
                self.assertCodes(scale, case["out_static_scale"], "e4m3")
                want = reference.unpack(case["out_static_qdata"])
                self.assertCodes(codes, want)

    def test_block_amax_of_other_recipes_stands_for_the_blocks_own(self):
        x = floats(load("sweep__normal_256_f32")["in_x"])
        own = np.abs(x).max(axis=1, keepdims=True)
        for recipe in ("torchao", "mslk", "te"):
            options = {"recipe": recipe, "global_amax": np.float32(5)}
            np.testing.assert_equal(
                reference.quantize_nvfp4(x, block_amax=own, **options),
                reference.quantize_nvfp4(x, **options),
            )

    def test_batches(self):
        x = floats(load("sweep__normal_256_f32")["in_x"]).reshape(4, 16, 64)
        amax = reference.amax(x, of="batch")
        got = reference.scale_sweep(x, amax)
        self.assertEqual(got.shape, (4, 16, 4))
        for i in range(4):
            np.testing.assert_array_equal(got[i], reference.scale_sweep(x[i], amax[i]))

    def test_edges(self):
        zero = np.zeros((1, 16), np.float32)
        self.assertEqual(reference.scale_sweep(zero, 0).item(), 0)
        self.assertEqual(reference.scale_sweep(zero, 448).item(), 2.0**-9)
        nan = np.full((1, 16), np.nan, np.float32)
        self.assertEqual(reference.scale_sweep(nan, 448).item(), 2.0**-9)
        with self.assertRaisesRegex(ValueError, "multiple of 16, but got 24"):
            reference.scale_sweep(np.ones((1, 24)), 1)

    def test_hessian(self):
        x = floats(load("sweep__normal_256_f32")["in_x"]).reshape(64, 64)
        amax = reference.amax(x)
        identity = np.repeat(np.eye(16, dtype=np.float32)[None], 4, axis=0)
        np.testing.assert_array_equal(
            reference.scale_sweep(x, amax, identity), reference.scale_sweep(x, amax)
        )
        root = np.random.default_rng(2).normal(size=(4, 16, 16))
        hessian = (root @ root.swapaxes(1, 2)).astype(np.float32)
        blocks = x.reshape(64, 4, 16)
        best = np.full((64, 4), np.inf)
        for candidate in CANDIDATES:
            scale = sweep_scale(candidate, np.full((64, 4), amax))[..., None]
            error = blocks.astype(np.float64)
            error = error - E2M1.decode(E2M1.encode(blocks / scale)) * scale
            loss = np.einsum("mki,kij,mkj->mk", error, hessian, error)
            got = sweep_loss(blocks, scale[..., 0], hessian)
            np.testing.assert_allclose(got, loss, rtol=1e-4)
            best = np.minimum(best, loss)
        winners = reference.scale_sweep(x, amax, hessian)
        self.assertTrue((winners != reference.scale_sweep(x, amax)).any())
        chosen = sweep_loss(blocks, sweep_scale(winners / amax, amax), hessian)
        np.testing.assert_allclose(chosen, best, rtol=1e-4)


if __name__ == "__main__":
    unittest.main()
