# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No NaN of zeros: models of ONNX that a policy quantizes, and quantizers that are exported with a
global scale that they compute."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import blockscale as bs
import blockscale.onnx
from blockscale.onnx._recipes import find_obstacle
from models import make_model, node, run_reference

sys.path.append(str(Path(__file__).resolve().parents[1]))

import zeros


class TestZeros(unittest.TestCase):
    def test_policies(self):
        weights = zeros.make_weights()
        lead = (zeros.EXPERTS,)
        nodes = [node("MatMul", f"{'e' if w.ndim == 3 else 'x'} w{number}", f"y{number}",
                      name=f"product{number}") for number, w in enumerate(weights.values())]
        model = make_model(
            nodes, {"x": ("f32", [zeros.M, zeros.K]), "e": ("f32", [*lead, zeros.M, zeros.K])},
            {f"y{number}": ("f32", w.ndim) for number, w in enumerate(weights.values())},
            {f"w{number}": np.swapaxes(w, -1, -2) for number, w in enumerate(weights.values())})
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        policy = folder / "policy.json"
        policy.write_text(json.dumps(zeros.make_policy()), encoding="utf-8")
        function = blockscale.onnx.from_model(model).compile(policy=policy)
        zeros.check(self, lambda x, experts: function(x=x, e=experts), weights)

    def test_exported_quantizers(self):
        recipes = [recipe for recipe in zeros.NVFP4 if find_obstacle("nvfp4", recipe) is None]
        self.assertEqual(len(recipes), 4)

        def quantize(x):
            found = []
            amax = bs.amax(x)
            for recipe in recipes:
                g = bs.global_scale(amax, recipe=recipe)
                for given in ({"global_scale": g}, {"global_amax": amax}):
                    q, s = bs.quantize(x, recipe=recipe, **given)
                    found.append(bs.dequantize(q, s, recipe=recipe, global_scale=g))
            return tuple(found)
        module = bs.jit(quantize).trace(bs.Spec((zeros.M, zeros.K), "f32"))
        model, function = blockscale.onnx.export(module), bs.compile(module)
        for kind, (x, _) in zeros.make_activations().items():
            found = run_reference(model, {model.graph.input[0].name: x})
            for number, (y, wanted) in enumerate(zip(found, function(x), strict=True)):
                with self.subTest(kind, number=number):
                    self.assertTrue(np.isfinite(y).all())
                    self.assertFalse(y[x == 0].any())
                    np.testing.assert_array_equal(y, wanted)


if __name__ == "__main__":
    unittest.main()
