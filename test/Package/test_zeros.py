# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No NaN of zeros: ops with a global scale that they compute, and programs of TOSA that a policy
quantizes."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import blockscale as bs

sys.path.append(str(Path(__file__).resolve().parents[1]))

import zeros


def quantize_all(nonzero_amax=True):
    """A function that quantizes x [E, M, K] by each recipe, by a scale and by an amax of each
    matrix, and gives codes, scales and values of each."""
    def quantize(x):
        found = []
        amax = bs.amax(x, per="batch")
        for recipe in zeros.NVFP4:
            options = {"recipe": recipe, "nonzero_amax": nonzero_amax}
            g = bs.global_scale(amax, **options)
            best = bs.scale_sweep(x, amax, nonzero_amax=nonzero_amax)
            for given in ({"global_scale": g}, {"global_amax": amax},
                          {"global_amax": amax, "block_amax": best}):
                if recipe.startswith("te_4over6") and "block_amax" in given:
                    continue
                q, s = bs.quantize(x, **given, **options)
                found += [q, s, bs.dequantize(q, s, recipe=recipe, global_scale=g)]
        return tuple(found)
    return bs.compile(bs.jit(quantize).trace(bs.Spec((zeros.EXPERTS, zeros.M, zeros.K), "f32")))


class TestOps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.quantize, cls.quantize_raw = quantize_all(), quantize_all(nonzero_amax=False)

    def test_zeros_become_zeros(self):
        for kind, (_, x) in zeros.make_activations().items():
            found = self.quantize(x, accept_nan_scales=True)
            for number, y in enumerate(found[2::3]):
                with self.subTest(kind, number=number):
                    self.assertTrue(np.isfinite(y).all())
                    self.assertFalse(y[x == 0].any())
                    self.assertLess(np.abs(y - x).max(), 0.6)

    def test_tiny_numbers(self):
        """At most 1344 * 2^-149 is 0 to the format, as its global scale would be."""
        for amax, is_zero in ((2.0 ** -149, True), (1344 * 2.0 ** -149, True),
                              (1345 * 2.0 ** -149, False), (2.0 ** -133, False)):
            x = np.full((zeros.EXPERTS, zeros.M, zeros.K), amax, np.float32)
            found, raw = (function(x, accept_nan_scales=True)
                          for function in (self.quantize, self.quantize_raw))
            for number, y in enumerate(found[2::3]):
                with self.subTest(amax=amax, number=number):
                    self.assertTrue(np.isfinite(y).all())
                    self.assertLessEqual(np.abs(y).max(), 2 * amax)
            if not is_zero:
                self.assertEqual([a.tobytes() for a in found], [a.tobytes() for a in raw])

    def test_other_numbers_have_the_bytes_of_the_recipe(self):
        """NaN and infinity, too."""
        x = zeros.make_activations()["activations of numbers"][1]
        for special in (1, np.nan, np.inf, 3e38, 1e-36):
            x[0, 1, 5] = special
            found, raw = (function(x, accept_nan_scales=True)
                          for function in (self.quantize, self.quantize_raw))
            self.assertEqual([a.tobytes() for a in found], [a.tobytes() for a in raw])

    def test_recipes_are_what_they_are(self):
        found = self.quantize_raw(np.zeros((zeros.EXPERTS, zeros.M, zeros.K), np.float32),
                                  accept_nan_scales=True)
        has_nan = dict.fromkeys(zeros.NVFP4, False)
        values = iter(found[2::3])
        for recipe in zeros.NVFP4:
            for _ in range(2 if recipe.startswith("te_4over6") else 3):
                has_nan[recipe] |= bool(np.isnan(next(values)).any())
        self.assertEqual({recipe for recipe, found in has_nan.items() if found},
                         {"torchao", "modelopt"})


class TestTosa(unittest.TestCase):
    def write(self, weights):
        """A program of TOSA with a product for each weight, of [1 or E, M, K]."""
        x, experts = (f"tensor<{count}x{zeros.M}x{zeros.K}xf32>" for count in (1, zeros.EXPERTS))
        zero = "tensor<1xf32>"
        lines = [f'%z = "tosa.const"() <{{values = dense<0.0> : {zero}}}> : () -> {zero}']
        results = []
        for number, w in enumerate(weights.values()):
            b = np.ascontiguousarray(np.swapaxes(w.reshape(-1, *w.shape[-2:]), 1, 2))
            count, _, n = b.shape
            type = f"tensor<{count}x{zeros.K}x{n}xf32>"
            results.append(f"tensor<{count}x{zeros.M}x{n}xf32>")
            lines += [
                (f'%w{number} = "tosa.const"() <{{values = dense<"0x{b.tobytes().hex().upper()}"> '
                 f": {type}}}> : () -> {type}"),
                (f"%y{number} = tosa.matmul {'%x' if count == 1 else '%e'}, %w{number}, %z, %z : "
                 f"({x if count == 1 else experts}, {type}, {zero}, {zero}) -> {results[-1]}")]
        names = ", ".join(f"%y{number}" for number in range(len(results)))
        body = "".join(f"  {line}\n" for line in lines)
        return (f"func.func @main(%x: {x}, %e: {experts}) -> ({', '.join(results)}) {{\n{body}"
                f"  return {names} : {', '.join(results)}\n}}\n")

    def test_policies(self):
        weights = zeros.make_weights()
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        policy = folder / "policy.json"
        policy.write_text(json.dumps(zeros.make_policy()), encoding="utf-8")
        compiled = bs.compile(self.write(weights), policy=policy)

        def run(x, experts):
            return [y[0] if len(y) == 1 else y for y in compiled(x[None], experts)]
        zeros.check(self, run, weights)


if __name__ == "__main__":
    unittest.main()
