# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantize_ and calibrate: what becomes of layers, bytes, state dicts, what is left and refused."""

import copy
import itertools
import json
import re
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import blockscale
import blockscale.torch
from blockscale import _native
from blockscale._policy import Layer, Rules
from blockscale.torch._quantize_model import Site

OPS = torch.ops.blockscale


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def policy(*rules, **members):
    return {"version": 1, "leave_last_projection": False, "rules": list(rules), **members}


WEIGHTS = policy({"format": "nvfp4", "weight_only": True})
BOTH = policy({"format": "nvfp4"})


class Experts(nn.Module):
    """Experts as classes of transformers with `use_experts_implementation` are."""

    def __init__(self, experts, hidden, inner, has_bias, is_transposed):
        super().__init__()
        self.num_experts, self.has_bias, self.is_transposed = experts, has_bias, is_transposed
        self.has_gate = True
        shapes = {"gate_up_proj": (2 * inner, hidden), "down_proj": (hidden, inner)}
        for name, shape in shapes.items():
            shape = shape[::-1] if is_transposed else shape
            setattr(self, name, nn.Parameter(torch.randn(experts, *shape) / 8))
            if has_bias:
                rows = shape[-1] if is_transposed else shape[0]
                setattr(self, f"{name}_bias", nn.Parameter(torch.randn(experts, rows)))

    def _apply_gate(self, gate_up):
        gate, up = gate_up.chunk(2, -1)
        return F.silu(gate) * up

    def forward(self, x, top_k_index, top_k_weights):
        out = torch.zeros_like(x)
        for token, slot in itertools.product(range(len(x)), range(top_k_index.shape[1])):
            expert = top_k_index[token, slot]
            if expert < self.num_experts:
                h = self._apply_gate(self.multiply(x[token], "gate_up_proj", expert))
                out[token] += self.multiply(h, "down_proj", expert) * top_k_weights[token, slot]
        return out

    def multiply(self, x, name, expert):
        weight = getattr(self, name)[expert]
        bias = getattr(self, f"{name}_bias")[expert] if self.has_bias else None
        return F.linear(x, weight.t() if self.is_transposed else weight, bias)


class Model(nn.Module):
    def __init__(self, has_bias=True, is_transposed=False):
        super().__init__()
        self.up = nn.Linear(64, 96)
        self.down = nn.Linear(96, 64, bias=False)
        self.experts = Experts(4, 64, 32, has_bias, is_transposed)
        self.head = nn.Linear(64, 32, bias=False)

    def forward(self, x):
        x = x + self.down(F.gelu(self.up(x)))
        index = torch.stack([torch.arange(len(x)) % 3, torch.full((len(x),), 3)], 1)
        index[0, 1] = 4  # Of no expert.
        weights = torch.full(index.shape, 0.5, dtype=x.dtype)
        return self.head(x + self.experts(x, index, weights))


def make(**options):
    torch.manual_seed(0)
    return Model(**options).bfloat16().eval(), torch.randn(6, 64).bfloat16()


def error(one, other):
    return ((one.float() - other.float()).norm() / other.float().norm()).item()


