# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of torch.ops.blockscale: results, fakes, derivatives, and what they refuse."""

import concurrent.futures
import functools
import unittest
import unittest.mock

import numpy as np
import torch
from torch.autograd import forward_ad

import blockscale
import blockscale.torch
from blockscale._forms import OperandForm
from blockscale.torch._products_kernels import Quantizer

OPS = torch.ops.blockscale
WIDTH, ROWS = 128, 96


def make(format, rows=ROWS, seed=0, scale=None):
    """Plain values of a weight and its codes and scales."""
    weight = torch.randn(rows, WIDTH, generator=torch.Generator().manual_seed(seed)).bfloat16()
    data, scales = OPS.quantize(weight, scale, format=format)
    return data, scales


def decode(data, scales, format, scale=None):
    return OPS.dequantize(data, scales, scale, in_features=WIDTH, format=format,
                          dtype=torch.float32)


class QuantizeTest(unittest.TestCase):
    def test_bytes_are_those_of_the_package(self):
        x = torch.randn(130, 64).bfloat16()
        for format, scale, swizzled in (("nvfp4", None, False), ("nvfp4", 0.5, True),
                                        ("mxfp8", None, True), ("mxfp6_e2m3", None, False)):
            with self.subTest(format, swizzled=swizzled):
                @blockscale.jit
                def quantize(x, g=None):
                    return blockscale.quantize(x, format=format, global_scale=g,
                                               layout="swizzle_128x4" if swizzled else None)
                given = [] if scale is None else [np.array(scale, np.float32)]
                if scale is None:
                    wanted = blockscale.jit(lambda x: quantize.function(x))(x)
                else:
                    wanted = quantize(x, *given)
                found = OPS.quantize(x, None if scale is None else torch.tensor(scale),
                                     format=format, swizzled=swizzled)
                for one, other in zip(found, wanted):
                    self.assertTrue(torch.equal(one, other.view(torch.uint8)))

    def test_empty_and_batches(self):
        data, scales = OPS.quantize(torch.zeros(0, 64), format="mxfp8")
        self.assertEqual((tuple(data.shape), tuple(scales.shape)), ((0, 64), (0, 2)))
        data, scales = OPS.quantize(torch.ones(2, 3, 5, 32), format="nvfp4", swizzled=True)
        self.assertEqual((tuple(data.shape), tuple(scales.shape)),
                         ((2, 3, 5, 16), (2, 3, 1, 1, 32, 4, 4)))


    def test_global_scales_of_weights(self):
        """One number, or one for each row of a matrix or each matrix of a batch."""
        data, scales = (each.expand(2, 3, *each.shape).contiguous() for each in make("nvfp4"))
        plain = decode(data, scales, "nvfp4")
        for count, scale in ((2, torch.tensor(0.5)), (2, 2.0 ** -torch.arange(6.0).view(2, 3)),
                             (1, 2.0 ** -torch.arange(3.0)), (0, 2.0 ** -torch.arange(96.0))):
            part = (0,) * (2 - count)
            found = decode(data[part], scales[part], "nvfp4", scale)
            wanted = plain[part] * scale.view(*scale.shape, *[1] * (count + 2 - scale.dim()))
            self.assertTrue(torch.equal(found, wanted))


