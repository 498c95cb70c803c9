# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""If: decided at import, or by the module, and inputs and sizes that the caller fixes."""

import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import blockscale as bs
import blockscale.onnx
from blockscale.onnx import UnsupportedError
from models import make_model, node, run_reference

#: Ops that have their cases here.
OPS = ("If",)
X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def graph(nodes, outputs, constants=()):
    """A branch. Its results have names that the other branch may have, too."""
    return helper.make_graph(
        nodes, "branch", [], [helper.make_tensor_value_info(name, kind, [None] * rank)
                              for name, kind, rank in outputs],
        [numpy_helper.from_array(np.asarray(array), name)
         for name, array in dict(constants).items()])


def choose(then, otherwise, condition="flag", outputs="y", rank=2):
    """A node that takes one of two lists of nodes, whose last ones give the results."""
    count = len(outputs.split())
    branches = [graph(each, [(made.output[0], TensorProto.FLOAT, rank) for made in each[-count:]])
                for each in (then, otherwise)]
    return node("If", condition, outputs, name="choice", then_branch=branches[0],
                else_branch=branches[1])


RELU = [node("Relu", "x", "t")]
NEG = [node("Neg", "x", "e")]
OWN = [node("NonZero", "x", "e", name="own")]
#: A condition that is an input.
FLAG = node("Cast", "flag.bits", "flag", to=TensorProto.BOOL)
INPUTS = {"x": ("f32", ["m", 4]), "flag.bits": ("i32", [])}
YES, NO = np.array(1, np.int32), np.array(0, np.int32)


class TestDecided(unittest.TestCase):
    def check(self, model, wanted, fixed=None, taken=("x",), x=X):
        imported = blockscale.onnx.from_model(model, fixed=fixed)
        self.assertNotIn("scf.if", str(imported.module))
        self.assertEqual(imported.inputs, list(taken))
        np.testing.assert_array_equal(imported.compile()(x), wanted)

    # The branch that is not taken has ops that are not imported.
    def test_by_a_constant(self):
        for flag, wanted in ((True, np.maximum(X, 0)), (False, -X)):
            branches = (RELU, OWN) if flag else (OWN, NEG)
            self.check(make_model([choose(*branches)], {"x": ("f32", ["m", 4])},
                                  {"y": ("f32", 2)}, {"flag": np.array([flag])}), wanted)

    def test_by_sizes(self):
        for number, (op, wanted) in enumerate((
                ("Equal", -X), ("Less", -X), ("LessOrEqual", -X), ("Greater", np.maximum(X, 0)),
                ("GreaterOrEqual", np.maximum(X, 0)))):
            nodes = [node("Shape", "x", "s", end=1), node("Size", "x", "n"),
                     node(op, "s zero", "flag", name=f"n{number}"), choose(RELU, NEG)]
            self.check(make_model(nodes, {"x": ("f32", ["m", 4])}, {"y": ("f32", 2)},
                                  {"zero": np.array([0])}), wanted)
        # A size is a truth value.
        nodes = [node("Size", "x", "n"), node("Cast", "n", "flag", to=TensorProto.BOOL),
                 choose(RELU, NEG)]
        self.check(make_model(nodes, {"x": ("f32", ["m", 4])}, {"y": ("f32", 2)}),
                   np.maximum(X, 0))

    def test_by_what_the_caller_fixes(self):
        model = make_model([node("Equal", "rate known", "flag"), choose(RELU, NEG)],
                           {"x": ("f32", ["m", None]), "rate": ("i64", [])}, {"y": ("f32", 2)},
                           {"known": np.int64(16000)})
        self.check(model, np.maximum(X, 0), {"rate": 16000})
        self.check(model, -X, {"rate": np.array(8000), "m": 3, "x_1": 4})
        imported = blockscale.onnx.from_model(model, fixed={"rate": 0, "m": 3, "x_1": 4})
        self.assertIn("%x: tensor<3x4xf32>", str(imported.module))
        with self.assertRaisesRegex(bs.ArgumentError, r"x: expected shape \[3, 4\]"):
            imported.compile()(np.ones((2, 4), np.float32))

    def test_what_cannot_be_fixed(self):
        model = make_model([node("Add", "x v", "y")],
                           {"x": ("f32", ["m", None]), "v": ("f32", [4])}, {"y": ("f32", 2)})
        for fixed, message in (
                ({"n": 3}, (r"expected fixed to name inputs \(x, v\) or sizes \(m, x_1\), but got "
                            "'n'")),
                ({"m": 0}, "expected fixed to have a number of 1 or more for size m, but got 0"),
                ({"m": "3"}, ("expected fixed to have a number of 1 or more for size m, but got "
                              "'3'")),
                ({"v": [1, 2]}, r"v: expected fixed to have shape \[4\], but got \[2\]"),
                ({"v": "text"}, "v: expected fixed to have numbers of float, but got 'text'")):
            with self.subTest(fixed), self.assertRaisesRegex(bs.ArgumentError, message):
                blockscale.onnx.from_model(model, fixed=fixed)
        found = blockscale.onnx.from_model(model, fixed={"v": [1, 2, 3, 4]}).compile()(X)
        np.testing.assert_array_equal(found, X + np.arange(1, 5, dtype=np.float32))


