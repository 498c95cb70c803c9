# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions of one query as products: which are rewritten, and what they compute."""

import math
import unittest

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from blockscale.torch._attention import Rewriter, is_attention

ATEN = torch.ops.aten


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def repeat(x, times):
    batch, groups, length, width = x.shape
    return x[:, :, None].expand(batch, groups, times, length, width).reshape(
        batch, groups * times, length, width)


def attend(kind="efficient", times=4, **options):
    """A function with an attention that has `times` heads for each of the keys' heads."""
    def function(q, k, v, *bias):
        keys, values = (repeat(each, times) if times > 1 else each for each in (k, v))
        if kind == "flash":
            return ATEN._scaled_dot_product_flash_attention.default(q, keys, values,
                                                                    **options)[0] + 1
        target = getattr(ATEN, f"_scaled_dot_product_{kind}_attention").default
        return target(q, keys, values, bias[0] if bias else None, False, **options)[0] + 1
    return function


def rewrite(function, inputs, devices=("cpu",)):
    """The function as rewritten, and why its attention was left."""
    module = make_fx(function, tracing_mode="fake")(*inputs)
    node, = filter(is_attention, module.graph.nodes)
    reason = Rewriter(module.graph, devices).rewrite(node)
    module.graph.eliminate_dead_code()
    module.graph.lint()
    module.recompile()
    return module, reason


def make(batch=2, groups=2, heads=8, queries=1, length=37, width=32, dtype=torch.bfloat16):
    torch.manual_seed(0)
    return (torch.randn(batch, heads, queries, width).to(dtype),
            *(torch.randn(batch, groups, length, width).to(dtype) for _ in range(2)))


class RewrittenTest(unittest.TestCase):
    def check(self, inputs, times, bias=None, kind="efficient", **options):
        """The products give what attention gives in f64, within roundings of weights."""
        q, k, v = inputs
        arguments = inputs if bias is None else (*inputs, bias)
        module, reason = rewrite(attend(kind, times, **options), arguments)
        self.assertEqual(reason, "")
        found = module(*arguments)
        wanted = F.scaled_dot_product_attention(
            q.double(), repeat(k, times).double(), repeat(v, times).double(),
            None if bias is None else bias.double(), scale=options.get("scale")) + 1
        self.assertEqual((found.dtype, found.shape), (q.dtype, wanted.shape))
        torch.testing.assert_close(found.double(), wanted, atol=0.03, rtol=0.01)
        # No copy of keys for each head is left.
        sizes = [node.meta["val"].numel() for node in module.graph.nodes
                 if node.op == "call_function" and node.target is ATEN.clone.default]
        self.assertEqual(sizes, [])
        return found

    def test_kinds(self):
        for kind in ("efficient", "cudnn", "flash"):
            for dtype in (torch.bfloat16, torch.float16):
                with self.subTest(kind=kind, dtype=dtype):
                    self.check(make(dtype=dtype), 4, kind=kind)

    def test_heads_of_a_group_are_neighbours(self):
        q, k, v = make(batch=1, groups=3, heads=6)
        k[:, 1], v[:, 1] = 0, 5
        found = self.check((q, k, v), 2)
        torch.testing.assert_close(found[:, 2:4], torch.full_like(found[:, 2:4], 6))

    def test_masks(self):
        q, k, v = inputs = make()
        torch.manual_seed(1)
        for shape in ((2, 8, 1, 37), (2, 1, 1, 37), (1, 1, 1, 37), (1, 8, 1, 1), (1, 37)):
            with self.subTest(shape=shape):
                self.check(inputs, 4, (3 * torch.randn(shape)).bfloat16())
        # A mask has -inf, or the least number, where a query does not look.
        for least in (-math.inf, torch.finfo(torch.bfloat16).min):
            bias = torch.zeros(2, 1, 1, 37).bfloat16()
            bias[0, ..., 5:], bias[1, ..., :30] = least, least
            found = self.check(inputs, 4, bias)
            v[0, :, 5:] = 99
            torch.testing.assert_close(self.check((q, k, v), 4, bias)[0], found[0])

    def test_a_query_that_looks_at_nothing(self):
        bias = torch.zeros(2, 1, 1, 37).bfloat16()
        bias[1] = -math.inf
        inputs = make()
        module, _ = rewrite(attend(), (*inputs, bias))
        self.assertTrue(torch.equal(module(*inputs, bias)[1], torch.ones(8, 1, 32).bfloat16()))

    def test_scales(self):
        self.check(make(), 4, scale=0.3)

    def test_scores_are_not_rounded(self):
        """Scores near 300, which bfloat16 rounds by up to 1, differ by 0.25 only."""
        q, k, v = torch.zeros(1, 2, 1, 32), torch.zeros(1, 1, 2, 32), torch.zeros(1, 1, 2, 32)
        q[..., :2], k[..., 0], v[0, 0, 1] = torch.tensor([16., 1]), 18.75, 1
        k[0, 0, 1, 1] = 0.25
        module, _ = rewrite(attend(times=2, scale=1.), (q.bfloat16(), k.bfloat16(), v.bfloat16()))
        found = module(q.bfloat16(), k.bfloat16(), v.bfloat16())
        wanted = 1 + 1 / (1 + math.exp(-0.25))
        torch.testing.assert_close(found.double(), torch.full_like(found, wanted).double(),
                                   atol=0.004, rtol=0)


class LeftTest(unittest.TestCase):
    def check(self, function, inputs, expected, devices=("cpu",)):
        module, reason = rewrite(function, inputs, devices)
        self.assertIn(expected, reason)
        self.assertTrue(any(map(is_attention, module.graph.nodes)))

    def test_reasons(self):
        self.check(attend(), make(queries=2), "expected one query for each head, but got 2")
        self.check(attend(), make(), "expected tensors on cuda, but got cpu", ("cuda",))
        self.check(attend(), make(dtype=torch.float32),
                   "expected bfloat16 or float16, but got torch.float32")
        self.check(attend(is_causal=True), make(), "expected no causal mask, no dropout")
        self.check(attend(dropout_p=0.1), make(), "expected no causal mask, no dropout")
        self.check(attend(times=1), make(groups=8), "expected keys and values that are repeated")

    def test_two_results(self):
        def function(q, k, v):
            found = ATEN._scaled_dot_product_efficient_attention.default(
                q, repeat(k, 4), repeat(v, 4), None, True)
            return found[0], found[1]
        self.check(function, make(), "one result")

    def test_other_repetitions(self):
        def interleaved(q, k, v):
            """Heads 0, G, 2G.. share keys: not what the products have."""
            keys, values = (each[:, None].expand(2, 4, 2, 37, 32).reshape(2, 8, 37, 32)
                            for each in (k, v))
            return ATEN._scaled_dot_product_efficient_attention.default(
                q, keys, values, None, False)[0]
        self.check(interleaved, make(), "expected keys and values that are repeated")

        def only_keys(q, k, v):
            return ATEN._scaled_dot_product_efficient_attention.default(
                q, repeat(k, 4), v, None, False)[0]
        q, k, _ = make()
        self.check(only_keys, (q, k, torch.randn(2, 8, 37, 32).bfloat16()),
                   "expected keys and values that are repeated")


if __name__ == "__main__":
    unittest.main()