class IntoTest(unittest.TestCase):
    """Codes and scales in memory that is given."""

    def test_bytes_and_memory(self):
        x = torch.randn(2, 130, 64).bfloat16()
        for format, scale, swizzled in (("nvfp4", None, False), ("nvfp4", 0.5, True),
                                        ("mxfp8", None, True), ("mxint8", None, False)):
            with self.subTest(format, swizzled=swizzled):
                given = None if scale is None else torch.tensor(scale)
                options = dict(format=format, swizzled=swizzled)
                wanted = OPS.quantize(x, given, **options)
                # A part of a larger tensor keeps what is around it.
                wide = [torch.full((each.shape[0] + 2, *each.shape[1:]), 77, dtype=torch.uint8)
                        for each in wanted]
                parts = [each[1:-1] for each in wide]
                self.assertIsNone(OPS.quantize_into(x, *parts, given, **options))
                for one, other, whole in zip(parts, wanted, wide):
                    self.assertTrue(torch.equal(one, other))
                    self.assertEqual(one._version, 1)
                    self.assertTrue((whole[[0, -1]] == 77).all())

    def test_compiled(self):
        """A graph that is compiled writes, too."""
        def write(x, data, scales):
            OPS.quantize_into(x * 2, data, scales, format="mxfp8")
            return data.sum()

        x = torch.randn(4, 64).bfloat16()
        wanted = OPS.quantize(x * 2, format="mxfp8")
        given = [torch.empty_like(each) for each in wanted]
        torch._dynamo.reset()
        found = torch.compile(write, backend="aot_eager", fullgraph=True)(x, *given)
        for one, other in zip(given, wanted):
            self.assertTrue(torch.equal(one, other))
        self.assertEqual(found, wanted[0].sum())

    def test_refused(self):
        """Memory that results cannot be in, by the op and by a kernel. Nothing is written."""
        x = torch.randn(128, 64).bfloat16()
        data, scales = (torch.full_like(each, 77) for each in OPS.quantize(x, format="mxfp8"))
        bytes = x.view(torch.uint8)
        kernel = Quantizer(OperandForm("mxfp8"), x.dtype, 2).get()

        def overlaps(one, other):
            return [f"expected {one} in memory of its own, but it overlaps {other}"] * 2

        for given, of_op, of_kernel in (
                ([data], "missing value for argument 'scales'",
                 "expected 2 tensors for the results, but got 1"),
                ([data[1:], scales], r"data of shape \[128, 64\], but got \[127, 64\]",
                 r"expected shape \(128, 64\) for result 0, but got \(127, 64\)"),
                ([data, scales.float()], "scales of torch.uint8, but got torch.float32",
                 "result 1 of torch.uint8, but got torch.float32"),
                ([data.t().contiguous().t(), scales], r"row-major tensor of data, but got strides",
                 r"result 0 in a row-major tensor, but got strides \[1, 128\] of shape"),
                ([data.to("meta"), scales], "data on cpu, as x is, but got meta",
                 "result 0 on cpu, but got meta"),
                ([data, data.view(-1)[-256:].view(128, 2)], *overlaps("result 1", "result 0")),
                ([bytes.view(256, 64)[128:], scales], *overlaps("result 0", "argument 0"))):
            with self.subTest(of_op):
                before = x.clone()
                with self.assertRaisesRegex((blockscale.ArgumentError, RuntimeError), of_op):
                    OPS.quantize_into(x, *given, format="mxfp8")
                with self.assertRaisesRegex(blockscale.ArgumentError, of_kernel):
                    kernel([x], out=given)
                self.assertTrue((data == 77).all() and (scales == 77).all())
                self.assertTrue(torch.equal(x, before))


class LinearTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.x = torch.randn(2, 5, WIDTH).bfloat16()
        self.bias = torch.randn(ROWS)

    def test_weights_in_each_order(self):
        for format, layouts in (("nvfp4", ("row_major", "tiles", "fragments")),
                                ("mxfp8", ("fragments",)), ("mxfp6_e3m2", ("row_major",))):
            data, scales = make(format)
            wanted = self.x.float() @ decode(data, scales, format).t() + self.bias
            for layout in layouts:
                with self.subTest(format, layout=layout):
                    packed = OPS.pack(data, scales, out_features=ROWS, in_features=WIDTH,
                                      format=format, before="row_major", after=layout)
                    y = OPS.linear_weight_only(self.x, *packed, None, self.bias,
                                               out_features=ROWS, format=format, layout=layout)
                    torch.testing.assert_close(y.float(), wanted, rtol=2 ** -8, atol=1e-4)
                    back = OPS.pack(*packed, out_features=ROWS, in_features=WIDTH, format=format,
                                    before=layout, after="row_major")
                    self.assertTrue(torch.equal(back[0], data) and torch.equal(back[1], scales))

    def test_global_scales(self):
        """One for the weight, and one for each row, as layers that were joined have."""
        rows = torch.linspace(0.5, 2, ROWS)
        data, scales = make("nvfp4")
        plain = self.x.float() @ decode(data, scales, "nvfp4").t()
        for scale, wanted in ((torch.tensor(0.25), plain * 0.25), (rows, plain * rows)):
            y = OPS.linear_weight_only(self.x, data, scales, scale, None, out_features=ROWS,
                                       format="nvfp4")
            torch.testing.assert_close(y.float(), wanted, rtol=2 ** -8, atol=1e-4)

    def test_both_operands(self):
        """The codes of x are those of quantize."""
        x = self.x.reshape(-1, WIDTH)
        amax = x.abs().max().float()
        for format, scaling in (("nvfp4", "dynamic"), ("nvfp4", "amax"), ("nvfp4", "scale"),
                                ("mxfp4", "none")):
            with self.subTest(format, scaling=scaling):
                scale = None if scaling == "none" else amax / 2688
                given = {"amax": amax, "scale": scale}.get(scaling)
                codes = OPS.quantize(x, scale, format=format)
                data, scales = make(format)
                wanted = decode(*codes, format, scale) @ decode(data, scales, format).t()
                y = OPS.linear_quantized(self.x, data, scales, None, None, given,
                                         out_features=ROWS, format=format, input_format=format,
                                         input_scaling=scaling)
                torch.testing.assert_close(y.float(), wanted.view(2, 5, ROWS), rtol=2 ** -8,
                                           atol=1e-4)

    def test_groups(self):
        """Rows of no group are zeros, and a group may be empty."""
        ends = torch.tensor([3, 3, 8], dtype=torch.int32)
        parts = [make("nvfp4", seed=seed) for seed in range(3)]
        data, scales = (torch.stack(each) for each in zip(*parts))
        scale = torch.tensor([1.0, 2.0, 0.5])
        bias = torch.randn(3, ROWS).bfloat16()
        x = torch.randn(10, WIDTH).bfloat16()
        y = OPS.grouped_linear_weight_only(x, data, scales, scale, bias, ends, out_features=ROWS,
                                           format="nvfp4")
        for start, end, group in ((0, 3, 0), (3, 8, 2)):
            wanted = OPS.linear_weight_only(x[start:end], *parts[group], scale[group],
                                            bias[group], out_features=ROWS, format="nvfp4")
            self.assertTrue(torch.equal(y[start:end], wanted))
        self.assertEqual(y[8:].abs().max(), 0)
        exact = OPS.grouped_linear_quantized(x, data, scales, scale, bias, ends, None,
                                             out_features=ROWS, format="nvfp4",
                                             input_format="nvfp4", input_scaling="none")
        one = OPS.linear_quantized(x[3:8], *parts[2], scale[2], bias[2], None, out_features=ROWS,
                                   format="nvfp4", input_format="nvfp4")
        self.assertTrue(torch.equal(exact[3:8], one))

    def test_a_number_of_groups_that_calls_say(self):
        class Layer(torch.nn.Module):
            def forward(self, x, data, scales, scale, bias, ends):
                return OPS.grouped_linear_weight_only(x, data, scales, scale, bias, ends,
                                                      out_features=ROWS, format="nvfp4")

        def arguments(ends):
            data, scales = (torch.stack(each) for each in zip(
                *(make("nvfp4", seed=seed) for seed in range(len(ends)))))
            return (torch.randn(10, WIDTH).bfloat16(), data, scales, torch.rand(len(ends)),
                    torch.randn(len(ends), ROWS).bfloat16(), torch.tensor(ends, dtype=torch.int32))

        groups = {0: torch.export.Dim("groups")}
        program = torch.export.export(Layer(), arguments([3, 3, 8]),
                                      dynamic_shapes=(None, *[groups] * 5))
        function = blockscale.torch.from_export(program).compile()
        for ends in ([3, 3, 8], [10], [0, 1, 4, 4, 9]):
            given = arguments(ends)
            self.assertTrue(torch.equal(function(*given), Layer()(*given)))

    def test_other_ranks(self):
        data, scales = make("nvfp4")
        options = dict(out_features=ROWS, format="nvfp4")
        y = OPS.linear_weight_only(self.x[0, 0], data, scales, None, None, **options)
        self.assertEqual(tuple(y.shape), (ROWS,))
        all_of_it = OPS.linear_weight_only(self.x, data, scales, None, None, **options)
        self.assertTrue(torch.equal(all_of_it[0, 0], y))
        y = OPS.linear_weight_only(self.x[:0], data, scales, None, None, **options)
        self.assertEqual(tuple(y.shape), (0, 5, ROWS))
        # Strides of another order.
        y = OPS.linear_weight_only(self.x.transpose(0, 1), data, scales, None, None, **options)
        self.assertTrue(torch.equal(y.transpose(0, 1), all_of_it))

    def test_gpus_without_products(self):
        """There weights are dequantized, and PyTorch multiplies: here on the CPU."""
        from blockscale.torch import _library
        x = self.x.reshape(-1, WIDTH)
        data, scales = make("nvfp4")
        scale, bias = torch.linspace(0.5, 2, ROWS), self.bias
        ends = torch.tensor([4, 7], dtype=torch.int32)
        stack = data.expand(2, -1, -1).contiguous(), scales.expand(2, -1, -1).contiguous()
        both = dict(input_format="nvfp4", input_scaling="dynamic")
        calls = [(OPS.linear_weight_only, (x, data, scales, scale, bias), {}),
                 (OPS.linear_quantized, (x, data, scales, scale, bias, None), both),
                 (OPS.grouped_linear_weight_only,
                  (x, *stack, scale[:2].contiguous(), bias.expand(2, -1).contiguous(), ends), {})]
        for op, args, options in calls:
            with self.subTest(op.__name__):
                options = dict(options, out_features=ROWS, format="nvfp4")
                wanted = op(*args, **options)
                with unittest.mock.patch.object(_library, "has_product", lambda *_: False):
                    found = op(*args, **options)
                    with self.assertRaisesRegex(blockscale.ArgumentError, "Hadamard transform"):
                        op(*args, **options, rht=True)
                count = 7 if op is OPS.grouped_linear_weight_only else len(x)
                torch.testing.assert_close(found[:count], wanted[:count], rtol=2 ** -6, atol=0.05)

    def test_threads(self):
        data, scales = make("nvfp4", rows=48)
        xs = [torch.randn(rows, WIDTH).bfloat16() for rows in range(1, 9)]

        def call(x):
            return OPS.linear_weight_only(x, data, scales, None, None, out_features=48,
                                          format="nvfp4")
        wanted = [call(x) for x in xs]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for number, y in enumerate(pool.map(call, xs * 8)):
                self.assertTrue(torch.equal(y, wanted[number % 8]))


