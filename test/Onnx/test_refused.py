# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is not imported is one error that names each node, its op, what was expected and what was
found."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx

import blockscale as bs
import blockscale.onnx
from blockscale._import import main
from blockscale.onnx import UnsupportedError
from models import NEWEST, TYPES, make_model, node

F32, BF16 = TYPES["f32"], TYPES["bf16"]


def codes(*shape, kind=ml_dtypes.float4_e2m1fn):
    return np.zeros(shape, np.uint8).view(kind)


class Refused(unittest.TestCase):
    def refuse(self, message, nodes, inputs=(), constants=(), outputs=None, **options):
        """`nodes` are refused, for a reason that has `message`; the error."""
        model = make_model(nodes, inputs, outputs or {"y": ("f32", 2)}, constants, **options)
        with self.assertRaises(UnsupportedError) as raised:
            blockscale.onnx.from_model(model)
        self.assertIn(message, str(raised.exception))
        return raised.exception


X = {"x": ("f32", ["m", 64])}


class TestNodes(Refused):
    # All nodes that are not known, and others that are refused, in one error.
    def test_all_at_once(self):
        error = self.refuse(
            "expected an op that is imported, or one of constants",
            [node("NonZero", "x", "a", name="first"), node("Relu", "a", "b", name="behind"),
             node("Multinomial", "x", "c", name="second"),
             node("Own", "x", "d", name="third", domain="mine"),
             node("Cast", "x", "y", name="last", to=TYPES["e8m0"], round_mode="sideways")], X,
            domains=("mine",))
        self.assertEqual([problem.node for problem in error.problems],
                         ["first", "second", "third", "last"])
        self.assertEqual([problem.target for problem in error.problems],
                         ["NonZero", "Multinomial", "mine.Own", "Cast"])
        self.assertEqual(error.problems[3].location, ("<model>", 5))
        self.assertIn("<model>:5: last = Cast: expected round_mode to be one of up, down, nearest, "
                      "but got sideways", str(error))

    def test_inputs(self):
        model = make_model([node("Relu", "x", "y")], X, {"y": ("f32", 2)})
        model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.COMPLEX64
        with self.assertRaisesRegex(UnsupportedError, "x = input: expected elements of one of .*, "
                                                      "but got complex64"):
            blockscale.onnx.from_model(model)
        model = make_model([node("Relu", "x", "y")], X, {"y": ("f32", 2)})
        model.graph.input[0].type.tensor_type.ClearField("shape")
        with self.assertRaisesRegex(bs.Error, "shape"):
            blockscale.onnx.from_model(model)

        model = make_model([node("Relu", "x", "y")], X, {"y": ("f32", 2)})
        sparse = model.graph.sparse_initializer.add(dims=[4])
        sparse.values.CopyFrom(onnx.numpy_helper.from_array(np.ones(1, np.float32), "w"))
        sparse.indices.CopyFrom(onnx.numpy_helper.from_array(np.zeros(1, np.int64), "w_indices"))
        with self.assertRaisesRegex(UnsupportedError, "w = initializer: expected a dense tensor"):
            blockscale.onnx.from_model(model)

    def test_elements(self):
        for message, op, inputs, attributes in (
                ("expected operands of one type, but got bf16 and f32", "Add", "x h", {}),
                ("expected operands of one type, but got", "MatMul", "x h", {}),
                ("expected operands that broadcast", "Add", "x v", {}),
                ("of floating-point numbers, but got i64", "Exp", "i", {}),
                ("expected fmod of 1", "Mod", "x x", {}),
                ("expected operand of numbers, but got f8E4M3FN", "Add", "q q", {}),
                ("expected operand of float, bfloat16 or float16, but got i64", "Softmax", "i", {}),
                ("int64, but got uint8", "CastLike", "x u", {}),
                ("expected approximate to be one of none, tanh", "Gelu", "x",
                 {"approximate": "fast"}),
                ("expected stash_type 1 (float), but got bfloat16", "LayerNormalization", "x v",
                 {"stash_type": BF16})):
            with self.subTest(op=op, message=message):
                self.refuse(message, [node(op, inputs, "y", **attributes)],
                            {**X, "h": ("bf16", ["m", 64]), "v": ("f32", [63]),
                             "i": ("i64", ["m", 64]), "q": ("e4m3", ["m", 64])},
                            {"u": np.ones(1, np.uint8)})

    def test_shapes(self):
        for message, op, inputs, attributes in (
                ("expected a shape of 64*m elements, but got [7, -1]", "Reshape", "x r", {}),
                ("expected at most one -1", "Reshape", "x rr", {}),
                ("expected the shape to be computed from sizes of inputs", "Reshape", "x i", {}),
                ("expected axes to be known at import", "ReduceSum", "x i", {}),
                ("expected different axes of a tensor of rank 2, but got [2]", "ReduceSum", "x two",
                 {}),
                ("expected sizes of 1 along axes [1]", "Squeeze", "x one", {}),
                ("expected axes for a tensor", "Squeeze", "x", {}),
                ("expected 0 in a shape for dimensions of [m, 64], but got [7, -1, 0]", "Reshape",
                 "x behind", {}),
                ("expected axis -2 to 2, but got 3", "Flatten", "x", {"axis": 3}),
                ("expected indices of rank 2, but got [2]", "GatherElements", "x i", {}),
                ("expected indices within [m, 64] but along axis 1, but got [n, 64]",
                 "GatherElements", "x wide", {"axis": 1}),
                ("expected indices of int32 or int64, but got bf16", "GatherElements", "x h",
                 {"axis": 1}),
                ("expected indices of 1 to 2 dimensions of [m, 64], but got [3]", "GatherND",
                 "x three", {}),
                ("expected indices of 1 to 2 dimensions of [m, 64], but got []", "GatherND",
                 "x index", {}),
                ("expected the batch of [m, 64], but got [2, 1]", "GatherND", "x batches",
                 {"batch_dims": 1}),
                ("expected a constant of one of", "Gather", "x text", {}),
                ("expected a constant of one of", "Pow", "x text", {}),
                ("expected as many starts, ends, axes and steps, but got 1, 2, 1 and 1", "Slice",
                 "x one i2", {}),
                (("expected a slice of dimension 0 of [m, 64] of the same form whatever the sizes "
                  "of inputs are, but got one from 5 to 9223372036854775807"), "Slice",
                 "x five end zero", {}),
                ("expected num_outputs to be 1, as there are outputs, but got 0", "Split", "x",
                 {"num_outputs": 0, "axis": 1}),
                ("expected parts whose sizes add up to 64, but got [60]", "Split", "x sixty",
                 {"axis": 1}),
                ("expected repeats of 2 dimensions, but got [2]", "Tile", "x two", {}),
                ("expected 4 pads for axes [0, 1], but got [1, -1]", "Pad", "x i2", {}),
                ("expected the value to be one number, but got [0] of them", "Pad", "x pads none",
                 {}),
                ("expected operand of numbers, but got f8E4M3FN", "Pad", "q pads", {}),
                ("expected a value of one number, but got [1] of uint8", "ConstantOfShape",
                 "size", {"value": onnx.numpy_helper.from_array(np.ones(1, np.uint8))}),
                ("expected limit to be one number, but got [m, 64]", "Range", "index size index",
                 {}),
                ("expected start of int32 or int64, but got f32", "Range", "half size half", {}),
                ("expected a range of sizes from 0 by steps of 1, but got one from 3 by 3", "Range",
                 "index rows index", {}),
                ("expected k to be one number, but got [2] of them", "Trilu", "x i2", {}),
                ("expected k to be numbers, but got object", "Trilu", "x text", {}),
                ("expected a tensor of rank 2 or more, but got [64]", "Trilu", "v", {}),
                ("expected operand of numbers, but got f8E4M3FN", "ReduceSum", "q", {}),
                ("expected sizes of inputs that can be computed, but integer modulo by zero",
                 "Squeeze", "rows zero", {}),
                ("expected an order of 2 dimensions", "Transpose", "x", {"perm": [0, 0]}),
                ("expected steps other than 0", "Slice", "x zero two one zero", {}),
                ("expected steps of 1 with sizes that are not known", "Slice",
                 "x zero far zero two", {}),
                ("expected the sizes of parts", "Split", "x", {"num_outputs": 2}),
                ("expected mode to be one of constant, edge, reflect, wrap, but got mirror", "Pad",
                 "x pads", {"mode": "mirror"}),
                ("expected pads of at most 63 along dimension 1 in mode reflect, but got 64", "Pad",
                 "x sixty4 - one", {"mode": "reflect"}),
                (("expected pads of 0 or more in mode edge, and elements along dimension 1, but "
                  "got [-1, 0] for [m, 64]"), "Pad", "x less - one", {"mode": "edge"}),
                ("expected the axis to be known at import", "CumSum", "x index_", {}),
                ("expected different axes of a tensor of rank 2, but got [2]", "ArgMax", "x",
                 {"axis": 2}),
                ("expected scales to be known at import", "Resize", "x - v", {}),
                ("expected scales or sizes, but got none", "Resize", "x", {}),
                ("expected sizes or scales of 2 axes, but got 1", "Resize", "x - - one", {}),
                (("expected scales of sizes that are not known to be fractions of denominators up "
                  "to 64, but got 1.414"), "Resize", "x - roots", {}),
                ("expected finite scales of more than 0, but got [1.0, 0.0]", "Resize",
                 "x - flat", {}),
                ("expected finite scales of more than 0, but got [-2.0, 1.0]", "Resize",
                 "x - back", {}),
                ("expected sizes of 0 or more, but got [-1, 8]", "Resize", "x - - below", {}),
                ("expected antialias to be 0, but got 1", "Resize", "x - roots",
                 {"antialias": 1, "mode": "linear"}),
                ("expected mode to be one of nearest, linear, cubic, but got area", "Resize",
                 "x - roots", {"mode": "area"}),
                (("expected coordinate_transformation_mode to be one of half_pixel, "
                  "pytorch_half_pixel, half_pixel_symmetric, asymmetric, align_corners, but got "
                  "tf_crop_and_resize"), "Resize", "x - roots",
                 {"coordinate_transformation_mode": "tf_crop_and_resize"}),
                ("expected operand of float, bfloat16 or float16, but got i64", "Resize",
                 "wide - roots", {"mode": "linear"}),
                ("expected indices of dimension 1", "Gather", "x far", {"axis": 1}),
                ("expected operands of the same size along the sum", "MatMul", "x x", {})):
            with self.subTest(op=op, message=message):
                outputs = "y y1" if attributes.get("num_outputs") == 2 else "y"
                nodes = [node("Shape", "x", "size"), node("Gather", "size index0", "rows"),
                         node(op, inputs, outputs, **attributes)]
                self.refuse(message, nodes,
                            {**X, "i": ("i64", [2]), "wide": ("i64", ["n", 64]),
                             "h": ("bf16", ["m", 64]), "three": ("i64", [3]),
                             "batches": ("i64", [2, 1]), "q": ("e4m3", ["m", 64]),
                             "v": ("f32", [64]), "index_": ("i64", [])},
                            {"r": np.array([7, -1]), "rr": np.array([-1, -1]),
                             "behind": np.array([7, -1, 0]), "i2": np.array([1, -1]),
                             "one": np.array([1]), "two": np.array([2]), "zero": np.array([0]),
                             "five": np.array([5]), "end": np.array([2 ** 63 - 1]),
                             "sixty": np.array([60]), "index0": np.int64(0),
                             "index": np.int64(3), "half": np.float32(0.5),
                             "text": np.array(["a"]), "none": np.zeros(0, np.float32),
                             "pads": np.array([1, 1, 1, 1]), "far": np.array([64]),
                             "sixty4": np.array([64, 0]), "less": np.array([-1, 0]),
                             "roots": np.sqrt(np.array([2, 2], np.float32)),
                             "flat": np.array([1, 0], np.float32),
                             "back": np.array([-2, 1], np.float32),
                             "below": np.array([-1, 8])})

    def test_parts_that_do_not_fit(self):
        for message, outputs, attributes in (
                ("expected a dimension of 3 equal parts, but got size 5", "a b y", {}),
                ("expected a dimension of 4 parts of 2, but got size 5", "a b c y",
                 {"num_outputs": 4})):
            self.refuse(message, [node("Split", "x", outputs, **attributes)],
                        {"x": ("f32", [5, 2])})

    # onnx.reference gives lists of them, of any shapes.
    def test_sequences_of_constants(self):
        constants = {"a": np.ones(1, np.float32), "b": np.ones(2, np.float32)}
        made = node("SequenceConstruct", "a b", "s")
        self.refuse("expected operands of one type, but got f32 and object",
                    [made, node("Add", "x s", "y")], {"x": ("f32", [1])}, constants)
        model = make_model([made, node("ConcatFromSequence", "s", "c", axis=0),
                            node("Add", "x c", "y")], {"x": ("f32", [1])}, {"y": ("f32", 1)},
                           constants)
        y = blockscale.onnx.from_model(model).compile()(np.ones(1, np.float32))
        np.testing.assert_array_equal(y, np.full(3, 2, np.float32))

    def test_a_node_of_constants_that_cannot_be_computed(self):
        self.refuse("expected a node of constants that onnx.reference evaluates",
                    [node("Reshape", "c r", "t"), node("StringConcat", "t t", "y")], {},
                    {"c": np.zeros(4, np.float32), "r": np.array([2, 2])})

    def test_results_that_a_node_does_not_give(self):
        self.refuse("expected no more than 1 results to be taken, but got 'mask' as well",
                    [node("Dropout", "x", "y mask")], X)

    def test_dropout_in_training(self):
        self.refuse("expected dropout that is not in training",
                    [node("Dropout", "x p t", "y")], X,
                    {"p": np.float32(0.5), "t": np.bool_(True)})
        # Of constants, too, which onnx.reference would draw from.
        self.refuse("expected dropout that is not in training",
                    [node("Dropout", "c p t", "d"), node("Add", "x d", "y")], X,
                    {"p": np.float32(0.5), "t": np.bool_(True), "c": np.ones(64, np.float32)})