class QuantizeTest(unittest.TestCase):
    def test_weights_have_the_bytes_of_quantize(self):
        model, _ = make(is_transposed=True)
        plain = copy.deepcopy(model)
        blockscale.torch.quantize_(model, WEIGHTS)

        @blockscale.jit
        def quantize(w):
            g = blockscale.global_scale(blockscale.amax(w, per="batch"))
            return *blockscale.quantize(w, global_scale=g), g
        for path in ("up", "head", "experts.gate_up_proj", "experts.down_proj"):
            with self.subTest(path):
                owner, _, name = path.rpartition(".")
                weight = getattr(plain.get_submodule(owner), name)
                weight = (weight.transpose(1, 2).contiguous() if owner else weight.weight)
                found = model.get_submodule(path)
                for one, other in zip((found.data, found.scales, found.global_scale),
                                      quantize(weight.detach())):
                    self.assertEqual(one.numpy().tobytes(),
                                     other.view(torch.uint8).numpy().tobytes()
                                     if other.dim() > 1 else other.numpy().tobytes())

    def test_joint_scales(self):
        """Layers that are named together have the global scale of the largest amax, and codes under
        it; others, and what is no layer, have none of it."""
        model = Model().bfloat16().eval()
        weights = {name: getattr(model, name).weight.clone() for name in ("up", "down", "head")}
        amax = max(float(weights[name].abs().max()) for name in ("up", "down"))
        blockscale.torch.quantize_(model, WEIGHTS, joint=[["up", "down", "none"], ["head"]])
        alone = Model().bfloat16().eval()
        alone.head.weight.copy_(weights["head"])
        blockscale.torch.quantize_(alone, WEIGHTS)
        self.assertTrue(torch.equal(model.head.global_scale, alone.head.global_scale))
        for name in ("up", "down"):
            layer = getattr(model, name)
            self.assertAlmostEqual(layer.global_scale.item(), amax / 2688, 9)
            expected = OPS.quantize(weights[name], layer.global_scale, format="nvfp4")
            self.assertTrue(torch.equal(layer.data, expected[0]))
            self.assertEqual(layer.form, alone.up.form)

    def test_models(self):
        """Weights alone, and both operands in formats that differ; experts of both orders."""
        for rule, options, bound in (
                ({"format": "nvfp4", "weight_only": True}, dict(), 0.15),
                ({"weights": {"format": "mxfp4"}, "activations": {"format": "mxfp8"}},
                 dict(has_bias=False, is_transposed=True), 0.2)):
            with self.subTest(rule):
                model, x = make(**options)
                wanted = model(x)
                summary = blockscale.torch.quantize_(model, policy(rule))
                self.assertEqual(len(summary.quantized), 5)
                self.assertLess(error(model(x), wanted), bound)
                self.assertLess(summary.after, 0.6 * summary.before)

    def test_sweep_rht_and_cast(self):
        """An f32 model as if it were of bf16; transformed operands give the plain product."""
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 48)).eval()
        x = torch.randn(5, 64)
        wanted = model(x)
        for rule in ({"format": "nvfp4", "weight_only": True, "cast": "bf16", "rht": True},
                     {"format": "nvfp4", "weights": {"sweep": True}}):
            with self.subTest(rule):
                found = copy.deepcopy(model)
                blockscale.torch.quantize_(found, policy(rule))
                y = found(x)
                self.assertEqual(y.dtype, torch.float32)
                self.assertLess(error(y, wanted), 0.2)
        cast = copy.deepcopy(model)
        blockscale.torch.quantize_(cast, policy({"format": "nvfp4", "weight_only": True,
                                                 "cast": "bf16"}))
        self.assertTrue(torch.equal(cast[0](x), cast[0](x).bfloat16().float()))

    def test_all_formats(self):
        """Of weights alone, of both operands, and of one of them beside MXFP8; those of integers
        also of stacks, exported, imported and compiled."""
        for format in ("nvfp4", "mxfp8", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4",
                       "mxint8"):
            rules = [{"format": format, "weight_only": True}, {"format": format}]
            if format == "mxint8":
                rules += [{"weights": {"format": one}, "activations": {"format": other}}
                          for one, other in ((format, "mxfp8"), ("mxfp8", format))]
            for rule in rules:
                with self.subTest(rule):
                    model, x = make()
                    model = model if format == "mxint8" else nn.Sequential(model.up)
                    wanted = model(x)
                    blockscale.torch.quantize_(model, policy(rule))
                    self.assertLess(error(model(x), wanted), 0.25)
                    if format != "mxint8":
                        continue
                    layers = nn.Sequential(model.up, nn.GELU(), model.down)
                    program = torch.export.export(layers, (x,))
                    for constants in ("arguments", "resources"):
                        function = blockscale.torch.from_export(
                            program, constants=constants).compile()
                        self.assertLess(error(function(x), layers(x)), 0.01)
                    compiled = torch.compile(layers, backend="blockscale",
                                             options={"rest": "eager"})
                    self.assertLess(error(compiled(x), layers(x)), 0.01)

    # Calls without rows, as of experts without tokens, whatever the type of the model.
    def test_no_rows(self):
        for dtype in (torch.float32, torch.bfloat16):
            for sizes in ((0,), (2, 0)):
                layer = nn.Sequential(nn.Linear(32, 64), nn.Linear(64, 32)).to(dtype).eval()
                blockscale.torch.quantize_(layer, BOTH)
                self.assertIsInstance(layer[0], blockscale.torch.QuantizedLinear)
                y = layer(torch.empty(*sizes, 32, dtype=dtype))
                self.assertEqual((y.shape, y.dtype), ((*sizes, 32), dtype))

    def test_linear_is_the_op(self):
        model, x = make()
        plain = copy.deepcopy(model.up)
        blockscale.torch.quantize_(model, BOTH)
        up = model.up
        amax = x.abs().max().float()
        codes = OPS.quantize(x, amax / 2688, format="nvfp4")
        options = dict(in_features=64, format="nvfp4", dtype=torch.float32)
        wanted = (OPS.dequantize(*codes, amax / 2688, **options)
                  @ OPS.dequantize(up.data, up.scales, up.global_scale, **options).t()
                  + plain.bias.float())
        torch.testing.assert_close(up(x).float(), wanted, rtol=2 ** -8, atol=1e-3)
        torch.testing.assert_close(up.weight, plain.weight.detach(), rtol=0.3, atol=0.03)

    def test_state_dict(self):
        model, x = make()
        blockscale.torch.quantize_(model, BOTH)
        wanted, state = model(x), model.state_dict()
        for assign in (False, True):
            other = Model().bfloat16().eval()
            blockscale.torch.quantize_(other, BOTH)
            self.assertFalse(torch.equal(other(x), wanted))
            other.load_state_dict(state, strict=True, assign=assign)
            self.assertTrue(torch.equal(other(x), wanted))
        with self.assertRaisesRegex(RuntimeError, 'Missing key.*"up.scales"'):
            other.load_state_dict({name: value for name, value in state.items()
                                   if name != "up.scales"})
        with self.assertRaisesRegex(RuntimeError,
                                    r"'up.data': expected torch.uint8 of shape \[96, 32\]"):
            other.load_state_dict(dict(state, **{"up.data": state["up.data"][1:]}))

    def test_orders_in_memory_keep_the_state_dict(self):
        """What modules do on a GPU, whose order the CPU computes with, too."""
        model, x = make()
        blockscale.torch.quantize_(model, WEIGHTS)
        wanted, state = model(x), model.state_dict()
        for module in (model.up, model.experts.down_proj):
            module._set_layout("fragments")
        self.assertTrue(torch.equal(model(x), wanted))
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, state[name]), name)
        model.load_state_dict(state)
        self.assertEqual(model.up.layout, "row_major")
        self.assertTrue(torch.equal(model(x), wanted))

    def test_types_of_a_model(self):
        model, x = make()
        blockscale.torch.quantize_(model, WEIGHTS)
        wanted = model(x)
        model.half().bfloat16()
        self.assertEqual(model.up.global_scale.dtype, torch.float32)
        torch.testing.assert_close(model(x), wanted)
        again = copy.deepcopy(model)
        torch.testing.assert_close(again(x), wanted)

    def test_meta(self):
        """A model without memory takes the weights of another one."""
        model, x = make()
        with torch.device("meta"):
            empty = Model().bfloat16().eval()
        blockscale.torch.quantize_(empty, WEIGHTS)
        blockscale.torch.quantize_(model, WEIGHTS)
        empty.load_state_dict(model.state_dict(), assign=True)
        self.assertTrue(torch.equal(empty(x), model(x)))

    def test_tied_weights(self):
        model = nn.Sequential()
        model.embedding = nn.Embedding(48, 64)
        model.head = nn.Linear(64, 48, bias=False)
        model.head.weight = model.embedding.weight
        model.bfloat16()
        summary = blockscale.torch.quantize_(model, WEIGHTS)
        self.assertIn("others keep the plain weight", summary.quantized[0].form)
        self.assertEqual(model.embedding.weight.dtype, torch.bfloat16)
        # Two layers with one weight have one weight afterwards.
        model = nn.Sequential(nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False))
        model[1].weight = model[0].weight
        summary = blockscale.torch.quantize_(model.bfloat16(), WEIGHTS)
        self.assertIs(model[0].data, model[1].data)
        self.assertEqual([each.after for each in summary.layers], [2308, 0])


