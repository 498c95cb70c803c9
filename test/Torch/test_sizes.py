# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes of exported programs that are computed from others, as torch.export has them for 2*rows."""

import unittest

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import blockscale
import blockscale.torch


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


class Halves(nn.Module):
    """Sums of pairs of rows: the size of the result is half of that of the input."""

    def forward(self, x):
        return x.reshape(-1, 2, x.shape[1]).sum(1), x + 1


class Begin(nn.Module):
    def forward(self, x, y):
        return x[:y.shape[0]] + y


ROWS = Dim("rows", min=2, max=100)


def make(model, sizes, shapes):
    program = torch.export.export(model, tuple(torch.randn(size, 8) for size in sizes),
                                  dynamic_shapes=tuple({0: shape} for shape in shapes))
    return blockscale.torch.from_export(program).compile()


class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] < 50 else x * 3


class RangeTest(unittest.TestCase):
    """A program has one branch of the model, that of the sizes that it was exported for."""

    def test_ranges(self):
        for shape, fitting, others, message in (
                (Dim("rows", max=40), (0, 1, 40), (41, 60), "from 0 to 40"),
                (Dim("rows", min=3, max=49), (3, 49), (2, 50), "from 3 to 49"),
                (Dim.AUTO, (1, 2, 49), (50,), "from 0 to 49"),
                (Dim("rows", min=50), (50, 200), (49, 1), "50 or more")):
            first = 60 if "more" in message else 10
            function = make(Branch(), [first], [shape])
            for size in fitting:
                x = torch.randn(size, 8)
                self.assertTrue(torch.equal(function(x), Branch()(x)))
            for size in others:
                with self.assertRaisesRegex(
                        blockscale.ArgumentError, f"^expected dimension 0 of x to be {message}, "
                        f"which the program was exported for, but got {size}$"):
                    function(torch.randn(size, 8))

    def test_a_range_of_a_derived_size(self):
        function = make(Halves(), [10], [2 * ROWS])
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    r"^expected s\d+ to be from 0 to 100, which .* got 101$"):
            function(torch.randn(202, 8))


class DerivedTest(unittest.TestCase):
    def test_a_multiple_alone(self):
        """No input has the size itself."""
        model, function = Halves(), make(Halves(), [10], [2 * ROWS])
        for size in (10, 14, 4):
            x = torch.randn(size, 8)
            for found, wanted in zip(function(x), model(x)):
                torch.testing.assert_close(found, wanted)
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    r"^x: expected dimension 0 to be 2\*s\d+ for a whole number "
                                    r"s\d+, but got 15$"):
            function(torch.randn(15, 8))

    def test_with_an_addend(self):
        model, function = Begin(), make(Begin(), [11, 6], [2 * ROWS + 1, ROWS + 1])
        for size in (5, 9):
            x, y = torch.randn(2 * size + 1, 8), torch.randn(size + 1, 8)
            self.assertTrue(torch.equal(function(x, y), model(x, y)))
        for sizes, message in (((14, 8),
                                r"^x: expected dimension 0 to be 2\*s\d+ \+ 1 for a whole"),
                               ((15, 9), (r"^y: expected dimension 0 to be s\d+ \+ 1, which is 8 "
                                          r"where s\d+ is 7, but got 9$"))):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                function(*(torch.randn(size, 8) for size in sizes))

    def test_a_multiple_of_another_input(self):
        """It is checked, although nothing is read of it."""
        model, function = Begin(), make(Begin(), [10, 5], [2 * ROWS, ROWS])
        x, y = torch.randn(14, 8), torch.randn(7, 8)
        self.assertTrue(torch.equal(function(x, y), model(x, y)))
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    r"^x: expected dimension 0 to be 2\*s\d+, which is 12 where "
                                    r"s\d+, dimension 0 of y, is 6, but got 14$"):
            function(x, y[:6])

    def test_sizes_that_tell_no_symbol(self):
        env = ShapeEnv()
        with FakeTensorMode(shape_env=env) as mode:
            size = env.create_unbacked_symint()
            torch._check(size > 1)
            square = torch.empty(size * size, 4)
            made = torch.empty(size, size * 4)
        graph = fx.Graph()
        x = graph.placeholder("x")
        x.meta["val"] = square
        y = graph.call_function(torch.ops.aten.reshape.default, (x, [size, -1]))
        y.meta["val"] = made
        graph.output((y,))
        self.assertIs(mode.shape_env, env)
        with self.assertRaisesRegex(
                blockscale.torch.UnsupportedError,
                r"expected an input with a dimension of a number times u0 plus a number, which "
                r"tells that size, but got u0\*\*2 in dimension 0 of input x"):
            blockscale.torch.from_graph(fx.GraphModule(nn.Module(), graph))
