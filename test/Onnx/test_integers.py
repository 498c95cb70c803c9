# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of integers and the codes that they take, against onnx.reference, and the LSTM of
onnxruntime in codes, against NumPy."""

import unittest

import numpy as np
from onnx import TensorProto, helper

import blockscale.onnx
from blockscale.onnx import UnsupportedError
from models import make_model, node, run_imported, run_reference

RNG = np.random.default_rng(0)
#: Ops that have their cases here.
OPS = ("DynamicQuantizeLinear", "MatMulInteger", "ConvInteger")
WIDTH = 6


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def codes(*shape, dtype=np.uint8):
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def quantize(x):
    """Codes, scale and zero point, in f32 as the standard says."""
    low, high = np.minimum(x.min(), 0), np.maximum(x.max(), 0)
    scale = np.float32((high - low) / np.float32(255)) if high != low else np.float32(1)
    zero = np.rint(np.clip(-low / scale, 0, 255))
    return np.clip(np.rint(x / scale) + zero, 0, 255), scale, zero


class TestCodes(unittest.TestCase):
    def check(self, nodes, x, outputs, constants=(), shape=None):
        model = make_model(nodes, {"x": ("f32", shape or x.shape)}, outputs, constants)
        feeds = {"x": x}
        for a, b in zip(run_imported(model, feeds), run_reference(model, feeds), strict=True):
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
            np.testing.assert_array_equal(a, b)

    # Numbers of both signs, of one, and some between two codes.
    def test_codes_of_numbers(self):
        nodes = [node("DynamicQuantizeLinear", "x", "q scale z"),
                 node("Cast", "q", "codes", to=TensorProto.INT32),
                 node("Cast", "z", "zero", to=TensorProto.FLOAT)]
        for x in (normal(3, 5), np.abs(normal(7)) + 1, -np.abs(normal(7)), np.array([
                -128, 127, 0.5, 1.5, -2.5], np.float32)):
            self.check(nodes, x, {"codes": ("i32", x.ndim), "scale": ("f32", 0),
                                  "zero": ("f32", 0)})
        # Of zeros alone, the scale is that of onnxruntime; onnx.reference has another one.
        model = make_model(nodes, {"x": ("f32", [4])}, {"codes": ("i32", 1), "scale": ("f32", 0)})
        found = run_imported(model, {"x": np.zeros(4, np.float32)})
        np.testing.assert_array_equal(found[0], [0] * 4)
        self.assertEqual(found[1], 1)

    def test_products(self):
        for weight, zero in ((codes(8, 5), np.array(121, np.uint8)), (codes(8, 5), None),
                             (codes(8, 5, dtype=np.int8), codes(5, dtype=np.int8))):
            nodes = [node("DynamicQuantizeLinear", "x", "q scale z"),
                     node("MatMulInteger", "q w z zw" if zero is not None else "q w z", "y"),
                     node("MatMulInteger", "q w", "raw")]
            constants = {"w": weight} | ({} if zero is None else {"zw": zero})
            self.check(nodes, normal(2, 3, 8), {"y": ("i32", 3), "raw": ("i32", 3)}, constants,
                       ["m", "n", 8])

    # Padding is the zero point.
    def test_convolutions(self):
        for weight, zero, attributes in (
                (codes(4, 3, 3, 2), np.array(99, np.uint8),
                 dict(pads=[1, 0, 2, 1], strides=[2, 1])),
                (codes(4, 1, 3, 3), np.array(7, np.uint8), dict(group=4, pads=[1, 1, 1, 1])),
                (codes(4, 3, 1, 1, dtype=np.int8), None, {})):
            nodes = [node("DynamicQuantizeLinear", "x", "q scale z"),
                     node("ConvInteger", "q w z zw" if zero is not None else "q w z", "y",
                          **attributes)]
            channels = 4 if attributes.get("group") else 3
            self.check(nodes, normal(2, channels, 6, 7), {"y": ("i32", 4)},
                       {"w": weight} | ({} if zero is None else {"zw": zero}),
                       [2, channels, "h", 7])

    # onnx.reference has no zero points of channels.
    def test_zero_points_of_filters(self):
        x, weight = codes(1, 2, 4, 4, dtype=np.int8), codes(3, 2, 2, 2, dtype=np.int8)
        zeros = np.array([1, -5, 9], np.int8)
        model = make_model(
            [node("Cast", "x.wide", "x", to=TensorProto.INT8),
             node("ConvInteger", "x w - zw", "y", strides=[2, 2])],
            {"x.wide": ("i32", x.shape)}, {"y": ("i32", 4)}, {"w": weight, "zw": zeros})
        patches = x.reshape(1, 2, 2, 2, 2, 2).astype(int)
        wanted = np.einsum("ncykxl,ockl->noyx", patches, weight.astype(int)
                           - zeros.reshape(3, 1, 1, 1))
        found, = run_imported(model, {"x.wide": x.astype(np.int32)})
        np.testing.assert_array_equal(found, wanted)


class TestLstm(unittest.TestCase):
    def compute(self, given, number, reverse):
        """One direction, in codes."""
        def multiply(x, name):
            q, scale, zero = quantize(x)
            weight = given[name][number].astype(int) - given[f"{name}z"][number]
            return ((q - zero) @ weight).astype(np.float32) * (scale * given[f"{name}s"][number])
        x = given["x"]
        inputs = multiply(x, "w") + sum(np.split(given["b"][number], 2))
        state, cell = given["h"][number], given["c"][number]
        every = np.zeros((*x.shape[:2], WIDTH))
        for step in reversed(range(len(x))) if reverse else range(len(x)):
            i, o, f, c = np.split(inputs[step] + multiply(state, "r"), 4, -1)
            cell = cell / (1 + np.exp(-f)) + np.tanh(c) / (1 + np.exp(-i))
            state = (np.tanh(cell) / (1 + np.exp(-o))).astype(np.float32)
            every[step] = state
        return every, state, cell

    def test_directions(self):
        for columns in (False, True):
            shape = (2, 4 * WIDTH) if columns else (2,)
            given = {"x": normal(5, 3, 4), "b": normal(2, 8 * WIDTH), "h": normal(2, 3, WIDTH),
                     "c": normal(2, 3, WIDTH)}
            for name, depth, kind in (("w", 4, np.uint8), ("r", WIDTH, np.int8)):
                given[name] = codes(2, depth, 4 * WIDTH, dtype=kind)
                given[f"{name}z"] = codes(*shape, dtype=kind) // 2
                given[f"{name}s"] = np.abs(normal(*shape)) / 100
            names = ["x", "w", "r", "b", "", "h", "c", "", "ws", "wz", "rs", "rz"]
            model = make_model(
                [helper.make_node("DynamicQuantizeLSTM", names, ["y", "yh", "yc"], "lstm",
                                  domain="com.microsoft", direction="bidirectional",
                                  hidden_size=WIDTH)],
                {"x": ("f32", ["n", 3, 4])}, {"y": ("f32", 4), "yh": ("f32", 3), "yc": ("f32", 3)},
                {key: value for key, value in given.items() if key != "x"},
                domains=("com.microsoft",))
            wanted = [np.stack(parts, 1 if place == 0 else 0) for place, parts in enumerate(
                zip(self.compute(given, 0, False), self.compute(given, 1, True)))]
            for x, y in zip(run_imported(model, {"x": given["x"]}), wanted, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4)


class TestRefused(unittest.TestCase):
    def test_nodes(self):
        inputs = {"x": ("f32", ["m", 8]), "w": ("i32", [8, 5]), "s": ("f32", [3, 2, 8])}
        constants = {"u": codes(8, 5), "i": codes(8, 5, dtype=np.int8), "z": codes(5),
                     "y2": codes(3), "one": np.array(1, np.uint8), "signed": np.array(1, np.int8),
                     "wq": codes(1, 8, 24), "rq": codes(1, 6, 24), "f": normal(1), "zq": codes(1),
                     "f3": normal(1, 3)}
        lstm = dict(domain="com.microsoft", hidden_size=6)
        for message, op, operands, attributes in (
                ("expected numbers of a type that modules have, but got uint8, which Cast,", "Add",
                 "q q", {}),
                ("expected the first operand of uint8 or int8, but got f32", "MatMulInteger", "x u",
                 {}),
                ("expected the second operand of uint8 or int8, but got i32", "MatMulInteger",
                 "q w", {}),
                ("expected the second operand and their zero points to be known at import",
                 "MatMulInteger", "q q", {}),
                ("expected one zero point of the first operand, but got [5]", "MatMulInteger",
                 "q u z", {}),
                ("expected zero points of the type of the first operand, uint8, but got i8",
                 "MatMulInteger", "q u signed", {}),
                ("expected zero points of the type of the operand, uint8, but got i8",
                 "ConvInteger", "q u signed", {}),
                (("expected a zero point, or one for each column of the second operand [8, 5], but "
                  "got [3]"), "MatMulInteger", "q u - y2", {}),
                ("expected zero points of the type of the second operand, i8, but got uint8",
                 "MatMulInteger", "q i - one", {}),
                ("expected filters of rank 3 or more whose sizes are known, but got [8, 5]",
                 "ConvInteger", "q u", {}),
                ("expected weights, their scales and zero points to be known at import",
                 "DynamicQuantizeLSTM", "s wq rq - - - - - x zq f zq", lstm),
                ("expected recurrent weights, their scales and zero points to be known at import",
                 "DynamicQuantizeLSTM", "s wq rq - - - - - f zq", lstm),
                ("expected weights, their scales and zero points to be known at import",
                 "DynamicQuantizeLSTM", "s", lstm),
                ("expected operand, but got none", "DynamicQuantizeLSTM", "", lstm),
                (("expected weights, their scales and zero points of 1 directions, but got "
                  "[1, 8, 24], [1], []"), "DynamicQuantizeLSTM", "s wq rq - - - - - f one f zq",
                 lstm),
                ("expected one scale or 24 of float, but got 3 of f32", "DynamicQuantizeLSTM",
                 "s wq rq - - - - - f3 zq f zq", lstm)):
            with self.subTest(op=op, message=message):
                model = make_model(
                    [node("DynamicQuantizeLinear", "x", "q qs qz"),
                     node(op, operands, "y", **attributes)], inputs, {"y": ("f32", 2)}, constants,
                    domains=("com.microsoft",))
                with self.assertRaises(UnsupportedError) as raised:
                    blockscale.onnx.from_model(model)
                self.assertIn(message, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