class ExportTest(unittest.TestCase):
    def test_exported_layers_are_imported(self):
        """The whole program is one module then, with the results of the layers one by one."""
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64)).bfloat16().eval()
        blockscale.torch.quantize_(model, policy(
            {"match": {"location": "0"}, "format": "nvfp4"},
            {"format": "mxfp8", "weight_only": True}))
        x = torch.randn(3, 5, 64).bfloat16()
        rows = torch.export.Dim("rows")
        program = torch.export.export(model, (x,), dynamic_shapes=({1: rows},))
        imported = blockscale.torch.from_export(program)
        self.assertEqual(str(imported.module).count("blockscale.scaled_mm"), 2)
        function = imported.compile()
        for count in (5, 8):
            x = torch.randn(3, count, 64).bfloat16()
            self.assertTrue(torch.equal(function(x), model(x)))


class RowsTest(unittest.TestCase):
    """Rules by rows: activations of few rows stay plain, and each call decides."""

    RULES = policy({"match": {"m": {"max": 16}}, "format": "nvfp4", "weight_only": True},
                   {"format": "nvfp4"})

    def setUp(self):
        torch.manual_seed(0)
        plain = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64)).bfloat16().eval()
        self.model, self.few, self.many = (copy.deepcopy(plain) for _ in range(3))
        self.summary = blockscale.torch.quantize_(self.model, self.RULES)
        blockscale.torch.quantize_(self.few, WEIGHTS)
        blockscale.torch.quantize_(self.many, BOTH)

    def check(self, function):
        """The bytes are those of the model with one form, before, at and behind the bound."""
        for shape, wanted in (((1,), self.few), ((16,), self.few), ((2, 8), self.few),
                              ((17,), self.many), ((3, 6), self.many), ((40,), self.many)):
            x = torch.randn(*shape, 64).bfloat16()
            self.assertFalse(torch.equal(self.few(x), self.many(x)))
            self.assertTrue(torch.equal(function(x), wanted(x)), shape)

    def test_calls(self):
        self.check(self.model)
        self.assertIn("nvfp4, weights only for M up to 16", str(self.summary))
        self.assertEqual(self.model[0].num_bytes, self.many[0].num_bytes)
        for name, value in self.many.state_dict().items():
            if not name.endswith("_extra_state"):
                self.assertTrue(torch.equal(self.model.state_dict()[name], value), name)

    def test_compiled(self):
        """A region has the layers in their form, too."""
        explanation, = blockscale.torch.explain(self.model, torch.randn(40, 64).bfloat16(),
                                                dynamic=True)
        self.assertIn("a region", [kind for kind, _ in explanation.taken])
        torch._dynamo.reset()
        compiled = torch.compile(self.model, backend="blockscale", dynamic=True,
                                 options={"rest": "eager"})
        self.check(compiled)

    def test_static_scales(self):
        """Those of activations that are quantized, which plain ones do not read."""
        x = torch.randn(40, 64).bfloat16()
        plain = nn.Sequential(nn.Linear(64, 64)).bfloat16().eval()
        models = [copy.deepcopy(plain) for _ in range(3)]
        for model, rules in zip(models, (self.RULES, WEIGHTS, BOTH)):
            blockscale.torch.quantize_(model, rules, amaxes={} if rules is WEIGHTS else {"0": 2.5})
        found, few, many = models
        self.assertTrue(torch.equal(found(x), many(x)))
        self.assertTrue(torch.equal(found(x[:16]), few(x[:16])))

    def test_a_state_dict_is_of_these_rules(self):
        self.model.load_state_dict(self.model.state_dict())
        for one, other in ((self.model, self.many), (self.many, self.model)):
            with self.assertRaisesRegex(RuntimeError, "expected rows of plain activations "
                                        "(16|none).*but got rows of plain activations (none|16)"):
                one.load_state_dict(other.state_dict())

    def test_exported(self):
        """A number of rows that is known decides; others have no one form."""
        for count, wanted in ((16, self.few), (17, self.many)):
            x = torch.randn(count, 64).bfloat16()
            program = torch.export.export(self.model, (x,))
            function = blockscale.torch.from_export(program).compile()
            self.assertTrue(torch.equal(function(x), wanted(x)))
        program = torch.export.export(self.model, (torch.randn(20, 64).bfloat16(),),
                                      dynamic_shapes=({0: torch.export.Dim("rows")},))
        with self.assertRaisesRegex(blockscale.torch.UnsupportedError, "expected a known number of "
                                    "rows of a layer whose policy decides by m"):
            blockscale.torch.from_export(program)

    def test_types(self):
        """Clauses of plain activations hold for the layer."""
        self.model.half()
        with self.assertRaisesRegex(blockscale.ArgumentError, "policy_c5: expected a plain operand "
                                    "of bf16 or f16"):
            self.model.float()

    def test_other_forms_are_left(self):
        mxfp8 = {"format": "mxfp8"}
        few = {"match": {"m": {"max": 16}}, **mxfp8}
        for rules, reason in (
                (({**few, "weight_only": True}, {"format": "mxfp4"}),
                 ("expected rules by m to quantize one weight, alone up to a number of rows and "
                  "with the activations above it, but got mxfp8, weights only up to M = 16, then "
                  "mxfp4")),
                ((few, {**mxfp8, "weight_only": True}),
                 ".*but got mxfp8 up to M = 16, then mxfp8, weights only"),
                ((few, {"leave": True}), ".*but got mxfp8 up to M = 16, then left"),
                (({**few, "weight_only": True}, {"match": {"m": {"max": 32}}, "leave": True},
                  mxfp8), ".*weights only up to M = 16, then left, then others"),
                (({"match": {"m": {"max": 16}}, "leave": True}, {"leave": True}),
                 ("policy_c1: expected a rule that quantizes, but got rule 2 of the policy, which "
                  "leaves it"))):
            with self.subTest(reason):
                model = nn.Sequential(nn.Linear(64, 64)).bfloat16().eval()
                with self.assertWarns(UserWarning):
                    summary = blockscale.torch.quantize_(model, policy(*rules))
                self.assertRegex(summary.left[0].reason, f"^{reason}$")
                self.assertIsInstance(model[0], nn.Linear)

    def test_experts_have_the_form_of_any_rows(self):
        model, wanted = make()[0], make()[0]
        blockscale.torch.quantize_(wanted, BOTH)
        blockscale.torch.quantize_(model, self.RULES)
        self.assertEqual(model.experts.down_proj.form, wanted.experts.down_proj.form)

    def test_refused(self):
        up, x = self.model[0], torch.randn(3, 64).bfloat16()
        with self.assertRaisesRegex(blockscale.ArgumentError, "blockscale::linear_quantized: "
                                    "expected plain_rows from 0 on, but got -1"):
            OPS.linear_quantized(x, up.data, up.scales, up.global_scale, up.bias, None,
                                 out_features=96, format="nvfp4", input_format="nvfp4",
                                 input_scaling="dynamic", plain_rows=-1)


