# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that torchao quantized give torchao's own output: quantized bytes are equal,
results within the bound of a sum in f32."""

import re
import unittest
from unittest import mock

import numpy as np
import torch
import torchao.prototype.mx_formats.inference_workflow as workflow
import triton
from torch.export import Dim
from torchao.prototype.mx_formats import kernels
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import to_mx

import blockscale.torch
from blockscale.torch import UnsupportedError
from models import (
    CONFIGS,
    as_bytes,
    emulated,
    from_graph_of,
    get_bound,
    make_mlp,
    observe_dequantize,
    observe_quantize,
    quantize_as_torchao,
)

ROWS = 100


def export(model, x, strict=False):
    # torchao asks whether there are more than 128 rows, so they are not any number.
    rows = Dim("rows", max=128)
    return torch.export.export(model, (x,), dynamic_shapes=({0: rows},), strict=strict)


class TestMLP(unittest.TestCase):
    """Whole models, as B4 asks: one program, one module."""

    def check(self, config, bias=True, strict=False):
        model = make_mlp(CONFIGS[config], bias)
        x = torch.randn(ROWS, 96, dtype=torch.bfloat16)
        imported = blockscale.torch.from_export(export(model, x, strict))
        layers = [layer for layer in model if isinstance(layer, torch.nn.Linear)]
        if layers[0].weight.act_quant_kwargs is None:
            for found, layer in zip(observe_dequantize(imported, x), layers, strict=True):
                self.check_bytes(found, layer.weight.dequantize(torch.bfloat16))
        else:
            for seen, layer in zip(observe_quantize(imported, x), layers, strict=True):
                data, scale = quantize_as_torchao(seen.x, layer.weight)
                self.check_bytes(seen.data, data)
                self.check_bytes(seen.scale, scale)
        with emulated():
            y = model(x)
            last_x = model[:-1](x)
        found = imported.compile()(x)
        # A sum that rounds to a neighbour in bf16 may change codes of the layers after it.
        noise = (found.double() - y.double()).square().sum() / y.double().square().sum()
        self.assertLessEqual(noise, 1e-4)
        self.check_layer(model[-1:], last_x, y)

    def check_bytes(self, found, expected):
        np.testing.assert_array_equal(as_bytes(found), as_bytes(expected))

    def check_layer(self, layer, x, y):
        """A layer alone, whose codes are torchao's, with torchao's result y."""
        found = blockscale.torch.from_export(export(layer, x)).compile()(x)
        weight = layer[0].weight
        how = weight.act_quant_kwargs
        # torchao rounds the product of NVFP4, what the global scale makes of it, and the sum
        # with the bias.
        roundings = 6 if hasattr(how, "use_dynamic_per_tensor_scale") else 2
        bound = get_bound(x, weight.dequantize(torch.float32), y, layer[0].bias, roundings)
        difference = (found.double() - y.double()).abs()
        self.assertTrue((difference <= bound).all(), f"{(difference / bound).max()} of the bound")
        self.assertLessEqual((difference != 0).double().mean(), 0.01)

    def test_nvfp4(self):
        self.check("nvfp4")

    def test_nvfp4_without_bias(self):
        self.check("nvfp4", bias=False)

    def test_nvfp4_without_global_scale(self):
        self.check("nvfp4_no_global_scale")

    def test_nvfp4_weight_only(self):
        self.check("nvfp4_weight_only")

    def test_nvfp4_weight_only_without_global_scale(self):
        self.check("nvfp4_weight_only_no_global_scale")

    def test_mxfp8(self):
        self.check("mxfp8")

    def test_mxfp8_without_bias(self):
        self.check("mxfp8", bias=False)

    def test_mxfp4(self):
        self.check("mxfp4")

    def test_strict_export_has_both_states_of_the_global_scale(self):
        for config in ("nvfp4", "nvfp4_no_global_scale"):
            with self.subTest(config):
                self.check(config, strict=True)


class TestWrittenOut(unittest.TestCase):
    """torchao's MX quantizer in aten ops, as decomposed programs have it."""

    def test_is_the_module_of_the_layers(self):
        model = make_mlp(workflow.MXDynamicActivationMXWeightConfig(), sizes=(96, 128, 64))
        x = torch.randn(40, 96, dtype=torch.bfloat16)
        program = torch.export.export(model, (x,))
        whole = blockscale.torch.from_export(program)
        parts = blockscale.torch.from_export(program.run_decompositions({}))
        names = [[op.name for op in each.module.ops] for each in (whole, parts)]
        self.assertEqual(*names)
        self.assertTrue(torch.equal(parts.compile()(x), whole.compile()(x)))

    def test_modes_and_forms(self):
        class Quantizer(torch.nn.Module):
            def __init__(self, *how):
                super().__init__()
                self.how = how

            def forward(self, x):
                scale, data = to_mx(torch.relu(x), *self.how)
                return data, scale

        x = torch.randn(40, 96, dtype=torch.bfloat16) * torch.logspace(-9, 9, 40)[:, None]
        x = x.to(torch.bfloat16)
        for element, mode, is_swizzled in (
                (torch.float8_e4m3fn, ScaleCalculationMode.RCEIL, True),
                (torch.float8_e4m3fn, ScaleCalculationMode.FLOOR, False),
                (torch.float8_e4m3fn, ScaleCalculationMode.CEIL, True),
                (torch.float8_e4m3fn, ScaleCalculationMode.EVEN, False),
                (torch.float8_e5m2, ScaleCalculationMode.FLOOR, True)):
            model = Quantizer(element, 32, mode, is_swizzled)
            program = torch.export.export(model, (x,)).run_decompositions({})
            with self.subTest(element=element, mode=mode, is_swizzled=is_swizzled):
                imported = blockscale.torch.from_export(program)
                self.assertIn(f"recipe {mode.value}", str(imported.module))
                for found, expected in zip(imported.compile()(x), model(x), strict=True):
                    np.testing.assert_array_equal(as_bytes(found), as_bytes(expected))

    def test_another_quantizer_is_refused(self):
        class Quantizer(torch.nn.Module):
            def forward(self, x):
                blocks = x.view(40, 3, 32)
                amax = torch.amax(torch.abs(blocks), -1, keepdim=True)
                return (blocks / amax * 448).to(torch.float8_e4m3fn).view(40, 96)

        program = torch.export.export(Quantizer(), (torch.randn(40, 96),))
        with self.assertRaisesRegex(UnsupportedError, "aten.to.dtype: expected a result of .*, but "
                                                      "got torch.float8_e4m3fn"):
            blockscale.torch.from_export(program)


