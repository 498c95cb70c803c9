# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which weights of a model quantize_ finds, what it lists, and that it replaces all or nothing."""

import sys
import types
import unittest
import warnings
from unittest import mock

import torch
from torch import nn
from torch.nn import functional as F

import blockscale
import blockscale.torch
from blockscale.torch import QuantizedLinear, _quantize_model, _sites
from test_quantize_model import Experts, Model


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def policy(*rules):
    return {"version": 1, "leave_last_projection": False, "rules": list(rules)}


WEIGHTS = {"format": "nvfp4", "weight_only": True}
BOTH = {"format": "nvfp4"}


def quantize(model, *rules, **options):
    torch.manual_seed(0)
    return blockscale.torch.quantize_(model.bfloat16().eval(), policy(*rules or (WEIGHTS,)),
                                      **options)


def count_bytes(model):
    return sum({id(each): each.nbytes for each in (*model.parameters(), *model.buffers())}.values())


class ListedTest(unittest.TestCase):
    def test_all_parameters(self):
        """Each parameter of two or more dimensions is quantized, or left with a reason; the bytes
        are those of the model."""
        model = nn.Module()
        model.embedding, model.conv = nn.Embedding(48, 64), nn.Conv1d(64, 64, 3)
        model.lstm, model.norm = nn.LSTM(64, 64), nn.BatchNorm1d(64)
        model.q, model.k = nn.Linear(64, 128), nn.Linear(64, 128)
        model.head = nn.Linear(64, 48, bias=False)
        model.head.weight = model.embedding.weight
        model.experts = Experts(4, 64, 32, True, False)
        model.table = nn.Parameter(torch.randn(3, 4, 5))
        model.scalar = nn.Parameter(torch.tensor(1.0))
        model.bfloat16()
        names, before = [name for name, each in model.named_parameters() if each.dim() > 1], (
            count_bytes(model))
        static = {"format": "nvfp4", "match": {"location": "experts.*"},
                  "activations": {"global_scale": {"amax": 4.0}}}
        summary = quantize(model, static, WEIGHTS)
        listed = [each.name for each in summary.layers]
        self.assertEqual({name.removesuffix(".weight") for name in listed},
                         {name.removesuffix(".weight") for name in names} | {"head"})
        self.assertEqual(len(listed), len(set(listed)))
        self.assertEqual((summary.before, summary.after), (before, count_bytes(model)))
        of_experts = "expected the weight of a layer, but got the biases of a stack of experts"
        self.assertEqual({each.name: each.reason for each in summary.left}, {
            **{name: f"expected a linear layer or a stack of experts, but got {what}"
               for name, what in {
                   "embedding.weight": "weight of Embedding", "conv.weight": "weight of Conv1d",
                   "lstm.weight_ih_l0": "weight_ih_l0 of LSTM",
                   "lstm.weight_hh_l0": "weight_hh_l0 of LSTM",
                   "table": "table of Module"}.items()},
            "experts.gate_up_proj_bias": of_experts, "experts.down_proj_bias": of_experts})
        self.assertIn("vectors, numbers and buffers", str(summary))
        head, = [each for each in summary.layers if each.name == "head"]
        self.assertEqual(head.before, 0)

    def test_nothing_quantized(self):
        """A policy that quantizes nothing says so."""
        for model, rule, reason in (
                (nn.Sequential(nn.Linear(64, 64)), {**WEIGHTS, "match": {"location": "up"}},
                 "all of its 1 were left; '0' is left: policy_c1: expected a rule that matches"),
                (nn.Sequential(nn.Conv1d(3, 4, 5)), WEIGHTS, "of Sequential, but .* its 0 were")):
            with self.subTest(reason), self.assertWarnsRegex(UserWarning, reason) as caught:
                quantize(model, rule)
            self.assertEqual(caught.filename, __file__)
        with self.assertWarnsRegex(UserWarning, "'0' is left: policy_c5: expected a plain operand "
                                                "of bf16 or f16, but got f32"):
            blockscale.torch.quantize_(nn.Sequential(nn.Linear(64, 64)), policy(WEIGHTS))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            quantize(nn.Sequential(nn.Linear(64, 64)))


class Conv1D(nn.Module):
    """As transformers has it: a linear layer whose weight is [K, N]."""

    def __init__(self, nf, nx):
        super().__init__()
        self.nf, self.nx = nf, nx
        self.weight = nn.Parameter(torch.randn(nx, nf) / 8)
        self.bias = nn.Parameter(torch.randn(nf))

    def forward(self, x):
        size = (*x.shape[:-1], self.nf)
        return torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight).view(size)