class CalibrateTest(unittest.TestCase):
    def test_static_scales(self):
        """On one batch the bytes are those of the dynamic model."""
        model, x = make()
        plain = copy.deepcopy(model)
        amaxes = blockscale.torch.calibrate(model, [x[:3], (x,), {"x": x[1:]}])
        self.assertEqual(list(amaxes), ["up", "down", "experts.gate_up_proj",
                                        "experts.down_proj", "head"])
        self.assertEqual(amaxes["up"], x.abs().max().item())
        torch.testing.assert_close(model(x), plain(x))
        dynamic = copy.deepcopy(model)
        rules = policy({"match": {"location": "up"}, "format": "nvfp4"})
        blockscale.torch.quantize_(dynamic, rules)
        summary = blockscale.torch.quantize_(model, rules, amaxes={"up": amaxes["up"], "other": 1})
        self.assertEqual(summary.amaxes, ("other",))
        self.assertTrue(torch.equal(model.up(x), dynamic.up(x)))
        self.assertEqual(model.up.input_global.item(), amaxes["up"])
        self.assertIn("nvfp4, static", repr(model))
        self.assertLess(error(model(x), plain(x)), 0.2)

    def test_experts_compute_as_before(self):
        """Calibration runs experts one after the other, with the results of the model."""
        model, x = make(is_transposed=True)
        seen = {}
        model.head.register_forward_hook(lambda *args: seen.setdefault(len(seen), args[2]))
        blockscale.torch.calibrate(model, [x])
        torch.testing.assert_close(seen[0], model(x), rtol=0.02, atol=0.05)

    def test_refused(self):
        model, x = make()
        for batches, message in (([], "at least one batch"), ([x * float("nan")], "but got nan"),
                                 ([torch.zeros_like(x)], "but got 0.0")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                blockscale.torch.calibrate(model, batches)
        self.assertFalse(model.up._forward_pre_hooks)
        self.assertNotIn("forward", vars(model.experts))
        with self.assertRaisesRegex(blockscale.ArgumentError, "Module, but got int"):
            blockscale.torch.calibrate(3, [x])

    def test_layers_that_are_called_by_keyword(self):
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.up = nn.Linear(64, 64)

            def forward(self, x):
                return self.up(input=2 * x)
        x = torch.randn(3, 64)
        self.assertEqual(blockscale.torch.calibrate(Layer(), [x]), {"up": 2 * x.abs().max().item()})
        with self.assertRaisesRegex(blockscale.ArgumentError, "numbers of the batches, but none"):
            blockscale.torch.calibrate(Layer(), [x[:0]])

    def test_amaxes(self):
        """Numbers of any package, from the least to the largest of f32; nothing else, wherever
        amaxes are given."""
        rules = policy({"match": {"location": "up"}, "format": "nvfp4"})
        largest = torch.finfo(torch.float32).max
        for amax in (2, 2.0, torch.tensor(2.0), np.float32(2), np.array(2.0), 1e-45, largest):
            model = make()[0]
            blockscale.torch.quantize_(model, rules, amaxes={"up": amax})
            self.assertEqual(model.up.input_global.item(), np.float32(amax))
        for amaxes, message in (
                ({"up": 0}, "the amax of 'up' to be positive and finite in f32, but got 0"),
                ({"up": -1.0}, "but got -1.0"), ({"up": float("nan")}, "but got nan"),
                ({"up": float("inf")}, "but got inf"), ({"up": 1e-46}, "but got 1e-46"),
                ({"up": 1e39}, r"but got 1e\+39"), ({"up": 10 ** 400}, "but got 1000"),
                ({"up": "2"}, "but got '2'"), ({"up": True}, "but got True"),
                ({"up": None}, "but got None"), ({"up": [2.0]}, r"but got \[2.0\]"),
                ({2: 2.0}, "amaxes by the names of layers, but got 2"),
                ([("up", 2.0)], "amaxes by the names of layers, but got list")):
            for prepare in (blockscale.torch.quantize_, blockscale.torch.prepare_qat_):
                model = make()[0]
                with (self.subTest(amaxes, by=prepare.__name__),
                      self.assertRaisesRegex(blockscale.ArgumentError, message)):
                    prepare(model, rules, amaxes=amaxes)
                self.assertIs(type(model.up), nn.Linear)


class LeftTest(unittest.TestCase):
    def test_reasons(self):
        """Each clause of the policy, and layers that their modules do not call."""
        model = nn.ModuleDict({
            "no_rule": nn.Linear(64, 64), "leave": nn.Linear(64, 64),
            "narrow": nn.Linear(64, 8), "blocks": nn.Linear(40, 64),
            "wide": nn.Linear(64, 64).float(), "f16": nn.Linear(64, 64).half(),
            "attention": nn.MultiheadAttention(64, 4), "hooked": nn.Linear(64, 64),
            "quantized": nn.Linear(64, 64), "last": nn.Linear(64, 64)})
        for name, module in model.items():
            if name not in ("wide", "f16"):
                module.bfloat16()
        model["hooked"].register_forward_hook(lambda *_: None)
        rules = [{"match": {"location": "no_rule", "k": {"max": 32}}, "format": "nvfp4"},
                 {"match": {"location": "leave"}, "leave": True},
                 {"match": {"location": "f16"}, "format": "mxfp8", "weight_only": True},
                 {"match": {"location": "[!n]*"}, "format": "nvfp4", "weight_only": True},
                 {"match": {"location": "narrow"}, "format": "nvfp4"}]
        summary = blockscale.torch.quantize_(model, {"version": 1, "rules": rules})
        found = {each.name: each.reason for each in summary.left}
        for name, reason in {
                "no_rule": "policy_c1: expected a rule that matches, but got none",
                "leave": "policy_c1: expected a rule that quantizes, but got rule 2 of the "
                         "policy, which leaves it",
                "last": "policy_c2: expected a product before the last projection, but got that",
                "narrow": "policy_c3: expected at least 16 rows, as many as a block has "
                          "elements, but got 8",
                "blocks": "policy_c4: expected a static K of whole blocks of 16, but got 40",
                "wide": "policy_c5: expected a plain operand of bf16 or f16, but got f32",
                "f16": "policy_c5: expected a plain operand of bf16, but got f16",
                "attention.in_proj_weight": "expected a linear layer or a stack of experts, but "
                                            "got in_proj_weight of MultiheadAttention",
                "attention.out_proj": "expected a layer that is called, but MultiheadAttention",
                "hooked": "expected a layer without hooks"}.items():
            with self.subTest(name):
                self.assertTrue(found.pop(name).startswith(reason))
        self.assertEqual(found, {})
        self.assertEqual([each.name for each in summary.quantized], ["quantized"])
        self.assertIn("1 quantized, 10 left", str(summary))

    def test_stacks_are_left_together(self):
        model, _ = make()
        summary = blockscale.torch.quantize_(model, policy(
            {"match": {"location": "experts.down_proj"}, "leave": True}, {"format": "nvfp4"}))
        left = {each.name: each.reason for each in summary.left}
        self.assertIn("rule 1 of the policy, which leaves it", left["experts.down_proj"])
        self.assertIn("but 'experts.down_proj' is left: policy_c1", left["experts.gate_up_proj"])
        self.assertIsInstance(model.experts, Experts)

    def test_refused(self):
        model, _ = make()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "policy.json")
            path.write_text('{"version": 1, "rules": [{"format": "fp4"}]}')
            for given, kind, message in (
                    (path, blockscale.ArgumentError, re.escape(f"{path}:1:37: expected 'format'")),
                    (Path(folder, "none.json"), blockscale.FileError, "cannot read"),
                    (policy({"format": "fp4"}), blockscale.ArgumentError, "policy:6:14: expected"),
                    (policy({"format": object()}), blockscale.ArgumentError, "of JSON's types"),
                    (7, blockscale.ArgumentError, "path of a file or a dict, but got int")):
                with self.assertRaisesRegex(kind, message):
                    blockscale.torch.quantize_(model, given)
        for given, amaxes, message in ((7, {}, "Module, but got int"),
                                       (model.up, {}, "got a layer itself, Linear"),
                                       (model, {"up": float("nan")}, "amax of 'up'")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                blockscale.torch.quantize_(given, BOTH, amaxes=amaxes)
        self.assertIsInstance(model.up, nn.Linear)

    def test_weights_that_are_no_numbers(self):
        """As quantize() of checkpoints refuses them: also where no amax is computed, and where the
        type that weights are rounded to before has no such number."""
        given = {"format": "nvfp4", "weights": {"global_scale": {"amax": 4.0}}}
        for rule in ({"format": "nvfp4"}, given, {"format": "mxfp8", "weight_only": True},
                     {"format": "nvfp4", "weights": {"global_scale": "none"}}):
            for number in (float("inf"), float("-inf"), float("nan")):
                for place in ("up", "experts"):
                    with self.subTest(rule, number=number, place=place):
                        model, _ = make()
                        weight = (model.up.weight if place == "up" else
                                  model.experts.gate_up_proj)
                        weight.data.view(-1)[7] = number
                        name = "up" if place == "up" else "experts.gate_up_proj"
                        with self.assertRaisesRegex(
                                blockscale.ArgumentError, f"'{name}': expected numbers that are "
                                f"finite, but got an amax of {abs(number)}"):
                            blockscale.torch.quantize_(model, policy(rule))
                        self.assertIsInstance(model.up, nn.Linear)
                        self.assertIsInstance(model.experts, Experts)
        for cast, most, beyond in (("bf16", 3.38e38, 3.4e38), ("f16", 65504.0, 65520.0)):
            for number, is_taken in ((most, True), (beyond, False)):
                with self.subTest(cast, number=number):
                    model = nn.Sequential(nn.Linear(64, 32))
                    model[0].weight.data[3, 5] = number
                    rule = policy({"format": "nvfp4", "cast": cast, "weight_only": True})
                    if is_taken:
                        blockscale.torch.quantize_(model, rule)
                        self.assertTrue(model[0].weight.dequantize().isfinite().all())
                        continue
                    with self.assertRaisesRegex(blockscale.ArgumentError, "'0': .* amax of inf"):
                        blockscale.torch.quantize_(model, rule)


class PolicyTest(unittest.TestCase):
    """Layers are decided as the compiler decides for the products of a program."""

    NAMES = ("layers.0.q_proj", "layers.10.k_proj", "a{b}", "x[1]", "head", "layers.0.mlp.up")
    PATTERNS = ("layers.*", "layers.?.q_proj", "layers.{0,1?}.*_proj", "a\\{b\\}", "x[[]1]",
                "[^l]*", "[a-h]*d", "*.{q_proj,mlp.*}", "head", "HEAD", "*[0-9]*_proj")
    SIZES = ((64, 64), (8, 64), (64, 40), (128, 32))

    def make_module(self, layers):
        lines = []
        for number, (name, n, k) in enumerate(layers):
            quoted = name.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(
                f"func.func @f{number}(%x: tensor<4x{k}xbf16>, %w: tensor<{n}x{k}xbf16> "
                f"{{blockscale.weight}}) -> tensor<4x{n}xf32> {{\n"
                f"  %z = arith.constant dense<0.0> : tensor<4x{n}xf32>\n"
                f"  %y = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, "
                "affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], "
                'iterator_types = ["parallel", "parallel", "reduction"]} '
                f"ins(%x, %w : tensor<4x{k}xbf16>, tensor<{n}x{k}xbf16>) "
                f"outs(%z : tensor<4x{n}xf32>) {{\n"
                "  ^bb0(%a: bf16, %b: bf16, %c: f32):\n"
                "    %0 = arith.extf %a : bf16 to f32\n    %1 = arith.extf %b : bf16 to f32\n"
                "    %2 = arith.mulf %0, %1 : f32\n    %3 = arith.addf %c, %2 : f32\n"
                f'    linalg.yield %3 : f32\n  }} -> tensor<4x{n}xf32> loc("{quoted}")\n'
                f"  return %y : tensor<4x{n}xf32>\n}}")
        return "\n".join(lines).encode()

    def test_agrees_with_the_compiler(self):
        layers = [(name, *size) for name, size in itertools.product(self.NAMES, self.SIZES)]
        module = self.make_module(layers)
        for pattern in self.PATTERNS:
            given = {"version": 1, "rules": [
                {"match": {"location": pattern, "n": {"min": 32}}, "format": "nvfp4",
                 "weight_only": True},
                {"match": {"location": pattern, "k": {"max": 63}}, "leave": True},
                {"match": {"location": pattern}, "format": "mxfp8", "order": "chain"}]}
            with self.subTest(pattern), tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "policy.json")
                path.write_text(json.dumps(given))
                status, message, _, value = _native.compile(
                    module, "m", ["cpu"], 0, None, True, None, False, True, None, None, str(path))
                self.assertEqual(status, 0, message)
                stages = dict(value[1])
                after = next(text for name, text in list(stages.items())[1:]
                             if "scaled_mm" in text or "func.func" in text)
                parts = re.split(r"func\.func @f", after)[1:]
                rules = Rules(given)
                for part, (name, n, k) in zip(parts, layers, strict=True):
                    form = rules.decide(Layer(name, n, k, False), "bf16").form
                    found = ("left" if "scaled_mm" not in part else
                             "nvfp4, weights only" if "scales(none" in part else
                             f"mxfp8{', order chain' if 'order chain' in part else ''}")
                    self.assertEqual(form.describe() if form else "left", found, (name, n, k))


class SiteTest(unittest.TestCase):
    def test_a_transposed_stack(self):
        weight = torch.randn(2, 3, 5)
        site = Site("w", weight, None, nn.Module(), "w", True, True)
        self.assertEqual(site.get_sizes(), (5, 3))
        self.assertTrue(torch.equal(site.get_weight()[1], weight[1].t()))