def list_products(compiled):
    """Products of a compiled program, without the names of values: each with its global scales
    and its bias."""
    found = re.findall("blockscale.scaled_mm.*", compiled.stages["canonicalize"])
    return [re.sub(r"%\w+", "%", each) for each in found]


def list_kernels(compiled):
    """The names of the kernels that a program for GPUs launches."""
    return re.findall(r"gpu\.launch_func +@(\S+)", compiled.stages["lower-kernels"])


class TestDecomposed(unittest.TestCase):
    """torchao's NVFP4 with the kernel of MSLK, which takes an encode scale."""

    def setUp(self):
        # The shapes that this op gives are computed with a module that torchao leaves out
        # where there is no such GPU.
        patch = mock.patch.object(kernels, "triton", triton, create=True)
        patch.start()
        self.addCleanup(patch.stop)

    def test_is_the_module_of_the_layers(self):
        for is_dynamic in (True, False):
            config = workflow.NVFP4DynamicActivationNVFP4WeightConfig(
                use_triton_kernel=True, use_dynamic_per_tensor_scale=is_dynamic)
            model = make_mlp(config, sizes=(64, 128, 64))
            x = torch.randn(32, 64, dtype=torch.bfloat16)
            program = torch.export.export(model, (x,))
            whole = blockscale.torch.from_export(program)
            parts = blockscale.torch.from_export(program.run_decompositions({}))
            with self.subTest(is_dynamic):
                self.assertIn("recipe mslk", str(parts.module))
                self.assertEqual("global_scale_a" in str(whole.module), is_dynamic)
                self.assertNotIn("global_scale_a", str(parts.module))
                y = None
                for target in ("cpu", "sm_100a"):
                    functions = [each.compile(target=target) for each in (whole, parts)]
                    products, expected = [list_products(each.compiled) for each in
                                          reversed(functions)]
                    self.assertEqual(len(products), 3)
                    self.assertEqual(products, expected)
                    for product in products:
                        self.assertIn("bias(", product)
                        self.assertEqual("global_scale_a(" in product, is_dynamic)
                    for function in functions:
                        found = function(x)
                        y = found if y is None else y
                        self.assertTrue(torch.equal(found, y))
                # No kernel is left for what is one product now.
                self.assertEqual(*[list_kernels(each.compiled) for each in functions])

    def test_weights_that_are_resources(self):
        config = workflow.NVFP4DynamicActivationNVFP4WeightConfig(use_triton_kernel=True)
        program = torch.export.export(make_mlp(config, sizes=(64, 128, 64)),
                                      (torch.randn(32, 64, dtype=torch.bfloat16),))
        products, found = [
            list_products(blockscale.torch.from_export(each, constants="resources")
                          .compile().compiled)
            for each in (program, program.run_decompositions({}))]
        self.assertIn("global_scale_a(% : tensor<f32>) global_scale_b(% : tensor<f32>)",
                      products[0])
        self.assertEqual(products, found)

    def quantize(self, *arguments, scale=None):
        def function(x, *given):
            scales, data = torch.ops.ao.mslk_quantize_nvfp4(x, given[0] if given else scale)
            return data, scales

        return from_graph_of(function, *arguments)

    def test_encode_scales_become_decode_scales(self):
        x = torch.randn(32, 64, dtype=torch.bfloat16)
        for decode in torch.rand(20) + 0.001:
            encode = decode.reciprocal()
            found, = self.quantize(x, scale=encode).constants.values()
            self.assertTrue(torch.equal(found.reciprocal(), encode))
        self.assertNotIn("global_scale", str(self.quantize(x).module))

    def test_encode_scales_that_are_no_reciprocals(self):
        x = torch.randn(32, 64, dtype=torch.bfloat16)
        # 1 / d for no d: reciprocals of numbers below 2 are further apart than numbers.
        some = 1 - torch.arange(1, 100) * 2.0 ** -24
        around = torch.stack([torch.nextafter(some.reciprocal(), torch.tensor(bound))
                              for bound in (0.0, 9.0)] + [some.reciprocal()])
        none = some[~(around.reciprocal() == some).any(0)]
        self.assertGreater(len(none), 10)
        with self.assertRaisesRegex(UnsupportedError, "an encode scale that is the reciprocal of"):
            self.quantize(x, scale=none[0])
        with self.assertRaisesRegex(UnsupportedError, "an encode scale that is aten.reciprocal"):
            self.quantize(x, torch.tensor(3.0))


if __name__ == "__main__":
    unittest.main()