class Named(nn.Linear):
    """Its forward is that of nn.Linear."""


class Written(nn.Linear):
    """Its forward is written anew."""

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)


class Scaled(nn.Linear):
    def forward(self, x):
        return F.linear(x, self.weight, self.bias) * 2


class Swapped(nn.Linear):
    def forward(self, x):
        return F.linear(x, self.bias, self.weight)


class ClassesTest(unittest.TestCase):
    def test_classes_that_compute_a_linear_layer(self):
        module = types.SimpleNamespace(Conv1D=Conv1D)
        with mock.patch.dict(sys.modules, {"transformers.pytorch_utils": module}):
            for layer in (Conv1D(96, 64), Named(64, 96), Written(64, 96)):
                for rule in (WEIGHTS, BOTH, {"format": "mxfp8"}):
                    with self.subTest(layer, rule=rule):
                        model, x = nn.Sequential(layer).bfloat16(), torch.randn(5, 64).bfloat16()
                        wanted, weight = model(x), layer.weight
                        quantize(model, rule)
                        self.assertIsInstance(model[0], QuantizedLinear)
                        y = model(x)
                        self.assertLess(((y - wanted).norm() / wanted.norm()).item(), 0.25)
                        # Whatever reads the weight finds it in the order of its class.
                        found = model[0].weight
                        self.assertEqual((found.shape, found.dtype), (weight.shape, weight.dtype))
                        self.assertEqual(found.dequantize().stride(), found.stride())
                        torch.testing.assert_close(found.dequantize(), weight.detach(), rtol=0.3,
                                                   atol=0.05)
                        model[0].weight = weight

    def test_state_dict_of_a_transposed_layer(self):
        """Codes are [N, K] whatever the order of the class."""
        module = types.SimpleNamespace(Conv1D=Conv1D)
        with mock.patch.dict(sys.modules, {"transformers.pytorch_utils": module}):
            model, linear = nn.Sequential(Conv1D(96, 64)), nn.Sequential(nn.Linear(64, 96))
            linear[0].weight.copy_(model[0].weight.t())
            linear[0].bias.copy_(model[0].bias)
            quantize(model), quantize(linear)
        for one, other in zip(model.state_dict().values(), linear.state_dict().values()):
            self.assertTrue(torch.equal(one, other))

    def test_classes_that_compute_something_else(self):
        class Own(Conv1D):
            def forward(self, x):
                return super().forward(x) * 2
        module = types.SimpleNamespace(Conv1D=Conv1D)
        changed = nn.Linear(64, 64)
        changed.forward = lambda x: x
        with mock.patch.dict(sys.modules, {"transformers.pytorch_utils": module}):
            for layer, reason in (
                    (Scaled(64, 64),
                     "expected nn.Linear, but got Scaled, which computes something"),
                    (Swapped(64, 64), "but got Swapped, which computes something else"),
                    (changed, "but got Linear, which computes something else"),
                    (Own(64, 64), "but got weight of Own")):
                with self.subTest(reason), self.assertWarns(UserWarning):
                    summary = quantize(nn.Sequential(layer))
                    self.assertIn(reason, summary.left[0].reason)
        with self.assertWarns(UserWarning):
            summary = quantize(nn.Sequential(Conv1D(64, 64)))
        self.assertIn("but got weight of Conv1D", summary.left[0].reason)


