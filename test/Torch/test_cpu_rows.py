# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows by quantized weights on the CPU: within the bound of products, whatever instructions
multiply them. Numbers and scales near the ends of a range take another way than others."""

import itertools
import unittest

import torch
from torch import nn

import blockscale.torch

FORMATS = ("nvfp4", "mxfp8", "mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxint8")
#: A depth that is no whole number of steps of any way, and one below all of them.
DEPTHS = (544, 32)
COLS = 150
KINDS = ("usual", "subnormal", "mixed", "large", "zero")


def make_layer(fmt, depth, dtype, spread=0):
    layer = nn.Linear(depth, COLS, bias=False)
    powers = torch.randint(-spread, spread + 1, (COLS, 1)).float().exp2()
    layer.weight.data *= powers
    model = nn.Sequential(layer.to(dtype))
    blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                       "rules": [{"format": fmt, "weight_only": True}]})
    return model[0]


def make_rows(kind, rows, depth, dtype):
    x = torch.randn(rows, depth).to(dtype)
    if kind == "subnormal":
        x *= 2.0 ** -128
    elif kind == "mixed":
        x[:, ::3] *= 2.0 ** -126
    elif kind == "large":
        x *= 2.0 ** 80
    elif kind == "zero":
        x.zero_()
    return x


class Rows(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, layer, x):
        values = torch.ops.blockscale.dequantize(
            layer.data, layer.scales, layer.global_scale, in_features=layer.in_features,
            format=layer.form.weight.format, dtype=torch.float32).double()
        found, exact = layer(x).double(), x.double() @ values.T
        sums = x.double().abs() @ values.abs().T
        bound = 1e-6 * max(1, layer.in_features / 256) * sums
        # Half a unit of the last place, and of the least number, of the result's type.
        info = torch.finfo(x.dtype)
        rounding = (exact.abs() * (info.eps / 2)).clamp_min(info.smallest_normal * info.eps / 2)
        self.assertTrue(((found - exact).abs() <= bound + rounding * 1.01).all())

    def test_all_formats(self):
        for fmt in FORMATS:
            for depth in DEPTHS:
                layer = make_layer(fmt, depth, torch.bfloat16)
                for rows, kind in itertools.product((1, 3, 5, 13, 200), KINDS):
                    with self.subTest(fmt=fmt, depth=depth, rows=rows, kind=kind):
                        self.check(layer, make_rows(kind, rows, depth, torch.bfloat16))

    def test_scales_of_all_sizes(self):
        for fmt in ("mxfp8", "mxfp4"):
            layer = make_layer(fmt, DEPTHS[0], torch.bfloat16, spread=60)
            with self.subTest(fmt=fmt):
                for rows in (2, 14):
                    self.check(layer, make_rows("usual", rows, DEPTHS[0], torch.bfloat16))

    def test_short_sums(self):
        for fmt in ("nvfp4", "mxfp8"):
            with self.subTest(fmt=fmt):
                self.check(make_layer(fmt, 288, torch.bfloat16),
                           make_rows("usual", 12, 288, torch.bfloat16))

    def test_half_precision(self):
        layer = make_layer("nvfp4", DEPTHS[0], torch.float16)
        for rows in (2, 14):
            self.check(layer, make_rows("usual", rows, DEPTHS[0], torch.float16))

    def test_infinity_stays_in_its_row(self):
        for fmt in ("nvfp4", "mxfp8"):
            layer = make_layer(fmt, DEPTHS[0], torch.bfloat16)
            x = make_rows("usual", 2, DEPTHS[0], torch.bfloat16)
            expected = layer(x)[1]
            x[0, 5] = torch.inf
            found = layer(x)
            with self.subTest(fmt=fmt):
                self.assertFalse(found[0].isfinite().any())
                self.assertTrue(torch.equal(found[1], expected))

    def test_rows_beside_a_row_do_not_count(self):
        layer = make_layer("nvfp4", DEPTHS[0], torch.bfloat16)
        x = make_rows("usual", 3, DEPTHS[0], torch.bfloat16)
        self.assertTrue(torch.equal(layer(x)[1:2], layer(x[1:2])))


if __name__ == "__main__":
    unittest.main()