class TestQuantized(Refused):
    def dequantize(self, message, data, scale, name="decode", opset=NEWEST, **attributes):
        attributes.setdefault("block_size", 16)
        dq = node("DequantizeLinear", "q s", "y", name=name, **attributes)
        error = self.refuse(message, [dq], {}, {"q": data, "s": scale}, opset=opset)
        self.assertEqual((error.node, error.target), (name, "DequantizeLinear"))

    def test_scales_of_other_blocks(self):
        # Along another axis than the node says.
        self.dequantize("expected scales of shape [32, 3] for blocks of 16 along axis 1 of "
                        "[32, 48], but got [2, 48]", codes(32, 48),
                        np.ones((2, 48), np.float32), axis=1)
        self.dequantize("expected scales of shape [4, 2] for blocks of 16 along axis 1 of [4, 32], "
                        "but got [4]", codes(4, 32), np.ones(4, np.float32))
        self.refuse("expected 64 scales along axis 1, but got 63",
                    [node("QuantizeLinear", "x s", "y", output_dtype=TYPES["e4m3"])], X,
                    {"s": np.ones(63, np.float32)}, outputs={"y": ("e4m3", 2)})
        self.refuse("expected a tensor of rank 1 or more with block_size, but got one of rank 0",
                    [node("QuantizeLinear", "x s", "y", output_dtype=TYPES["e4m3"],
                          block_size=16)], {"x": ("f32", [])}, {"s": np.float32(1)},
                    outputs={"y": ("e4m3", 0)})
        self.dequantize("expected block_size to be positive, but got -16", codes(4, 32),
                        np.ones((4, 2), np.float32), block_size=-16)
        self.dequantize("expected different axes of a tensor of rank 2, but got [2]", codes(4, 32),
                        np.ones((4, 2), np.float32), axis=2)

        self.refuse("expected a known size along axis 1, which has blocks, but got [4, k]",
                    [node("DequantizeLinear", "q s", "y", block_size=16)],
                    {"q": ("e4m3", [4, "k"]), "s": ("f32", [4, "b"])})

    def test_odd_sizes_of_four_bits(self):
        self.dequantize("expected float4e2m1 of an even size along the last dimension, as two "
                        "share a byte, but got [4, 7]", codes(4, 7), np.ones((4, 1), np.float32))
        self.refuse("expected float4e2m1 of an even size", [node("Cast", "x", "y",
                                                                 to=TYPES["e2m1"])],
                    {"x": ("f32", ["m", 7])}, outputs={"y": ("e2m1", 2)})

    def test_types(self):
        e8m0 = np.full((4, 1), 127, np.uint8).view(ml_dtypes.float8_e8m0fnu)
        self.dequantize("expected output_dtype to be float, float16 or bfloat16, but got none with "
                        "scales of float8e8m0", codes(4, 32), e8m0, block_size=32)
        self.refuse("expected data of float4e2m1,", [node("DequantizeLinear", "i s", "y")],
                    {"i": ("i32", ["m", 64])}, {"s": np.float32(2)})
        self.refuse("expected quantized data of float4e2m1,", [node("QuantizeLinear", "x s", "y")],
                    X, {"s": np.float32(2)})
        self.refuse("expected a scale of float or float, or precision, but got float16",
                    [node("QuantizeLinear", "x s", "y", output_dtype=TYPES["e4m3"])], X,
                    {"s": np.float16(2)}, outputs={"y": ("e4m3", 2)})
        self.refuse("expected a zero point of 0 with floating-point data",
                    [node("DequantizeLinear", "q s z", "y")], {"q": ("e4m3", ["m", 64])},
                    {"s": np.float32(2), "z": np.ones((), ml_dtypes.float8_e4m3fn)})

    def test_an_opset_that_is_too_old(self):
        self.dequantize("<model>:1: decode = DequantizeLinear: expected opset 21 or newer for "
                        "block_size, but got 19", codes(4, 32, kind=ml_dtypes.float8_e4m3fn),
                        np.ones((4, 2), np.float32), opset=19)

    def test_codes_in_other_shapes(self):
        self.refuse("expected f4E2M1FN of rank 2 or more",
                    [node("Cast", "q", "y", to=F32)], {"q": ("e2m1", [64])})
        self.refuse("expected f6E2M3FN of whole blocks of 32",
                    [node("Cast", "q", "y", to=F32)], {"q": ("e2m3", [4, 40])})
        self.refuse("expected data of float4e2m1, float8e4m3fn or float8e5m2",
                    [node("Cast", "x", "y", to=TYPES["e2m3"])], X, outputs={"y": ("e2m3", 2)})

    def test_tensorrt(self):
        def quantize(message, inputs="x g", domain="trt", op="TRT_FP4DynamicQuantize", g=1.0,
                     **attributes):
            self.refuse(message, [node(op, inputs, "q s", domain=domain, **attributes),
                                  node("Cast", "q", "y", to=F32)], X, {"g": np.float32(g)})
        quantize("expected block_size to be 16, but got 32", block_size=32)
        quantize("expected blocks along the last axis", axis=0)
        quantize("expected scale_type to be float8e4m3fn, but got float", scale_type=F32)
        quantize("expected one positive number as scale of scales, but got [0.0]", g=0.0)
        quantize("expected the scale of scales to be known at import", inputs="x x")
        quantize("expected 2 inputs or more, but got 1", inputs="x")
        quantize("expected block_size to be 32, but got 16", inputs="x",
                 op="TRT_MXFP8DynamicQuantize", block_size=16)
        self.refuse("expected scales of uint8 or float8e8m0, but got float",
                    [node("TRT_MXFP8DequantizeLinear", "q s", "y", domain="trt")], {},
                    {"q": codes(4, 32, kind=ml_dtypes.float8_e4m3fn),
                     "s": np.ones((4, 1), np.float32)})


class TestFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def read(self, data):
        path = self.folder / "model.onnx"
        path.write_bytes(data)
        return blockscale.onnx.from_model(path)

    def test_no_file(self):
        with self.assertRaisesRegex(bs.FileError, "cannot read '.*none.onnx': No such file"):
            blockscale.onnx.from_model(self.folder / "none.onnx")
        with self.assertRaisesRegex(bs.ArgumentError, "expected a ModelProto, bytes or the path"):
            blockscale.onnx.from_model(3)

    def test_damaged_files(self):
        whole = make_model([node("Relu", "x", "y")], X, {"y": ("f32", 2)}).SerializeToString()
        for data in (b"\xff" * 40, whole[:-7], b"", b"text"):
            with self.subTest(data[:8]), self.assertRaisesRegex(
                    bs.ArgumentError, "model.onnx: expected (a model of ONNX|a valid model|opset)"):
                self.read(data)

    def test_what_a_model_lacks(self):
        model = make_model([node("Relu", "x", "y")], X, {"y": ("f32", 2)})
        model.ClearField("graph")
        with self.assertRaisesRegex(bs.ArgumentError, "but got one without a graph"):
            self.read(model.SerializeToString())
        with self.assertRaisesRegex(bs.ArgumentError, "expected a model with results, but got "
                                                      "none"):
            blockscale.onnx.from_model(make_model([node("Relu", "x", "y")], X, {}))

    def test_models_that_are_not_valid(self):
        for nodes in ([node("Relu", "none", "y")], [node("DequantizeLinear", "x", "y")]):
            model = make_model(nodes, X, {"y": ("f32", 2)})
            with self.assertRaisesRegex(bs.ArgumentError, "expected a valid model, but got: .*"):
                blockscale.onnx.from_model(model)

    def make_external(self):
        """A model with a weight in another file."""
        model = make_model([node("MatMul", "x w", "y")], X, {"y": ("f32", 2)},
                           {"w": np.ones((64, 64), np.float32)})
        path = self.folder / "model.onnx"
        onnx.save_model(model, path, save_as_external_data=True, location="weights.bin",
                        size_threshold=0)
        return path

    def check_attributes(self):
        """Tensors of attributes lie beside the file, too, and never in the current folder."""
        model = make_model([node("Constant", "", "c", value=onnx.numpy_helper.from_array(
            np.zeros(64, np.float32), "c")), node("Add", "x c", "y")], X, {"y": ("f32", 2)})
        tensor = model.graph.node[0].attribute[0].t
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="numbers.bin")
        path = self.folder / "constant.onnx"
        path.write_bytes(model.SerializeToString())
        with self.assertRaisesRegex(bs.FileError, "expected the elements of attribute value of "
                                    "Constant 'c' in 'numbers.bin', but there is no such file"):
            blockscale.onnx.from_model(path)
        np.full(64, 3, np.float32).tofile(self.folder / "numbers.bin")
        other = self.folder / "other"
        other.mkdir()
        np.full(64, 5, np.float32).tofile(other / "numbers.bin")
        with contextlib.chdir(other):
            y = blockscale.onnx.from_model(path).compile()(np.zeros((1, 64), np.float32))
            np.testing.assert_array_equal(y, np.full((1, 64), 3, np.float32))
            with self.assertRaisesRegex(bs.ArgumentError, "expected attribute value of Constant "
                                        "'c' in the model, but got external data"):
                blockscale.onnx.from_model(model)

    def test_external_data(self):
        path = self.make_external()
        imported = blockscale.onnx.from_model(path)
        found = imported.compile()(np.ones((2, 64), np.float32))
        np.testing.assert_array_equal(found, np.full((2, 64), 64, np.float32))
        with self.assertRaisesRegex(bs.ArgumentError, "expected initializer 'w' in the model, but "
                                                      "got external data in 'weights.bin'"):
            blockscale.onnx.from_model(path.read_bytes())
        self.check_attributes()
        weights = self.folder / "weights.bin"
        weights.write_bytes(weights.read_bytes()[:100])
        with self.assertRaisesRegex((bs.ArgumentError, bs.FileError), "model.onnx: expected"):
            blockscale.onnx.from_model(path)
        weights.unlink()
        with self.assertRaisesRegex(bs.FileError, "expected the elements of initializer 'w' in "
                                                  "'weights.bin', but there is no such file"):
            blockscale.onnx.from_model(path)

    # The program writes a module, or every reason and no file.
    def test_the_program(self):
        good, bad = self.folder / "good.onnx", self.folder / "bad.onnx"
        onnx.save(make_model([node("Relu", "x", "y", name="relu")], X, {"y": ("f32", 2)}), good)
        onnx.save(make_model([node("NonZero", "x", "a", name="first"),
                              node("NonZero", "x", "y", name="second")], X, {"y": ("f32", 2)}),
                  bad)
        target, errors = self.folder / "module.mlir", io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.assertEqual(main([str(bad), "-o", str(target)]), 1)
        self.assertFalse(target.exists())
        self.assertEqual([line.split(": ")[3] for line in errors.getvalue().splitlines()],
                         ["first = NonZero", "second = NonZero"])
        self.assertEqual(main([str(good), "-o", str(target), "--name", "run"]), 0)
        self.assertIn("func.func @run(", target.read_text(encoding="utf-8"))

    def test_options(self):
        model = make_model([node("Relu", "x", "y")], X, {"y": ("f32", 2)})
        with self.assertRaisesRegex(bs.ArgumentError, "expected name to be an identifier"):
            blockscale.onnx.from_model(model, "not a name")
        with self.assertRaisesRegex(bs.ArgumentError, "expected constants to be arguments or"):
            blockscale.onnx.from_model(model, constants="files")


