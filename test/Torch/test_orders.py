# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that order and count elements, write them at indices, and repeat them, against PyTorch."""

import unittest

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import blockscale.torch
from blockscale.torch._modules import QuantizedExperts
from ops import OpsTest
from test_quantize_model import Experts

NAN = float("nan")


def make(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class OrdersTest(OpsTest):
    def test_sorting(self):
        def function(x, i, flags, y):
            return (*torch.sort(x, stable=True),
                    *torch.sort(x, dim=0, descending=True, stable=True),
                    *torch.sort(i, stable=True), torch.argsort(i, stable=True, descending=True),
                    *torch.sort(flags, stable=True), *torch.topk(x, 2), *torch.topk(y, 2, 0, False),
                    *torch.topk(y, 4), *torch.sort(y[:, :1], 1))

        # Equal elements, both zeros, infinities and NaN.
        x = torch.tensor([[3, -1, NAN, 2, -1, 7], [0.0, -0.0, float("inf"), -float("inf"), NAN, 0]])
        i = torch.tensor([5, 3, 5, -2, 3, 3, 2 ** 40])
        self.check(function, x[:, torch.tensor([2, 0, 1, 3, 4, 5])], i,
                   torch.tensor([True, False, True, False]),
                   torch.arange(8).view(2, 4).mul(7).remainder(5).bfloat16())

    def test_places_of_extremes(self):
        def function(x, i):
            return (torch.argmax(x), torch.argmin(x, 1), x.argmax(0, keepdim=True),
                    *torch.max(x, 1), *torch.min(x, 0, keepdim=True), *torch.max(i, 0),
                    torch.argmin(i))

        x = torch.tensor([[3, -1, NAN, 2, NAN, 7], [2.0, 5, 5, -float("inf"), -9, 5]])
        self.check(function, x, torch.tensor([4, 9, -3, 9, -3]))
        # -inf alone, and NaN at first.
        self.check(lambda x: (x.argmax(1), x.argmin(1)), torch.tensor(
            [[-float("inf")] * 3, [NAN, 1, 2], [float("inf")] * 3]))

    def test_sums_and_counts(self):
        def function(x, i, flags, y):
            return (x.cumsum(0), x.cumsum(-1), i.cumsum(0), flags.cumsum(1), y.cumsum(1),
                    x.cumsum(1, dtype=torch.bfloat16), i.cumsum(0, dtype=torch.int32),
                    torch.histc(x, 5, -1, 2), torch.histc(i.float(), 4, 0, 3),
                    F.one_hot(i.clamp(0, 3), 5), flags.any(), flags.all(1),
                    flags.any(0, keepdim=True), x.any(1))

        i = torch.tensor([0, 1, 3, 3, 2, 0, 3, -1, 4])
        self.check(function, make(3, 7), i, torch.rand(4, 5) > 0.5, make(2, 9).half(),
                   tolerance=2 ** -8)

    def test_places_in_an_order(self):
        def function(x, rows, i, y):
            ordered, many = torch.sort(x[0, :5])[0], torch.sort(x[:, :5], 1)[0]
            numbers = torch.tensor([-2, 0, 0, 3, 9])
            return (torch.searchsorted(ordered, x), torch.searchsorted(ordered, x, right=True),
                    torch.searchsorted(many, rows), torch.searchsorted(many, rows, side="right"),
                    torch.searchsorted(numbers, i, right=True, out_int32=True),
                    torch.bucketize(i, numbers), torch.bucketize(y, ordered, right=True),
                    torch.bucketize(y, ordered[:0]))

        # Equal elements, both zeros, infinities and NaN.
        x = torch.tensor([[3, -1, 0.0, -1, 7, NAN], [-0.0, 3, float("inf"), -float("inf"), 0, NAN]])
        self.check(function, x, make(2, 4).mul(3).round(), torch.tensor([[0, -5], [3, 10]]),
                   torch.tensor(0.5))

    def test_rounding_and_angles(self):
        def function(x, i):
            return (x.floor(), x.ceil(), x.round(), x.trunc(), i.floor(), torch.sin(x),
                    torch.cos(x), x.isnan(), i // 3, i // -3, i % 3, i % -3,
                    torch.remainder(i, i.flip(0)), torch.div(i, 4, rounding_mode="trunc"),
                    torch.div(x, 0.7, rounding_mode="trunc"), i.abs())

        x = torch.cat([torch.tensor([0.5, 1.5, -0.5, -2.5, 1e30, NAN]), 1e5 * make(20)])
        self.check(function, x, torch.tensor([-7, -3, -1, 1, 2, 3, 9]))


class WritesTest(OpsTest):
    def test_writes(self):
        def function(x, i, v, flags):
            row, column = torch.tensor([0, -1, 0]), torch.tensor([2, 1, 2])
            new = (x + 0).index_put((row, column), v[:3])
            again = x.clone()
            again[:, 1:3] = 5
            again[-1, ::2] = v[:3]
            again[flags] = -1
            columns = x.clone()
            columns[:, i] = v[:, None]
            return (new, columns, torch.index_put(x, (row,), v[0], True), again,
                    x.index_add(1, i, x[:, :2], alpha=3),
                    x.index_copy(0, i, x[:2] * 2), x.scatter(1, i.expand(4, 2), 7.0),
                    x.scatter(0, torch.tensor([[1] * 5, [2] * 5]), x[:2]),
                    x.scatter_add(1, torch.tensor([[0, 0, 3]] * 4), x[:, :3]),
                    i.scatter(0, torch.tensor([1]), 9))

        flags = torch.tensor([True, False, False, True])
        self.check(function, make(4, 5), torch.tensor([3, 1]), torch.arange(4.0)[:, None][:, 0],
                   flags)

    def test_writes_of_several_dimensions(self):
        def function(x, i, v):
            apart, last = x.clone(), x.clone()
            # Indices with a dimension between them stand in front.
            apart[i, :, i] = v
            last[:, i, i] = v
            return apart, last, torch.index_put(x, (i[:, None], i), v[0, 0], True)

        self.check(function, make(3, 4, 5), torch.tensor([2, 0, 1]), make(3, 1))

    def test_repeats_and_pads(self):
        def function(x, i):
            return (x.repeat(2, 1, 3), i.repeat(4), x.repeat_interleave(3, 1),
                    x.repeat_interleave(2), x.flip((0, 1)), F.pad(x, (1, 2)),
                    F.pad(x, (-1, 1, 2, -1), value=3.0), torch.roll(x, 2, 1), x.tril(), x.triu(1),
                    torch.einsum("ij,kj->ik", x, x), F.softplus(x),
                    # Memory that holds anything, and that no result takes.
                    torch.where(x == x, x, torch.empty_like(x)))

        self.check(function, make(3, 4), torch.tensor([1, 2]))


class ConvolutionsTest(OpsTest):
    def test_patches(self):
        def function(x, w, bias, line, v):
            return (F.conv2d(x, w, bias, stride=4), F.conv2d(x, w, bias, stride=(2, 3), padding=1),
                    F.conv2d(x, w, None, padding=(2, 0), dilation=2), F.conv2d(x[0], w, bias),
                    F.conv1d(line, v, bias, stride=2, padding=1))

        # The second size is no multiple of the stride.
        self.check(function, make(2, 3, 8, 12), make(5, 3, 4, 4, seed=1), make(5, seed=2),
                   make(2, 3, 9, seed=3), make(5, 3, 3, seed=4), tolerance=2e-5)

    def test_groups(self):
        def function(x, w, bias, each, line, v):
            return (F.conv2d(x, w, bias, stride=(1, 2), padding=1, groups=2),
                    F.conv2d(x, each, bias[:8], padding=(0, 1), dilation=(2, 1), groups=4),
                    F.conv1d(line, v, None, padding=2, groups=4))

        self.check(function, make(2, 4, 7, 8), make(10, 2, 3, 3, seed=1), make(10, seed=2),
                   make(8, 1, 3, 3, seed=3), make(2, 4, 9, seed=4), make(4, 1, 4, seed=5),
                   tolerance=2e-5)

    def test_transposed(self):
        def function(x, w, bias, line, v):
            return (F.conv_transpose2d(x, w, bias, stride=(2, 3), padding=(1, 0),
                                       output_padding=(1, 2), groups=2, dilation=(1, 2)),
                    F.conv_transpose1d(line, v, None, padding=1))

        # A filter of one point, whose padding cuts.
        self.check(function, make(2, 4, 5, 6), make(4, 3, 3, 2, seed=1), make(6, seed=2),
                   make(2, 4, 9, seed=3), make(4, 2, 1, seed=4), tolerance=2e-5)

    def test_sizes_that_are_not_known(self):
        def function(x, w, each):
            return (F.conv2d(x, w, stride=2, padding=1), F.conv2d(x, each, groups=3),
                    F.conv_transpose2d(x, w.transpose(0, 1), stride=2))

        n = Dim("n", min=4, max=40)
        others = [(make(1, 3, size, 8, seed=size), make(4, 3, 3, 3), make(3, 1, 2, 2))
                  for size in (4, 9)]
        self.check(function, make(1, 3, 7, 8), make(4, 3, 3, 3, seed=1), make(3, 1, 2, 2, seed=2),
                   others=others, dynamic_shapes=(({2: n}, None, None),), tolerance=2e-5)


class ExpertsTest(OpsTest):
    def test_groups(self):
        def function(x, w, ends):
            return (torch._grouped_mm(x, w, ends),)

        # An empty group, and a matrix of infinities that no row takes.
        w = make(4, 16, 24, seed=1).bfloat16()
        w[1] = float("inf")
        self.check(function, make(9, 16).bfloat16(), w,
                   torch.tensor([3, 3, 8, 9], dtype=torch.int32), tolerance=2 ** -7)


    # Each group of rows is a part of one grouped product with quantized weights.
    def test_quantized_experts(self):
        for is_transposed in (False, True):
            for rule in ({"weight_only": True}, {}):
                with self.subTest(rule, is_transposed=is_transposed), torch.no_grad():
                    torch.manual_seed(0)
                    model = nn.ModuleDict({"experts": Experts(4, 64, 32, True, is_transposed)})
                    blockscale.torch.quantize_(model.bfloat16(), {
                        "version": 1, "leave_last_projection": False,
                        "rules": [{"format": "mxfp8", **rule}]})
                    self.assertIsInstance(model.experts, QuantizedExperts)
                    # One expert has no rows, and 4 is the number of no expert.
                    index = torch.tensor([[3, 0], [0, 4], [3, 2], [2, 0], [4, 3]])
                    given = make(5, 64).bfloat16(), index, make(5, 2, seed=1).bfloat16()
                    program = torch.export.export(model.experts, given)
                    imported = blockscale.torch.from_export(program)
                    products = [op.name for op in imported.module.ops].count(
                        "blockscale.scaled_grouped_mm")
                    self.assertEqual(products, 2)
                    torch.testing.assert_close(imported.compile()(*given), model.experts(*given),
                                               rtol=2 ** -6, atol=2 ** -6)


class DynamicTest(OpsTest):
    def test_sizes(self):
        def function(x, i):
            rows = x.shape[0]
            return (*torch.sort(x, 0), *torch.topk(x, 2), x.cumsum(0), x.repeat_interleave(2, 0),
                    torch.arange(rows, rows + 3), torch.full((3,), rows), x * rows,
                    torch.index_put(torch.zeros_like(x), (i,), x), x.argmax(0), x.repeat(2, 1),
                    torch.histc(x, 4, -1, 1))

        rows = Dim("rows", min=2)
        others = [(make(n, 5, seed=n), torch.arange(n).flip(0)) for n in (2, 9)]
        self.check(function, make(4, 5), torch.tensor([2, 0, 3, 1]), others=others,
                   dynamic_shapes=(({0: rows}, {0: rows}),))


if __name__ == "__main__":
    unittest.main()
