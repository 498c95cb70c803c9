# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, pooling and the batch norm, with known sizes and with a batch and a space that are
not known. Against onnx.reference, and against NumPy where that has no groups of transposed
convolutions, or other sizes than the standard."""

import itertools
import unittest

import numpy as np
from onnx import helper

import blockscale.onnx
from blockscale.onnx import UnsupportedError
from models import make_model, node, run_imported, run_reference, type_of

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def transpose_convolve(x, weight, bias, strides, dilations, low, places, groups):
    """A transposed convolution, element by element of the input."""
    depth, width, *kernel = weight.shape
    reach = [(size - 1) * stride + (taps - 1) * gap + 1 for size, stride, taps, gap
             in zip(x.shape[2:], strides, kernel, dilations)]
    whole = np.zeros((x.shape[0], groups * width, *map(sum, zip(reach, places))), np.float32)
    for channel in range(depth):
        begin = channel // (depth // groups) * width
        for at in itertools.product(*map(range, x.shape[2:])):
            for tap in itertools.product(*map(range, kernel)):
                to = tuple(a * s + t * d for a, s, t, d in zip(at, strides, tap, dilations))
                whole[(slice(None), slice(begin, begin + width), *to)] += (
                    x[(slice(None), channel, *at)][:, None]
                    * weight[(channel, slice(None), *tap)])
    cut = tuple(slice(before, before + size) for before, size in zip(low, places))
    return whole[(slice(None), slice(None), *cut)] + bias.reshape(-1, *[1] * len(kernel))


class Case:
    """A node of an input and constants, and its result where onnx.reference is not asked."""

    def __init__(self, op, x, *constants, wanted=None, **attributes):
        self.op, self.x, self.constants, self.wanted = op, x, constants, wanted
        self.attributes = attributes
        # A result whose size is given is of inputs of one size.
        self.dynamic = "output_shape" not in attributes


W = normal(4, 3, 3, 2)
IMAGE = normal(2, 3, 9, 8)
PARTS = normal(2, 4, 5, 4)
LINE = normal(2, 3, 19)

CASES = [
    # Sides of their own, strides, dilations, a bias; one to three dimensions of space.
    Case("Conv", IMAGE, W, pads=[1, 0, 2, 1], strides=[2, 1]),
    Case("Conv", IMAGE, W, normal(4), strides=[2, 3], dilations=[3, 2], pads=[0, 3, 1, 0]),
    Case("Conv", LINE, normal(4, 3, 3), auto_pad="VALID", strides=[2], dilations=[3]),
    Case("Conv", normal(1, 2, 4, 5, 6), normal(3, 2, 2, 3, 2), pads=[1, 0, 0, 1, 1, 0]),
    # A filter of one point, and patches side by side.
    Case("Conv", IMAGE, normal(5, 3, 1, 1), normal(5)),
    Case("Conv", normal(2, 3, 8, 9), normal(5, 3, 2, 3), strides=[2, 3]),
    # Padding that is computed, with the odd element on either side, and none where windows leave
    # elements out.
    *[Case("Conv", IMAGE, W, normal(4), auto_pad=side, strides=[2, 3])
      for side in ("SAME_UPPER", "SAME_LOWER")],
    Case("Conv", IMAGE, W, auto_pad="SAME_UPPER", dilations=[2, 1], strides=[2, 1]),
    Case("Conv", normal(2, 3, 7, 7), normal(4, 3, 1, 1), auto_pad="SAME_LOWER", strides=[3, 3]),
    # Groups of several channels, and filters that see one channel.
    Case("Conv", PARTS, normal(6, 2, 3, 3), normal(6), group=2, pads=[1, 1, 1, 1]),
    Case("Conv", PARTS, normal(8, 1, 3, 3), normal(8), group=4, pads=[1, 1, 1, 2],
         strides=[2, 1], dilations=[1, 2]),
    Case("Conv", normal(2, 4, 9), normal(4, 1, 3), group=4),
    Case("ConvTranspose", normal(2, 3, 5, 4), normal(3, 4, 3, 3), strides=[2, 1],
         pads=[1, 0, 0, 2]),
    Case("ConvTranspose", PARTS, normal(4, 2, 2, 2), normal(2), strides=[2, 2]),
    Case("ConvTranspose", PARTS, normal(4, 2, 3, 3), normal(2), strides=[2, 2],
         auto_pad="SAME_LOWER"),
    Case("MaxPool", IMAGE, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]),
    Case("MaxPool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, dilations=[2, 1]),
    Case("MaxPool", normal(2, 3, 10, 8), kernel_shape=[3, 3], strides=[3, 2],
         auto_pad="SAME_UPPER"),
    Case("MaxPool", LINE, kernel_shape=[4]),
    # What counts as an element of a window.
    *[Case("AveragePool", IMAGE, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1],
           count_include_pad=counts) for counts in (0, 1)],
    *[Case("AveragePool", IMAGE, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1,
           pads=[1, 1, 1, 0], count_include_pad=counts) for counts in (0, 1)],
    # A window that would begin behind the input is none.
    Case("AveragePool", normal(2, 3, 9, 9), kernel_shape=[2, 2], strides=[3, 3], ceil_mode=1,
         pads=[0, 1, 1, 1]),
    Case("GlobalAveragePool", IMAGE), Case("GlobalMaxPool", IMAGE),
    Case("BatchNormalization", IMAGE, normal(3), normal(3), normal(3), np.abs(normal(3)),
         epsilon=1e-3),
    Case("InstanceNormalization", IMAGE, normal(3), normal(3), epsilon=1e-3),
    Case("InstanceNormalization", LINE, normal(3), normal(3)),
]


def make_transposed(x, weight, bias, strides, dilations, low, places, groups, **attributes):
    wanted = transpose_convolve(x, weight, bias, strides, dilations, low, places, groups)
    return Case("ConvTranspose", x, weight, bias, wanted=wanted, strides=strides,
                dilations=dilations, group=groups, **attributes)


CASES += [
    make_transposed(PARTS, normal(4, 2, 3, 2), normal(4), [2, 3], [1, 1], [0, 0], [12, 13], 2,
                    output_padding=[1, 2]),
    make_transposed(PARTS, normal(4, 1, 3, 3), normal(4), [2, 2], [2, 1], [1, 0], [10, 8], 4,
                    auto_pad="SAME_UPPER"),
    # Padding that takes elements of the input away, and a result whose size is given.
    make_transposed(LINE, normal(3, 2, 1), normal(2), [1], [1], [2], [16], 1, pads=[2, 1]),
    make_transposed(PARTS, normal(4, 2, 3, 3), normal(2), [3, 3], [1, 1], [1, 1], [14, 11], 1,
                    output_shape=[14, 11]),
    # A size that is larger than what elements add to, as it is given and as strides make it.
    make_transposed(PARTS, normal(4, 2, 3, 3), normal(2), [3, 3], [1, 1], [0, 1], [17, 11], 1,
                    output_shape=[17, 11]),
    make_transposed(PARTS, normal(4, 2, 1, 2), normal(2), [2, 2], [1, 1], [0, 0], [10, 8], 1,
                    auto_pad="SAME_LOWER"),
]
#: Ops that have their cases here.
OPS = {case.op for case in CASES}


def make_graph(cases, is_dynamic):
    """A model of all cases, what to feed it, and its results."""
    nodes, inputs, constants, feeds = [], {}, {}, {}
    for number, case in enumerate(cases):
        names = [f"n{number}.c{place}" for place in range(len(case.constants))]
        constants.update(zip(names, case.constants))
        x, shape = f"n{number}.x", list(case.x.shape)
        if is_dynamic:
            shape = [f"n{number}.{dim}" if dim != 1 else size for dim, size in enumerate(shape)]
        inputs[x], feeds[x] = ("f32", shape), case.x
        nodes.append(helper.make_node(case.op, [x, *names], [f"n{number}.y"],
                                      name=f"n{number}.{case.op}", **case.attributes))
    results = []
    for made, case in zip(nodes, cases):
        if case.wanted is not None:
            results.append(case.wanted)
            continue
        x = made.input[0]
        alone = make_model([made], {x: inputs[x]}, {made.output[0]: ("f32", case.x.ndim)},
                           {name: constants[name] for name in made.input[1:]})
        results += run_reference(alone, {x: case.x})
    outputs = {made.output[0]: ("f32", case.x.ndim) for made, case in zip(nodes, cases)}
    return make_model(nodes, inputs, outputs, constants), feeds, results


class TestWindows(unittest.TestCase):
    def check(self, cases, is_dynamic):
        model, feeds, expected = make_graph(cases, is_dynamic)
        for case, x, y in zip(cases, run_imported(model, feeds), expected, strict=True):
            with self.subTest(case.op, **case.attributes):
                self.assertEqual((x.shape, type_of(x)), (y.shape, type_of(y)))
                np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)

    def test_known_sizes(self):
        self.check(CASES, False)

    def test_sizes_that_are_not_known(self):
        self.check([case for case in CASES if case.dynamic], True)

    # Of the padding, none is a maximum; of integers, too.
    def test_maxima_of_padding(self):
        x = np.full((1, 1, 4, 4), -9, np.float32)
        model = make_model([node("MaxPool", "x", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1])],
                           {"x": ("f32", [1, 1, 4, 4])}, {"y": ("f32", 4)})
        self.assertEqual(run_imported(model, {"x": x})[0].max(), -9)


class TestRefused(unittest.TestCase):
    def refuse(self, message, nodes, inputs, constants=()):
        model = make_model(nodes, inputs, {"y": ("f32", 4)}, constants)
        with self.assertRaises(UnsupportedError) as raised:
            blockscale.onnx.from_model(model)
        self.assertIn(message, str(raised.exception))

    def test_nodes(self):
        image = {"x": ("f32", ["n", 4, "h", 8]), "h": ("bf16", [1, 4, 8, 8]),
                 "w": ("f32", [4, 4, "k", 3]), "i": ("i64", [1, 4, 8, 8])}
        constants = {"f": np.ones((6, 4, 3, 3), np.float32), "b": np.ones(5, np.float32),
                     "g": np.ones((6, 2, 3, 3), np.float32), "v": np.ones(4, np.float32)}
        for message, op, operands, attributes in (
                ("expected operands of one type, but got bf16 and f32", "Conv", "h f", {}),
                ("expected operand of float, bfloat16 or float16, but got i64", "AveragePool", "i",
                 {"kernel_shape": [2, 2]}),
                ("expected filters of rank 3 or more whose sizes are known, but got [4, 4, k, 3]",
                 "Conv", "x w", {}),
                ("expected kernel_shape to be [3, 3], as filters are, but got [3, 2]", "Conv",
                 "x f", {"kernel_shape": [3, 2]}),
                (("expected auto_pad to be one of NOTSET, SAME_UPPER, SAME_LOWER, VALID, but got "
                  "SAME"), "Conv", "x f", {"auto_pad": "SAME"}),
                ("expected strides to be 2 numbers of 1 or more, but got [0, 1]", "Conv", "x f",
                 {"strides": [0, 1]}),
                ("expected pads to be 4 numbers of 0 or more, but got [1, 1]", "MaxPool", "x",
                 {"kernel_shape": [2, 2], "pads": [1, 1]}),
                *[(f"expected pads of 0 beside auto_pad of {side}, but got [0, 0, 1, 0]", op,
                   operands, {"auto_pad": side, "pads": [0, 0, 1, 0], **more})
                  for side, op, operands, more in (
                      ("SAME_UPPER", "Conv", "x f", {}), ("VALID", "ConvTranspose", "x f", {}),
                      ("VALID", "MaxPool", "x", {"kernel_shape": [2, 2]}))],
                (("expected filters [a multiple of 3, channels / 3, *[3, 3]] of [n, 4, h, 8] in 3 "
                  "groups, but got [6, 2, 3, 3]"), "Conv", "x g", {"group": 3}),
                (("expected filters [channels, a number, *[3, 3]] of [n, 4, h, 8] in 1 groups, but "
                  "got [6, 2, 3, 3]"), "ConvTranspose", "x g", {}),
                ("expected a bias of [6], but got [5]", "Conv", "x f b", {}),
                ("expected windows of [3, 9] within", "MaxPool", "x", {"kernel_shape": [3, 9]}),
                ("expected no more than 1 results to be taken, but got 'z' as well", "MaxPool", "x",
                 {"kernel_shape": [2, 2], "outputs": "y z"}),
                ("expected a tensor of rank 3, but got [n, 4, h, 8]", "MaxPool", "x",
                 {"kernel_shape": [2]}),
                ("expected output_padding to be 2 numbers of 0 or more, but got [1]",
                 "ConvTranspose", "x f", {"output_padding": [1]}),
                ("expected output_shape to be 2 numbers, but got [1]", "ConvTranspose", "x f",
                 {"output_shape": [1]}),
                ("expected a tensor of rank 3 or more, but got [4]", "GlobalMaxPool", "v", {}),
                (("expected a mean, a variance, a scale and a bias of a number for each channel of "
                  "[n, 4, h, 8], but got [5]"), "BatchNormalization", "x v v b v", {}),
                (("expected an operand of rank 3 or more, and a scale and a bias of a number for "
                  "each channel, but got [n, 4, h, 8], [4] and [5]"), "InstanceNormalization",
                 "x v b", {}),
                ("expected a batch norm that is not in training, but got training_mode of 1",
                 "BatchNormalization", "x v v v v", {"training_mode": 1})):
            with self.subTest(op=op, message=message):
                attributes = dict(attributes)
                self.refuse(message, [node(op, operands, attributes.pop("outputs", "y"),
                                           **attributes)], image, constants)


if __name__ == "__main__":
    unittest.main()
