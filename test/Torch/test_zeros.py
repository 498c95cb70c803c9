# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No NaN of zeros: layers that quantize_ made, alone and in compiled regions, experts, and layers
that torchao quantized."""

import sys
import unittest
from pathlib import Path
from unittest import mock

import torch
import torchao.prototype.mx_formats.inference_workflow as workflow
import triton
from torch import nn
from torchao.prototype.mx_formats import kernels

import blockscale
import blockscale.torch
from models import CONFIGS
from models import quantize as quantize_by_torchao

sys.path.append(str(Path(__file__).resolve().parents[1]))

import zeros

ROWS = 32


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def make_policy(rule):
    return {"version": 1, "leave_last_projection": False, "rules": [rule]}


class Experts(nn.Module):
    """A stack of experts as classes of transformers have it; row i goes to expert i modulo 3."""

    def __init__(self, weight):
        super().__init__()
        self.num_experts, self.has_bias, self.is_transposed = len(weight), False, False
        self.has_gate = True
        self.gate_up_proj = nn.Parameter(weight)
        self.down_proj = nn.Parameter(torch.randn(len(weight), zeros.K, weight.shape[1] // 2))

    def _apply_gate(self, gate_up):
        gate, up = gate_up.chunk(2, -1)
        return gate * up

    def forward(self, x, top_k_index, top_k_weights):
        out = torch.zeros_like(x)
        for row, expert in enumerate(top_k_index[:, 0]):
            h = self._apply_gate(x[row] @ self.gate_up_proj[expert].t())
            out[row] = h @ self.down_proj[expert].t() * top_k_weights[row, 0]
        return out


class Layers(nn.Module):
    """A layer of each kind of weight, which read one tensor, and experts."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.plain, self.zero, self.row = (nn.Linear(zeros.K, ROWS, bias=False) for _ in range(3))
        self.zero.weight.zero_()
        self.row.weight[3] = 0
        weight = torch.randn(zeros.EXPERTS, 2 * ROWS, zeros.K) / 8
        weight[1] = 0
        self.experts = Experts(weight)
        self.bfloat16().eval()

    def forward(self, x):
        return self.plain(x), self.zero(x), self.row(x)

    def run_experts(self, x):
        index = (torch.arange(len(x)) % zeros.EXPERTS)[:, None]
        return self.experts(x, index, torch.ones(len(x), 1, dtype=x.dtype))


def list_activations():
    for kind, (x, _) in zeros.make_activations().items():
        yield kind, torch.from_numpy(x).bfloat16()


class TestQuantize(unittest.TestCase):
    def check_layers(self, layers, found, x):
        """Results of `Layers` are finite, and 0 where the plain ones are."""
        for layer, y in zip((layers.plain, layers.zero, layers.row), found, strict=True):
            self.assertIsNone(zeros.find_problem(y.float().numpy(), x.float().numpy(),
                                                 layer.weight.float().numpy()))

    def test_layers_and_experts(self):
        for name, rule in zeros.make_rules().items():
            plain, model = Layers(), Layers()
            blockscale.torch.quantize_(model, make_policy(rule))
            for kind, x in list_activations():
                with self.subTest(name, kind=kind):
                    self.check_layers(plain, model(x), x)
                    y, wanted = model.run_experts(x), plain.run_experts(x)
                    self.assertTrue(y.isfinite().all())
                    self.assertFalse(y[wanted == 0].any())
                    self.assertLess((y - wanted).norm(), 0.3 * wanted.norm() + 1e-6)

    def test_compiled_regions(self):
        for name in ("nvfp4", "nvfp4 mslk", "nvfp4 modelopt", "nvfp4 te", "swept"):
            plain, model = Layers(), Layers()
            blockscale.torch.quantize_(model, make_policy(zeros.make_rules()[name]))
            torch._dynamo.reset()
            compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
            for kind, x in list_activations():
                with self.subTest(name, kind=kind):
                    self.check_layers(plain, compiled(x), x)

    def test_amaxes_that_are_given(self):
        """A layer that saw only numbers whose global scale would be 0."""
        plain, model = Layers(), Layers()
        blockscale.torch.quantize_(model, make_policy({"format": "nvfp4"}),
                                   amaxes=dict.fromkeys(("plain", "zero", "row"), 1e-44))
        x = torch.zeros(zeros.M, zeros.K, dtype=torch.bfloat16)
        self.assertIn("amax", model.plain.scaling)
        self.check_layers(plain, model(x), x)

    def test_numbers_have_the_bytes_of_the_recipe(self):
        """What is not zero is quantized as if zeros had no amax of their own."""
        model = Layers()
        weight = model.row.weight.float().numpy().copy()
        blockscale.torch.quantize_(model, make_policy({"format": "nvfp4"}))

        @blockscale.jit
        def quantize(w):
            g = blockscale.global_scale(blockscale.amax(w), nonzero_amax=False)
            return *blockscale.quantize(w, global_scale=g), g
        found = model.row
        for one, other in zip((found.data, found.scales, found.global_scale), quantize(weight)):
            self.assertEqual(one.numpy().tobytes(), other.tobytes())


class TestTorchao(unittest.TestCase):
    """torchao computes NaN of zeros by a dynamic global scale; what is imported does not."""

    def check(self, config, weights, decompose=False):
        for weight in weights:
            layer = getattr(Layers(), weight)
            plain = layer.weight.detach().clone()
            model = quantize_by_torchao(nn.Sequential(layer), config)
            program = torch.export.export(model, (torch.ones(ROWS, zeros.K,
                                                             dtype=torch.bfloat16),))
            if decompose:
                program = program.run_decompositions({})
            function = blockscale.torch.from_export(program).compile()
            for kind, x in list_activations():
                x = torch.cat([x] * 7)[:ROWS]
                with self.subTest(weight, kind=kind):
                    self.assertIsNone(zeros.find_problem(function(x).float().numpy(),
                                                         x.float().numpy(), plain.float().numpy()))

    def test_layers(self):
        self.check(CONFIGS["nvfp4"], ("plain", "zero", "row"))

    def test_calls_of_kernels(self):
        """Written out, the amax and its quotient are ops of PyTorch."""
        self.enterContext(mock.patch.object(kernels, "triton", triton, create=True))
        config = workflow.NVFP4DynamicActivationNVFP4WeightConfig(use_triton_kernel=True)
        self.check(config, ("plain", "zero", "row"))
        self.check(config, ("plain", "row"), decompose=True)

    def test_quotients_that_are_returned(self):
        """A program gets what it asks for."""
        class Scale(nn.Module):
            def forward(self, x):
                return torch.max(torch.abs(x)).float() / (448 * 6)
        x = torch.randn(4, zeros.K)
        function = blockscale.torch.from_export(torch.export.export(Scale(), (x,))).compile()
        for given in (x, 0 * x):
            self.assertTrue(torch.equal(function(given), Scale()(given)))


if __name__ == "__main__":
    unittest.main()
