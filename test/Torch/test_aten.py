# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops on numbers, reshapes and the structure of programs, against PyTorch itself."""

import re
import unittest

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import blockscale.torch
from models import CONFIGS, Call, emulated, make_mlp

# Every sign and exponent that bf16 has in this range, NaN and infinity.
SPECIAL = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-30, -1e-30])


def make_numbers(*shape, dtype=torch.bfloat16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (4 * torch.randn(shape, generator=generator)).to(dtype)


def run(function, *args, dynamic_shapes=None, **kwargs):
    program = torch.export.export(Call(function), args, kwargs, dynamic_shapes=dynamic_shapes)
    return blockscale.torch.from_export(program).compile()(*args, **kwargs)


class TestElementwise(unittest.TestCase):
    def check(self, function, *args, ulps=0):
        """Results differ by `ulps` in their bits, and mostly not at all; NaN is NaN."""
        found, expected = run(function, *args), function(*args)
        self.assertEqual(found.dtype, expected.dtype)
        self.assertEqual(found.shape, expected.shape)
        self.assertTrue(torch.equal(found.isnan(), expected.isnan()))
        numbers = ~expected.isnan()
        size = {torch.bfloat16: torch.int16, torch.float32: torch.int32}[found.dtype]
        bits = [each[numbers].view(size).long() for each in (found, expected)]
        difference = (bits[0] - bits[1]).abs()
        self.assertTrue((difference <= ulps).all())
        self.assertLessEqual((difference != 0).sum(), 1e-3 * found.numel())

    def test_activations_of_bf16(self):
        every = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
        x = every.view(256, 256)
        self.check(torch.relu, x)
        for function in (F.silu, torch.sigmoid, torch.tanh):
            with self.subTest(function):
                self.check(function, torch.where(x.float().abs() < 80, x, torch.zeros_like(x)))
        # 1 + erf(x) has few digits where x is near -4.
        for approximate in ("none", "tanh"):
            def gelu(x):
                return F.gelu(x, approximate=approximate)

            with self.subTest(approximate):
                # PyTorch's overflows near infinity.
                finite = torch.where(x.abs() < 1e30, x, torch.zeros_like(x))
                torch.testing.assert_close(run(gelu, finite), gelu(finite), rtol=2 ** -7,
                                           atol=1e-6)
                self.check(gelu, torch.where((x > -2) & (x.abs() > 1e-30), finite, 0), ulps=1)

    def test_arithmetic(self):
        x, y = make_numbers(24, 32), make_numbers(24, 32, seed=1)
        x.view(-1)[:7] = SPECIAL
        self.check(lambda x, y: x * y + x - y, x, y)
        self.check(lambda x, y: torch.add(x, y, alpha=0.375), x, y)
        self.check(lambda x: -x * 0.3 / 3 + 1.75, x)
        self.check(lambda x: x + float("inf"), x)
        self.check(lambda x: x * float("nan"), x)
        self.check(torch.sign, x)
        self.check(lambda x: x * 1e300 / float("inf"), x)
        self.check(lambda x, y: (x.float() * y).to(torch.bfloat16), x, y)

    def test_operands_are_broadcast(self):
        x = make_numbers(4, 24, 32)
        self.check(lambda x, row, column: x * row + column, x, make_numbers(32, seed=1),
                   make_numbers(24, 1, seed=2))


class TestShapes(unittest.TestCase):
    def test_reshapes(self):
        x = make_numbers(4, 6, 10)
        for sizes in ((24, 10), (4, 60), (240,), (4, 6, 10), (2, 2, 6, 10), (4, 3, 2, 10),
                      (8, 3, 10), (1, 4, 1, 6, 10, 1), (4, 2, 30), (16, 15), (5, 8, 6)):
            with self.subTest(sizes):
                found = run(lambda x: torch.relu(x.reshape(sizes)), x)
                self.assertTrue(torch.equal(found, torch.relu(x.reshape(sizes))))

    def test_sizes_that_are_dynamic(self):
        def function(x):
            return (F.relu(x.reshape(-1, x.shape[-1])) * 2).reshape(x.shape[0], -1, 2, 8)

        shapes = ({0: Dim("batch", min=2), 1: Dim("rows", min=2)},)
        x = make_numbers(4, 6, 16)
        program = torch.export.export(Call(function), (x,), dynamic_shapes=(shapes,))
        compiled = blockscale.torch.from_export(program).compile()
        for each in (x, make_numbers(7, 3, 16)):
            self.assertTrue(torch.equal(compiled(each), function(each)))

    def test_a_plain_linear(self):
        torch.manual_seed(0)
        layer = nn.Linear(48, 24).to(torch.bfloat16).requires_grad_(False)
        for shape in ((48,), (3, 48), (2, 3, 48)):
            with self.subTest(shape):
                x = make_numbers(*shape)
                found, expected = run(layer, x), layer(x)
                self.assertEqual(found.shape, expected.shape)
                torch.testing.assert_close(found, expected, rtol=2 ** -7, atol=1e-5)

    def test_a_quantized_linear_of_a_batch(self):
        model = make_mlp(CONFIGS["nvfp4"])[:1]
        x = make_numbers(3, 5, 96)
        program = torch.export.export(model, (x,))
        found = blockscale.torch.from_export(program).compile()(x)
        with emulated():
            expected = model(x)
        self.assertEqual(found.shape, expected.shape)
        torch.testing.assert_close(found, expected, rtol=2 ** -6, atol=1e-2)


class TestPrograms(unittest.TestCase):
    def test_structures_of_arguments_and_results(self):
        def function(pair, *, scale):
            return {"sum": pair[0] + pair[1], "parts": (pair[0] * scale, torch.relu(pair[1]))}

        x, y, scale = make_numbers(4, 8), make_numbers(4, 8, seed=1), make_numbers(8, seed=2)
        found, expected = run(function, (x, y), scale=scale), function((x, y), scale=scale)
        self.assertEqual(list(found), list(expected))
        self.assertTrue(torch.equal(found["sum"], expected["sum"]))
        for one, other in zip(found["parts"], expected["parts"], strict=True):
            self.assertTrue(torch.equal(one, other))

    def test_buffers_and_constants_are_bound(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("kept", make_numbers(8))
                self.register_buffer("left", make_numbers(8, seed=1), persistent=False)
                self.shared = nn.Parameter(make_numbers(8, seed=2), requires_grad=False)

            def forward(self, x):
                return x * self.kept + self.left * self.shared - torch.ones(8).to(x.dtype)

        model, x = Model(), make_numbers(4, 8, seed=3)
        imported = blockscale.torch.from_export(torch.export.export(model, (x,)))
        self.assertEqual(len(imported.inputs), 1)
        self.assertTrue(torch.equal(imported.compile()(x), model(x)))

    def test_buffers_that_change(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", torch.zeros(6, 3))
                self.register_buffer("count", torch.zeros((), dtype=torch.int64))
                self.register_buffer("scale", torch.tensor(2.0))

            def forward(self, x):
                self.seen.index_copy_(0, self.count.reshape(1), x)
                self.count.add_(1)
                return self.seen.sum(0) * self.scale

        model, x = Model(), make_numbers(1, 3, dtype=torch.float32)
        program = torch.export.export(model, (x,))
        for constants in ("arguments", "resources"):
            imported = blockscale.torch.from_export(program, constants=constants)
            self.assertEqual(imported.changed, ("seen", "count"))
            function, other = imported.compile(), imported.compile()
            wanted = Model()
            for step in range(3):
                torch.testing.assert_close(function(x * step), wanted(x * step))
            for name in imported.changed:
                torch.testing.assert_close(function.buffers[name], getattr(wanted, name))
            # Each has buffers of its own, which begin as those of the program.
            torch.testing.assert_close(other(x), Model()(x))
            function.buffers["seen"] = torch.zeros(6, 3)
            torch.testing.assert_close(function(x), Model()(x))

    def test_ops_have_the_lines_of_the_model(self):
        class Model(nn.Module):
            def forward(self, x):
                return torch.relu(x)

        line = Model.forward.__code__.co_firstlineno + 1
        program = torch.export.export(Model(), (make_numbers(4, 8),))
        module = blockscale.torch.from_export(program).module
        self.assertIn(f'test_aten.py":{line}:', module.source.decode())

    def test_products_of_an_attention_run_on_tensor_cores(self):
        class Model(torch.nn.Module):
            def forward(self, q, k, v):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v)

        # 24 keys, so that the second product's K ends in a block.
        q, k, v = (make_numbers(2, 3, length, 32) / 4 for length in (20, 24, 24))
        imported = blockscale.torch.from_export(torch.export.export(Model(), (q, k, v)))
        function = imported.compile(target="sm_80")
        ptx = function.compiled.ptx
        self.assertEqual(len(re.findall(r"\.entry plain_mm_bf16_bf16", ptx)), 2)
        self.assertNotRegex(ptx, r"\.entry \w*matmul")
        wanted = Model()(q.double(), k.double(), v.double())
        for found in (function(q, k, v), imported.compile()(q, k, v)):
            torch.testing.assert_close(found.double(), wanted, atol=0.03, rtol=0.01)

    def test_a_model_runs_in_the_emulator(self):
        model = make_mlp(CONFIGS["mxfp8"], sizes=(64, 128, 64))[:2]
        x = make_numbers(32, 64)
        imported = blockscale.torch.from_export(torch.export.export(model, (x,)))
        function = imported.compile(target="sm_100a")
        self.assertIn(".target sm_100a", function.compiled.ptx)
        self.assertTrue(torch.equal(function(x), imported.compile()(x)))


if __name__ == "__main__":
    unittest.main()
