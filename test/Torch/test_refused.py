# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is not imported is an error that names the node, its op, its line, what was
expected and what was found."""

import dataclasses
import subprocess
import sys
import unittest
from unittest import mock

import torch
import torch.nn.functional as F
import triton
from torch import nn
from torch.export import Dim
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree
from torchao.prototype.mx_formats import kernels

import blockscale
import blockscale.torch
from blockscale.torch import UnsupportedError
from models import CONFIGS, Call, from_graph_of, make_mlp, to_blocked
from test_products import make_graph, make_mx, make_nvfp4


@dataclasses.dataclass
class Known:
    """What a graph has as a constant."""

    tensor: torch.Tensor


def import_op(op, result, *operands):
    """A graph of one op, imported: tensors are its inputs, what is Known its attributes."""
    leaves, structure = pytree.tree_flatten(operands)
    root = nn.Module()

    def call(graph, *inputs):
        inputs, placed = iter(inputs), []
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, Known):
                setattr(root, f"known{number}", leaf.tensor)
                leaf = graph.get_attr(f"known{number}")
            elif isinstance(leaf, torch.Tensor):
                leaf = next(inputs)
            placed.append(leaf)
        return graph.call_function(op, pytree.tree_unflatten(placed, structure))

    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    return blockscale.torch.from_graph(make_graph(call, result, tensors, root))


class TestPrograms(unittest.TestCase):
    def refuse(self, model, *args, **kwargs):
        program = torch.export.export(model, args, **kwargs)
        with self.assertRaises(UnsupportedError) as raised:
            blockscale.torch.from_export(program)
        self.assertIsInstance(raised.exception, blockscale.Error)
        return raised.exception

    def test_an_unknown_op_with_its_line_and_module(self):
        class Inner(nn.Module):
            def forward(self, x):
                return torch.erfinv(x)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                return self.inner(x) + x

        error = self.refuse(Model(), torch.randn(4, 8))
        self.assertEqual((error.node, error.target), ("erfinv", "aten.erfinv.default"))
        file, line = error.location
        self.assertEqual(file, __file__)
        self.assertEqual(line, Inner.forward.__code__.co_firstlineno + 1)
        self.assertIn(f"{file}:{line}: erfinv = aten.erfinv.default of module 'inner': "
                      "expected an op that is imported", str(error))

    def test_a_model_that_changes_an_input(self):
        class Model(nn.Module):
            def forward(self, x):
                return x.add_(1) * 2

        error = self.refuse(Model(), torch.randn(4, 8))
        self.assertIn("a program that changes nothing but buffers, but got USER_INPUT_MUTATION of "
                      "x", str(error))

    def test_dropout_in_training(self):
        error = self.refuse(nn.Dropout().train(), torch.randn(4, 8))
        self.assertIn("expected a model in evaluation mode", str(error))

    def test_inputs_and_results(self):
        class Scale(nn.Module):
            def forward(self, x, factor):
                return x * factor

        class Nothing(nn.Module):
            def forward(self, x):
                return None

        self.assertIn("expected dtype to be one of",
                      str(self.refuse(nn.Identity(), torch.randn(4, dtype=torch.complex64))))
        self.assertIn("expected inputs to be tensors, or values that the program was exported for, "
                      "but got SymInt",
                      str(self.refuse(Scale(), torch.randn(4), 3,
                                      dynamic_shapes=(None, Dim.DYNAMIC))))
        self.assertIn("expected results to be tensors that are computed, but got None",
                      str(self.refuse(Nothing(), torch.randn(4))))
        self.assertIn("expected a result, but got none",
                      str(self.refuse(Call(lambda x: ()), torch.randn(4))))

    def test_what_ops_of_the_dialect_refuse(self):
        class Model(nn.Module):
            def forward(self, x):
                return torch.max(torch.abs(x))

        told = blockscale.ArgumentError("expected x to have dtype f32, but got f64")
        with mock.patch("blockscale._ops.amax", side_effect=told):
            error = self.refuse(Model(), torch.randn(4, 8))
        self.assertRegex(str(error), "max_1 = aten.max.default: expected x to have dtype f32, but "
                                     "got f64")

    def test_bytes_are_no_numbers(self):
        error = self.refuse(Call(lambda i: i.to(torch.float32)), torch.zeros(4, dtype=torch.uint8))
        self.assertIn("expected operand of float32, float64, bfloat16, float16, bool or int8 to "
                      "int64, but got torch.uint8", str(error))

    def test_all_that_is_not_imported_is_named_at_once(self):
        class Model(nn.Module):
            def forward(self, x):
                first = torch.erfinv(x)
                second = torch.kthvalue(first, 2, keepdim=True)[0]  # needs the first
                return torch.relu(second) + torch.pow(x, 2.5)

        line = Model.forward.__code__.co_firstlineno
        error = self.refuse(Model(), torch.randn(4, 8))
        self.assertEqual([(each.target, each.location[1] - line) for each in error.problems],
                         [("aten.erfinv.default", 1), ("aten.kthvalue.default", 2),
                          ("aten.pow.Tensor_Scalar", 3)])
        self.assertEqual(len(str(error).splitlines()), 3)
        self.assertIn("expected an exponent of 0.5, -0.5, -1 or 1 to 8, but got 2.5", str(error))

    def test_where_constants_go(self):
        program = torch.export.export(nn.Linear(8, 8), (torch.randn(4, 8),))
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected constants to be arguments "
                                                              "or resources, but got 'files'"):
            blockscale.torch.from_export(program, constants="files")

    def test_operands_of_two_dtypes(self):
        class Model(nn.Module):
            def forward(self, x, y):
                return x * y

        error = self.refuse(Model(), torch.randn(4).to(torch.bfloat16), torch.tensor(2.0))
        self.assertIn("expected operands of bf16 for a result of it, but got f32", str(error))

    def test_numbers(self):
        x, square = torch.randn(4, 8), torch.randn(8, 8)
        for message, function, *arguments in (
                (("expected a result of float32, float64, bfloat16, float16, bool or int8 to "
                  "int64, but got torch.uint16"), lambda x: x.to(torch.uint16), x),
                (("expected a transpose of the matrices of codes, but got one of dimensions 0 and "
                  "1 of torch.float8_e4m3fn"), lambda x: x.transpose(0, 1),
                 torch.zeros(2, 3, 4).to(torch.float8_e4m3fn)),
                ("expected a view of bytes as bytes, but got one as torch.int32",
                 lambda x: x.view(torch.int32), x),
                (r"expected a weight of rank 2, but got \[8\]", F.linear, x, square[0]),
                ("expected a norm of order 2, but got 1",
                 lambda x: torch.linalg.vector_norm(x, 1), x),
                ("expected indices of integers, but got i1", lambda x, i: x[i],
                 x, torch.tensor([True, False, True, True])),
                ("expected integers, but got f32", torch.floor_divide, x, x),
                (("expected a minimum below the maximum, which are not taken from the elements, "
                  "but got 0 and 0"), torch.histc, x),
                ("expected one value for the elements that a mask chooses, but got",
                 lambda x: torch.index_put(x, [x > 0], x[0, :1].expand(3), True), x),
                ("expected indices of integers, or one mask, but got i1, i1",
                 lambda x, i: torch.index_put(x, [i, i], x[0, 0]), x[:, :4],
                 torch.tensor([True, False, False, False])),
                ((r"expected indices of the sizes of the values, .* but got \[2, 8\], \[4, 8\] and "
                  r"\[4, 8\]"), lambda x, i: torch.scatter(x, 0, i, x), x,
                 torch.zeros(2, 8, dtype=torch.int64)),
                ("expected attention without dropout, but got 0.5",
                 lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5),
                 torch.randn(1, 4, 3, 8)),
                ("expected an exponent of 0.5, -0.5, -1 or 1 to 8, but got inf",
                 lambda x: torch.pow(x, float("inf")), x),
                ("expected an exponent of 0.5, -0.5, -1 or 1 to 8, but got nan",
                 lambda x: torch.pow(x, float("nan")), x),
                ("expected an exponent of 0 or more for integers, but got -1",
                 lambda x: torch.pow(x, -1), torch.arange(1, 4)),
                ("expected a sequence that is sorted, but got one with a sorter",
                 lambda x, i: torch.searchsorted(x, x, sorter=i), x, torch.arange(8).expand(4, 8)),
                ("expected input of float32, float64, bfloat16 or float16, but got i64",
                 torch.matmul, torch.zeros(4, 8, dtype=torch.int64),
                 torch.zeros(8, 4, dtype=torch.int64))):
            with self.subTest(message):
                self.assertRegex(str(self.refuse(Call(function), *arguments)), message)

    def test_sizes_that_are_dynamic(self):
        rows = Dim("rows")
        arguments = make_mx(4, 32)[0], torch.randn(4, 8)
        self.assertRegex(
            str(self.refuse(Call(lambda codes, x: torch.relu(x)), *arguments,
                            dynamic_shapes=(({0: rows},) * 2,))),
            "expected a use of input args_0 before one of its size s")

        with self.assertRaisesRegex(UnsupportedError, "expected a step that is a number, but got "):
            from_graph_of(lambda x: torch.arange(0, 10, x.shape[0]), torch.randn(4, 8),
                          tracing_mode="symbolic")

    def test_programs_that_contradict_themselves(self):
        def export():
            return torch.export.export(nn.Linear(8, 8), (torch.randn(4, 8),))

        program = export()
        del program.state_dict["bias"]
        with self.assertRaisesRegex(UnsupportedError, "expected the program to have bias"):
            blockscale.torch.from_export(program)
        program = export()
        program.graph_signature.input_specs[0].kind = InputKind.TOKEN
        with self.assertRaisesRegex(UnsupportedError, "expected inputs, parameters and buffers, "
                                                      "but got TOKEN"):
            blockscale.torch.from_export(program)

    def test_a_weight_that_is_quantized_otherwise(self):
        model = make_mlp(CONFIGS["mxfp8"], sizes=(64, 64, 64))[:1]
        x = torch.randn(4, 64, dtype=torch.bfloat16)
        model[0].weight.act_quant_kwargs.elem_dtype = torch.float8_e5m2
        try:
            self.assertIn("expected activations and weight to be both",
                          str(self.refuse(model, x)))
        finally:
            model[0].weight.act_quant_kwargs.elem_dtype = torch.float8_e4m3fn


class TestProducts(unittest.TestCase):
    def setUp(self):
        self.a, self.scale_a = make_mx(32, 64)
        self.b, self.scale_b = make_mx(48, 64, seed=1)
        self.scales = to_blocked(self.scale_a), to_blocked(self.scale_b)

    def refuse(self, message, function, *arguments):
        with self.assertRaisesRegex(UnsupportedError, message):
            from_graph_of(function, *arguments)

    def test_scales_of_tensors(self):
        one = torch.tensor(1.0)
        self.refuse("scale_a to be block scales, .* but got torch.float32",
                    lambda a, b: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16),
                    self.a, self.b)

    def test_recipes(self):
        given = dict(input=self.a, mat2=self.b.t(), scale_a=[self.scales[0]], recipe_a=[3],
                     swizzle_a=[1], scale_b=[self.scales[1]], recipe_b=[3], swizzle_b=[1],
                     bias=None, out_dtype=torch.float32, contraction_dim=[])
        names = "BlockWise1x16, BlockWise1x32, BlockWise1x16 and TensorWise with a tensor each"
        codes, scale = make_nvfp4(32, 64)
        nvfp4 = dict(input=codes.view(torch.float4_e2m1fn_x2),
                     mat2=codes.view(torch.float4_e2m1fn_x2).t(), recipe_a=[2, 0],
                     recipe_b=[2, 0])
        scales = [to_blocked(scale), torch.ones((), dtype=torch.bfloat16)]
        for message, changed in (
                (rf"expected recipe_a to be {names}, but got \[0\] with 1", {"recipe_a": [0]}),
                (rf"expected recipe_b to be {names}, but got \[2, 0\] with 1",
                 {"recipe_b": [2, 0]}),
                ("expected swizzle_a to be NO_SWIZZLE or SWIZZLE_32_4_4, but got 2",
                 {"swizzle_a": [2]}),
                (r"expected no contraction_dim, but got \[1\]", {"contraction_dim": [1]}),
                ("expected recipe_a and recipe_b of one block, but got 32 and 16",
                 {"recipe_b": [2]}),
                ("expected the same known K of both operands, a multiple of 32, but got 64 and 96",
                 {"mat2": make_mx(48, 96)[0].t()}),
                ("a multiple of 32, but got 40 and 40",
                 {"input": self.a[:, :40], "mat2": self.b[:, :40].t()}),
                (r"expected the scales of input to be scales, but got Array\(",
                 {"scale_a": [torch.ones(32, 2)]}),
                ("expected global scales of float32, but got bf16",
                 {**nvfp4, "scale_a": scales, "scale_b": scales})):
            with self.subTest(message), self.assertRaisesRegex(UnsupportedError, message):
                import_op(torch.ops.aten._scaled_mm_v2.default, torch.empty(32, 48),
                          *{**given, **changed}.values())

    def test_the_first_generation(self):
        scaled_mm = torch.ops.aten._scaled_mm.default
        grouped = torch.ops.aten._scaled_grouped_mm.default
        scale_a, scale_b = self.scales
        ends = torch.tensor([32])
        for message, op, *operands in (
                ("expected no scale_result", scaled_mm, scale_a, scale_b, None, torch.ones(())),
                ("expected scale_a and scale_b of one dtype, but got f8E8M0FNU and f8E4M3FN",
                 scaled_mm, scale_a, scale_b.view(torch.float8_e4m3fn)),
                ("expected offs, the ends of groups", grouped, scale_a, scale_b),
                (r"expected offs to be int32 ends of groups, but got tensor<1xi64>",
                 grouped, scale_a, scale_b, ends),
                ("expected offs to be int32 ends of groups, but got torch.int64",
                 grouped, scale_a, scale_b, Known(ends))):
            with self.subTest(message), self.assertRaisesRegex(UnsupportedError, message):
                import_op(op, torch.empty(32, 48), self.a, self.b.t(), *operands)

    def test_what_a_quantizer_gave(self):
        def quantize(x):
            scale, data = torch.ops.ao.mslk_quantize_nvfp4(x, None)
            return data.view(torch.float4_e2m1fn_x2), scale

        def flipped(x):
            data, scale = quantize(x)
            return torch._scaled_mm(data, data, scale, scale, out_dtype=torch.bfloat16)

        def linear(x):
            data, scale = quantize(x)
            recipe, kind = F.ScalingType.BlockWise1x16, F.SwizzleType.NO_SWIZZLE
            return F.scaled_mm(data, data.t(), scale, recipe, scale, recipe, kind, kind,
                               output_dtype=torch.bfloat16)

        x = torch.randn(64, 128, dtype=torch.bfloat16)
        with mock.patch.object(kernels, "triton", triton, create=True):
            self.refuse("expected mat2 to be tensor<64x128xf4E2M1FN>, but got transposed "
                        "tensor<64x128xf4E2M1FN>", flipped, x)
            self.refuse("expected the scales of input to be tensor<64x8xf8E4M3FN>, but got "
                        "tensor<64x8xf8E4M3FN, #blockscale.layout<swizzle_128x4>>", linear, x)

    def test_scales_that_are_transposed(self):
        self.refuse("expected the scales of input to be scales that are not transposed",
                    lambda a, b, scale_a, scale_b: torch._scaled_mm(
                        a, b.t(), scale_a.t(), scale_b, out_dtype=torch.bfloat16),
                    self.a, self.b, self.scales[0].view(32, 16), self.scales[1])

    def test_weights_of_torchao(self):
        def change(config, **values):
            weight = make_mlp(CONFIGS[config], sizes=(64, 64, 64))[0].weight
            for name, value in values.items():
                setattr(weight, name, value)
            return weight

        def change_activations(**values):
            weight = change("mxfp8")
            for name, value in values.items():
                setattr(weight.act_quant_kwargs, name, value)
            return weight

        x = torch.randn(4, 64, dtype=torch.bfloat16)
        linear = torch.ops.aten.linear.default
        for message, op, weight in (
                ((r"expected a weight \[N, K\] with blocks along K, but got shape \[64, 64\] with "
                  r"strides \[1, 32\]"), linear, change("nvfp4").t()),
                ("expected blocks of 16, but got 32", linear, change("nvfp4", block_size=32)),
                (r"expected one float32 as .*_global, but got torch.float32 of shape \[2\]", linear,
                 change("nvfp4", per_tensor_scale=torch.ones(2))),
                ("expected an MXTensor with act_quant_kwargs", linear,
                 change("mxfp8", act_quant_kwargs=None)),
                ("expected blocks of 32 in activations, but got 64", linear,
                 change_activations(block_size=64)),
                ("expected operand to be a plain tensor, but got NVFP4Tensor",
                 torch.ops.aten.mul.Tensor, change("nvfp4"))):
            with self.subTest(message), self.assertRaisesRegex(UnsupportedError, message):
                import_op(op, torch.empty(4, 64, dtype=torch.bfloat16), x, Known(weight))

    def test_a_weight_of_torchao_with_factors(self):
        root = nn.Module()
        root.weight = make_mlp(CONFIGS["nvfp4"], sizes=(64, 64, 64))[0].weight.t()
        x = torch.randn(4, 64, dtype=torch.bfloat16)
        graph = make_graph(lambda graph, x: graph.call_function(
            torch.ops.aten.addmm.default, (x, x, graph.get_attr("weight")), {"alpha": 2}), x, [x],
            root)
        message = "expected beta and alpha of 1 beside a weight that is quantized, but got 1 and 2"
        with self.assertRaisesRegex(UnsupportedError, message):
            blockscale.torch.from_graph(graph)

    def test_scales_of_another_size(self):
        self.refuse(r"the scales of input: expected 512 bytes of scales, \[32, 2\] in tiles .*, "
                    r"but got \[32, 2\]",
                    lambda a, b, scale_a, scale_b: torch._scaled_mm(
                        a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16),
                    self.a, self.b, self.scale_a, self.scales[1])

    def test_a_result_in_fp8(self):
        self.refuse("expected out_dtype float32, bfloat16 or float16, but got "
                    "torch.float8_e4m3fn",
                    lambda a, b, scale_a, scale_b: torch._scaled_mm(a, b.t(), scale_a, scale_b),
                    self.a, self.b, *self.scales)

    def test_batches_without_groups(self):
        b, scale_b = make_mx(2, 48, 64)
        codes = b.transpose(-2, -1)
        result = torch.empty(2, 32, 48)

        def call(graph, a, b, scale_a, scale_b):
            return graph.call_function(torch.ops.aten._scaled_grouped_mm_v2.default,
                                       (a, b, [scale_a], [3], [1], [scale_b], [3], [1]))

        graph = make_graph(call, result, (self.a, codes, self.scales[0], scale_b))
        with self.assertRaisesRegex(UnsupportedError, "expected matrices, or offs with an input "
                                                      "that is one, but got ranks 2 and 3"):
            blockscale.torch.from_graph(graph)

    def test_two_formats(self):
        b = self.b.float().to(torch.float8_e5m2)
        self.refuse("expected both operands to be .* with blocks of 32, but got "
                    "torch.float8_e4m3fn and torch.float8_e5m2",
                    lambda a, b, scale_a, scale_b: torch._scaled_mm(
                        a, b.t(), scale_a, scale_b, out_dtype=torch.bfloat16),
                    self.a, b, *self.scales)

    def test_a_bias_of_another_dtype(self):
        self.refuse("expected a bias of the result's dtype, f32, but got bf16",
                    lambda a, b, scale_a, scale_b, bias: torch._scaled_mm(
                        a, b.t(), scale_a, scale_b, bias, out_dtype=torch.float32),
                    self.a, self.b, *self.scales, torch.zeros(48, dtype=torch.bfloat16))

    def test_bytes_that_are_taken_as_two_things(self):
        data, scale = make_nvfp4(32, 64)

        def product(data, scale):
            codes = data.view(torch.float4_e2m1fn_x2)
            y = torch._scaled_mm(codes, codes.t(), scale, scale, out_dtype=torch.bfloat16)
            codes = data.view(torch.float8_e4m3fn)
            scales = scale.view(torch.float8_e8m0fnu)
            return y, torch._scaled_mm(codes, codes.t(), scales, scales,
                                       out_dtype=torch.bfloat16)

        self.refuse("expected one use of input data_1, but it is taken as "
                    "tensor<32x64xf4E2M1FN> and as tensor<32x32xf8E4M3FN>",
                    product, data, to_blocked(scale))

    def test_codes_as_numbers(self):
        self.refuse("expected operand of float32, float64, bfloat16, float16, bool or int8 to "
                    "int64, but got torch.float8_e4m3fn", lambda a: a.to(torch.float32), self.a)


class TestGraphs(unittest.TestCase):
    def test_a_graph_of_modules(self):
        graph = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
        graph.graph.find_nodes(op="placeholder")[0].meta["val"] = torch.randn(4)
        with self.assertRaisesRegex(UnsupportedError, "expected a graph of aten ops, .* but got "
                                                      "a call_module"):
            blockscale.torch.from_graph(graph)

    def test_a_graph_without_shapes(self):
        graph = torch.fx.symbolic_trace(lambda x: torch.ops.aten.relu.default(x))
        with self.assertRaisesRegex(UnsupportedError, r"expected node.meta\['val'\]"):
            blockscale.torch.from_graph(graph)

    def test_operands_that_export_makes_not(self):
        aten, x = torch.ops.aten, torch.ones(4, 8)
        ends = torch.tensor([2, 4], dtype=torch.int32)
        heads = [torch.ones(1, count, 3, 8) for count in (3, 2)]
        graph = make_graph(
            lambda graph, q, k: graph.call_function(aten.scaled_dot_product_attention.default,
                                                    (q, k, k), {"enable_gqa": True}),
            heads[0], heads)
        with self.assertRaisesRegex(UnsupportedError, "heads of queries that are a multiple of "
                                                      "those of keys and values, but got 3, 2"):
            blockscale.torch.from_graph(graph)
        for message, op, *operands in (
                (("expected rows of rank 2, matrices of rank 3, offs and no bias, but got ranks 3 "
                  "and 3"), aten._grouped_mm.default, torch.ones(2, 4, 8), torch.ones(2, 8, 8),
                 ends),
                ("ranks 2 and 3 and no offs", aten._grouped_mm.default, x, torch.ones(2, 8, 8)),
                ("ranks 2 and 3 and a bias", aten._grouped_mm.default, x, torch.ones(2, 8, 8), ends,
                 torch.ones(8)),
                (("expected as many heads of keys as of queries, 3, or one for all of them, but "
                  "got 2"),
                 aten.scaled_dot_product_attention.default, heads[0], heads[1], heads[1]),
                (("expected as many heads of values as of queries, 3, or one for all of them, but "
                  "got 2"),
                 aten.scaled_dot_product_attention.default, heads[0], heads[0], heads[1]),
                ("expected a known number of channels, a multiple of 3 groups, but got 8",
                 aten.group_norm.default, x, 3),
                ("expected a sorted_sequence of rank 1 or more, but got a number",
                 aten.bucketize.Tensor, x, torch.tensor(1.0)),
                ((r"expected an ordered axis, or one for each row of the values, but got \[3, 8\] "
                  r"for values \[4, 8\]"), aten.searchsorted.Tensor, torch.ones(3, 8), x),
                ("expected a tensor of rank 1 or more, but got a number", aten.sort.default,
                 torch.tensor(1.0)),
                (("expected a tensor and a source of one rank and indices of rank 1, but got ranks "
                  "2, 2 and 2"), aten.index_add.default, x, 0, torch.zeros(4, 8, dtype=torch.int64),
                 x)):
            with self.subTest(message), self.assertRaisesRegex(UnsupportedError, message):
                import_op(op, torch.empty(4, 8), *operands)

    def test_graphs_that_contradict_themselves(self):
        with self.assertRaisesRegex(UnsupportedError, r"expected operands that broadcast to "
                                                      r"\[4\], but got \[3\]"):
            import_op(torch.ops.aten.add.Tensor, torch.empty(4), torch.ones(4), torch.ones(3))
        with self.assertRaisesRegex(UnsupportedError, "expected a condition of bool, but got i64"):
            import_op(torch.ops.aten.where.self, torch.empty(4), torch.ones(4, dtype=torch.int64),
                      torch.ones(4), torch.ones(4))
        for x, index, found in ((torch.tensor(1.0), torch.tensor(0), r"\[\] and \[\]"),
                                (torch.ones(4), torch.zeros(1, 1, dtype=torch.int64),
                                 r"\[4\] and \[1, 1\]")):
            with self.assertRaisesRegex(UnsupportedError, "expected a tensor of rank 1 or more and "
                                        f"indices of its rank, but got {found}"):
                import_op(torch.ops.aten.gather.default, index.float(), x, 0, index)
        a, scale = make_mx(64, 64)

        def call(graph, x, scale):
            codes = graph.call_function(torch.ops.aten.alias.default, (x,))
            codes.meta["val"] = a
            return graph.call_function(torch.ops.aten._scaled_mm.default,
                                       (codes, codes, scale, scale))

        graph = make_graph(call, torch.empty(64, 64), (torch.ones(64, 64), to_blocked(scale)))
        with self.assertRaisesRegex(UnsupportedError,
                                    r"expected input to be codes, but got Array\("):
            blockscale.torch.from_graph(graph)


class TestCalls(unittest.TestCase):
    def test_inputs_of_a_graph_by_name(self):
        function = from_graph_of(torch.relu, torch.randn(4)).compile()
        with self.assertRaisesRegex(blockscale.ArgumentError, "in their order, but got x by name"):
            function(x=torch.randn(4))
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected 1 inputs, but got 0"):
            function()

    def test_what_is_imported(self):
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "expected ExportedProgram, but got Linear"):
            blockscale.torch.from_export(nn.Linear(4, 4))
        program = torch.export.export(nn.ReLU(), (torch.randn(4),))
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected name to be an identif"):
            blockscale.torch.from_export(program, name="two words")

    def test_arguments(self):
        model = make_mlp(CONFIGS["mxfp8"], sizes=(64, 64, 64))[:1]
        x = torch.randn(4, 64, dtype=torch.bfloat16)
        function = blockscale.torch.from_export(torch.export.export(model, (x,))).compile()
        for arguments, message in (
                ((x, x), "expected arguments of the structure"),
                ((x.float(),), "input: expected a tensor of torch.bfloat16, but got torch.float"),
                ((x[:2],), r"input: expected shape \[4, 64\], but got \[2, 64\]"),
                ((x[0],), r"input: expected shape \[4, 64\], but got \[64\]"),
                ((x.t().contiguous().t(),), "expected a row-major array")):
            with self.subTest(message), self.assertRaisesRegex(blockscale.ArgumentError, message):
                function(*arguments)

    def test_an_interpreter_without_torch(self):
        code = ("import sys; sys.modules['torch'] = None\n"
                "import blockscale\n"
                "try: import blockscale.torch\n"
                "except ImportError as error: print(error)")
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertIn("expected torch to be installed for blockscale.torch", found.stdout,
                      found.stderr)


if __name__ == "__main__":
    unittest.main()