class RegistrationTest(unittest.TestCase):
    def test_opcheck(self):
        x = torch.randn(4, WIDTH).bfloat16()
        data, scales = make("nvfp4")
        calls = [
            ("quantize", (x,), dict(format="nvfp4", swizzled=True)),
            ("pack", (data, scales), dict(out_features=ROWS, in_features=WIDTH, format="nvfp4",
                                          before="row_major", after="fragments")),
            ("dequantize", (data, scales), dict(in_features=WIDTH, format="nvfp4",
                                                dtype=torch.bfloat16)),
            ("linear_weight_only", (x, data, scales, None, None),
             dict(out_features=ROWS, format="nvfp4")),
            ("linear_quantized", (x, data, scales, None, None, None),
             dict(out_features=ROWS, format="nvfp4", input_format="nvfp4",
                  input_scaling="dynamic")),
            ("grouped_linear_weight_only",
             (x, data[None], scales[None], None, None, torch.tensor([4], dtype=torch.int32)),
             dict(out_features=ROWS, format="nvfp4")),
            ("quantize_into", (x, *OPS.quantize(x, format="nvfp4")), dict(format="nvfp4")),
        ]
        for name, args, options in calls:
            with self.subTest(name):
                torch.library.opcheck(getattr(OPS, name).default, args, options)

    def test_derivatives(self):
        x = torch.randn(3, 4, WIDTH).bfloat16().requires_grad_()
        bias = torch.zeros(ROWS).bfloat16().requires_grad_()
        data, scales = make("nvfp4")
        scale = torch.tensor(0.5)
        y = OPS.linear_weight_only(x, data, scales, scale, bias, out_features=ROWS, format="nvfp4")
        y.float().square().sum().backward()
        plain = x.detach().requires_grad_()
        weight = decode(data, scales, "nvfp4", scale).bfloat16()
        torch.nn.functional.linear(plain, weight).float().square().sum().backward()
        torch.testing.assert_close(x.grad, plain.grad, rtol=0.05, atol=0.5)
        torch.testing.assert_close(bias.grad, 2 * y.float().sum((0, 1)).bfloat16(), rtol=0.02,
                                   atol=0.1)
        y = OPS.linear_quantized(x, data, scales, None, None, None, out_features=ROWS,
                                 format="nvfp4", input_format="nvfp4")
        with self.assertRaisesRegex(RuntimeError, "no derivative: call the model under"):
            y.sum().backward()

    def test_forward_mode_is_refused(self):
        """By ops with a derivative and without, for each operand that one could be for: PyTorch
        would drop the tangent. Operands without tangents are computed as ever."""
        operands = torch.randn(3, WIDTH), torch.randn(ROWS, WIDTH), torch.zeros(ROWS)
        data, scales = make("mxfp8")
        form = blockscale.get_training_form("mxfp8")
        options = dict(out_features=ROWS, format="mxfp8")
        functions = {
            "linear_weight_only": ((0, 2), lambda x, _, bias: OPS.linear_weight_only(
                x.bfloat16(), data, scales, None, bias, **options)),
            "merged_linear_weight_only": ((0, 2), lambda x, _, bias: OPS.merged_linear_weight_only(
                x.bfloat16(), [data], [scales], [None], [bias],
                **options | {"out_features": [ROWS]})),
            "linear_quantized": ((0, 2), lambda x, _, bias: OPS.linear_quantized(
                x, data, scales, None, bias, None, input_format="mxfp8", **options)),
            "linear": ((0, 1, 2), lambda *given: OPS.linear(*(each.bfloat16() for each in given))),
            "hadamard": ((0,), lambda x, *_: OPS.hadamard(x.bfloat16())),
            "fake_quantize": ((0,), lambda x, *_: blockscale.torch.fake_quantize(
                x, format="mxfp8")),
            "train_linear": ((0, 1, 2), functools.partial(blockscale.torch.train_linear,
                                                          form=form)),
            "rms_norm": ((0,), lambda x, *_: OPS.rms_norm(x)),
        }
        for name, (places, function) in functions.items():
            with self.subTest(name):
                wanted = function(*operands)
                for place in places:
                    def of_one(each, place=place, function=function):
                        return function(*operands[:place], each, *operands[place + 1:])
                    each, tangent = operands[place], torch.ones_like(operands[place])
                    with self.assertRaisesRegex(RuntimeError, f"{name} has no derivative in forw"):
                        torch.func.jvp(of_one, (each,), (tangent,))
                    with (forward_ad.dual_level(),
                          self.assertRaisesRegex(RuntimeError, "without tangents, but got one")):
                        of_one(forward_ad.make_dual(each, tangent))
                with forward_ad.dual_level():
                    self.assertTrue(torch.equal(function(*operands), wanted))

    def test_export_has_the_op(self):
        data, scales = make("mxfp8")

        class Layer(torch.nn.Module):
            def forward(self, x):
                return OPS.linear_weight_only(x, data, scales, None, None, out_features=ROWS,
                                              format="mxfp8").relu()
        x = torch.randn(4, WIDTH).bfloat16()
        program = torch.export.export(Layer(), (x,),
                                      dynamic_shapes=({0: torch.export.Dim("rows")},))
        self.assertIn("blockscale.linear_weight_only", str(program.graph))
        more = torch.randn(9, WIDTH).bfloat16()
        self.assertTrue(torch.equal(program.module()(more), Layer()(more)))


