# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling, resampling, norms by statistics, complex numbers and float64, against PyTorch."""

import re
import unittest

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import blockscale.torch
from blockscale.torch import UnsupportedError
from models import Call
from ops import OpsTest, export


def make(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class RefusedTest(unittest.TestCase):
    def refuse(self, message, function, *arguments, **options):
        with self.subTest(message), self.assertRaisesRegex(UnsupportedError, re.escape(message)):
            blockscale.torch.from_export(export(Call(function), *arguments, **options))


class PoolsTest(OpsTest, RefusedTest):
    def test_pools(self):
        def function(x, line, y):
            return (F.max_pool2d(x, 3, stride=2, padding=1),
                    F.max_pool2d(x, (2, 3), dilation=(1, 2)),
                    F.max_pool2d(x[0], 2, ceil_mode=True), F.max_pool1d(line, 4, 3, 2),
                    F.max_pool3d(x[:, :, None], (1, 2, 2)),
                    F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
                    F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool1d(line, 4),
                    F.avg_pool1d(line, 4, 3, 2, ceil_mode=True, count_include_pad=False),
                    F.max_pool2d(y, 2), F.avg_pool2d(y, 3, 1))

        self.check(function, make(2, 3, 9, 8), make(2, 4, 11, seed=1),
                   make(1, 2, 6, 6, seed=2).bfloat16(), tolerance=1e-5)

    def test_pools_to_a_size(self):
        def function(x, line):
            return (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (3, 2)),
                    F.adaptive_avg_pool2d(x, (4, 5)), F.adaptive_avg_pool2d(x, (None, 12)),
                    F.adaptive_avg_pool2d(x[0], 2), F.adaptive_avg_pool1d(line, 1),
                    F.adaptive_avg_pool1d(line, 3), F.adaptive_max_pool2d(x, (3, 4)),
                    F.adaptive_max_pool1d(line, 1), F.adaptive_avg_pool3d(x[:, :, None], (1, 4, 4)))

        self.check(function, make(2, 3, 9, 8), make(2, 4, 11, seed=1), tolerance=1e-5)
        self.check(lambda y: (F.adaptive_avg_pool2d(y, 1), F.adaptive_avg_pool2d(y, (4, 5))),
                   make(1, 2, 6, 7, seed=2).bfloat16(), tolerance=2 ** -7)

    def test_sizes_that_are_not_known(self):
        n = Dim("n", min=5, max=40)
        others = [(make(2, 3, size, 8, seed=size),) for size in (5, 12)]
        self.check(lambda x: (F.max_pool2d(x, 3, 1, 1), F.avg_pool2d(x, 2, 1),
                              F.adaptive_avg_pool2d(x, 1)), make(2, 3, 9, 8), others=others,
                   dynamic_shapes=(({2: n},),), tolerance=1e-5)

    def test_what_is_refused(self):
        x = make(2, 3, 9, 8)
        self.refuse("expected means of the elements of windows, but got a divisor of 3",
                    lambda x: F.avg_pool2d(x, 2, divisor_override=3), x)
        self.refuse("expected known sizes of space that are multiples of those of the result, "
                    "[4, 4], but got [9, 8]", lambda x: F.adaptive_max_pool2d(x, 4), x)
        self.refuse("expected operand of float32, bfloat16 or float16, but got f64",
                    lambda x: F.max_pool2d(x, 2), x.double())


