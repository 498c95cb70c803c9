# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients through frozen weights: of ops, layers, experts and compiled models, beside products of
the values of the codes in f64."""

import copy
import sys
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import blockscale
import blockscale.torch
from blockscale.torch import _gradients
from blockscale.torch._products_kernels import TransposedLinear
from blockscale.torch._regions import Region
from frozen_blocks import RULES, WIDTH, Block, policy
from test_quantize_model import Experts

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))  # Behind the package.

import blockscale_reference as reference

OPS = torch.ops.blockscale
FORMATS = ("nvfp4", "mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "mxint8")
LAYOUTS = ("row_major", "tiles", "fragments")


def draw(*shape):
    """Numbers whose blocks have different scales."""
    return (torch.randn(*shape) * torch.exp2(torch.randint(-3, 4, (*shape[:-1], 1)))
            * torch.exp2(torch.randint(-3, 4, shape[-1:]))).bfloat16()


class Weight:
    """A quantized weight as operands of ops, and its values in f64 without the global scale."""

    def __init__(self, rows, format, scale=None, layout="row_major", width=WIDTH):
        data, scales = OPS.quantize(draw(rows, width) / 8, format=format)
        self.plain = OPS.dequantize(data, scales, in_features=width, format=format,
                                    dtype=torch.float32).double()
        self.data, self.scales = OPS.pack(data, scales, out_features=rows, in_features=width,
                                          format=format, before="row_major", after=layout)
        self.scale = scale
        self.options = dict(out_features=rows, format=format, layout=layout)

    @property
    def values(self):
        if self.scale is None:
            return self.plain
        return self.plain * self.scale.double().reshape(-1, 1)

    @property
    def operands(self):
        return self.data, self.scales, self.scale


class GradientTest(unittest.TestCase):
    def check(self, found, gradient, weight, inner=2 ** -20, outer=2 ** -8):
        """That found is gradient times weight: within the sums in f32, relative to those of
        absolute values, and one rounding."""
        gradient, weight = gradient.double(), weight.double()
        wanted = gradient @ weight
        bound = gradient.abs() @ weight.abs() * inner + wanted.abs() * outer
        self.assertGreater(wanted.abs().max(), 0)
        worst = ((found.double() - wanted).abs() - bound).max()
        self.assertLessEqual(worst, 0)


class OpTest(GradientTest):
    def test_formats_and_orders_in_memory(self):
        """Of N that are whole tiles and that are not, of one row of the weight, of rows of x that
        have several dimensions, and of none."""
        for format in FORMATS:
            for rows, layout, order in ((96, "row_major", "free"), (96, "fragments", "chain"),
                                        (100, "tiles", "free"), (100, "row_major", "chain"),
                                        (70, "fragments", "free"), (1, "row_major", "free")):
                with self.subTest(format, rows=rows, layout=layout, order=order):
                    weight = Weight(rows, format, layout=layout)
                    for shape in ((2, 5), (), (0, 3), (130,)):
                        x = draw(*shape, WIDTH).requires_grad_()
                        y = OPS.linear_weight_only(x, *weight.operands, None, **weight.options,
                                                   order=order)
                        gradient = draw(*y.shape)
                        y.backward(gradient)
                        self.assertEqual(x.grad.shape, x.shape)
                        if x.numel():
                            self.check(x.grad, gradient, weight.values)

    def test_results_can_be_written_into(self):
        """Also where x has more dimensions than the product."""
        weight = Weight(96, "nvfp4")
        for shape in ((5,), (2, 5)):
            x = draw(*shape, WIDTH).requires_grad_()
            gradient = draw(*shape, 96)
            y = OPS.linear_weight_only(x, *weight.operands, None, **weight.options)
            y += 1
            y[0] *= 2
            y.backward(gradient)
            gradient[0] *= 2
            self.check(x.grad, gradient, weight.values)

    def test_half(self):
        weight = Weight(96, "nvfp4", torch.tensor(0.3))
        x = torch.randn(5, WIDTH).half().requires_grad_()
        y = OPS.linear_weight_only(x, *weight.operands, None, **weight.options)
        gradient = torch.randn(5, 96).half()
        y.backward(gradient)
        self.assertEqual(x.grad.dtype, torch.float16)
        self.check(x.grad, gradient, weight.values, outer=2 ** -11)

    def test_global_scales(self):
        """One number costs nothing, also where each row has it; other numbers are in the rows,
        which are rounded."""
        for scale, inner in ((torch.tensor(0.3), 2 ** -20), (torch.full((96,), 0.3), 2 ** -20),
                             (torch.linspace(0.5, 2, 96), 2 ** -8),
                             (torch.linspace(-2, 0, 96), 2 ** -8)):
            with self.subTest(scale=scale.reshape(-1)[:2]):
                weight = Weight(96, "nvfp4", scale)
                x = draw(7, WIDTH).requires_grad_()
                gradient = draw(7, 96)
                OPS.linear_weight_only(x, *weight.operands, None, **weight.options).backward(
                    gradient)
                self.check(x.grad, gradient, weight.values, inner)
        weight = Weight(96, "nvfp4", torch.zeros(96))
        OPS.linear_weight_only(x, *weight.operands, None, **weight.options).backward(gradient)

    def test_bits_of_order_chain(self):
        """Of all rows and of each alone those of the law, along N; the global scale multiplies the
        sum, as in the layer. Free order has other bits."""
        law = reference.tensor_core_sum("hopper", "mma.sync", "bf16")
        for scale in (None, torch.tensor(0.3)):
            weight = Weight(1104, "nvfp4", scale)
            x = draw(5, WIDTH).requires_grad_()
            gradient = draw(5, 1104)
            # The second half takes the first one away, so that only roundings remain.
            weight.plain[552:] = weight.plain[:552]
            weight.data[552:], weight.scales[552:] = weight.data[:552], weight.scales[:552]
            gradient[:, 552:] = -gradient[:, :552]
            sums = torch.from_numpy(reference.multiply_on_tensor_cores(
                law, np.asarray(gradient.float())[:, None],
                np.asarray(weight.plain.float().t())[None], ("bf16", "bf16")))
            wanted = (sums if scale is None else sums * scale).bfloat16()

            def differentiate(order, rows):
                y = OPS.linear_weight_only(x[rows], *weight.operands, None, **weight.options,
                                           order=order)
                return torch.autograd.grad(y, x, gradient[rows])[0][rows]
            self.assertGreater(wanted.abs().max(), 0)
            self.assertTrue(torch.equal(differentiate("chain", slice(None)), wanted))
            for row in range(5):
                self.assertTrue(torch.equal(differentiate("chain", slice(row, row + 1))[0],
                                            wanted[row]))
            self.assertFalse(torch.equal(differentiate("free", slice(None)), wanted))

    def test_behind_the_hadamard_transform(self):
        """The transpose of the transform is behind the product; both results are rounded."""
        turn = torch.from_numpy(reference.hadamard(np.eye(16))).double()
        turns = torch.block_diag(*[turn] * (WIDTH // 16))
        self.assertFalse(torch.equal(turn, turn.t()))
        for scale in (None, torch.tensor(0.3)):
            weight = Weight(96, "nvfp4", scale)
            x = draw(9, WIDTH).requires_grad_()
            gradient = draw(9, 96)
            OPS.linear_weight_only(x, *weight.operands, None, **weight.options,
                                   rht=True).backward(gradient)
            product = gradient.double() @ weight.values
            wanted = product @ turns.t()
            bound = (product.abs() @ turns.abs() * 2 ** -8 + wanted.abs() * 2 ** -8)
            self.assertLessEqual(((x.grad.double() - wanted).abs() - bound).max(), 0)

    def test_biases(self):
        weight = Weight(96, "mxfp8")
        for dtype in (torch.float32, torch.bfloat16):
            bias = torch.randn(96, dtype=dtype).requires_grad_()
            x = draw(2, 300, WIDTH)
            y = OPS.linear_weight_only(x, *weight.operands, bias, **weight.options)
            gradient = draw(2, 300, 96)
            y.backward(gradient)
            self.assertEqual(bias.grad.dtype, dtype)
            self.check(bias.grad[None], torch.ones(1, 600), gradient.reshape(600, 96))

    def test_merged(self):
        """The sum of the weights' gradients, in f32 and rounded once, of weights that lie behind
        one another and that do not."""
        weights = [Weight(rows, "nvfp4", torch.full((rows,), scale))
                   for rows, scale in ((128, 0.3), (256, 2.0), (128, 0.7))]
        sizes = [128, 256, 128]
        apart = [list(each) for each in zip(*(weight.operands for weight in weights))]
        together = [list(torch.cat(each).split(sizes)) for each in apart]
        options = dict(weights[0].options, out_features=sizes)
        gradient, found = draw(6, 512), []
        for operands in (apart, together):
            x = draw(6, WIDTH).requires_grad_()
            biases = [torch.zeros(rows).requires_grad_(rows == 256) for rows in sizes]
            y = OPS.merged_linear_weight_only(x, *operands, biases, **options)
            y.backward(gradient)
            self.check(x.grad, gradient, torch.cat([weight.values for weight in weights]))
            self.check(biases[1].grad[None], torch.ones(1, 6), gradient[:, 128:384])
            self.assertEqual([each.grad is None for each in biases], [True, False, True])
            found.append(x.grad)
        self.assertTrue(torch.equal(*found))

    def test_groups(self):
        """Random ragged groups, with empty ones, and rows behind the last one, which have
        gradients of zero whatever the gradient of the result is there."""
        random = np.random.default_rng(0)
        for format, scaled, order in (("nvfp4", True, "free"), ("nvfp4", False, "chain"),
                                      ("mxfp4", False, "free"), ("mxfp8", False, "chain")):
            for rows in (96, 100):
                weights = [Weight(rows, format, torch.rand(()) + 0.5 if scaled else None)
                           for _ in range(6)]
                data, scales = (torch.stack([getattr(each, name) for each in weights])
                                for name in ("data", "scales"))
                scale = torch.stack([each.scale for each in weights]) if scaled else None
                for _ in range(3):
                    ends = np.sort(random.integers(0, 40, 6)).tolist()
                    ends[1] = ends[0]
                    with self.subTest(format, ends=ends, order=order, rows=rows):
                        x, gradient = draw(44, WIDTH).requires_grad_(), draw(44, rows)
                        gradient[ends[-1]:] = torch.nan
                        bias = torch.randn(6, rows).requires_grad_()
                        y = OPS.grouped_linear_weight_only(
                            x, data, scales, scale, bias, torch.tensor(ends, dtype=torch.int32),
                            out_features=rows, format=format, order=order)
                        y.backward(gradient)
                        of_bias, bias.grad = bias.grad, None
                        of_x, x.grad = x.grad, None
                        self.assertEqual(of_x[ends[-1]:].abs().sum(), 0)
                        for weight, start, end, group in zip(weights, [0, *ends], ends, range(6)):
                            part = gradient[start:end]
                            if end > start:
                                self.check(of_x[start:end], part, weight.values)
                                self.check(of_bias[group][None], torch.ones(1, end - start), part)
                            else:
                                self.assertEqual(of_bias[group].abs().sum(), 0)
                        found = OPS.transposed_grouped_linear_weight_only(
                            gradient, data, scales, scale, torch.tensor(ends, dtype=torch.int32),
                            in_features=WIDTH, format=format, order=order)
                        self.assertTrue(torch.equal(found, of_x))

    def test_values_are_those_of_the_forward_product(self):
        """Rows of the unit matrix give rows of the weight backward, and its columns forward."""
        for format in FORMATS:
            weight = Weight(96, format)
            x = torch.eye(WIDTH).bfloat16().requires_grad_()
            y = OPS.linear_weight_only(x, *weight.operands, None, **weight.options)
            rows = OPS.transposed_linear_weight_only(
                torch.eye(96).bfloat16(), [weight.data], [weight.scales], [None],
                in_features=WIDTH, out_features=[96], format=format)
            self.assertTrue(torch.equal(rows, y.t()))
            self.assertTrue(torch.equal(rows.double(), weight.plain))

    def test_global_scales_multiply_sums(self):
        """In f32, before the only rounding."""
        scale, gradient = torch.tensor(0.37), draw(7, 96)
        weight = Weight(96, "nvfp4", scale)
        product = TransposedLinear((96, WIDTH), torch.bfloat16, torch.float32, "nvfp4",
                                   "row_major", None, "free")
        sums, = product.get(gradient.device)([gradient, weight.data, weight.scales])
        found = OPS.transposed_linear_weight_only(
            gradient, [weight.data], [weight.scales], [scale], in_features=WIDTH,
            out_features=[96], format="nvfp4")
        self.assertTrue(torch.equal(found, (sums * scale).bfloat16()))

    def test_gpus_without_products(self):
        """There weights are dequantized, and PyTorch multiplies: here on the CPU."""
        weights = [Weight(96, "nvfp4", torch.rand(()) + 0.5) for _ in range(3)]
        data, scales, scale = (torch.stack(each)
                               for each in zip(*(weight.operands for weight in weights)))
        ends = torch.tensor([4, 4, 7], dtype=torch.int32)
        gradient = draw(9, 96)
        options = dict(in_features=WIDTH, format="nvfp4")
        with unittest.mock.patch.object(_gradients, "has_product", lambda *_: False):
            dense = OPS.transposed_linear_weight_only(gradient, *([each] for each in
                                                                  weights[0].operands),
                                                      out_features=[96], **options)
            grouped = OPS.transposed_grouped_linear_weight_only(gradient, data, scales, scale,
                                                                ends, **options)
        self.check(dense, gradient, weights[0].values)
        self.check(grouped[:4], gradient[:4], weights[0].values, outer=2 ** -7)
        self.check(grouped[4:7], gradient[4:7], weights[2].values, outer=2 ** -7)
        self.assertEqual(grouped[7:].abs().sum(), 0)

    def test_gradcheck(self):
        """Of numbers whose products are exact in bf16: first and second derivatives."""
        codes = torch.randint(0, 16, (32, 16), dtype=torch.uint8)
        data = codes[:, ::2] | codes[:, 1::2] << 4  # E2M1 of 16 elements a row: 16 x 32, K = 16.
        few = torch.zeros_like(data)
        few[range(32), torch.arange(32) % 8] = 0xA2  # -1.0 and 1.0 in neighbours.
        scales = torch.full((32, 1), 0x38, dtype=torch.uint8)  # 1.0
        x = torch.zeros(2, 16, dtype=torch.float64)
        x[:, ::5] = torch.randint(-2, 3, (2, 4)).double()
        options = dict(out_features=32, format="nvfp4")
        ends = torch.tensor([1, 1, 2], dtype=torch.int32)
        stack = [each.expand(3, -1, -1).contiguous() for each in (data, scales)]
        bias = torch.randint(-2, 3, (32,)).double()

        def dense(x, bias):
            return OPS.linear_weight_only(x.bfloat16(), data, scales, None, bias.bfloat16(),
                                          **options).double()

        def merged(x, bias):
            parts = [part.contiguous() for part in bias.bfloat16().split(16)]
            return OPS.merged_linear_weight_only(
                x.bfloat16(), list(data.split(16)), list(scales.split(16)), [None] * 2, parts,
                out_features=[16, 16], format="nvfp4").double()

        def grouped(x, bias):
            return OPS.grouped_linear_weight_only(
                x.bfloat16(), *stack, None, bias.bfloat16().expand(3, -1).contiguous(), ends,
                **options).double()

        def mixed(x, bias):
            # A transform of multiples of 4 is exact, too; rows of the weight have one element.
            return OPS.linear_weight_only(4 * x.bfloat16(), few, scales, None, bias.bfloat16(),
                                          **options, rht=True).double()
        for function in (dense, merged, grouped, mixed):
            with self.subTest(function.__name__):
                leaves = [each.clone().requires_grad_() for each in (x, bias)]
                options_of_check = dict(eps=1.0, atol=1e-6, rtol=0)
                self.assertTrue(torch.autograd.gradcheck(function, leaves, **options_of_check))
                self.assertTrue(torch.autograd.gradgradcheck(
                    lambda x, f=function: f(x, bias), leaves[:1],
                    grad_outputs=[torch.randint(-1, 2, (2, 32)).double().requires_grad_()],
                    **options_of_check))

    def test_second_derivatives_under_a_global_scale(self):
        """Of one number, as layers have it, or of one for each row."""
        x = draw(3, WIDTH)
        for scale in (torch.tensor(0.5), torch.full((96,), 0.5)):
            with self.subTest(scale.dim()):
                weight = Weight(96, "nvfp4", scale)
                rows, factor = x.clone().requires_grad_(), draw(3, 96).requires_grad_()
                y = OPS.linear_weight_only(rows, *weight.operands, None, **weight.options)
                first, = torch.autograd.grad(y, rows, factor, create_graph=True)
                second, = torch.autograd.grad(first, factor, x)
                self.assertTrue(torch.equal(second, y.detach()))

    def test_opcheck(self):
        weight = Weight(96, "nvfp4", torch.tensor(0.5))
        stack = [each[None].contiguous() for each in weight.operands]
        lists = [[each, each.clone()] for each in weight.operands]
        ends = torch.tensor([3], dtype=torch.int32)
        x, rows = draw(4, WIDTH).requires_grad_(), draw(4, 96).requires_grad_()
        both = draw(4, 192).requires_grad_()
        options = dict(weight.options)
        back = dict(format="nvfp4", in_features=WIDTH)
        for name, args, given in (
                ("linear_weight_only", (x, *weight.operands, None), options),
                ("merged_linear_weight_only", (x, *lists, [None, None]),
                 dict(options, out_features=[96, 96])),
                ("grouped_linear_weight_only", (x, *stack, None, ends), options),
                ("transposed_linear_weight_only", (both, *lists),
                 dict(back, out_features=[96, 96])),
                ("transposed_grouped_linear_weight_only", (rows, *stack, ends), back)):
            with self.subTest(name):
                torch.library.opcheck(getattr(OPS, name).default, args, given)

    def test_refused(self):
        weight = Weight(96, "nvfp4", torch.tensor(0.5).requires_grad_())
        operands = [each.detach() for each in weight.operands]
        x = draw(4, WIDTH)
        lists = [[each] for each in operands]
        ends = torch.tensor([3], dtype=torch.int32)
        stack = [each[None].contiguous() for each in operands]
        back = dict(format="nvfp4", in_features=WIDTH)

        def transpose(rows, **options):
            return OPS.transposed_linear_weight_only(
                rows, *lists, **{**back, "out_features": [96], **options})

        def merge(global_scales, biases):
            return OPS.merged_linear_weight_only(
                x, lists[0] * 2, lists[1] * 2, global_scales, biases, out_features=[96, 96],
                format="nvfp4")
        y = OPS.linear_weight_only(x, *weight.operands, None, **weight.options)
        with self.assertRaisesRegex(RuntimeError, "no derivative of global_scale: weights are"):
            y.sum().backward()
        for call, message in (
                (lambda: transpose(draw(4, 96).float()), "x to be bfloat16, float16"),
                (lambda: transpose(draw(4, 97)), "rows of 96 elements, but got 97"),
                (lambda: merge([operands[2], None], [None, None]),
                 r"global_scale of each weight or of none, but got \[\[\], None\]"),
                (lambda: merge([None, None], [None, draw(96)]),
                 r"bias of each weight or of none, but got \[None, \[96\]\]"),
                (lambda: transpose(draw(4, 96), in_features=64), r"data of shape \[96, 32\]"),
                (lambda: transpose(draw(4, 96), layout="tiles"), "scales of shape"),
                (lambda: OPS.transposed_grouped_linear_weight_only(
                    draw(4, 96), *stack, ends.long(), **back), "offsets of torch.int32"),
                (lambda: OPS.transposed_grouped_linear_weight_only(
                    draw(4, 96), *stack, ends.repeat(2), **back), r"offsets of shape \[1\]")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                call()


# Layers and models.


class Model(nn.Module):
    """A block, and experts with a router that is trained."""

    def __init__(self, is_transposed):
        super().__init__()
        self.router = nn.Parameter(torch.randn(5, WIDTH) / 8)
        self.experts = Experts(5, WIDTH, 64, True, is_transposed)

    def forward(self, x):
        # The same experts in each type.
        chances, index = torch.softmax(F.linear(x.double(), self.router.double()), -1).topk(2)
        index = index.clone()
        index[0] = 5  # Of no expert.
        return x + self.experts(x, index, chances.to(x.dtype))


def dequantize(model, plain):
    """Gives a plain f64 model the values of a quantized one."""
    for name, module in model.named_modules():
        if isinstance(module, (blockscale.torch.QuantizedLinear, blockscale.torch.QuantizedStack)):
            owner, _, member = name.rpartition(".")
            target = plain.get_submodule(owner)
            weight = module.weight.dequantize(torch.float32).double()
            if module.is_stack:
                if target.is_transposed:
                    weight = weight.transpose(1, 2)
                getattr(target, member).data = weight
            else:
                getattr(target, member).weight.data = weight
    return plain


def differentiate(model, x, **options):
    """The gradients of x and of the parameters that have some."""
    x = x.detach().clone().requires_grad_()
    model.zero_grad()
    y = model(x, **options)
    weights = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).reshape(y.shape)
    (y.double() * weights).sum().backward()
    found = {name.removeprefix("_orig_mod."): each.grad.clone()
             for name, each in model.named_parameters() if each.grad is not None}
    return {"x": x.grad, **found}


class LayerTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)

    def compare(self, found, wanted, bound):
        for name, gradient in found.items():
            # The sum of a softmax's gradients is 0: that of the bias of keys is rounding.
            if name != "k.bias":
                error = (gradient.double() - wanted[name].double()).norm() / wanted[name].norm()
                self.assertLess(error, bound, name)

    def make(self, rule, **options):
        plain = Block()
        model = copy.deepcopy(plain).bfloat16()
        plain.load_state_dict({name: each.double()
                               for name, each in model.state_dict().items()})
        blockscale.torch.quantize_(model, policy(rule), **options)
        for bias in (model.q.bias, model.k.bias, model.out.bias):
            bias.requires_grad_()
        return model, dequantize(model, plain.double())

    def test_a_block(self):
        for rule in RULES:
            with self.subTest(rule):
                model, plain = self.make(rule)
                x = torch.randn(2, 9, WIDTH).bfloat16()
                found = differentiate(model, x)
                self.assertEqual(set(found), {"x", "norms.0.weight", "norms.1.weight", "q.bias",
                                              "k.bias", "out.bias"})
                self.compare(found, differentiate(plain, x.double()), 0.02)

    def test_behind_the_hadamard_transform(self):
        """Beside the plain weight that the layer multiplies in effect."""
        plain = nn.Sequential(nn.Linear(WIDTH, 96)).bfloat16()
        model = copy.deepcopy(plain)
        blockscale.torch.quantize_(model, policy({"format": "nvfp4", "weight_only": True,
                                                  "rht": True}))
        x = torch.randn(9, WIDTH).bfloat16()
        turn = torch.from_numpy(reference.hadamard(np.eye(16))).double()
        turns = torch.block_diag(*[turn] * (WIDTH // 16))
        plain.double()[0].weight.data = (
            model[0].weight.dequantize(torch.float32).double() @ turns.t())
        self.compare(differentiate(model, x), differentiate(plain, x.double()), 0.01)

    def test_experts(self):
        """Routers and activations of experts in both orders, with tokens of no expert."""
        for rule in RULES:
            for is_transposed in (False, True):
                with self.subTest(rule, is_transposed=is_transposed):
                    model = Model(is_transposed).bfloat16()
                    plain = copy.deepcopy(model).double()
                    blockscale.torch.quantize_(model, policy(rule))
                    x = torch.randn(11, WIDTH).bfloat16()
                    found = differentiate(model, x)
                    self.assertIn("router", found)
                    self.compare(found, differentiate(dequantize(model, plain), x.double()), 0.03)

    def test_autocast_and_casts(self):
        """Activations of f32 have gradients of f32."""
        for rule, is_cast in ((RULES[0], False), ({**RULES[1], "cast": "bf16"}, True)):
            plain = nn.Sequential(nn.Linear(WIDTH, 96), nn.GELU(), nn.Linear(96, 32))
            model = copy.deepcopy(plain) if is_cast else copy.deepcopy(plain).bfloat16()
            blockscale.torch.quantize_(model, policy(rule))
            dequantize(model, plain.double())
            x = torch.randn(9, WIDTH)
            with torch.autocast("cpu", torch.bfloat16, enabled=not is_cast):
                found = differentiate(model, x)
            self.assertEqual(found["x"].dtype, torch.float32)
            self.compare(found, differentiate(plain, x.double()), 0.02)

    def test_gradient_checkpointing(self):
        """The same bits."""
        model, _ = self.make(RULES[0])
        x = torch.randn(2, 9, WIDTH).bfloat16()
        wanted = differentiate(model, x)
        for reentrant in (False, True):
            found = differentiate(_Checkpointed(model, reentrant), x)
            for name, gradient in found.items():
                self.assertTrue(torch.equal(gradient, wanted[name.removeprefix("model.")]), name)

    def test_compiled(self):
        """The backend makes regions and merged products of the graphs that autograd has made, and
        gradients are those of the layers one by one: the same bits if all other ops run one by
        one."""
        for rule in RULES:
            for shape in ((2, 5), (3, 20)):
                with self.subTest(rule, shape=shape):
                    torch._dynamo.reset()
                    model, plain = self.make(rule)
                    x = torch.randn(*shape, WIDTH).bfloat16()
                    wanted = differentiate(model, x)
                    compiled = torch.compile(model, backend="blockscale", fullgraph=True,
                                             options={"rest": "eager"})
                    found = differentiate(compiled, x)
                    self.assertEqual(set(found), set(wanted))
                    self.compare(found, differentiate(plain, x.double()), 0.02)
                    self.compare(found, wanted, 0.01)

    def test_compiled_by_inductor(self):
        """A whole step, with any number of rows, and with checkpoints."""
        model, plain = self.make(RULES[0])
        for backend, module in (("blockscale", model), ("inductor", model),
                                ("blockscale", _Checkpointed(model, False))):
            torch._dynamo.reset()
            compiled = torch.compile(module, backend=backend, fullgraph=True, dynamic=True)
            for shape in ((2, 9), (3, 20)):
                with self.subTest(backend, shape=shape):
                    x = torch.randn(*shape, WIDTH).bfloat16()
                    found = {name.removeprefix("model."): each
                             for name, each in differentiate(compiled, x).items()}
                    self.compare(found, differentiate(plain, x.double()), 0.02)

    def test_merged_products_in_training_graphs(self):
        """Layers of which a backward pass reads the results stay apart, since their parts of one
        product would have other strides than the pass expects; those that it does not read
        become one product."""
        model, _ = self.make(RULES[0])
        x = torch.randn(2, 9, WIDTH).bfloat16().requires_grad_()
        explanation, = blockscale.torch.explain(model, x)
        self.assertEqual(explanation.taken, [])
        self.assertEqual(explanation.left["linear_weight_only"],
                         "expected results that no backward pass reads, but got linear_weight_only")
        with torch.no_grad():
            explanation, = blockscale.torch.explain(model, x)
        self.assertIn("one product", [kind for kind, _ in explanation.taken])

        def forward(x):
            # Of an activation like this one the result is read.
            return torch.cat([model.q(x), model.k(x).relu(), model.v(x)], -1)
        explanation, = blockscale.torch.explain(forward, x)
        self.assertEqual(explanation.taken, [("one product", (
            "linear_weight_only", "linear_weight_only_1", "linear_weight_only_2"))])

    def test_regions(self):
        """A region that autograd meets is differentiated by its ops."""
        compute = Region.__call__
        for rule in (RULES[0], RULES[2]):
            model = nn.Sequential(nn.RMSNorm(WIDTH), nn.Linear(WIDTH, 96), nn.SiLU()).bfloat16()
            blockscale.torch.quantize_(model, policy(rule))
            x = torch.randn(5, WIDTH).bfloat16()
            torch._dynamo.reset()
            calls = []

            def call(region, given, calls=calls):
                calls.append((region.text, list(given)))
                return compute(region, given)
            with torch.no_grad(), unittest.mock.patch.object(Region, "__call__", call):
                wanted = torch.compile(model, backend="blockscale",
                                       options={"rest": "eager"})(x)
            (text, given), = calls
            given = [each.clone().requires_grad_() if each.dtype == torch.bfloat16 else each
                     for each in given]
            made, = OPS.region(given, text)
            # A rounding behind the region is in none.
            self.assertTrue(torch.equal(made.to(wanted.dtype), wanted))
            gradient = draw(5, 96).to(made.dtype)
            rows, = [each for each in given if each.shape == x.shape]
            found, = torch.autograd.grad(made, rows, gradient)
            # The norm is in a region where sums have an order.
            part = model if "aten.pow" in text else model[1:]
            wanted, = torch.autograd.grad(part(rows), rows, gradient.bfloat16())
            self.compare({"x": found}, {"x": wanted}, 0.01)
            made, = OPS.region(given, text)
            with self.assertRaisesRegex(RuntimeError, "no second derivative"):
                torch.autograd.grad(made, rows, gradient, create_graph=True)

    def test_layers_that_quantize_activations_are_refused(self):
        """One by one and compiled."""
        model = nn.Sequential(nn.Linear(WIDTH, 96), nn.SiLU()).bfloat16()
        blockscale.torch.quantize_(model, policy({"format": "mxfp8"}))
        x = torch.randn(5, WIDTH).bfloat16().requires_grad_()
        compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
        for each in (model, compiled):
            with self.assertRaisesRegex(RuntimeError, "has no derivative: call the model under "
                                                      "torch.no_grad"):
                each(x).float().sum().backward()


class _Checkpointed(nn.Module):
    def __init__(self, model, reentrant):
        super().__init__()
        self.model, self.reentrant = model, reentrant

    def forward(self, x):
        return checkpoint(self.model, x, use_reentrant=self.reentrant)


if __name__ == "__main__":
    unittest.main()
