# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs with aten._scaled_mm and aten._scaled_grouped_mm, whose codes and scales are
inputs or constants, against products of what torchao dequantizes."""

import re
import unittest

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import ScalingType, SwizzleType
from torchao.prototype.moe_training.kernels.mxfp8.quant import (
    torch_to_blocked_2d_K_groups,
    torch_to_blocked_2d_M_groups,
    torch_to_blocked_per_group_3d,
)
from torchao.prototype.moe_training.mxfp8_grouped_mm import (
    _emulated_mxfp8_scaled_grouped_mm_2d_2d,
    _emulated_mxfp8_scaled_grouped_mm_2d_3d,
)
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import MXTensor, to_mx
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, nvfp4_quantize

import blockscale.torch
from blockscale import ArgumentError
from models import from_graph_of, get_bound, to_blocked

SWIZZLED, LINEAR = SwizzleType.SWIZZLE_32_4_4, SwizzleType.NO_SWIZZLE


def make_mx(*shape, seed=0):
    """Codes and E8M0 scales [.., K / 32]."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator, dtype=torch.float32)
    scale, data = to_mx(x, torch.float8_e4m3fn, 32, ScaleCalculationMode.RCEIL)
    return data, scale.view(torch.float8_e8m0fnu)


def widen_mx(data, scale):
    return MXTensor(data, scale, torch.float8_e4m3fn, 32, torch.float32, None, None,
                    False).dequantize()


