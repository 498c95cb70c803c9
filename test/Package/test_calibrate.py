# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calibration bakes amaxes, and what is computed of them, into a module: B5 of
docs/Testing.md."""

import unittest

import ml_dtypes
import numpy as np

import blockscale as bs


def make(seed, scale=1.0):
    values = np.random.default_rng(seed).standard_normal((48, 64)) * scale
    return values.astype(ml_dtypes.bfloat16)


def layer(recipe, by_amax):
    """A dynamic quantization under a recipe."""
    @bs.jit
    def quantize(x: bs.Spec((None, 64), "bf16")):
        amax = bs.amax(x)
        if by_amax:
            return bs.quantize(x, recipe=recipe, global_amax=amax)
        return bs.quantize(x, recipe=recipe,
                           global_scale=bs.global_scale(amax, recipe=recipe))

    return quantize.trace()


def run(module, x):
    return [np.asarray(each).view(np.uint8) for each in bs.compile(module)(x)]


class CalibrateTest(unittest.TestCase):
    def test_equals_dynamic_on_the_same_input(self):
        for number, recipe in enumerate(("torchao", "mslk", "te", "modelopt")):
            for by_amax in (False, True):
                x = make(number, (1.0, 1e-4, 3e4, 1e-30)[number])
                dynamic = layer(recipe, by_amax)
                static = bs.calibrate(dynamic, [(x,)])
                self.assertNotIn("blockscale.amax", str(static))
                for a, b in zip(run(dynamic, x), run(static, x)):
                    np.testing.assert_array_equal(a, b, f"{recipe} {by_amax}")

    def test_the_largest_of_all_samples(self):
        dynamic = layer("torchao", False)
        samples = [make(1), make(2, 4.0), make(3, 0.5)]
        static = bs.calibrate(dynamic, [(x,) for x in samples])
        largest = max(range(3), key=lambda i: float(np.abs(samples[i].astype("f4")).max()))
        self.assertEqual(str(static), str(bs.calibrate(dynamic, [(samples[largest],)])))
        # Another input is then not quantized by its own amax.
        self.assertFalse(all(np.array_equal(a, b) for a, b in
                             zip(run(dynamic, samples[2]), run(static, samples[2]))))

    def test_each_amax_is_its_own(self):
        @bs.jit
        def both(x: bs.Spec((None, 64), "f32"), w: bs.Spec((2, 16, 64), "f32")):
            return bs.amax(x), bs.amax(w, per="batch")

        x = np.full((3, 64), -2.0, np.float32)
        w = np.stack([np.full((16, 64), 3.0), np.full((16, 64), 5.0)]).astype(np.float32)
        static = bs.compile(bs.calibrate(both.trace(), [(x, w), (x / 2, w[::-1].copy())]))
        a, b = static(x * 0, w * 0)
        self.assertEqual(float(a), 2.0)
        self.assertEqual(b.tolist(), [5.0, 5.0])

    def test_refusals(self):
        dynamic = layer("torchao", False)
        bad = make(1)
        bad[3, 4] = np.nan
        none = bs.jit(lambda x: bs.quantize(x)).trace(bs.Spec((4, 64), "f32"))
        rows = bs.jit(lambda x: bs.amax(x, per="row")).trace(bs.Spec((None, 64), "f32"))
        for module, samples, part in (
                (dynamic, [], "at least one sample"),
                (dynamic, [(make(1),), (bad,)], "sample 1 has a NaN before line"),
                (dynamic, [(make(1).astype(np.float32),)], "expected dtype bfloat16"),
                (none, [(make(1),)], "expected an amax op"),
                (rows, [(make(1),)], "fixed shapes"),
                (str(dynamic), [(make(1),)], "expected a module that @blockscale.jit traced")):
            with self.assertRaisesRegex(bs.ArgumentError, part):
                bs.calibrate(module, samples)


if __name__ == "__main__":
    unittest.main()