class RefusedTest(unittest.TestCase):
    """Each message has the rule, the expected and the found; fakes refuse as calls do."""

    def test_refused(self):
        x = torch.randn(4, WIDTH).bfloat16()
        data, scales = make("nvfp4")
        ends = torch.tensor([4], dtype=torch.int32)
        one = torch.tensor(1.0)
        linear = dict(out_features=ROWS, format="nvfp4")
        quantized = dict(linear, input_format="nvfp4")
        cases = [
            ("quantize", (x.long(),), dict(format="nvfp4"), "expected x to be float32"),
            ("quantize", (x[0],), dict(format="nvfp4"), "expected x of rank 2 or more"),
            ("quantize", (x,), dict(format="fp4"), "expected format to be one of"),
            ("quantize", (x,), dict(format="nvfp4", recipe="best"), "expected recipe to be one"),
            ("quantize", (x, one), dict(format="mxfp8"), "no global_scale but of nvfp4"),
            ("quantize", (x, one.double()), dict(format="nvfp4"), "global_scale of torch.float32"),
            ("quantize_into", (x.long(), data, scales), dict(format="nvfp4"), "x to be float32"),
            ("quantize_into", (x, data, scales), dict(format="nvfp4"), r"data of shape \[4, 64\]"),
            ("pack", (data, scales), dict(out_features=ROWS, in_features=WIDTH, format="nvfp4",
                                          before="row_major", after="best"), "expected layout"),
            ("pack", (data[1:], scales), dict(out_features=ROWS, in_features=WIDTH,
                                              format="nvfp4", before="row_major", after="tiles"),
             r"data of shape \[96, 64\]"),
            ("dequantize", (data, scales), dict(in_features=64, format="nvfp4",
                                                dtype=torch.float32), "data of shape"),
            *(("dequantize", (*codes, *scale), dict(in_features=columns, format=format,
                                                    dtype=torch.float32), message)
              for codes, scale, columns, format, message in (
                  ((data, scales), [], WIDTH - 1, "nvfp4", "a multiple of 16, but got 127"),
                  ((data[0], scales[0]), [], WIDTH, "nvfp4", r"data of rank 2 or more, .*4"),
                  ((data, scales), [one.double()], WIDTH, "nvfp4", "global_scale of torch.float32"),
                  ((data, scales), [one[None]], WIDTH, "nvfp4", r"global_scale of shape \[96\]"),
                  ((data[None], scales[None]), [torch.ones(ROWS)], WIDTH, "nvfp4",
                   r"global_scale of shape \[1\], but got \[96\]"),
                  (make("mxfp8"), [one], WIDTH, "mxfp8", "no global_scale but of nvfp4"))),
            ("linear_weight_only", (x.float(), data, scales, None, None), linear,
             "expected x to be bfloat16, float16"),
            ("linear_weight_only", (x[:, :120], data, scales, None, None), linear,
             "multiple of 16, but got 120"),
            ("linear_weight_only", (x, data.int(), scales, None, None), linear,
             "data of torch.uint8, but got torch.int32"),
            ("linear_weight_only", (x, data, scales[:, 1:], None, None), linear,
             "scales of shape"),
            ("linear_weight_only", (x, data, scales, one.expand(3), None), linear,
             r"global_scale of shape \[96\], but got \[3\]"),
            ("linear_weight_only", (x, data.t().contiguous().t(), scales, None, None), linear,
             r"a row-major tensor of data, but got strides \[1, 96\]"),
            ("linear_weight_only", (x, data, scales, one.expand(ROWS), None), linear,
             r"a row-major tensor of global_scale, but got strides \[0\]"),
            ("linear_weight_only", (x, data, scales, None, torch.zeros(5)), linear,
             r"bias of shape \[96\], but got \[5\]"),
            ("linear_weight_only", (x, data, scales, None, torch.zeros(ROWS).long()), linear,
             "the dtype of bias"),
            ("linear_weight_only", (x, data, scales, None, None), dict(linear, layout="best"),
             "expected layout to be one of"),
            ("linear_weight_only", (x.half(), data, scales, None, None), dict(linear, rht=True),
             "bfloat16 for the Hadamard"),
            ("linear_weight_only", (x, data, scales, one, None),
             dict(linear, out_features=95), r"data of shape \[95, 64\]"),
            ("linear_quantized", (x, data, scales, None, None, None),
             dict(quantized, input_scaling="best"), "input_scaling to be one of"),
            ("linear_quantized", (x, data, scales, None, None, None),
             dict(quantized, input_scaling="amax"), "'amax' with none"),
            ("linear_quantized", (x, data, scales, None, None, one), quantized,
             "'none' with one"),
            ("grouped_linear_weight_only", (x, data[None], scales[None], None, None, ends.long()),
             linear, "offsets of torch.int32"),
            ("grouped_linear_weight_only", (x[None], data[None], scales[None], None, None, ends),
             linear, "x of rank 2 for groups"),
            ("grouped_linear_weight_only", (x, data[None], scales[None], one.expand(2), None,
                                            ends), linear, r"global_scale of shape \[1\]"),
            ("grouped_linear_weight_only", (x, data, scales, None, None, ends), linear,
             r"data of shape \[1, 96, 64\]"),
        ]
        for name, args, options, message in cases:
            op = getattr(OPS, name)
            with self.subTest(name, message=message):
                with self.assertRaisesRegex(blockscale.ArgumentError, message):
                    op(*args, **options)
                fakes = [torch.empty_strided(each.shape, each.stride(), dtype=each.dtype,
                                             device="meta")
                         if isinstance(each, torch.Tensor) else each for each in args]
                with self.assertRaisesRegex(Exception, message):
                    op(*fakes, **options)

    def test_formats_that_no_product_has_together(self):
        x = torch.randn(4, WIDTH).bfloat16()
        data, scales = make("nvfp4")
        with self.assertRaisesRegex(blockscale.Error, "expected"):
            OPS.linear_quantized(x, data, scales, None, None, None, out_features=ROWS,
                                 format="nvfp4", input_format="mxfp8")