class TestCalls(unittest.TestCase):
    def setUp(self):
        model = make_model([node("Shape", "x", "n", start=1), node("Slice", "c zero n one", "p"),
                            node("Add", "x p", "y")], {"x": ("f32", ["m", "n"])},
                           {"y": ("f32", 2)}, {"c": np.ones((1, 8), np.float32),
                                               "zero": np.array([0]), "one": np.array([1])})
        self.function = blockscale.onnx.from_model(model).compile()

    def test_inputs(self):
        x = np.zeros((2, 5), np.float32)
        np.testing.assert_array_equal(self.function(x=x), np.ones((2, 5), np.float32))
        for call, message in ((lambda: self.function(), "expected inputs x, but got 0 and none"),
                              (lambda: self.function(x, x=x), "expected inputs x, but got 1 and x"),
                              (lambda: self.function(x[0]), r"x: expected shape \[m, n\]"),
                              (lambda: self.function(x[:, :0]), r"x: expected shape \[m, n\]")):
            with self.assertRaisesRegex(bs.ArgumentError, message):
                call()

    # The slice of 8 positions, where the model is called with more.
    def test_sizes_beyond_a_table(self):
        with self.assertRaisesRegex(bs.ArgumentError, "expected n to be at most 8, but got 9"):
            self.function(np.zeros((2, 9), np.float32))


