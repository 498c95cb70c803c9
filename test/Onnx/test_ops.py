# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op that is imported, compiled for the CPU, against onnx.reference. Some have their
cases in other files, which name them."""

import unittest

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

import test_control
import test_integers
import test_recurrent
import test_windows
from blockscale._linalg import PLACES, ROUNDINGS
from blockscale.onnx._importer import HANDLERS
from models import NEWEST, TYPES, make_model, node, run_imported, run_reference, type_of

RNG = np.random.default_rng(0)
BF16 = ml_dtypes.bfloat16


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def positive(*shape):
    return np.abs(normal(*shape)) + np.float32(0.1)


def ints(low, high, *shape, dtype=np.int64):
    return RNG.integers(low, high, shape).astype(dtype)


#: Numbers, the sums of whose exponentials are beyond f32.
LARGE = np.array([[1000, 999, -5], [-1000, -1001, -1000], [200, 1, 2]], np.float32)
#: What is computed in another order, or by other functions, than NumPy's.
TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float16): 2e-3, np.dtype(BF16): 1.6e-2}


class Case:
    """A node with arrays as inputs ("x0", "x1", ..) and as constants ("c0", ..), in the order
    that `order` names; "-" leaves one out. Where `dynamic`, it is imported with sizes that are
    not known, too."""

    def __init__(self, op, inputs=(), constants=(), order=None, outputs=1, opset=NEWEST,
                 dynamic=True, exact=False, **attributes):
        self.op, self.outputs, self.opset = op, outputs, opset
        self.dynamic, self.exact, self.attributes = dynamic, exact, attributes
        self.inputs = {f"x{number}": array for number, array in enumerate(inputs)}
        self.constants = {f"c{number}": array for number, array in enumerate(constants)}
        self.order = order.split() if order else [*self.inputs, *self.constants]

    @property
    def is_truth(self):
        """Whether its results are truth values."""
        return self.op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not",
                           "And", "Or", "Xor", "IsNaN") or self.attributes.get("to") == 9

    def make_node(self, prefix):
        """The node; names in its model have a prefix."""
        names = ["" if name == "-" else prefix + name for name in self.order]
        return helper.make_node(self.op, names, [f"{prefix}y{number}"
                                                 for number in range(self.outputs)],
                                name=prefix + self.op, **self.attributes)


def make_graph(cases, is_dynamic):
    """A model of all cases, what to feed it, and its results by onnx.reference, with the case
    that each is of."""
    nodes, inputs, constants, feeds, owners = [], {}, {}, {}, {}
    kinds = {number: kind for kind, number in TYPES.items()}
    for number, case in enumerate(cases):
        prefix = f"n{number}."
        constants.update({prefix + name: array for name, array in case.constants.items()})
        for name, array in case.inputs.items():
            name = prefix + name
            # Truth values are made of numbers.
            if array.dtype == np.bool_:
                nodes.append(helper.make_node("Cast", [f"{name}.bits"], [name], to=TYPES["bool"]))
                name, array = f"{name}.bits", array.astype(np.int32)
            # Sizes of one case are the same where they have the same number.
            shape = [f"{prefix}{size}" if is_dynamic and size > 1 else size
                     for size in array.shape]
            inputs[name], feeds[name] = (kinds[type_of(array)], shape), array
        nodes.append(case.make_node(prefix))
        for name in list(nodes[-1].output):
            if case.is_truth:
                nodes.append(helper.make_node("Cast", [name], [f"{name}.bits"], to=TYPES["i32"]))
                name = f"{name}.bits"
            owners[name] = case
    opset = cases[0].opset
    model = make_model(nodes, inputs, dict.fromkeys(owners, ("f32", 0)), constants, opset)
    results = dict(zip(owners, map(np.asarray, run_reference(model, feeds))))
    del model.graph.output[:]
    for name, array in results.items():
        model.graph.output.append(helper.make_tensor_value_info(name, type_of(array),
                                                                [None] * array.ndim))
    return model, feeds, results, owners


X = normal(3, 5)
IMAGE = normal(1, 2, 5, 6)
SPECIAL = np.array([[0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 2.5, -2.5, 1.5]], np.float32)

CASES = [
    *[Case(op, [X]) for op in ("Abs", "Neg", "Exp", "Tanh", "Erf", "Sigmoid", "Relu", "Ceil",
                               "Floor", "Round", "Sign", "Sin", "Cos", "Gelu", "Reciprocal",
                               "Identity", "LeakyRelu")],
    *[Case(op, [SPECIAL], exact=True) for op in ("Abs", "Neg", "Relu", "Round", "Ceil", "IsNaN")],
    *[Case(op, [positive(3, 5)]) for op in ("Log", "Sqrt")],
    *[Case(op, [normal(3, 5, dtype=dtype)]) for op in ("Exp", "Gelu", "Tanh")
      for dtype in (np.float16, BF16)],
    Case("HardSigmoid", [X * 3]), Case("HardSigmoid", [X * 9], alpha=1 / 6, beta=0.25),
    Case("Gelu", [X], approximate="tanh"), Case("LeakyRelu", [X], alpha=0.3),
    Case("Not", [X > 0]), Case("Abs", [ints(-9, 9, 4)]), Case("Neg", [ints(-9, 9, 4)]),
    # Operands that broadcast, numbers that are known, integers.
    *[Case(op, [X, normal(5)], exact=True) for op in ("Add", "Sub", "Mul", "Div")],
    *[Case(op, [X], [np.float32(3)], exact=True) for op in ("Add", "Sub", "Mul", "Div")],
    *[Case(op, [X], [np.float32(3)], order="c0 x0", exact=True) for op in ("Sub", "Div")],
    Case("Mul", [X], [normal(1, 1, 1)], exact=True), Case("Add", [X], [normal(2, 1, 1)]),
    *[Case(op, [ints(-9, 9, 3, 4), ints(1, 5, 4)]) for op in ("Add", "Sub", "Mul")],
    Case("Div", [ints(1, 99, 3, 4), ints(1, 5, 4)]),
    *[Case(op, [normal(3, 4, dtype=BF16), normal(4, dtype=BF16)], exact=True)
      for op in ("Add", "Mul", "Div")],
    *[Case(op, [ints(-9, 9, 24), ints(1, 5, 24)]) for op in ("Mod",)],
    Case("Mod", [ints(-9, 9, 24), ints(-5, 0, 24)]), Case("Mod", [normal(9), positive(9)], fmod=1),
    *[Case(op, [X > 0, normal(3, 5) > 0]) for op in ("And", "Or", "Xor")],
    *[Case(op, [ints(0, 3, 3, 5), ints(0, 3, 5)])
      for op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")],
    *[Case(op, [X, SPECIAL[:, :5]]) for op in ("Less", "GreaterOrEqual", "Equal")],
    Case("Equal", [ints(0, 3, 3, 5)], [np.int64(1)]),
    Case("Pow", [X], [np.float32(2)], exact=True), Case("Pow", [positive(3, 5)], [np.float32(0.5)]),
    Case("Pow", [positive(3, 5), normal(3, 5)]), Case("Pow", [X], [np.int64(3)]),
    Case("Pow", [positive(3, 5)], [np.float32(1.7)]),
    Case("Clip", [X], [np.float32(-0.5), np.float32(0.5)], exact=True),
    Case("Clip", [X], [np.float32(0.5)], order="x0 - c0", exact=True),
    *[Case(op, [X, normal(5), normal(3, 1)]) for op in ("Max", "Min", "Sum")],
    Case("Max", [X], [np.float32(0)], exact=True),
    Case("Where", [X > 0, X, normal(5)], exact=True),
    Case("Where", [X > 0, X], [np.float32(-np.inf)], order="x0 c0 x1", exact=True),
    Case("Cast", [X], to=10, exact=True), Case("Cast", [X], to=16, exact=True),
    Case("Cast", [X * 9], to=7), Case("Cast", [ints(-9, 9, 5)], to=1), Case("Cast", [X], to=9),
    Case("Cast", [X > 0], to=1), Case("CastLike", [X, normal(1, dtype=np.float16)], exact=True),
    Case("Dropout", [X]), Case("Dropout", [X], [np.float32(0.5), np.bool_(False)]),
    # Shapes.
    Case("Reshape", [normal(2, 6, 4)], [np.array([0, 3, -1])], dynamic=False),
    Case("Reshape", [normal(2, 6, 4)], [np.array([0, -1])]),
    Case("Reshape", [normal(2, 6, 4)], [np.array([12, 4])], dynamic=False),
    Case("Flatten", [normal(2, 3, 4)]), Case("Flatten", [normal(2, 3, 4)], axis=0),
    Case("Flatten", [normal(2, 3, 4)], axis=-1),
    Case("Unsqueeze", [X], [np.array([0, -1])]), Case("Unsqueeze", [X], [np.array([1])]),
    Case("Squeeze", [normal(1, 3, 1, 5)], [np.array([0, -2])]),
    Case("Squeeze", [normal(1, 3, 1, 5)], dynamic=False),
    Case("Transpose", [normal(2, 3, 4)]), Case("Transpose", [normal(2, 3, 4)], perm=[1, 0, 2]),
    Case("Concat", [X, normal(2, 5)], axis=0), Case("Concat", [X, normal(3, 2)], axis=-1),
    Case("Concat", [X], [normal(3, 2)], axis=1, dynamic=False),
    Case("Gather", [X, ints(-3, 3, 2, 4)]), Case("Gather", [X, ints(0, 5, 2)], axis=1),
    Case("Gather", [X], [np.int64(0)]), Case("Gather", [X], [np.int64(-1)]),
    Case("Gather", [X], [np.array([2])], axis=1), Case("Gather", [ints(0, 4, 3)], [normal(9, 2)],
                                                       order="c0 x0"),
    Case("Gather", [ints(0, 4, 3, dtype=np.int32)], [normal(9, 2)], order="c0 x0"),
    Case("GatherElements", [X, ints(-3, 3, 2, 5)], dynamic=False),
    Case("GatherElements", [X, ints(0, 5, 3, 2)], axis=1, dynamic=False),
    Case("GatherND", [X, ints(-3, 3, 4, 2)], dynamic=False),
    Case("GatherND", [normal(3, 4, 5), ints(0, 3, 2, 1)], dynamic=False),
    Case("GatherND", [normal(3, 4, 5), ints(0, 4, 3, 2, 1)], batch_dims=1, dynamic=False),
    Case("Slice", [normal(6, 8)], [np.array([1, -3]), np.array([5, 2 ** 63 - 1])], dynamic=False),
    Case("Slice", [normal(6, 8)], [np.array([7]), np.array([-2 ** 63]), np.array([1]),
                                   np.array([-2])], dynamic=False),
    Case("Slice", [normal(6, 8)], [np.array([0]), np.array([1]), np.array([0])]),
    Case("Slice", [normal(6, 8)], [np.array([0]), np.array([-1]), np.array([0])]),
    Case("Slice", [normal(6, 8)], [np.array([5]), np.array([2]), np.array([1])], dynamic=False),
    Case("Split", [normal(6, 4)], [np.array([1, 2, 3])], outputs=3, dynamic=False),
    Case("Split", [normal(7, 4)], outputs=3, num_outputs=3, dynamic=False),
    Case("Split", [normal(6, 4)], outputs=2, num_outputs=2, axis=1, dynamic=False),
    Case("Expand", [normal(3, 1)], [np.array([2, 1, 4])]),
    Case("Tile", [X], [np.array([2, 3])]),
    Case("Pad", [X], [np.array([1, 0, 2, 3])]),
    Case("Pad", [X], [np.array([1, 2]), np.float32(7), np.array([1])]),
    *[Case("Pad", [normal(4, 5)], [np.array([3, 0, 2, 1])], mode=mode)
      for mode in ("reflect", "edge", "wrap")],
    Case("Pad", [ints(0, 9, 2, 5)], [np.array([4, 3]), np.int64(0), np.array([-1])],
         order="x0 c0 - c2", mode="reflect"),
    Case("Trilu", [normal(2, 4, 4)]), Case("Trilu", [normal(4, 6)], [np.int64(1)], upper=0),
    Case("Shape", [X], dynamic=False), Case("Size", [X]), Case("Shape", [X], start=1),
    # Resize: known scales and sizes, every way to find places and neighbours.
    *[Case("Resize", [IMAGE], [np.array([1, 1, 2, 1.5], np.float32)], order="x0 - c0", mode=mode,
           coordinate_transformation_mode=places, dynamic=False)
      for mode in ("linear", "cubic") for places in PLACES],
    *[Case("Resize", [IMAGE], [np.array([1, 1, 2, 1.5], np.float32)], order="x0 - c0",
           coordinate_transformation_mode="asymmetric", nearest_mode=rounding, dynamic=False)
      for rounding in ROUNDINGS],
    *[Case("Resize", [IMAGE], [np.array([1, 2, 3, 9])], order="x0 - - c0", mode=mode)
      for mode in ("linear", "nearest")],
    *[Case("Resize", [IMAGE], [np.array([1, 1, *scales], np.float32)], order="x0 - c0", mode=mode)
      for mode, scales in (("nearest", (2, 3)), ("linear", (1.5, 2)), ("cubic", (0.5, 1 / 3)))],
    Case("Resize", [IMAGE], [np.array([2, 0.5], np.float32)], order="x0 - c0", axes=[3, 2],
         mode="linear", dynamic=False),
    Case("Resize", [IMAGE.astype(BF16)], [np.array([3, 8])], order="x0 - - c0", axes=[2, 3],
         dynamic=False),
    Case("Resize", [ints(-9, 9, 1, 5)], [np.array([1, 2], np.float32)], order="x0 - c0",
         dynamic=False),
    # Reductions.
    *[Case(op, [normal(3, 4, 5)], [np.array([-1])]) for op in (
        "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")],
    Case("ReduceMean", [normal(3, 4, 5)], [np.array([0, 2])], keepdims=0),
    *[Case(op, [X], [np.array([1])]) for op in ("ReduceL1", "ReduceL2", "ReduceSumSquare")],
    Case("ReduceL2", [X], opset=17, axes=[0], keepdims=0),
    Case("ReduceSum", [X]), Case("ReduceSum", [X], noop_with_empty_axes=1),
    Case("ReduceMean", [X], opset=17, axes=[1]), Case("ReduceMax", [X], opset=13, axes=[0]),
    Case("ReduceSum", [ints(-9, 9, 3, 4)], [np.array([1])]),
    Case("ReduceMean", [normal(3, 400, dtype=BF16)], [np.array([-1])]),
    *[Case(op, [ints(0, 3, 4, 9)], axis=axis, keepdims=keeps, select_last_index=last)
      for op in ("ArgMax", "ArgMin") for axis, keeps, last in ((1, 0, 0), (-1, 1, 1), (0, 0, 1))],
    Case("ArgMax", [X]),
    *[Case("CumSum", [normal(3, 5)], [np.int64(axis)], exclusive=exclusive, reverse=reverse)
      for axis, exclusive, reverse in ((0, 0, 0), (-1, 1, 0), (1, 0, 1), (1, 1, 1))],
    Case("CumSum", [ints(-9, 9, 3, 5)], [np.int32(1)]),
    Case("Softmax", [normal(3, 4, 5)]), Case("Softmax", [normal(3, 4, 5)], axis=1),
    Case("LogSoftmax", [X]), Case("Softmax", [normal(3, 9, dtype=np.float16)]),
    Case("LayerNormalization", [normal(2, 3, 8)], [positive(8), normal(8)], dynamic=False),
    Case("LayerNormalization", [normal(2, 3, 8)], [positive(3, 8)], axis=1, epsilon=1e-3,
         dynamic=False),
    Case("RMSNormalization", [normal(2, 3, 8)], [positive(8)], dynamic=False),
    # Products.
    Case("MatMul", [normal(3, 8), normal(8, 5)]), Case("MatMul", [normal(2, 3, 8), normal(8, 5)]),
    Case("MatMul", [normal(2, 1, 3, 8), normal(4, 8, 5)]),
    Case("MatMul", [normal(8), normal(8, 5)]), Case("MatMul", [normal(2, 3, 8), normal(8)]),
    Case("MatMul", [normal(3, 8)], [normal(8, 5)], dynamic=False),
    Case("MatMul", [normal(3, 8, dtype=BF16), normal(8, 5, dtype=BF16)]),
    Case("Gemm", [normal(3, 8), normal(8, 5), normal(5)]),
    Case("Gemm", [normal(8, 3), normal(5, 8), normal(3, 1)], transA=1, transB=1, alpha=0.5,
         beta=2.0),
    Case("Gemm", [normal(3, 8)], [normal(5, 8), normal(5)], transB=1, dynamic=False),
    Case("Gemm", [X, normal(5, 4)]),
    Case("Gemm", [X, normal(5, 4), normal(4)], beta=0.0),
    # Numbers whose exponentials are beyond f32.
    *[Case(op, [np.array([-np.inf, -200, -100, 0, 100, 200, 3e38, np.inf], np.float32)])
      for op in ("Softplus", "Mish")],
    *[Case("ReduceLogSumExp", [LARGE], [np.array(axes)], keepdims=kept)
      for axes in ([1], [0], [0, 1]) for kept in (0, 1)],
    Case("ReduceLogSumExp", [LARGE], noop_with_empty_axes=1),
    Case("ReduceLogSumExp", [LARGE], opset=17, axes=[1]),
    Case("ReduceLogSumExp", [LARGE.astype(np.float16)]),
    # Ops that ONNX itself has a body for, with attributes and without.
    Case("HardSwish", [X]), Case("Softplus", [X]),
    *[Case(op, [X]) for op in ("Celu", "Elu", "Selu", "Shrink", "ThresholdedRelu")],
    Case("Elu", [X], alpha=0.3), Case("Selu", [X], gamma=2.0), Case("Shrink", [X], bias=0.2),
]


#: Ops that write code of another form where sizes are not known.
OF_SIZES = {"Add", "Where", "Max", "Reshape", "Flatten", "Unsqueeze", "Squeeze", "Transpose",
            "Concat", "Gather", "Slice", "Expand", "Tile", "Pad", "Resize", "CumSum", "ArgMax",
            "Trilu", "Shape", "Size", "ReduceMean", "ReduceL2", "Softmax", "MatMul", "Gemm"}


class TestOps(unittest.TestCase):
    def check(self, case, x, y):
        self.assertEqual((x.shape, x.dtype), (y.shape, y.dtype))
        if case.exact or y.dtype.kind in "iub":
            np.testing.assert_array_equal(x, y)
        else:
            limit = TOLERANCE[y.dtype]
            np.testing.assert_allclose(x.astype(np.float64), y.astype(np.float64), rtol=limit,
                                       atol=limit)

    def check_all(self, cases, is_dynamic):
        model, feeds, expected, owners = make_graph(cases, is_dynamic)
        found = run_imported(model, feeds)
        for array, (name, wanted) in zip(found, expected.items(), strict=True):
            with self.subTest(name, op=owners[name].op, dynamic=is_dynamic):
                self.check(owners[name], array, wanted)

    def test_known_sizes(self):
        for opset in sorted({case.opset for case in CASES}):
            self.check_all([case for case in CASES if case.opset == opset], False)

    def test_sizes_that_are_not_known(self):
        self.check_all([case for case in CASES if case.opset == NEWEST and case.dynamic
                        and case.op in OF_SIZES], True)

    def test_all_have_a_case(self):
        apart = {"Constant", "ConstantOfShape", "Range", "QuantizeLinear", "DequantizeLinear",
                 *test_windows.OPS, *test_recurrent.OPS, *test_control.OPS,
                 *test_integers.OPS}
        covered = {case.op for case in CASES} | apart
        self.assertEqual({op for domain, op in HANDLERS if not domain} - covered, set())


class TestSlices(unittest.TestCase):
    # A slice of steps back begins at the first element at least, which onnx.reference leaves out.
    def test_a_start_before_the_first_element(self):
        x = normal(6, 8)
        for start, end, step in ((-100, -2 ** 63, -1), (-9, -100, -1), (-100, 0, -2), (3, -100, -2),
                                 (-1, -9, -3)):
            wanted = x[:, max(start, -8):(None if end < -8 else end):step]
            constants = {"s": np.array([start]), "e": np.array([end]), "a": np.array([1]),
                         "t": np.array([step]), "c": x}
            nodes = [node("Slice", "x s e a t", "y"), node("Slice", "c s e a t", "k"),
                     node("Add", "y k", "z")]
            model = make_model(nodes, {"x": ("f32", [6, 8])}, {"y": ("f32", 2), "z": ("f32", 2)},
                               constants)
            with self.subTest(start=start, end=end, step=step):
                y, z = run_imported(model, {"x": x})
                np.testing.assert_array_equal(y, wanted)
                np.testing.assert_array_equal(z, wanted + wanted)


class TestConversions(unittest.TestCase):
    # Libraries round f64 by way of f32.
    def test_f64_to_16_bits(self):
        x = np.array([1 / 3, 1e6, 1e-8, 65519.999, np.nan, 1 + 2 ** -11 + 2 ** -40, -2.5])
        model = helper.make_model(helper.make_graph(
            [helper.make_node("Cast", ["x"], ["y"], to=TYPES["f16"])], "graph",
            [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [7])],
            [helper.make_tensor_value_info("y", TYPES["f16"], [7])]),
            opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        with np.errstate(all="ignore"):
            wanted = x.astype(np.float32).astype(np.float16)
        np.testing.assert_array_equal(run_imported(model, {"x": x})[0], wanted)


class TestFunctions(unittest.TestCase):
    # The versions of other ops may be named first, and types of initializers are known.
    def test_an_op_with_a_body(self):
        x = normal(1, 4, 3)
        model = make_model([node("HardSwish", "x", "h"),
                            node("GroupNormalization", "h s b", "y", num_groups=2)],
                           {"x": ("f32", [1, 4, 3])}, {"y": ("f32", 3)},
                           {"s": normal(4), "b": normal(4)}, opset=21)
        wanted, = run_reference(model, {"x": x})
        model.opset_import.insert(0, helper.make_opsetid("com.microsoft", 1))
        found, = run_imported(model, {"x": x})
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)

    def test_defaults_of_attributes(self):
        """Those of a function of a model, and of an op in it that has a body of ONNX's own."""
        constant = helper.make_node("Constant", [], ["c"])
        constant.attribute.add(name="value_float", ref_attr_name="more", type=1)
        function = helper.make_function(
            "own", "Raised", ["x"], ["y"],
            [constant, helper.make_node("Elu", ["x"], ["e"]),
             helper.make_node("Add", ["e", "c"], ["y"])],
            [helper.make_opsetid("", NEWEST)],
            attribute_protos=[helper.make_attribute("more", 2.0)])
        x = np.array([-1, 0, 2], np.float32)
        for given in ({}, {"more": 5.0}):
            model = make_model([helper.make_node("Raised", ["x"], ["y"], domain="own", **given)],
                               {"x": ("f32", [3])}, {"y": ("f32", 1)}, domains=("own",),
                               functions=[function])
            found, = run_imported(model, {"x": x})
            np.testing.assert_allclose(found, np.where(x < 0, np.expm1(x), x)
                                       + given.get("more", 2), rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
