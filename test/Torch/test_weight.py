# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What code of models finds in a quantized layer: its weight, its dtype, and torch.autocast."""

import copy
import unittest
from unittest import mock

import torch
from torch import nn
from torch.nn import functional as F

import blockscale
import blockscale.torch
from blockscale.torch import _modules
from test_quantize_model import Experts

ATEN = torch.ops.aten


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def make(rule, dtype=torch.bfloat16, **options):
    """A layer with a weight [48, 64], and the plain one."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(64, 48, **options)).to(dtype).eval()
    model = copy.deepcopy(plain)
    blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                       "rules": [rule]})
    return model, plain


WEIGHTS = {"format": "nvfp4", "weight_only": True}
BOTH = {"format": "nvfp4"}
CAST = {"format": "nvfp4", "weight_only": True, "cast": "bf16"}


class WeightTest(unittest.TestCase):
    def test_nothing_is_computed_for_what_is_known(self):
        for rule, dtype in ((BOTH, torch.float32), (WEIGHTS, torch.float16),
                            ({"format": "mxfp8"}, torch.float32), (CAST, torch.float32)):
            for bias in (True, False):
                with self.subTest(rule, bias=bias):
                    model, plain = make(rule, dtype, bias=bias)
                    with mock.patch.object(_modules._OPS, "dequantize", create=True,
                                           side_effect=AssertionError("computed")):
                        found, wanted = model[0].weight, plain[0].weight
                        self.assertIsInstance(found, torch.Tensor)
                        for name in ("dtype", "shape", "device", "ndim", "requires_grad"):
                            self.assertEqual(getattr(found, name), getattr(wanted, name)
                                             if name != "requires_grad" else False, name)
                        self.assertEqual(found.stride(), wanted.stride())
                        self.assertEqual(found.size(0), 48)
                        self.assertIn("shape=[48, 64]", repr(found.detach()))

    def test_values(self):
        """Whatever reads them has those of the codes, in the dtype that it asks for."""
        model, plain = make(BOTH, torch.float32)
        weight = model[0].weight
        values = weight.dequantize()
        self.assertIs(type(values), torch.Tensor)
        torch.testing.assert_close(values, plain[0].weight.detach(), rtol=0.3, atol=0.03)
        x = torch.randn(5, 64)
        for found, wanted in (
                (x @ weight.T, x @ values.T), (F.linear(x, weight), F.linear(x, values)),
                (weight + 1, values + 1), (weight.sum(0), values.sum(0)),
                (weight.clone(), values), (weight.data.clone(), values),
                (weight[3:5].clone(), values[3:5]),
                (weight.to(torch.float64), values.double()), (weight.to("cpu", copy=True), values),
                (torch.cat([weight, weight]), torch.cat([values, values])),
                (torch.from_numpy(weight.numpy()), values), (torch.tensor(weight.tolist()), values),
                (copy.deepcopy(weight), values), (weight.norm(), values.norm())):
            self.assertIs(type(found), torch.Tensor)
            self.assertTrue(torch.equal(found, wanted))
        # What is converted to its own dtype is itself, as PyTorch has it.
        self.assertTrue(torch.equal(weight.detach().float(), values))
        half = weight.to(torch.bfloat16)
        self.assertIs(type(half), torch.Tensor)
        self.assertTrue(torch.equal(half, values.bfloat16()))
        # A weight of another dtype is rounded once, from the codes.
        model.half()
        self.assertTrue(torch.equal(model[0].weight.float(), values))

    def test_writes_are_refused(self):
        """By every way that Python has to write, into parts and views as well."""
        model, _ = make(WEIGHTS)
        layer, before = model[0], model[0].weight.dequantize()
        delta = torch.ones_like(before)

        def merge():
            layer.weight.data += delta

        def merge_safely():
            merged = layer.weight.data.clone()
            merged += delta
            layer.weight.data = merged

        def set_item():
            layer.weight[0] = 1

        def set_part():
            layer.weight[0][1] += 1

        def set_grad():
            layer.weight.grad = delta
        writes = {
            "add_": lambda: layer.weight.add_(delta), "merge": merge, "safe merge": merge_safely,
            "copy_": lambda: layer.weight.copy_(delta), "zero_": lambda: layer.weight.zero_(),
            "item": set_item, "part": set_part, "grad": set_grad,
            "transposed": lambda: layer.weight.T.mul_(2),
            "view": lambda: layer.weight.view(-1).mul_(2),
            "detached": lambda: layer.weight.detach().fill_(0),
            "reshaped": lambda: layer.weight.reshape(48, 64).fill_(0),
            "init": lambda: nn.init.normal_(layer.weight),
            "out": lambda: torch.add(delta, delta, out=layer.weight),
            "foreach": lambda: torch._foreach_add_([layer.weight], [delta]),
            "index": lambda: layer.weight.index_add_(0, torch.tensor([0]), delta[:1]),
            "requires_grad": lambda: layer.weight.requires_grad_(),
            "set_": lambda: layer.weight.set_(delta),
            "parameter": lambda: nn.Parameter(layer.weight),
        }
        for name, write in writes.items():
            with self.subTest(name), self.assertRaisesRegex(
                    blockscale.ArgumentError, "expected no write to the weight of a quantized "
                                              "layer, .*change a copy"):
                write()
        layer.weight.requires_grad_(False)
        layer.weight.requires_grad = False
        self.assertTrue(torch.equal(layer.weight, before))
        copied = layer.weight.dequantize()
        copied += 1

    def test_a_module_that_asks_for_the_dtype(self):
        """As the feed-forward of T5: a layer in a model of f32 takes f32."""
        class Wide(nn.Module):
            def __init__(self):
                super().__init__()
                self.wi, self.wo = nn.Linear(64, 96, bias=False), nn.Linear(96, 64, bias=False)

            def forward(self, x):
                x = self.wi(x)
                if isinstance(self.wo.weight, torch.Tensor) and x.dtype != self.wo.weight.dtype:
                    x = x.to(self.wo.weight.dtype)
                self.seen = x.dtype
                return self.wo(x)
        model, x = Wide().eval(), torch.randn(3, 64)
        blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                           "rules": [BOTH]})
        y = model(x)
        self.assertEqual((model.seen, y.dtype), (torch.float32, torch.float32))
        compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"},
                                 fullgraph=True)
        self.assertEqual(compiled(x).dtype, torch.float32)
        program = torch.export.export(model, (x,))
        self.assertTrue(torch.equal(program.module()(x), y))

    def test_stacks(self):
        """Of experts, in autocast as well, with hidden states of f32."""
        model = nn.ModuleDict({"experts": Experts(4, 64, 32, True, False)}).bfloat16().eval()
        plain = copy.deepcopy(model)
        blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                           "rules": [WEIGHTS]})
        weight, wanted = model["experts"].gate_up_proj.weight, plain["experts"].gate_up_proj
        self.assertEqual((weight.shape, weight.dtype, weight.stride()),
                         (wanted.shape, wanted.dtype, wanted.stride()))
        torch.testing.assert_close(weight.dequantize(), wanted.detach(), rtol=0.3, atol=0.05)
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected no write"):
            weight[1].zero_()
        x, index = torch.randn(6, 64), torch.arange(12).view(6, 2) % 4
        weights = torch.full((6, 2), 0.5)
        y = plain["experts"].float()(x, index, weights)
        with torch.autocast("cpu", torch.bfloat16):
            found = model["experts"](x, index, weights)
        self.assertEqual(found.dtype, torch.float32)
        self.assertLess(((found - y).norm() / y.norm()).item(), 0.25)

    def test_values_in_compiled_code(self):
        model, _ = make(WEIGHTS)
        layer, x = model[0], torch.randn(3, 64).bfloat16()

        def multiply(x):
            return x @ layer.weight.t()
        self.assertTrue(torch.equal(torch.compile(multiply, backend="eager")(x), multiply(x)))

    def test_another_weight(self):
        """A layer takes the weight that it was made from, as models tie theirs, and no other."""
        model, plain = make(WEIGHTS)
        model[0].weight = plain[0].weight
        model[0].weight = model[0].weight
        for weight, message in (
                (nn.Parameter(plain[0].weight * 2), "expected the weight that a quantized layer"),
                (torch.zeros(48, 64), "expected the weight that a quantized layer"),
                (nn.Parameter(torch.zeros(3, 64)), (r"of shape \[48, 64\], but got torch.float32 "
                                                    r"of shape \[3, 64\]")),
                (torch.zeros(48, 64, dtype=torch.int8), "but got torch.int8"),
                (None, "but got NoneType")):
            with self.subTest(message), self.assertRaisesRegex(blockscale.ArgumentError, message):
                model[0].weight = weight

    def test_a_program_that_reads_a_weight(self):
        """As Mamba multiplies the weight of a layer by itself."""
        class Model(nn.Module):
            def __init__(self, rule):
                super().__init__()
                self.layers, _ = make(rule, torch.float32)

            def forward(self, x):
                weight = self.layers[0].weight
                y = x.t().to(weight.dtype).to(weight.device).expand(weight.shape[1], x.size(0))
                return weight @ y + weight.T[:1, :].t()

        x = torch.randn(3, 64)
        for rule in (CAST, BOTH):
            model = Model(rule)
            program = torch.export.export(model, (x,))
            read = [node for node in program.graph.nodes if "dequantize" in str(node.target)]
            self.assertEqual(len(read), 2, "the values are computed where an op reads them")
            torch.testing.assert_close(program.module()(x), model(x))
            compiled = blockscale.torch.from_export(program).compile()
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)

    def test_tied_weights_again(self):
        """As tie_weights() of transformers does, after the head was quantized."""
        model = nn.Module()
        model.embedding, model.head = nn.Embedding(48, 64), nn.Linear(64, 48, bias=False)
        model.head.weight = model.embedding.weight
        model.bfloat16()
        blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                           "rules": [WEIGHTS]})
        data = model.head.data.clone()
        model.head.weight = model.embedding.weight
        self.assertTrue(torch.equal(model.head.data, data))
        model.embedding.weight[3] += 1
        with self.assertRaisesRegex(blockscale.ArgumentError, "but got other values"):
            model.head.weight = model.embedding.weight


class DtypeTest(unittest.TestCase):
    def test_types_that_a_form_takes(self):
        """A model that is moved to a type works, or says at once that it would not."""
        for rule, start in list_rules():
            model, _ = make(rule, start)
            for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64,
                          torch.float8_e4m3fn):
                with self.subTest(rule, start=start, dtype=dtype):
                    moved, x = copy.deepcopy(model), torch.randn(3, 64).to(dtype)
                    try:
                        moved.to(dtype)
                    except blockscale.ArgumentError as error:
                        self.assertRegex(str(error), "policy_c[56]: expected|expected a model of "
                                                     "float32, bfloat16 or float16 around")
                        self.assertEqual(moved[0].dtype, start)
                        self.assertEqual(moved(torch.randn(3, 64).to(start)).dtype, start)
                        self.assertNotEqual(dtype, start)
                        continue
                    self.assertEqual((moved[0].weight.dtype, moved(x).dtype), (dtype, dtype))

    def test_message(self):
        model, _ = make(WEIGHTS)
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "policy_c5: expected a plain operand of bf16 or f16 for a "
                                    "layer in nvfp4, weights only, but got a model of f32; a rule"):
            model.float()


def list_rules():
    """Rules with a dtype that they take."""
    for rule in (WEIGHTS, {"format": "mxfp8", "weight_only": True}, {"format": "mxfp4"},
                 {"format": "nvfp4", "rht": True}):
        yield rule, torch.bfloat16
    for rule in (BOTH, CAST, {"format": "nvfp4", "rht": True, "cast": "bf16"}):
        yield rule, torch.float32


class AutocastTest(unittest.TestCase):
    def test_as_linear_layers(self):
        """Under autocast a layer takes f32 and gives the other type, as nn.Linear does."""
        x = torch.randn(5, 64)
        for rule, start in ((WEIGHTS, torch.bfloat16), (BOTH, torch.bfloat16),
                            (BOTH, torch.float32), (CAST, torch.float32),
                            ({"format": "mxfp8", "weight_only": True}, torch.bfloat16)):
            model, plain = make(rule, start)
            for dtype in (torch.bfloat16, torch.float16):
                if dtype == torch.float16 and rule.get("weight_only") and rule["format"] != "nvfp4":
                    continue
                with self.subTest(rule, dtype=dtype), torch.autocast("cpu", dtype):
                    y = model(x)
                    self.assertEqual(y.dtype, plain(x).dtype)
                    wanted = plain(x).float()
                    self.assertLess(((y.float() - wanted).norm() / wanted.norm()).item(), 0.25)
                    with torch.autocast("cpu", enabled=False):
                        self.assertTrue(torch.equal(model(x.to(dtype)), y))
            if start == torch.bfloat16 and rule.get("weight_only"):
                with self.assertRaisesRegex(blockscale.ArgumentError, "expected x to be"):
                    model(x)

    def test_what_autocast_does_not_cast(self):
        model, _ = make(BOTH)
        with torch.autocast("cpu", torch.bfloat16), self.assertRaisesRegex(
                blockscale.ArgumentError, "but got torch.float64"):
            model(torch.randn(5, 64).double())

    def test_compiled(self):
        model, _ = make(WEIGHTS)
        x = torch.randn(5, 64)
        compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"},
                                 fullgraph=True)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertTrue(torch.equal(compiled(x), model(x)))