class TestSizes(unittest.TestCase):
    """Sizes that a model takes to be related, which each call is asked for."""

    def refuse(self, model, message, **arrays):
        function = blockscale.onnx.from_model(model).compile()
        with self.assertRaisesRegex(bs.ArgumentError, message):
            function(**arrays)
        return function

    def test_sizes_of_two_names(self):
        model = make_model([node("Add", "x y", "z"), node("Concat", "x y", "w", axis=1)],
                           {"x": ("f32", ["m", 2]), "y": ("f32", ["n", 2])},
                           {"z": ("f32", 2), "w": ("f32", 2)})
        x, y = np.ones((3, 2), np.float32), np.ones((4, 2), np.float32)
        function = self.refuse(model, "expected n to be equal to m, but got 4 and 3", x=x, y=y)
        np.testing.assert_array_equal(function(x, x)[0], x + x)
        # The module itself checks, too.
        module = blockscale.onnx.from_model(model).module
        with self.assertRaisesRegex(bs.Error, "expected dimension 0 of operand 1 .*, but got 4"):
            bs.compile(module)(x, y)

    # Two strides of 2, and twice the double.
    def test_sizes_that_are_rounded(self):
        twice = np.array([1, 1, 2, 2], np.float32)
        model = make_model(
            [node("MaxPool", "x", "a", kernel_shape=[2, 2], strides=[2, 2]),
             node("Resize", "a - t", "b"), node("Add", "x b", "y")],
            {"x": ("f32", [1, 1, "h", 4])}, {"y": ("f32", 4)}, {"t": twice})
        function = self.refuse(model, r"expected 2\*\(h // 2\) to be equal to h, but got 4 and 5",
                               x=np.ones((1, 1, 5, 4), np.float32))
        np.testing.assert_array_equal(function(np.ones((1, 1, 6, 4), np.float32)),
                                      np.full((1, 1, 6, 4), 2, np.float32))

    def test_a_dimension_of_one(self):
        model = make_model([node("Squeeze", "x one", "y")], {"x": ("f32", ["m", "n"])},
                           {"y": ("f32", 1)}, {"one": np.array([1])})
        function = self.refuse(model, "expected n to be equal to 1, but got 3",
                               x=np.ones((2, 3), np.float32))
        self.assertEqual(function(np.ones((2, 1), np.float32)).shape, (2,))

    def test_a_reflection(self):
        model = make_model([node("Pad", "x pads", "y", mode="reflect")], {"x": ("f32", ["n"])},
                           {"y": ("f32", 1)}, {"pads": np.array([3, 0])})
        function = self.refuse(model, "expected 3 to be at most n - 1, but got 2",
                               x=np.ones(3, np.float32))
        np.testing.assert_array_equal(function(np.arange(4, dtype=np.float32)),
                                      [3, 2, 1, 0, 1, 2, 3])


