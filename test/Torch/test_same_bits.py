# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of order chain in PyTorch: their bits are those of the numpy reference's tensor cores,
for a row alone and in any company, through layers, experts, exports and compiled graphs."""

import copy
import io
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import blockscale
import blockscale.torch
from blockscale.torch import _library
from test_checkpoint import save_file

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "python"), str(ROOT / "scripts/gpu")]  # Behind the package.

import blockscale_reference as reference
from check_same_bits import EXACT, join_layers, through

OPS = torch.ops.blockscale
WIDTH, ROWS = 1088, 96
LAW = reference.tensor_core_sum("hopper", "mma.sync", "bf16")


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def policy(*rules):
    return {"version": 1, "leave_last_projection": False, "rules": list(rules)}


def multiply(x, weight, bias=None):
    """Rows of bf16 times a weight [N, K] of bf16, as Hopper adds, rounded once to bf16."""
    a, b = (np.asarray(each.detach().float()) for each in (x.reshape(-1, x.shape[-1]), weight))
    sums = torch.from_numpy(reference.multiply_on_tensor_cores(
        LAW, a[:, None], b[None], ("bf16", "bf16")))
    if bias is not None:
        sums = sums + bias.float()
    return sums.bfloat16().reshape(*x.shape[:-1], -1)


RULES = (
    {"format": "mxfp8", "weight_only": True},
    {"format": "nvfp4", "weight_only": True, "global_scale": "none"},
    {"format": "nvfp4", "weight_only": True, "global_scale": EXACT},
    {"format": "mxfp8"},
    {"format": "nvfp4", "global_scale": EXACT},
)


def draw(rows, width, sign=-1):
    """Numbers of many exponents. The second half is the first one times a sign, so that the sums
    of rows that differ in the sign cancel, and only what was rounded on the way remains."""
    half = torch.randn(rows, width // 2) * torch.exp2(torch.randn(rows, width // 2) * 2)
    return torch.cat([half, sign * half], -1).bfloat16()


def make(rule, bias=True, width=WIDTH, **options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(width, ROWS, bias=bias)).bfloat16().eval()
    model[0].weight.copy_(draw(ROWS, width, 1) / 16)
    if bias:
        model[0].bias.mul_(2.0 ** -20)
    blockscale.torch.quantize_(model, policy(rule), **options)
    return model


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = (nn.Linear(256, 384, bias=False) for _ in range(2))
        self.down = nn.Linear(384, 256, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def make_gated(rule, **options):
    torch.manual_seed(1)
    model = Gated().bfloat16().eval()
    for layer in model.children():
        layer.weight.copy_(draw(*layer.weight.shape, 1) / 16)
    blockscale.torch.quantize_(model, policy(rule), **options)
    return model


class LayerTest(unittest.TestCase):
    def test_bits_are_those_of_the_law(self):
        """Of all rows at once, and of each one alone. Free order has other bits, but where sums of
        two operands of FP4 are exact."""
        x = draw(5, WIDTH)
        for rule in RULES:
            with self.subTest(rule):
                layer = make(rule, order="chain")[0]
                wanted = multiply(through(layer, x), layer.weight.dequantize(), layer.bias)
                self.assertTrue(torch.equal(layer(x), wanted))
                self.assertTrue(torch.equal(torch.cat([layer(x[i:i + 1]) for i in range(5)]),
                                            wanted))
                if rule["format"] == "mxfp8" or "weight_only" in rule:
                    self.assertFalse(torch.equal(make(rule)[0](x), wanted))

    def test_a_row_in_company(self):
        """At any place in batches of any size and shape."""
        random = np.random.default_rng(0)
        row = draw(1, WIDTH)
        for rule in (RULES[0], RULES[3]):
            layer = make(rule, order="chain")[0]
            wanted = layer(row)[0]
            for count in (2, 17, 64, 130):
                x = draw(count, WIDTH)
                places = random.choice(count, 2, replace=False)
                x[places] = row
                y = layer(x.view(2, -1, WIDTH) if count % 2 == 0 else x).reshape(count, ROWS)
                for place in places:
                    with self.subTest(rule, count=count, place=place):
                        self.assertTrue(torch.equal(y[place], wanted))

    def test_half(self):
        """f16 beside NVFP4 weights."""
        layer = make(RULES[1], bias=False, order="chain").half()[0]
        x = (draw(4, WIDTH) / 64).half()
        law = reference.tensor_core_sum("hopper", "mma.sync", "f16")
        a, b = (np.asarray(each.float()) for each in (x, layer.weight.dequantize()))
        sums = reference.multiply_on_tensor_cores(law, a[:, None], b[None], ("f16", "f16"))
        self.assertTrue(torch.equal(layer(x), torch.from_numpy(sums).half()))

    def test_the_order_of_a_rule(self):
        """It is kept by copies, files and state dicts, which other orders refuse; the argument goes
        before it."""
        rule = dict(RULES[0], order="chain")
        x = draw(3, WIDTH)
        model = make(rule)
        wanted = model(x)
        self.assertIn("order chain", repr(model[0]))
        self.assertTrue(torch.equal(copy.deepcopy(model)(x), wanted))
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        self.assertTrue(torch.equal(torch.load(file, weights_only=False)(x), wanted))
        fresh = make(RULES[0], order="chain")
        fresh.load_state_dict(model.state_dict())
        self.assertTrue(torch.equal(fresh(x), wanted))
        free = make(rule, order="free")
        self.assertEqual(free[0].form.order, "free")
        for one, other, found in ((free, model, "chain"), (model, free, "none")):
            with self.assertRaisesRegex(RuntimeError, "expected order .* as the layer has it, but "
                                                      f"got order {found}"):
                one.load_state_dict(other.state_dict())

    def test_few_rows(self):
        """Rules by rows have one order, or leave the layer."""
        few = {"match": {"m": {"max": 4}}, "format": "mxfp8", "weight_only": True}
        for orders in (("chain", "chain"), ("chain", "free")):
            model = nn.Sequential(nn.Linear(WIDTH, ROWS)).bfloat16().eval()
            summary = blockscale.torch.quantize_(model, policy(
                dict(few, order=orders[0]), {"format": "mxfp8", "order": orders[1]}))
            with self.subTest(orders):
                if orders[0] == orders[1]:
                    layer, x = model[0], draw(6, WIDTH)
                    weight = layer.weight.dequantize()
                    self.assertTrue(torch.equal(layer(x[:4]), multiply(x[:4], weight, layer.bias)))
                    self.assertTrue(torch.equal(
                        layer(x), multiply(through(layer, x), weight, layer.bias)))
                else:
                    self.assertIn("order chain up to M = 4, then mxfp8",
                                  summary.left[0].reason)


class ExpertsTest(unittest.TestCase):
    def test_groups(self):
        """Of 0, 1 and more rows; rows of a group have the bits of a layer of its matrix."""
        for rule in (RULES[0], RULES[3]):
            layers = [make(rule, order="chain")[0] for _ in range(4)]
            for number, layer in enumerate(layers):
                layer.data = layer.data.roll(number, 0)
            stack = join_layers(layers)
            x = draw(9, WIDTH)
            for ends in ([1, 1, 6, 9], [0, 5, 6, 7], [9, 9, 9, 9]):
                with self.subTest(rule, ends=ends):
                    y = stack(x, torch.tensor(ends, dtype=torch.int32))
                    for layer, start, end in zip(layers, [0, *ends], ends):
                        self.assertTrue(torch.equal(y[start:end], layer(x[start:end])))

    def test_a_checkpoint(self):
        """Files say no order; who loads them does."""
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(WIDTH, ROWS, bias=False)).bfloat16().eval()
        data, scales = OPS.quantize(draw(ROWS, WIDTH), format="mxfp8")
        with tempfile.TemporaryDirectory() as folder:
            save_file({"0.weight": data.view(torch.float8_e4m3fn), "0.weight_scale": scales},
                      Path(folder) / "model.safetensors")
            blockscale.torch.load_quantized_(model, folder, weight_only=True, order="chain")
        x = draw(3, WIDTH)
        self.assertEqual(model[0].form.order, "chain")
        self.assertTrue(torch.equal(model(x), multiply(x, model[0].weight.dequantize())))


class GraphTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def test_exported(self):
        for rule in (RULES[0], RULES[3]):
            model, x = make_gated(rule, order="chain"), draw(7, 256)
            rows = torch.export.Dim("rows")
            program = torch.export.export(model, (x,), dynamic_shapes=({0: rows},))
            imported = blockscale.torch.from_export(program)
            with self.subTest(rule):
                self.assertEqual(str(imported.module).count("order chain"), 3)
                function = imported.compile()
                wanted = model(x)
                self.assertTrue(torch.equal(function(x), wanted))
                self.assertTrue(torch.equal(function(x[3:4]), wanted[3:4]))
                free = make_gated(rule)(x)
                self.assertFalse(torch.equal(wanted, free))

    def test_compiled(self):
        """Regions, pairs and merged products have the bits of the layers one by one."""
        for rule in (RULES[0], RULES[2], RULES[3]):
            model, x = make_gated(rule, order="chain"), draw(40, 256)
            wanted = model(x)
            compiled = torch.compile(model, backend="blockscale", dynamic=True,
                                     options={"rest": "eager"})
            for start, end in ((0, 40), (0, 17), (11, 12), (11, 14)):
                with self.subTest(rule, rows=(start, end)):
                    self.assertTrue(torch.equal(compiled(x[start:end]), wanted[start:end]))

    def test_sums_of_others_are_named(self):
        """Products and reductions of PyTorch, only where layers are of order chain."""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.up = nn.Linear(256, ROWS, bias=False)

            def forward(self, x):
                y = self.up(x)
                return torch.softmax(y @ y.T, -1) @ x

        for order, count in (("chain", 3), ("free", 0)):
            torch._dynamo.reset()
            model = Model().bfloat16().eval()
            blockscale.torch.quantize_(model, policy(RULES[0]), order=order)
            explanation, = blockscale.torch.explain(model, draw(5, 256))
            named = [reason for reason in explanation.left.values()
                     if "expected sums of order chain" in reason]
            self.assertEqual(len(named), count, explanation)


class RefusedTest(unittest.TestCase):
    def test_words(self):
        model = nn.Sequential(nn.Linear(64, 64)).bfloat16()
        for call in (lambda: blockscale.torch.quantize_(model, policy(RULES[0]), order="segments"),
                     lambda: blockscale.torch.load_quantized_(model, ".", order="segments")):
            with self.assertRaisesRegex(blockscale.ArgumentError, "expected order to be one of "
                                        "free, chain, or None, but got 'segments'"):
                call()
        self.assertIsInstance(model[0], nn.Linear)
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected 'order' to be one of "
                                                              "free, chain, but got 'any'"):
            blockscale.torch.quantize_(model, policy(dict(RULES[0], order="any")))
        layer = make(RULES[0], order="chain")[0]
        options = dict(out_features=ROWS, format="mxfp8")
        tensors = draw(3, WIDTH), layer.data, layer.scales, None, None
        with self.assertRaisesRegex(blockscale.ArgumentError, "linear_weight_only: expected order "
                                    "to be one of free, chain, but got 'segments'"):
            OPS.linear_weight_only(*tensors, **options, order="segments")

    def test_a_gpu_without_products_of_ours(self):
        """PyTorch would multiply there."""
        layer = make(RULES[0], order="chain")[0]
        with unittest.mock.patch.object(_library, "has_product", lambda *_: False), \
                self.assertRaisesRegex(blockscale.ArgumentError, "linear_weight_only: expected a "
                                       "GPU with products of ours, .* for sums of order chain"):
            layer(draw(3, WIDTH))


class PlainTest(unittest.TestCase):
    """Layers that are not quantized, whose sums have an order, too."""

    def make(self, bias=True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(WIDTH, ROWS, bias=bias)).bfloat16().eval()
        model[0].weight.copy_(draw(ROWS, WIDTH, 1) / 16)
        if bias:
            model[0].bias.mul_(2.0 ** -20)
        self.assertEqual(blockscale.torch.order_linear_(model), ["0"])
        return model

    def test_bits_are_those_of_the_law(self):
        for bias in (True, False):
            model, x = self.make(bias), draw(5, WIDTH)
            wanted = multiply(x, model[0].weight, model[0].bias)
            self.assertTrue(torch.equal(model(x), wanted))
            self.assertTrue(torch.equal(model(x.view(5, 1, WIDTH))[3, 0], wanted[3]))
            self.assertTrue(torch.equal(torch.cat([model(x[i:i + 1]) for i in range(5)]), wanted))
            self.assertFalse(torch.equal(OPS.linear(x, model[0].weight, model[0].bias), wanted))

    def test_half(self):
        model, x = self.make(False).half(), (draw(4, WIDTH) / 64).half()
        law = reference.tensor_core_sum("hopper", "mma.sync", "f16")
        a, b = (np.asarray(each.float()) for each in (x, model[0].weight))
        sums = reference.multiply_on_tensor_cores(law, a[:, None], b[None], ("f16", "f16"))
        self.assertTrue(torch.equal(model(x), torch.from_numpy(sums).half()))

    def test_graphs(self):
        """Exported, imported and compiled, with any number of rows; explain() names no sums."""
        model, x = self.make(), draw(6, WIDTH)
        rows = torch.export.Dim("rows", min=2)
        program = torch.export.export(model, (x,), dynamic_shapes=((rows, None),))
        imported = blockscale.torch.from_export(program)
        self.assertIn("order chain", str(imported.module))
        compiled = imported.compile()
        for count in (6, 3):
            self.assertTrue(torch.equal(compiled(x[:count]), model(x[:count])))
        torch._dynamo.reset()
        explanation, = blockscale.torch.explain(model, x)
        self.assertEqual(explanation.left, {})
        compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
        self.assertTrue(torch.equal(compiled(x), model(x)))
        torch.library.opcheck(OPS.linear.default, (x, model[0].weight, model[0].bias),
                              {"order": "chain"})

    def test_parameters_and_gradients(self):
        """Those of nn.Linear: state dicts have the same names, and gradients are PyTorch's."""
        model = self.make()
        plain = nn.Sequential(nn.Linear(WIDTH, ROWS)).bfloat16()
        plain.load_state_dict(model.state_dict())
        x, gradient = draw(5, WIDTH), draw(5, ROWS)
        with torch.enable_grad():
            for each in (model, plain):
                each(x.requires_grad_()).backward(gradient)
                each.gradients = [x.grad, *(part.grad for part in each.parameters())]
                x.grad = None
        for one, other in zip(model.gradients, plain.gradients):
            torch.testing.assert_close(one, other)

    def test_refused(self):
        model = nn.Sequential(nn.Linear(64, 32).bfloat16(), nn.Linear(32, 32))
        x = torch.zeros(2, 64).bfloat16()
        for call, message in (
                (lambda: blockscale.torch.order_linear_(model),
                 "weight of bfloat16 or float16 .* order chain, but got torch.float32 in '1'"),
                (lambda: blockscale.torch.order_linear_(model, "sorted"),
                 "expected order to be one of free, chain, or None, but got 'sorted'"),
                (lambda: blockscale.torch.order_linear_(model, None), "an order of sums, .* None"),
                (lambda: blockscale.torch.order_linear_(lambda x: x), "expected a torch.nn.Module"),
                (lambda: OPS.linear(x.float(), model[0].weight), "x to be bfloat16, float16"),
                (lambda: OPS.linear(x, model[0].weight.half()), "weight of torch.bfloat16"),
                (lambda: OPS.linear(x, model[0].weight[:, :32]), r"weight of shape \[32, 64\]"),
                (lambda: OPS.linear(x, x[0]), "weight of rank 2"),
                (lambda: OPS.linear(x, model[0].weight, x[0]), r"bias of shape \[32\]"),
                (lambda: OPS.linear(x, model[0].weight, order="sorted"), "but got 'sorted'")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                call()
        self.assertIs(type(model[0]), nn.Linear)

    def test_other_layers_stay(self):
        """A subclass of nn.Linear may compute something else."""
        class Other(nn.Linear):
            pass
        model = nn.Sequential(nn.Linear(64, 32), Other(32, 32)).bfloat16()
        self.assertEqual(blockscale.torch.order_linear_(model), ["0"])
        self.assertIs(type(model[1]), Other)
        self.assertEqual(blockscale.torch.order_linear_(model, "free"), ["0"])
        self.assertEqual(model[0].order, "free")


if __name__ == "__main__":
    unittest.main()