class ResamplingTest(OpsTest, RefusedTest):
    def test_sizes(self):
        def function(x, line, y):
            to = F.interpolate
            return (to(x, scale_factor=2), to(x, (7, 9)), to(x, scale_factor=1.5),
                    to(x, (7, 3), mode="nearest-exact"), to(line, 5),
                    to(x, (9, 7), mode="bilinear"),
                    to(x, (9, 7), mode="bilinear", align_corners=True),
                    to(x, scale_factor=(0.5, 2.5), mode="bilinear"), to(line, 4, mode="linear"),
                    to(x, (3, 9), mode="bicubic"),
                    to(x, (8, 9), mode="bicubic", align_corners=True),
                    to(x[:, :, None], (2, 3, 5), mode="trilinear"), to(y, scale_factor=2),
                    to(y, scale_factor=2, mode="bilinear"))

        self.check(function, make(2, 3, 4, 5), make(2, 3, 9, seed=1),
                   make(1, 2, 3, 3, seed=2).bfloat16(), tolerance=1e-5)

    def test_padding(self):
        def function(x, line):
            return (F.pad(x, (1, 2, 3, 0), mode="reflect"), F.pad(line, (0, 4), mode="reflect"),
                    F.pad(x, (5, 2, 0, 3), mode="replicate"), F.pad(x[0], (2, 0), mode="replicate"))

        self.check(function, make(2, 3, 4, 5), make(3, 9, seed=1))

    def test_sizes_that_are_not_known(self):
        n = Dim("n", min=3, max=40)
        self.check(lambda x: (F.interpolate(x, scale_factor=2), F.pad(x, (1, 2), mode="reflect")),
                   make(2, 3, 7), others=[(make(2, 3, size),) for size in (3, 12)],
                   dynamic_shapes=(({2: n},),))

    def test_what_is_refused(self):
        self.refuse("expected padding of 0 or more, but got [-1, 2]",
                    lambda x: torch.ops.aten.replication_pad1d(x, [-1, 2]), make(2, 3, 4))
        self.refuse("expected operand of float32, bfloat16 or float16, but got f64",
                    lambda x: F.interpolate(x, 9, mode="linear"), make(2, 3, 4).double())


class NormsTest(OpsTest, RefusedTest):
    def test_norms(self):
        def function(x, mean, variance, weight, rows):
            return (F.batch_norm(x, mean, variance), F.batch_norm(x, mean, variance, weight, mean),
                    F.batch_norm(x, mean, variance, weight, eps=0.1),
                    F.batch_norm(rows, mean, variance), F.instance_norm(x),
                    F.instance_norm(x, weight=weight, bias=mean, eps=0.1),
                    F.instance_norm(x, mean, variance, use_input_stats=False))

        mean, variance, weight = make(3, seed=1), make(3, seed=2).square(), make(3, seed=3)
        self.check(function, make(2, 3, 5, 4), mean, variance, weight, make(4, 3, seed=4),
                   tolerance=1e-5)
        self.check(lambda x, *args: (F.batch_norm(x, *args),), make(2, 3, 5).bfloat16(),
                   *(each.bfloat16() for each in (mean, variance, weight)), tolerance=2 ** -6)

    # What export leaves of the norm and of pools, in ops of aten alone.
    def test_what_is_written_out(self):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                              nn.GroupNorm(2, 8), nn.AdaptiveAvgPool2d(2)).eval()
        x = make(2, 3, 11, 12)
        with torch.no_grad():
            for parameter in (*model[1].buffers(), *model[1].parameters()):
                if parameter.is_floating_point():
                    parameter.copy_(torch.rand(parameter.shape) + 0.5)
            program = torch.export.export(model, (x,)).run_decompositions()
            names = {str(node.target) for node in program.graph.nodes}
            self.assertIn("aten._native_batch_norm_legit_no_training.default", names)
            self.assertIn("aten.max_pool2d_with_indices.default", names)
            compiled = blockscale.torch.from_export(program).compile()
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)

    def test_what_is_refused(self):
        message = ("expected a model in evaluation mode with the means and variances of its "
                   "training, but got a batch norm of the batch's own")
        self.refuse(message, lambda x: torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5,
                                                        False), make(2, 3, 4))