class TestConstants(unittest.TestCase):
    # A weight of a million elements is not part of what is printed.
    def test_large_constants(self):
        model = make_model([node("MatMul", "x w", "y")], {"x": ("f32", ["m", 1024])},
                           {"y": ("f32", 2)}, {"w": np.ones((1024, 1024), np.float32)})
        imported = blockscale.onnx.from_model(model)
        self.assertIn("dense_resource<w>", str(imported.module))
        self.assertLess(len(str(imported.module)), 2000)
        self.assertEqual(imported.constants, {})
        imported = blockscale.onnx.from_model(model, constants="arguments")
        self.assertEqual(list(imported.constants), ["w"])
        self.assertIn("%w: tensor<1024x1024xf32>", str(imported.module))

    # Sizes of inputs are computed at import, whatever way a model takes to them.
    def test_shapes_of_shapes(self):
        nodes = [node("Shape", "x", "s"), node("Gather", "s zero", "m"),
                 node("Unsqueeze", "m axes", "m1"), node("Concat", "m1 rest", "shape", axis=0),
                 node("Reshape", "x shape", "r"), node("Mul", "s two", "d"),
                 node("ConstantOfShape", "d", "full",
                      value=onnx.numpy_helper.from_array(np.array([7], np.float32))),
                 node("Range", "start m step", "places"), node("Cast", "places", "p", to=F32),
                 node("Identity", "r", "y")]
        model = make_model(nodes, X, {"y": ("f32", 3), "full": ("f32", 2), "p": ("f32", 1)},
                           {"zero": np.int64(0), "axes": np.array([0]), "rest": np.array([8, 8]),
                            "two": np.int64(2), "start": np.int64(0), "step": np.int64(1)})
        y, full, places = blockscale.onnx.from_model(model).compile()(np.ones((3, 64), np.float32))
        self.assertEqual((y.shape, full.shape), ((3, 8, 8), (6, 128)))
        self.assertTrue(np.all(full == 7))
        np.testing.assert_array_equal(places, [0, 1, 2])

    def test_locations_are_nodes(self):
        model = make_model([node("Relu", "x", "y", name="encoder/relu")], X, {"y": ("f32", 2)})
        source = blockscale.onnx.from_model(model).module.source.decode()
        self.assertIn('loc("encoder/relu"("<model>":1:1))', source)
        # PyTorch's exporter says which module a node is of.
        for value, name in (("['', 'encoder', 'encoder.act', 'relu']", "encoder.act"),
                            ("damaged", "encoder/relu"), ("['relu']", "encoder/relu")):
            entry = model.graph.node[0].metadata_props.add(key="pkg.torch.onnx.name_scopes",
                                                           value=value)
            source = blockscale.onnx.from_model(model).module.source.decode()
            self.assertIn(f'loc("{name}"("<model>":1:1))', source)
            model.graph.node[0].metadata_props.remove(entry)


if __name__ == "__main__":
    unittest.main()