class UnusualTest(unittest.TestCase):
    def test_weights_that_are_computed(self):
        """Of parametrizations, by both of PyTorch's ways."""
        parametrized = nn.utils.parametrizations.weight_norm(nn.Linear(64, 64))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            normed = nn.utils.weight_norm(nn.Linear(64, 64))
        spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(64, 64))
        for layer in (parametrized, normed, spectral):
            model = nn.Sequential(layer, nn.Linear(64, 64))
            before = count_bytes(model) // 2
            summary = quantize(model)
            self.assertEqual([each.name for each in summary.quantized], ["1"])
            self.assertTrue(all("computed from" in each.reason for each in summary.left))
            self.assertTrue(summary.left)
            self.assertEqual(summary.before, before)
            self.assertIs(model[0], layer)

    def test_weights_of_other_kinds(self):
        class Odd(torch.Tensor):
            pass
        odd = nn.Linear(64, 64).bfloat16()
        odd.weight = nn.Parameter(odd.weight.detach().as_subclass(Odd))
        bias = nn.Linear(64, 64).bfloat16()
        bias.bias = nn.Parameter(bias.bias.detach().as_subclass(Odd))
        model = nn.Sequential(odd, bias, nn.LazyLinear(64), nn.Linear(64, 64))
        summary = blockscale.torch.quantize_(model.eval(), policy(
            {**WEIGHTS, "cast": "bf16"}))
        self.assertEqual([each.name for each in summary.quantized], ["3"])
        self.assertEqual({each.name: each.reason for each in summary.left}, {
            "0": "expected a plain tensor 'weight', but got Odd",
            "1": "expected a plain tensor 'bias', but got Odd",
            "2": "expected a parameter 'weight' with a shape, but got none yet; call the model",
            "2.bias": "expected a linear layer or a stack of experts, but got bias of LazyLinear"})

    def test_experts(self):
        """With hooks, which would be lost, or another forward."""
        for change in (lambda each: each.register_forward_hook(lambda *_: None),
                       lambda each: setattr(each, "forward", lambda *_: None)):
            model = Model()
            change(model.experts)
            kept = model.experts
            summary = quantize(model)
            self.assertEqual([each.name for each in summary.left if "proj" in each.name][:1],
                             ["experts.gate_up_proj"])
            self.assertIs(model.experts, kept)


class SharedTest(unittest.TestCase):
    def test_a_module_under_two_names(self):
        """It is one module afterwards, too."""
        model = nn.Module()
        model.one = nn.Linear(64, 64)
        model.two = model.one
        model.rows = nn.ModuleList([model.one, nn.Linear(64, 64)])
        model.experts = Experts(4, 64, 32, False, False)
        model.again = model.experts
        summary = quantize(model)
        self.assertIs(model.one, model.two)
        self.assertIs(model.one, model.rows[0])
        self.assertIsInstance(model.one, QuantizedLinear)
        self.assertIs(model.experts, model.again)
        self.assertIsInstance(model.again, blockscale.torch.QuantizedExperts)
        self.assertEqual([each.name for each in summary.quantized],
                         ["one", "rows.1", "experts.gate_up_proj", "experts.down_proj"])
        self.assertEqual(summary.after, count_bytes(model))

    def test_a_layer_in_experts(self):
        class Deep(Experts):
            def __init__(self):
                super().__init__(4, 64, 32, False, False)
                self.act_fn = nn.Linear(64, 64)
        model = nn.Module()
        model.experts = Deep()
        quantize(model)
        self.assertIsInstance(model.experts.act_fn, QuantizedLinear)


class AtomicTest(unittest.TestCase):
    """After an error the model is as it was."""

    def check(self, model, error, act):
        model.eval()
        before = {name: (module, module.training) for name, module in model.named_modules()}
        values = {name: (value, value.clone()) for name, value in model.state_dict(
            keep_vars=True).items()}
        with self.assertRaises(error):
            act(model)
        self.assertEqual(before, {name: (module, module.training)
                                  for name, module in model.named_modules()})
        for name, value in model.state_dict(keep_vars=True).items():
            self.assertIs(value, values[name][0])
            self.assertTrue(torch.equal(value, values[name][1]))

    def test_errors_in_the_middle(self):
        def fail_at(count, result=None):
            calls = []

            def act(*args, **kwargs):
                calls.append(args)
                if len(calls) > count:
                    raise ZeroDivisionError
                return result(*args, **kwargs) if result else None
            return act
        for count in range(4):
            self.check(Model().bfloat16(), ZeroDivisionError,
                       lambda model: quantize(model, progress=fail_at(count)))
        for name, count in (("quantize_weight", 3), ("make_module", 2)):
            with mock.patch.object(_quantize_model, name,
                                   fail_at(count, getattr(_quantize_model, name))):
                self.check(Model().bfloat16(), ZeroDivisionError, quantize)
        with mock.patch.object(_sites, "find_neighbours", fail_at(0)):
            self.check(Model().bfloat16(), ZeroDivisionError, quantize)

    def test_a_parent_that_takes_no_module(self):
        class Closed(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(64, 64)

            def __setattr__(self, name, value):
                if isinstance(value, QuantizedLinear):
                    raise ZeroDivisionError
                super().__setattr__(name, value)
        self.check(nn.Sequential(nn.Linear(64, 64), Closed()).bfloat16(), ZeroDivisionError,
                   quantize)
