# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are trained with the values that quantization gives: what layers compute, their
gradients, and what they become."""

import copy
import unittest
import unittest.mock

import torch
from torch import nn
from torch.nn import functional as F

import blockscale
import blockscale.torch
from blockscale.torch import (
    FakeQuantizedLinear,
    QuantizedLinear,
    _qat,
    convert_qat_,
    fake_quantize,
    prepare_qat_,
    quantize_,
)

RULES = ({"format": "mxfp8"}, {"format": "mxfp4", "weight_only": True},
         {"format": "nvfp4", "global_scale": "none"}, {"format": "nvfp4"},
         {"format": "nvfp4", "recipe": "te", "weight_only": True},
         {"format": "nvfp4", "weights": {"sweep": True}, "weight_only": True})


def policy(rule):
    return {"version": 1, "leave_last_projection": False, "rules": [rule]}


def make(dtype=torch.bfloat16, bias=True):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(128, 64, bias=bias), nn.ReLU(),
                         nn.Linear(64, 32, bias=bias)).to(dtype)


def train(model, steps=5):
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    x, wanted = torch.randn(20, 128), torch.randn(20, 32)
    dtype = next(model.parameters()).dtype
    losses = []
    for _ in range(steps):
        loss = (model(x.to(dtype)).float() - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class QatTest(unittest.TestCase):
    def test_values_are_those_that_are_deployed(self):
        """Of weights, for each recipe, from bf16 and from f32 parameters, and after training."""
        for rule in RULES:
            for dtype in (torch.bfloat16, torch.float32):
                # Plain activations of f32 are no operands beside codes.
                if dtype == torch.float32 and "weight_only" in rule:
                    continue
                with self.subTest(rule, dtype=dtype):
                    model = make(dtype)
                    prepare_qat_(model, policy(rule))
                    losses = train(model)
                    self.assertLess(losses[-1], losses[0])
                    weights = [model[i].imitate_weight() for i in (0, 2)]
                    plain = make(dtype)
                    plain.load_state_dict(model.state_dict())
                    quantize_(plain, policy(rule))
                    convert_qat_(model)
                    for number, weight in zip((0, 2), weights):
                        layer, other = model[number], plain[number]
                        self.assertIs(type(layer), QuantizedLinear)
                        for name in ("data", "scales", "global_scale"):
                            one, two = getattr(layer, name), getattr(other, name)
                            self.assertTrue(one is two is None or torch.equal(one, two), name)
                        decoded = layer.weight.dequantize()
                        torch.testing.assert_close(decoded, weight.to(decoded.dtype), rtol=2 ** -7,
                                                   atol=0)

    def test_same_bits(self):
        """Where sums have an order and no global scale multiplies them, the deployed model has the
        results of the trained one."""
        for rule in RULES[:3]:
            with self.subTest(rule):
                model = make()
                prepare_qat_(model, policy(rule), order="chain")
                train(model)
                x = torch.randn(33, 128).bfloat16()
                with torch.no_grad():
                    wanted = model(x)
                    convert_qat_(model)
                    self.assertTrue(torch.equal(model(x), wanted))
                    self.assertTrue(torch.equal(model(x[:1]), wanted[:1]))

    def test_activations_that_are_rounded_first(self):
        """By `cast` in a model of f32, and by torch.autocast: the deployed model has the results of
        the trained one, with the codes of what was rounded."""
        x = torch.randn(33, 128)
        for rule, is_autocast in (({"format": "mxfp8", "cast": "bf16"}, False),
                                  ({"format": "mxfp4", "weight_only": True, "cast": "bf16"}, False),
                                  ({"format": "mxfp8", "cast": "f16"}, True),
                                  ({"format": "mxfp8"}, True)):
            for order in ("chain", "free"):
                with (self.subTest(rule, order=order), torch.no_grad(),
                      torch.autocast("cpu", torch.bfloat16, enabled=is_autocast)):
                    # A bias of f32 is rounded before sums with an order.
                    model = make(torch.float32, bias=order == "free")
                    prepare_qat_(model, policy(rule), order=order)
                    wanted = model(x)
                    convert_qat_(model)
                    found = model(x)
                    self.assertEqual(found.dtype, wanted.dtype)
                    if order == "chain":
                        self.assertTrue(torch.equal(found, wanted))
                    difference = (found - wanted).float().norm() / wanted.float().norm()
                    self.assertLess(difference, 0.004)

    def test_transformed(self):
        """With the Hadamard transform of both operands, or beside plain activations, which are
        transformed, too: the deployed model has the codes and the results of the trained one."""
        x = torch.randn(33, 128).bfloat16()
        for rule in ({"format": "nvfp4", "rht": True}, {"format": "mxfp8", "rht": True}):
            with self.subTest(rule):
                model, plain = make(), make()
                prepare_qat_(model, policy(rule))
                losses = train(model)
                self.assertLess(losses[-1], losses[0])
                plain.load_state_dict(model.state_dict())
                quantize_(plain, policy(rule))
                with torch.no_grad():
                    wanted = model[0](x)
                convert_qat_(model)
                for number in (0, 2):
                    self.assertTrue(torch.equal(model[number].data, plain[number].data))
                    self.assertTrue(torch.equal(model[number].scales, plain[number].scales))
                difference = (model[0](x) - wanted).float().norm() / wanted.float().norm()
                self.assertLess(difference, 0.004)

    def test_gradients(self):
        """Those of a product of what the operands become, where they are not clipped."""
        model = make(torch.float32)
        prepare_qat_(model, policy({"format": "mxfp8"}))
        layer = model[0]
        x = torch.randn(3, 7, 128)
        given = torch.randn(3, 7, 64)
        layer(x.requires_grad_()).backward(given)
        # Policies quantize weights of f32 as they are.
        flat = x.detach().reshape(-1, 128).requires_grad_()
        weight = layer.weight.detach().clone().requires_grad_()
        y = F.linear(fake_quantize(flat, format="mxfp8"), fake_quantize(weight, format="mxfp8"),
                     layer.bias.detach())
        y.backward(given.reshape(-1, 64))
        torch.testing.assert_close(layer.weight.grad, weight.grad)
        torch.testing.assert_close(x.grad.reshape(-1, 128), flat.grad)
        torch.testing.assert_close(layer.bias.grad, given.sum((0, 1)))

    def test_few_rows(self):
        """Activations that a policy leaves plain up to a number of rows."""
        model = make()
        rules = {"version": 1, "leave_last_projection": False, "rules": [
            {"match": {"m": {"max": 4}}, "format": "mxfp8", "weight_only": True},
            {"format": "mxfp8"}]}
        prepare_qat_(model, rules)
        layer, x = model[0], torch.randn(9, 128).bfloat16()
        weight = layer.imitate_weight()
        self.assertTrue(torch.equal(layer(x[:4]), F.linear(x[:4], weight, layer.bias)))
        self.assertTrue(torch.equal(layer(x), F.linear(fake_quantize(x, format="mxfp8"), weight,
                                                       layer.bias)))

    def test_static_scales(self):
        model, x = make(), torch.randn(9, 128).bfloat16()
        prepare_qat_(model, policy({"format": "nvfp4"}), amaxes={"0": 3.0})
        layer = model[0]
        wanted = fake_quantize(x, format="nvfp4", scaling="amax", given=torch.tensor(3.0))
        self.assertTrue(torch.equal(layer(x), F.linear(wanted, layer.imitate_weight(), layer.bias)))

    def test_parameters_stay(self):
        """The same objects, under the same names, with their hooks, in copies and when compiled."""
        model = make()
        parameters, names = list(model.parameters()), list(model.state_dict())
        taken = prepare_qat_(model, policy({"format": "mxfp8"}))
        self.assertEqual(taken, {"0": "mxfp8", "2": "mxfp8"})
        self.assertIn("trained for mxfp8", repr(model[0]))
        self.assertTrue(all(one is other for one, other in zip(parameters, model.parameters())))
        self.assertEqual(list(model.state_dict()), names)
        x = torch.randn(5, 128).bfloat16()
        other = copy.deepcopy(model)
        self.assertIs(type(other[0]), FakeQuantizedLinear)
        compiled = torch.compile(other, backend="aot_eager", fullgraph=True)
        self.assertTrue(torch.equal(compiled(x), model(x)))

    def test_refused_and_left(self):
        model = make()
        with self.assertRaisesRegex(blockscale.ArgumentError, "layers of prepare_qat_, but the "
                                                              "model has none"):
            convert_qat_(model)
        with self.assertRaisesRegex(blockscale.ArgumentError, "a layer of nn.Linear that the "
                                                              "policy quantizes, but the 2"):
            prepare_qat_(model, policy({"match": {"location": "x"}, "format": "mxfp8"}))
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected a torch.nn.Module"):
            prepare_qat_(None, policy({"format": "mxfp8"}))
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected order to be one of"):
            prepare_qat_(model, policy({"format": "mxfp8"}), order="sorted")
        self.assertIs(type(model[0]), nn.Linear)
        with self.assertLogs("blockscale", "INFO") as logs, \
                self.assertRaises(blockscale.ArgumentError):
            prepare_qat_(make(torch.float32), policy({"format": "nvfp4", "rht": True}))
        self.assertIn("bf16", "".join(logs.output))

    def test_a_failure_changes_nothing(self):
        model = make()
        prepare_qat_(model, policy({"format": "mxfp8"}))
        with unittest.mock.patch.object(_qat, "quantize_weight", side_effect=MemoryError), \
                self.assertRaises(MemoryError):
            convert_qat_(model)
        self.assertTrue(all(type(model[i]) is FakeQuantizedLinear for i in (0, 2)))
        summary = convert_qat_(model)
        self.assertEqual(len(summary.quantized), 2)

    def test_weights_that_became_no_numbers(self):
        model = make()
        prepare_qat_(model, policy({"format": "mxfp8"}))
        model[2].weight.data[1, 2] = float("nan")
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "'2': expected numbers that are finite, but got an amax of "
                                    "nan"):
            convert_qat_(model)
        self.assertTrue(all(type(model[i]) is FakeQuantizedLinear for i in (0, 2)))


if __name__ == "__main__":
    unittest.main()
