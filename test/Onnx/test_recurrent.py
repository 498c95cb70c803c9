# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LSTM, against NumPy: onnx.reference has no lengths, no reverse direction and other activations.
Its plain case is compared with onnx.reference, too."""

import unittest

import numpy as np
from onnx import helper

import blockscale.onnx
from blockscale.onnx import UnsupportedError
from models import make_model, node, run_imported, run_reference

RNG = np.random.default_rng(0)
STEPS, BATCH, INPUTS, WIDTH = 5, 3, 4, 6
#: Ops that have their cases here.
OPS = ("LSTM",)
FUNCTIONS = {"Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Tanh": np.tanh,
             "Relu": lambda x: np.maximum(x, 0),
             "HardSigmoid": lambda x: np.clip(0.3 * x + 0.4, 0, 1)}
NAMES = ("x", "w", "r", "b", "lengths", "h", "c", "p")


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def make_inputs(directions, steps=STEPS):
    return {"x": normal(steps, BATCH, INPUTS), "w": normal(directions, 4 * WIDTH, INPUTS) / 2,
            "r": normal(directions, 4 * WIDTH, WIDTH) / 2, "b": normal(directions, 8 * WIDTH),
            "lengths": np.array([5, 1, 3], np.int32), "h": normal(directions, BATCH, WIDTH),
            "c": normal(directions, BATCH, WIDTH), "p": normal(directions, 3 * WIDTH)}


def run(given, reverse, number, names):
    """One direction by NumPy, sequence by sequence: states, the last state, the last cell."""
    gate, update, finish = (FUNCTIONS[name] for name in names)
    x, w, r = given["x"], given["w"][number], given["r"][number]
    bias = sum(np.split(given.get("b", np.zeros((9, 8 * WIDTH)))[number], 2))
    before, out, after = np.split(given.get("p", np.zeros((9, 3 * WIDTH)))[number], 3)
    every = np.zeros((*x.shape[:2], WIDTH))
    last = [np.zeros((BATCH, WIDTH)), np.zeros((BATCH, WIDTH))]
    for row in range(BATCH):
        state, cell = (given[name][number, row] if name in given else np.zeros(WIDTH)
                       for name in ("h", "c"))
        steps = range(given["lengths"][row] if "lengths" in given else len(x))
        for step in reversed(steps) if reverse else steps:
            i, o, f, c = np.split(x[step, row] @ w.T + state @ r.T + bias, 4)
            old = cell
            cell = gate(f + after * old) * old + gate(i + before * old) * update(c)
            state = gate(o + out * cell) * finish(cell)
            every[step, row] = state
        last[0][row], last[1][row] = state, cell
    return every, *last


def compute(given, direction, names):
    found = [run(given, reverse, number, names[3 * number:3 * number + 3])
             for number, reverse in enumerate({"forward": [False], "reverse": [True],
                                               "bidirectional": [False, True]}[direction])]
    return [np.stack(parts, 1 if place == 0 else 0) for place, parts in enumerate(zip(*found))]


class Case:
    def __init__(self, taken="xwrb", direction="forward", names=("Sigmoid", "Tanh", "Tanh"),
                 batch_first=False, steps=STEPS, **attributes):
        count = 2 if direction == "bidirectional" else 1
        keys = [key for key in NAMES if key[0] in taken]
        self.inputs = {key: value for key, value in make_inputs(count, steps).items()
                       if key in keys}
        self.wanted = compute(self.inputs, direction, [*names] * count)
        if batch_first:
            for key in ("x", "h", "c"):
                if key in self.inputs:
                    self.inputs[key] = self.inputs[key].swapaxes(0, 1).copy()
            every, *states = self.wanted
            self.wanted = [every.transpose(2, 0, 1, 3), *(each.swapaxes(0, 1) for each in states)]
            attributes["layout"] = 1
        self.attributes = dict(direction=direction, hidden_size=WIDTH, **attributes)
        if names != ("Sigmoid", "Tanh", "Tanh"):
            self.attributes["activations"] = [*names] * count


CASES = [
    Case(), Case("xwr"), Case("xwrhc"), Case("xwrbhcp"), Case("xwrblhcp"),
    Case("xwrbhc", "reverse"), Case("xwrblhc", "reverse"), Case("xwrbhcp", "bidirectional"),
    Case("xwrblhc", "bidirectional"), Case("xwrbhc", "bidirectional", batch_first=True),
    Case("xwrb", names=("HardSigmoid", "Relu", "Tanh"), activation_alpha=[0.3],
         activation_beta=[0.4]),
    Case("xwrbhc", steps=1), Case("xwrb", "reverse", steps=1)]


class TestLstm(unittest.TestCase):
    def check(self, cases, is_dynamic):
        nodes, inputs, feeds, constants, wanted = [], {}, {}, {}, {}
        for number, case in enumerate(cases):
            names = [f"n{number}.{key}" if key in case.inputs else "" for key in NAMES]
            for key, value in case.inputs.items():
                name = f"n{number}.{key}"
                if key in "wrbp":
                    constants[name] = value
                    continue
                shape = [f"n{number}.{size}" if is_dynamic and size in (STEPS, BATCH) else size
                         for size in value.shape]
                inputs[name], feeds[name] = ("i32" if key == "lengths" else "f32", shape), value
            results = [f"n{number}.y{place}" for place in range(3)]
            nodes.append(helper.make_node("LSTM", names, results, f"n{number}", **case.attributes))
            wanted.update(zip(results, case.wanted))
        model = make_model(nodes, inputs, {name: ("f32", array.ndim)
                                           for name, array in wanted.items()}, constants)
        for (name, y), x in zip(wanted.items(), run_imported(model, feeds), strict=True):
            with self.subTest(name, **cases[int(name[1:].split(".")[0])].attributes):
                self.assertEqual(x.shape, y.shape)
                np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)

    def test_known_sizes(self):
        self.check(CASES, False)

    def test_sizes_that_are_not_known(self):
        self.check([CASES[place] for place in (0, 4, 8, 9)], True)

    def test_reference(self):
        given = CASES[2].inputs
        model = make_model(
            [helper.make_node("LSTM", ["x", "w", "r", "", "", "h", "c"], ["y", "z"], "lstm",
                              hidden_size=WIDTH)],
            {key: ("f32", value.shape) for key, value in given.items()},
            {"y": ("f32", 4), "z": ("f32", 3)})
        for x, y in zip(run_imported(model, given), run_reference(model, given)):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)

    def test_bf16(self):
        nodes = [*(node("Cast", key, f"{key}.b", to=16) for key in "xwr"),
                 node("LSTM", "x.b w.b r.b", "y.b", hidden_size=WIDTH),
                 node("Cast", "y.b", "y", to=1)]
        given = make_inputs(1)
        given = {key: given[key] for key in "xwr"}
        model = make_model(nodes, {key: ("f32", value.shape) for key, value in given.items()},
                           {"y": ("f32", 4)})
        wanted, *_ = compute(given, "forward", ["Sigmoid", "Tanh", "Tanh"])
        np.testing.assert_allclose(run_imported(model, given)[0], wanted, atol=2e-2)


class TestRefused(unittest.TestCase):
    def test_nodes(self):
        given = make_inputs(1)
        inputs = {key: ("i32" if key == "lengths" else "f32", list(value.shape))
                  for key, value in given.items()}
        inputs |= {"w2": ("f32", [1, 4 * WIDTH, 9]), "b2": ("f32", [1, 7]), "i": ("i64", [5, 3, 4]),
                   "two": ("f32", [2, 4 * WIDTH, INPUTS]), "flat": ("f32", [BATCH, WIDTH])}
        for message, operands, attributes in (
                ("expected direction to be one of forward, reverse, bidirectional, but got both",
                 "x w r", {"direction": "both"}),
                ("expected clip to be 0, but got 3.0", "x w r", {"clip": 3.0}),
                ("expected input_forget to be 0, but got 1", "x w r", {"input_forget": 1}),
                (("expected 3 activations of Sigmoid, Tanh, Relu, HardSigmoid, but got Elu, Tanh, "
                  "Tanh"), "x w r", {"activations": ["Elu", "Tanh", "Tanh"]}),
                ("expected 3 activations of Sigmoid, Tanh, Relu, HardSigmoid, but got Tanh",
                 "x w r", {"activations": ["Tanh"]}),
                ("expected a weight of [24, 4] for [5, 3, 4], but got [24, 9]", "x w2 r", {}),
                ("expected a multiple of 2 numbers, but got [7]", "x w r b2", {}),
                (("expected an operand of rank 3 and weights of 1 directions, but got [5, 3, 4], "
                  "[2, 24, 4], [1, 24, 6]"), "x two r", {}),
                ("expected hidden_size to be 6, as of the recurrent weights, but got 7", "x w r",
                 {"hidden_size": 7}),
                ("expected operand of float, bfloat16 or float16, but got i64", "i w r", {}),
                ("expected lengths of [3] for [5, 3, 4], but got [5, 3, 4]", "x w r - i", {}),
                ("expected lengths of integers, but got f32", "x w r - x", {}),
                ("expected states of rank 3, but got [3, 6]", "x w r - - flat", {})):
            with self.subTest(message):
                model = make_model([node("LSTM", operands, "y", **attributes)], inputs,
                                   {"y": ("f32", 4)})
                with self.assertRaises(UnsupportedError) as raised:
                    blockscale.onnx.from_model(model)
                self.assertIn(message, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