class StridesTest(OpsTest, RefusedTest):
    def test_strides(self):
        def function(x):
            return (x.as_strided((3, 2), (2, 5), 1), (x + 1).as_strided((4, 3, 3), (3, 1, 2)),
                    x.as_strided((2,), (0,), 19))

        self.check(function, make(4, 5))

    def test_what_is_refused(self):
        self.refuse("expected strides of a tensor whose elements lie in their order from the first "
                    "one on, but got strides [1, 5] of sizes [5, 4] from 0 on",
                    lambda x: x.t().as_strided((2,), (1,)), make(4, 5))


class ComplexTest(OpsTest, RefusedTest):
    def test_rotary_embeddings(self):
        def function(x, angles, positions):
            rotated = torch.view_as_complex(x.reshape(2, 6, 3, 4, 2))
            turns = torch.polar(torch.ones_like(angles), angles)[:, None, :]
            known = torch.polar(torch.ones(9, 4), torch.arange(36.0).view(9, 4))
            by_table = rotated * known[positions][:, :, None, :]
            twice = torch.cat([rotated * turns, by_table]).transpose(1, 2)
            return (torch.view_as_real(rotated * turns).flatten(3).type_as(x),
                    torch.view_as_real(twice * 0.5), torch.view_as_real(rotated + by_table),
                    torch.view_as_real(rotated[..., :2].split(1, 2)[1] - by_table[..., :1, :2]),
                    torch.view_as_real(torch.complex(angles, angles + 1) * angles))

        self.check(function, make(2, 6, 3, 8), make(6, 4, seed=1),
                   torch.tensor([[0, 1, 2, 3, 4, 5], [8, 7, 3, 3, 0, 1]]), tolerance=1e-5)

    def test_what_is_refused(self):
        self.refuse("expected an op that takes complex numbers: a product, a sum or a difference, "
                    "one that only moves elements, or view_as_real",
                    lambda x: torch.view_as_complex(x).abs(), make(4, 2))
        self.refuse("expected a sum or a difference of two tensors of complex numbers without "
                    "factors", lambda x: torch.view_as_real(torch.view_as_complex(x) + x[:, 0]),
                    make(4, 2))
        self.refuse("expected operand to be a tensor, but got 2j",
                    lambda x: torch.view_as_real(torch.view_as_complex(x) * 2j), make(4, 2))
        self.refuse("expected results to be tensors that are computed, but got",
                    lambda x: (torch.view_as_complex(x),), make(4, 2))


class Float64Test(OpsTest, RefusedTest):
    def test_positions(self):
        def function(positions, x, i):
            steps = torch.arange(0, 8, 2, dtype=torch.float64) / 8
            angles = torch.outer(positions, 1.0 / 10000.0 ** steps)
            table = torch.linspace(0, 1, 12, dtype=torch.float64).view(4, 3)
            return (angles, angles.cos().float(), angles.sin().to(torch.bfloat16), angles @ table,
                    angles.sum(0), angles.mean(1), angles.amax(), x.double() * 3,
                    (x.double() / 7).float(), torch.where(angles > 1, angles, 0.0), angles.exp(),
                    i.double() / 3, angles.cumsum(0), torch.baddbmm(
                        angles[None], angles[None, :, :3], angles[None, :3], beta=0.1),
                    torch.view_as_real(torch.polar(torch.ones_like(angles), angles)
                                       * torch.complex(angles, angles + 1)).float())

        positions = torch.arange(5, dtype=torch.float64) * 1000.1
        self.check(function, positions, make(3, 4), torch.arange(4), tolerance=1e-12)

    def test_what_is_refused(self):
        x = make(4, 6).double()
        for name, function in (("operand", lambda x: F.layer_norm(x, (6,))),
                               ("operand", lambda x: torch.softmax(x, -1)),
                               ("query", lambda x: F.scaled_dot_product_attention(
                                   x[None], x[None], x[None]))):
            self.refuse(f"expected {name} of float32, bfloat16 or float16, but got f64", function,
                        x)


if __name__ == "__main__":
    unittest.main()