class TestChosen(unittest.TestCase):
    """Conditions that the module reads."""

    def check(self, nodes, outputs=None, constants=(), functions=(), x=X, **options):
        model = make_model([FLAG, *nodes], INPUTS, outputs or {"y": ("f32", 2)}, constants,
                           functions=functions, **options)
        function = blockscale.onnx.from_model(model).compile()
        self.assertIn("scf.if", str(blockscale.onnx.from_model(model).module))
        for flag in (YES, NO):
            feeds = {"x": x, "flag.bits": flag}
            found = function(**feeds)
            found = found if isinstance(found, tuple) else (found,)
            for a, b in zip(found, run_reference(model, feeds), strict=True):
                self.assertEqual(a.shape, b.shape)
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        return model

    def test_branches(self):
        self.check([choose(RELU, NEG)])
        self.check([node("Unsqueeze", "flag axis", "one"), choose(RELU, NEG, "one")],
                   constants={"axis": np.array([0])})

    # Values of the whole graph, results that are such values, several results, and ops behind.
    def test_values_from_outside(self):
        then = [node("Exp", "x", "t0"), node("Add", "t0 z", "t1"), node("Identity", "x", "t2")]
        self.check([node("Neg", "x", "z"),
                    choose(then, [node("Mul", "z z", "e1"), node("Relu", "z", "e2")],
                           outputs="a b"), node("Sub", "a b", "y")])

    # Results of other sizes, which ops behind it take.
    def test_sizes_that_differ(self):
        then = [node("Concat", "x x", "t", axis=0)]
        self.check([choose(then, NEG), node("Softmax", "y", "p"), node("Transpose", "p", "q"),
                    node("MatMul", "y q", "r")], {"y": ("f32", 2), "r": ("f32", 2)})
        part = [node("Slice", "x zero one axis", "t")]
        self.check([choose(part, NEG)], constants={"zero": np.array([0]), "one": np.array([1]),
                                                   "axis": np.array([1])})

    def test_choices_in_choices(self):
        inner = choose([node("Exp", "x", "it")], [node("Abs", "x", "ie")], outputs="t")
        self.check([choose([inner], [node("Add", "x x", "a"), choose(
            [node("Neg", "a", "ot")], [node("Tanh", "a", "oe")], outputs="e")])])

    # Weights that both branches read are one resource; those of a branch are its own.
    def test_constants(self):
        weight = np.random.default_rng(1).standard_normal((4, 100)).astype(np.float32)
        branch = graph([node("MatMul", "x w", "t0"), node("Add", "t0 own", "t")],
                       [("t", TensorProto.FLOAT, 2)], {"own": weight[0]})
        other = graph([node("MatMul", "x w", "e")], [("e", TensorProto.FLOAT, 2)])
        model = self.check([node("If", "flag", "y", then_branch=branch, else_branch=other)],
                           constants={"w": weight})
        self.assertEqual(str(blockscale.onnx.from_model(model).module).count("dense_resource<w"), 1)
        imported = blockscale.onnx.from_model(model, constants="arguments")
        self.assertEqual(list(imported.constants), ["w"])

    # An op that ONNX itself has a body for, in a branch alone.
    def test_bodies(self):
        self.check([choose([node("HardSwish", "x", "t")], NEG)])

    # What a branch asks of sizes is asked where it is taken.
    def test_rules_of_a_branch(self):
        model = make_model([FLAG, choose([node("Add", "x z", "t")], NEG)],
                           {**INPUTS, "z": ("f32", ["n", 4])}, {"y": ("f32", 2)})
        function = blockscale.onnx.from_model(model).compile()
        np.testing.assert_array_equal(function(X, NO, X[:2]), -X)
        np.testing.assert_array_equal(function(X, YES, X), X + X)
        with self.assertRaisesRegex(bs.Error, "expected dimension 0 of operand 1"):
            function(X, YES, X[:2])

    def test_refused(self):
        for message, then, otherwise in (
                ("own = NonZero: expected an op that is imported", RELU, OWN),
                (("choice = If: expected branches whose results have one type and rank, but got "
                  "[4*m] of f32 and [m, 4] of f32"), [node("Reshape", "x all", "t")], NEG),
                (("choice = If: expected branches whose results have one type and rank, but got "
                  "[m, 4] of i32 and [m, 4] of f32"), [node("Cast", "x", "t", to=6)], NEG)):
            model = make_model([FLAG, choose(then, otherwise), node("Relu", "y", "z")], INPUTS,
                               {"z": ("f32", 2)}, {"all": np.array([-1])})
            with self.subTest(message), self.assertRaises(UnsupportedError) as raised:
                blockscale.onnx.from_model(model)
            self.assertEqual(len(raised.exception.problems), 1)
            self.assertIn(message, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
