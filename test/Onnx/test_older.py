# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of opsets before 13, which onnx converts, and sizes as older exporters write them."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import onnx

import blockscale as bs
import blockscale.onnx
from models import NEWEST, make_model, node, run_imported

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


class TestOlder(unittest.TestCase):
    # Before opset 13, axes were attributes, and a softmax was one of all dimensions from its axis
    # on.
    def test_opset_9(self):
        for opset in (9, 11, 12):
            # The attributes of a slice were inputs from opset 10 on.
            part = ([node("Slice", "x2", "part", starts=[1], ends=[9], axes=[2])] if opset == 9
                    else [node("Slice", "x2 start end axis", "part")])
            nodes = [node("Unsqueeze", "x", "wide", axes=[0]),
                     node("Squeeze", "wide", "x2", axes=[0]), *part,
                     node("ReduceSum", "part", "sums", axes=[2], keepdims=0),
                     node("Softmax", "x", "y", axis=1)]
            constants = {"start": np.array([1]), "end": np.array([9]), "axis": np.array([2])}
            with self.subTest(opset):
                y, sums = run_imported(make_model(
                    nodes, {"x": ("f32", ["n", 3, 4])}, {"y": ("f32", 3), "sums": ("f32", 2)},
                    constants, opset=opset), {"x": X})
                powers = np.exp(X)
                np.testing.assert_allclose(y, powers / powers.sum((1, 2), keepdims=True), rtol=1e-5)
                np.testing.assert_allclose(sums, X[..., 1:].sum(2), rtol=1e-5, atol=1e-6)

    def test_a_file_with_external_data(self):
        model = make_model([node("MatMul", "x w", "y")], {"x": ("f32", ["n", 4])},
                           {"y": ("f32", 2)}, {"w": np.eye(4, dtype=np.float32) * 3}, opset=11)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            onnx.save_model(model, path, save_as_external_data=True, location="weights.bin",
                            size_threshold=0)
            found = blockscale.onnx.from_model(path).compile()(X[0])
        np.testing.assert_array_equal(found, X[0] * 3)

    # Images of opsets 9 and 10 are read at multiples of 1 / scale, as onnxruntime does.
    def test_images(self):
        image = np.arange(5, dtype=np.float32) ** 2
        lines = {0.6: [0, 3, 34 / 3],
                 2.0: [0, 0.5, 1, 2.5, 4, 6.5, 9, 12.5, 16, 16]}
        nearest = {0.6: [0, 4, 16], 1.6: [0, 0, 1, 1, 4, 9, 9, 16],
                   2.0: [0, 0, 1, 1, 4, 4, 9, 9, 16, 16]}
        for mode, cases in (("linear", lines), ("nearest", nearest)):
            for scale, wanted in cases.items():
                for opset, op in ((9, "Upsample"), (10, "Resize")):
                    if op == "Upsample" and scale < 1:
                        continue
                    model = make_model(
                        [node(op, "x scales", "y", mode=mode)], {"x": ("f32", [1, 1, 1, 5])},
                        {"y": ("f32", 4)}, {"scales": np.array([1, 1, 1, scale], np.float32)},
                        opset=opset)
                    with self.subTest(mode=mode, scale=scale, opset=opset):
                        y, = run_imported(model, {"x": image.reshape(1, 1, 1, 5)})
                        np.testing.assert_allclose(y.reshape(-1), wanted, rtol=1e-6)

    def test_too_old(self):
        model = make_model([node("Relu", "x", "y")], {"x": ("f32", [4])}, {"y": ("f32", 1)},
                           opset=8)
        with self.assertRaisesRegex(bs.ArgumentError, f"<model>: expected opset 9 to {NEWEST} "
                                                      r"\(onnx .*\), but got 8"):
            blockscale.onnx.from_model(model)

    def test_no_conversion(self):
        model = make_model([node("Relu", "x", "y")], {"x": ("f32", [4])}, {"y": ("f32", 1)},
                           opset=9)
        message = "No adapter for\nan op."
        with mock.patch("onnx.version_converter.convert_version", side_effect=RuntimeError(message)
                        ), self.assertRaises(bs.ArgumentError) as raised:
            blockscale.onnx.from_model(model)
        self.assertIn("<model>: expected a model of opset 9 that onnx converts to opset 13, but "
                      "got: No adapter for an op", str(raised.exception))


class TestSizes(unittest.TestCase):
    # Sizes keep the type that a node casts them to, known or not.
    def test_the_type_of_sizes(self):
        nodes = [node("Shape", "x", "sizes"), node("Cast", "sizes", "y", to=6),
                 node("Add", "y one", "z")]
        for rows in (2, "n"):
            model = make_model(nodes, {"x": ("f32", [rows, 3, 4])}, {"y": ("i32", 1),
                                                                     "z": ("i32", 1)},
                               {"one": np.int32(1)})
            y, z = run_imported(model, {"x": X})
            self.assertEqual((y.dtype, z.dtype), (np.int32, np.int32))
            self.assertEqual((y.tolist(), z.tolist()), ([2, 3, 4], [3, 4, 5]))

    # -1 and "?" are sizes of their own, which differ from each other.
    def test_sizes_without_a_name(self):
        model = make_model([node("Relu", "x", "y")], {"x": ("f32", [-1, "?", "?"])},
                           {"y": ("f32", 3)})
        imported = blockscale.onnx.from_model(model)
        self.assertIn("tensor<?x?x?xf32>", str(imported.module))
        function = imported.compile()
        for x in (X, X.reshape(3, 4, 2), X[:1]):
            np.testing.assert_array_equal(function(x), np.maximum(x, 0))


if __name__ == "__main__":
    unittest.main()