def make_nvfp4(*shape, scale=None, seed=0):
    """Codes, two a byte, and E4M3 scales [.., K / 16]."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator, dtype=torch.float32)
    scales, data = nvfp4_quantize(x.reshape(-1, shape[-1]), 16, scale)
    return data.view(*shape[:-1], -1), scales.view(*shape[:-1], -1)


def widen_nvfp4(data, scale):
    return NVFP4Tensor(data, scale, 16, torch.float32).dequantize()


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def make_graph(call, result, arguments, root=None):
    """A graph of one op, for which PyTorch knows no shapes without a GPU."""
    graph = torch.fx.Graph()
    inputs = []
    for number, tensor in enumerate(arguments):
        inputs.append(graph.placeholder(f"input{number}"))
        inputs[-1].meta["val"] = tensor
    node = call(graph, *inputs)
    node.meta["val"] = result
    graph.output(node)
    return torch.fx.GraphModule(root or nn.Module(), graph)


class TestScaledMM(unittest.TestCase):
    def check(self, found, a, b, bias=None):
        """`found` against a [M, K] times b [N, K], in f64."""
        y = a.double() @ b.double().t()
        y = y if bias is None else y + bias.double()
        self.assertEqual(found.shape, y.shape)
        bound = get_bound(a, b, y, bias, 1 if found.dtype == torch.bfloat16 else 0)
        self.assertTrue(((found.double() - y).abs() <= bound).all())

    def test_mxfp8_of_inputs(self):
        a, scale_a = make_mx(100, 96)
        b, scale_b = make_mx(48, 96, seed=1)

        def product(a, b, scale_a, scale_b):
            return torch._scaled_mm(a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16)

        arguments = a, b, to_blocked(scale_a), to_blocked(scale_b)
        function = from_graph_of(product, *arguments).compile()
        self.check(function(*arguments), widen_mx(a, scale_a), widen_mx(b, scale_b))

    def test_an_input_that_is_transposed_already(self):
        a, scale_a = make_mx(32, 64)
        b, scale_b = make_mx(48, 64, seed=1)
        bias = torch.randn(48).to(torch.bfloat16)

        def product(a, b, scale_a, scale_b, bias):
            return torch._scaled_mm(a, b, scale_a, scale_b, bias, out_dtype=torch.bfloat16)

        arguments = a, b.t(), to_blocked(scale_a), to_blocked(scale_b), bias
        function = from_graph_of(product, *arguments).compile()
        self.check(function(*arguments), widen_mx(a, scale_a), widen_mx(b, scale_b), bias)

    def test_a_weight_that_is_a_constant(self):
        a, scale_a = make_mx(32, 64)
        b, scale_b = make_mx(48, 64, seed=1)
        tiles = to_blocked(scale_b).view(torch.uint8)

        def product(a, scale_a):
            return torch._scaled_mm(a, b.t(), scale_a, tiles.view(torch.float8_e8m0fnu),
                                    out_dtype=torch.float32)

        arguments = a, to_blocked(scale_a)
        imported = from_graph_of(product, *arguments)
        self.assertEqual(len(imported.inputs), 2)
        self.assertEqual(len(imported.constants), 2)
        self.check(imported.compile()(*arguments), widen_mx(a, scale_a), widen_mx(b, scale_b))

    def test_attributes_of_a_graph(self):
        a, scale_a = make_mx(32, 64)
        b, scale_b = make_mx(48, 64, seed=1)
        root = nn.Module()
        root.b, root.scale_b = b.t(), to_blocked(scale_b)

        def call(graph, a, scale_a):
            return graph.call_function(
                torch.ops.aten._scaled_mm.default,
                (a, graph.get_attr("b"), scale_a, graph.get_attr("scale_b"), None, None,
                 torch.float32))

        arguments = a, to_blocked(scale_a)
        imported = blockscale.torch.from_graph(make_graph(call, torch.empty(32, 48), arguments,
                                                          root))
        self.check(imported.compile()(*arguments), widen_mx(a, scale_a), widen_mx(b, scale_b))

    def test_nvfp4(self):
        a, scale_a = make_nvfp4(100, 96)
        b, scale_b = make_nvfp4(48, 96, seed=1)

        def product(a, b, scale_a, scale_b):
            return torch._scaled_mm(a.view(torch.float4_e2m1fn_x2),
                                    b.view(torch.float4_e2m1fn_x2).t(), scale_a, scale_b,
                                    out_dtype=torch.bfloat16)

        arguments = a, b, to_blocked(scale_a), to_blocked(scale_b)
        function = from_graph_of(product, *arguments).compile()
        self.check(function(*arguments), widen_nvfp4(a, scale_a), widen_nvfp4(b, scale_b))

    def test_recipes_say_layout_and_global_scales(self):
        decode = torch.tensor(0.37), torch.tensor([0.0021])
        a, scale_a = make_nvfp4(40, 64, scale=decode[0])
        b, scale_b = make_nvfp4(48, 64, scale=decode[1][0], seed=1)

        for kind in (LINEAR, SWIZZLED):
            def product(a, b, scale_a, scale_b, global_a, global_b):
                recipe = [ScalingType.BlockWise1x16, ScalingType.TensorWise]
                return F.scaled_mm(a.view(torch.float4_e2m1fn_x2),
                                   b.view(torch.float4_e2m1fn_x2).t(),
                                   [scale_a, global_a], recipe, [scale_b, global_b], recipe,
                                   [kind, LINEAR], [kind, LINEAR],
                                   output_dtype=torch.float32)

            arrange = to_blocked if kind is SWIZZLED else (lambda scale: scale)
            arguments = a, b, arrange(scale_a), arrange(scale_b), *decode
            with self.subTest(kind):
                function = from_graph_of(product, *arguments).compile()
                self.check(function(*arguments), widen_nvfp4(a, scale_a) * decode[0],
                           widen_nvfp4(b, scale_b) * decode[1])

    def test_mxfp8_by_recipe_with_rows_of_any_number(self):
        a, scale_a = make_mx(40, 64)
        b, scale_b = make_mx(48, 64, seed=1)

        class Product(torch.nn.Module):
            def forward(self, a, b, scale_a, scale_b):
                recipe = ScalingType.BlockWise1x32
                return F.scaled_mm(a, b.t(), scale_a, recipe, scale_b, recipe, LINEAR, SWIZZLED,
                                   output_dtype=torch.float32)

        rows = {0: torch.export.Dim("rows")}
        arguments = a, b, scale_a, to_blocked(scale_b)
        program = torch.export.export(Product(), arguments,
                                      dynamic_shapes=(rows, None, rows, None))
        imported = blockscale.torch.from_export(program)
        self.assertIn("tensor<?x64xf8E4M3FN>", str(imported.module))
        function = imported.compile()
        for count in (40, 7):
            found = function(a[:count], b, scale_a[:count], to_blocked(scale_b))
            self.check(found, widen_mx(a, scale_a)[:count], widen_mx(b, scale_b))
        with self.assertRaisesRegex(ArgumentError, "scale_a: expected shape .* is 40, but got"):
            function(a, b, scale_a[:7], to_blocked(scale_b))


class TestBehindProducts(unittest.TestCase):
    """Global scales and biases that a program multiplies and adds itself are those of the product
    when it is compiled, and give the bytes of what PyTorch computes of the plain product."""

    A, B = make_nvfp4(40, 64), make_nvfp4(48, 64, seed=1)
    SCALES = torch.tensor(0.37), torch.tensor(0.0021)
    BIAS = torch.randn(48, generator=torch.Generator().manual_seed(2))

    def check(self, rest, dtype, *given, constants="arguments"):
        """Of `rest` of a product and of what is given; returns what is compiled, with the product
        as the text of an op without names."""
        def product(a, b, scale_a, scale_b):
            return torch._scaled_mm(a.view(torch.float4_e2m1fn_x2),
                                    b.view(torch.float4_e2m1fn_x2).t(), scale_a, scale_b,
                                    out_dtype=dtype)

        arguments = self.A[0], self.B[0], to_blocked(self.A[1]), to_blocked(self.B[1])
        plain = from_graph_of(product, *arguments).compile()(*arguments)
        imported = from_graph_of(lambda *args: rest(product(*args[:4]), *args[4:]), *arguments,
                                 *given, constants=constants)
        self.assertNotIn("global_scale", str(imported.module))
        self.assertNotIn("bias(", str(imported.module))
        function = imported.compile()
        for found, expected in zip(as_tuple(function(*arguments, *given)),
                                   as_tuple(rest(plain, *given)), strict=True):
            self.assertEqual(found.dtype, expected.dtype)
            self.assertTrue(torch.equal(found, expected))
        text = function.compiled.stages["canonicalize"]
        found, = re.findall(r"blockscale\.scaled_mm.*", text)
        return re.sub(r"%\w+", "%", found), text

    def check_all(self, rest, dtype, *given, scales=2):
        """Of a program of which the product alone is left."""
        op, text = self.check(rest, dtype, *given)
        self.assertEqual(op.count("global_scale_"), scales)
        self.assertIn("global_scaling after_rounding bias(%", op)
        self.assertNotIn("linalg", text)

    def test_the_order_of_torchao(self):
        for dtype in (torch.bfloat16, torch.float16):
            with self.subTest(dtype):
                given = *self.SCALES, self.BIAS.to(dtype)
                self.check_all(lambda y, a, b, bias: y * (a * b).to(dtype) + bias, dtype, *given)
                self.check_all(lambda y, a, b, bias: bias + (b * a).to(dtype) * y, dtype, *given)

    def test_one_number(self):
        self.check_all(lambda y, scale, bias: y * scale.to(y.dtype) + bias, torch.bfloat16,
                       self.SCALES[0], self.BIAS.bfloat16(), scales=1)

    def test_reshaped_products(self):
        given = *self.SCALES, self.BIAS.bfloat16()
        self.check_all(lambda y, a, b, bias: y.view(2, 20, 48) * (a * b).to(y.dtype) + bias,
                       torch.bfloat16, *given)
        self.check_all(lambda y, a, b, bias: (y * (a * b).to(y.dtype)).view(2, 20, 48) + bias,
                       torch.bfloat16, *given)

    def test_constants(self):
        scale = torch.tensor(0.0007)
        op, text = self.check(lambda y, bias: y * (scale * scale).to(y.dtype) + bias,
                              torch.bfloat16, self.BIAS.bfloat16(), constants="resources")
        self.assertIn("global_scale_b(% : f32) global_scaling after_rounding bias(%", op)
        self.assertNotIn("linalg", text)

    def test_products_of_f32(self):
        op, text = self.check(lambda y, a, b, bias: y * (a * b) + bias, torch.float32,
                              *self.SCALES, self.BIAS)
        self.assertEqual(op.count("global_scale_"), 2)
        self.assertNotIn("bias(", op)
        self.assertEqual(text.count("linalg.generic"), 1)

    def test_what_stays(self):
        scale, bias = self.SCALES[0], self.BIAS.bfloat16()
        for rest, given in ((lambda y, scale, bias: (y + bias) * scale.to(y.dtype), (scale, bias)),
                            (lambda y, scale: (y * scale.to(y.dtype), y), (scale,)),
                            (lambda y, bias: y + bias, (bias,))):
            op, _ = self.check(rest, torch.bfloat16, *given)
            self.assertNotIn("global_scale", op)
            self.assertNotIn("bias(", op)


class TestScaledGroupedMM(unittest.TestCase):
    # Groups end where a tile of scales does not, and one is empty.
    ENDS = torch.tensor([32, 32, 70, 96], dtype=torch.int32)

    def check(self, found, y):
        self.assertEqual(found.shape, y.shape)
        noise = (found.double() - y.double()).square().sum() / y.double().square().sum()
        # torchao multiplies in bf16: MXFP8 numbers are exact in it, sums are rounded once.
        self.assertLessEqual(noise, 2.0 ** -16)

    def test_groups_of_rows(self):
        a, scale_a = make_mx(96, 128)
        b, scale_b = make_mx(4, 48, 128, seed=1)

        def product(a, b, scale_a, scale_b, ends):
            return torch._scaled_grouped_mm(a, b.transpose(-2, -1), scale_a, scale_b, offs=ends,
                                            out_dtype=torch.bfloat16)

        tiles_a, _ = torch_to_blocked_2d_M_groups(scale_a, self.ENDS)
        arguments = (a, b, tiles_a, torch_to_blocked_per_group_3d(scale_b), self.ENDS)
        function = from_graph_of(product, *arguments).compile()
        y = _emulated_mxfp8_scaled_grouped_mm_2d_3d(
            a, scale_a, b.transpose(-2, -1), scale_b.transpose(-2, -1), self.ENDS)
        self.check(function(*arguments), y)

    def test_a_number_of_groups_that_calls_say(self):
        class Product(nn.Module):
            def forward(self, a, b, scale_a, scale_b, ends):
                return torch._scaled_grouped_mm(a, b.transpose(-2, -1), scale_a, scale_b,
                                                offs=ends, out_dtype=torch.bfloat16)

        def make(ends):
            groups = len(ends)
            ends = torch.tensor(ends, dtype=torch.int32)
            a, scale_a = make_mx(96, 128)
            b, scale_b = make_mx(groups, 48, 128, seed=1)
            tiles_a, _ = torch_to_blocked_2d_M_groups(scale_a, ends)
            y = _emulated_mxfp8_scaled_grouped_mm_2d_3d(
                a, scale_a, b.transpose(-2, -1), scale_b.transpose(-2, -1), ends)
            return (a, b, tiles_a, torch_to_blocked_per_group_3d(scale_b), ends), y

        arguments, _ = make([10, 40, 40, 96])
        groups, tiles = torch.export.Dim("groups"), torch.export.Dim("tiles")
        program = torch.export.export(
            Product(), arguments,
            dynamic_shapes=(None, {0: groups}, {0: tiles}, {0: groups}, {0: groups}))
        function = blockscale.torch.from_export(program).compile()
        for ends in ([10, 40, 40, 96], [96], [33, 96], [1, 1, 2, 60, 60, 96]):
            with self.subTest(ends=ends):
                arguments, y = make(ends)
                self.check(function(*arguments), y)

    def test_constant_scales_of_groups_that_calls_say(self):
        class Product(nn.Module):
            def __init__(self, tiles):
                super().__init__()
                self.tiles = tiles

            def forward(self, a, b, scale_b, ends):
                return torch._scaled_grouped_mm(a, b.transpose(-2, -1), self.tiles, scale_b,
                                                offs=ends, out_dtype=torch.bfloat16)

        a, scale_a = make_mx(96, 128)
        b, scale_b = make_mx(4, 48, 128, seed=1)
        groups = {0: torch.export.Dim("groups")}
        program = torch.export.export(
            Product(torch_to_blocked_2d_M_groups(scale_a, self.ENDS)[0]),
            (a, b, torch_to_blocked_per_group_3d(scale_b), self.ENDS),
            dynamic_shapes=(None, groups, groups, groups))
        with self.assertRaisesRegex(blockscale.torch.UnsupportedError,
                                    "expected the scales of input to be an input, as their "
                                    "groups are those of a call, but got a constant"):
            blockscale.torch.from_export(program)

    def test_nvfp4_with_global_scales_of_groups(self):
        decode_a, decode_b = torch.tensor([0.5, 3, 7, 0.1]), torch.tensor([2, 0.3, 5, 1.7])
        a, scale_a = make_nvfp4(96, 64)
        b, scale_b = make_nvfp4(4, 48, 64, seed=1)
        a, b = a.view(torch.float4_e2m1fn_x2), b.view(torch.float4_e2m1fn_x2)

        def call(graph, a, b, scale_a, scale_b, decode_a, decode_b, ends):
            return graph.call_function(
                torch.ops.aten._scaled_grouped_mm_v2.default,
                (a, b, [scale_a, decode_a], [2, 0], [1], [scale_b, decode_b], [2, 0], [1], ends,
                 None, torch.float32))

        tiles_a, _ = torch_to_blocked_2d_M_groups(scale_a, self.ENDS)
        arguments = (a, b.transpose(-2, -1), tiles_a, torch_to_blocked_per_group_3d(scale_b),
                     decode_a, decode_b, self.ENDS)
        graph = make_graph(call, torch.empty(96, 48), arguments)
        found = blockscale.torch.from_graph(graph).compile()(*arguments)
        wide_a = widen_nvfp4(a.view(torch.uint8), scale_a).double()
        wide_b = widen_nvfp4(b.view(torch.uint8), scale_b).double()
        first = 0
        for group, end in enumerate(self.ENDS.tolist()):
            y = wide_a[first:end] @ wide_b[group].t() * (decode_a * decode_b)[group]
            torch.testing.assert_close(found[first:end].double(), y, rtol=1e-5, atol=1e-4)
            first = end

    def test_groups_of_columns(self):
        ends = torch.tensor([32, 96, 256], dtype=torch.int32)
        a, scale_a = make_mx(64, 256)
        b, scale_b = make_mx(48, 256, seed=1)

        def product(a, b, scale_a, scale_b, ends):
            return torch._scaled_grouped_mm(a, b.t(), scale_a, scale_b, offs=ends,
                                            out_dtype=torch.bfloat16)

        tiles = [torch_to_blocked_2d_K_groups(scale, ends // 32)[0]
                 for scale in (scale_a, scale_b)]
        arguments = (a, b, *tiles, ends)
        function = from_graph_of(product, *arguments).compile()
        y = _emulated_mxfp8_scaled_grouped_mm_2d_2d(a, scale_a, b, scale_b, ends)
        self.check(function(*arguments), y)


if __name__ == "__main__":
    unittest.main()
