# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention and rotary embeddings beside layers of order chain: which the backend takes, and that a
token has the same bits in a prefill and in steps of decoding."""

import unittest
import unittest.mock

import torch
from torch import nn
from torch._inductor import lowering
from torch.nn import functional as F

import blockscale.torch
from blockscale.torch import _ordered_attention, _partition
from inductor import list_described_ops

ATEN = torch.ops.aten
OPS = torch.ops.blockscale
HEADS, GROUPS, WIDTH, LENGTH = 8, 2, 32, 100


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


class OnCPU(_ordered_attention.OrderedRewriter):
    """Rewrites attentions on the CPU, too."""

    def __init__(self, graph):
        super().__init__(graph, ("cpu",))


def repeat(x):
    batch, groups, length, width = x.shape
    return x[:, :, None].expand(batch, groups, HEADS // GROUPS, length, width).reshape(
        batch, HEADS, length, width)


def turn(x):
    return torch.cat([-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]], -1)


class Layer(nn.Module):
    """As transformers writes a layer of Llama with a static cache."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(64, (HEADS + 2 * GROUPS) * WIDTH, bias=False)
        self.out = nn.Linear(HEADS * WIDTH, 64, bias=False)

    def forward(self, x, keys, values, place, attend):
        q, k, v = (each.unflatten(-1, (-1, WIDTH)).transpose(1, 2) for each in self.qkv(x).split(
            [HEADS * WIDTH, GROUPS * WIDTH, GROUPS * WIDTH], -1))
        angles = place[:, None] * 10.0 ** -(torch.arange(WIDTH) % (WIDTH // 2) / 8)
        cos, sin = (each.to(x.dtype)[None, None] for each in (angles.cos(), angles.sin()))
        q, k = q * cos + turn(q) * sin, k * cos + turn(k) * sin
        keys.index_copy_(2, place, k)
        values.index_copy_(2, place, v)
        seen = torch.arange(LENGTH) <= place[:, None]
        y = attend(q, repeat(keys), repeat(values), seen)
        return x + self.out(y.transpose(1, 2).flatten(2))


def attend_efficient(q, k, v, seen):
    bias = torch.where(seen, 0.0, -torch.inf).to(q.dtype)[None, None]
    return ATEN._scaled_dot_product_efficient_attention.default(
        q, k, v, bias.expand(len(q), HEADS, -1, -1), False)[0]


def attend_by_function(q, k, v, seen):
    return F.scaled_dot_product_attention(q, k, v, seen)


def make(order="chain"):
    torch.manual_seed(0)
    model = Layer().bfloat16().eval()
    for layer in model.children():
        layer.weight.mul_(4)
    blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False, "rules": [
        {"format": "mxfp8", "weight_only": True}]}, order=order)
    return model


def make_caches(batch):
    return [torch.zeros(batch, GROUPS, LENGTH, WIDTH).bfloat16() for _ in range(2)]


class BackendTest(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        self.enterContext(unittest.mock.patch.object(_partition, "OrderedRewriter", OnCPU))

    def explain(self, model, *args, **options):
        explanation, = blockscale.torch.explain(model, *args, **options)
        return explanation

    def check_decoding(self, attend, rest):
        """Steps have the bits of a prefill of another batch, which is one call, and of ops one by
        one; caches are written to."""
        model = make()
        compiled = torch.compile(model, backend="blockscale", options=rest)
        torch.manual_seed(1)
        x = torch.randn(3, 70, 64).bfloat16()
        caches = make_caches(3)
        wanted = compiled(x, *caches, torch.arange(70), attend)
        for part in (slice(1, 2), slice(0, 3)):
            again = make_caches(len(x[part]))
            compiled(x[part, :66], *again, torch.arange(66), attend)
            for place in (66, 67, 68, 69):
                y = compiled(x[part, place:place + 1], *again, torch.tensor([place]), attend)
                self.assertTrue(torch.equal(y[:, 0], wanted[part, place]))
            for cache, other in zip(again, caches):
                self.assertTrue(torch.equal(cache, other[part]))

    def test_decoding(self):
        self.check_decoding(attend_efficient, {"rest": "eager"})

    def test_functional_attention(self):
        self.check_decoding(attend_by_function, {"rest": "eager"})

    def test_inductor(self):
        """It knows that these ops are calls, too, those that write to a cache among them."""
        with list_described_ops() as described:
            self.check_decoding(attend_efficient, {})
            self.assertIn(OPS.decode_attention.default, lowering.lowerings)
        self.assertEqual(described, [])

    def test_what_is_taken(self):
        torch.manual_seed(1)
        x = torch.randn(2, 1, 64).bfloat16()
        step = x, *make_caches(2), torch.tensor([70])
        found = self.explain(make(), *step, attend_efficient)
        self.assertEqual(len(found.taken), 1, found)
        self.assertIn("attention", found.taken[0][0])
        self.assertFalse([name for name in found.left if "dot_product" in name], found)
        prefill = x.expand(2, 70, 64), *make_caches(2), torch.arange(70)
        found = self.explain(make(), *prefill, attend_efficient)
        self.assertEqual(sorted(what for what, _ in found.taken),
                         ["a rotary embedding"] * 2 + ["attention"], found)

    @unittest.mock.patch.object(_partition, "is_attention", _ordered_attention.is_any_attention)
    def test_free_order(self):
        """Steps with few keys become the op beside layers of free order, too, and nothing else."""
        torch.manual_seed(1)
        model, x, place = make("free"), torch.randn(2, 1, 64).bfloat16(), torch.tensor([70])
        caches = [torch.randn_like(each) for each in make_caches(2)]
        wanted, found = ([each.clone() for each in caches] for _ in range(2))
        y = model(x, *wanted, place, attend_by_function)
        for is_fast in (True, False):
            with unittest.mock.patch.object(_ordered_attention, "is_fast_step",
                                            lambda *_, is_fast=is_fast: is_fast):
                torch._dynamo.reset()
                step = self.explain(model, x, *make_caches(2), place, attend_by_function)
                self.assertEqual("attention" in [what for what, _ in step.taken], is_fast, step)
                prefill = self.explain(model, x.expand(2, 70, 64), *make_caches(2),
                                       torch.arange(70), attend_by_function)
                self.assertFalse([what for what, _ in prefill.taken if what in (
                    "attention", "a rotary embedding")], prefill)
                if is_fast:
                    torch._dynamo.reset()
                    compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
                    torch.testing.assert_close(compiled(x, *found, place, attend_by_function), y,
                                               rtol=0.02, atol=0.05)
                    for cache, other in zip(found, wanted):
                        torch.testing.assert_close(cache, other, rtol=0.01, atol=0.01)

    def test_what_is_left(self):
        """Attention beside layers of free order, or where an option says so, is not taken; with
        sums of order chain it is named."""
        torch.manual_seed(1)
        step = torch.randn(2, 1, 64).bfloat16(), *make_caches(2), torch.tensor([70])
        found = self.explain(make("free"), *step, attend_by_function)
        self.assertEqual((found.taken, found.left), ([], {}))
        found = self.explain(make(), *step, attend_by_function, options={"attention": False})
        self.assertEqual(found.taken, [])
        self.assertIn("expected sums of order chain", next(iter(found.left.values())))

        def attend_twice(q, k, v, seen):
            made = ATEN._scaled_dot_product_flash_attention_for_cpu.default(
                q, k, v, attn_mask=torch.where(seen, 0.0, -torch.inf).to(q.dtype))
            return made[0] + made[1][..., None].to(q.dtype)
        found = self.explain(make(), *step, attend_twice)
        self.assertIn("expected no dropout and one result", found.left.values())
        with unittest.mock.patch.object(_partition, "OrderedRewriter",
                                        _ordered_attention.OrderedRewriter):
            found = self.explain(make(), *step, attend_by_function)
        self.assertIn("expected tensors on cuda, but got cpu", found.left.values())

    def test_other_embeddings_and_caches(self):
        """What looks like a rotary embedding or a cache and is none stays out of the op."""
        class Other(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.kind, self.layer = kind, nn.Linear(64, 64, bias=False)

            def forward(self, q, keys, values, new, cos, place):
                sin = cos + 1

                def rotate(x, kind=self.kind):
                    half = x.shape[-1] // 2
                    parts = [-x[..., half:], x[..., :half]]
                    if kind == "parts in another order":
                        parts.reverse()
                    elif kind == "no minus":
                        parts[0] = x[..., half:]
                    elif kind == "other halves":
                        parts = [-x[..., half:], x[..., half:]]
                    return x * cos + torch.cat(parts, -1) * sin
                k = rotate(new) if self.kind != "key not rotated" else new
                keys.index_copy_(2, place, k)
                values.index_copy_(2, place, new if self.kind != "values elsewhere" else new + 1)
                early = keys.sum() if self.kind == "cache read before" else 0
                y = attend_efficient(rotate(q), repeat(keys), repeat(values),
                                     torch.ones(1, LENGTH, dtype=torch.bool))
                return self.layer((y + early).flatten(2).flatten(1).unflatten(1, (4, 64)))
        torch.manual_seed(2)
        q, new = (torch.randn(1, count, 1, WIDTH).bfloat16() for count in (HEADS, GROUPS))
        cos, place = torch.randn(1, 1, 1, WIDTH).bfloat16(), torch.tensor([3])
        for kind, is_cached in (("right", True), ("values elsewhere", True),
                                ("parts in another order", False), ("no minus", False),
                                ("other halves", False), ("key not rotated", False),
                                ("cache read before", False)):
            torch._dynamo.reset()
            model = Other(kind).bfloat16().eval()
            blockscale.torch.quantize_(model, {
                "version": 1, "leave_last_projection": False,
                "rules": [{"format": "mxfp8", "weight_only": True, "order": "chain"}]})
            emitted = []
            emit = OnCPU._emit_cached

            def record(self, *args):
                emitted.append(args)
                return emit(self, *args)
            caches, again = make_caches(1), make_caches(1)
            with unittest.mock.patch.object(OnCPU, "_emit_cached", record):
                compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
                found = compiled(q, *caches, new, cos, place)
            with unittest.mock.patch.object(OnCPU, "_find_cached", lambda *_: None):
                torch._dynamo.reset()
                compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
                wanted = compiled(q, *again, new, cos, place)
            with self.subTest(kind):
                self.assertEqual(bool(emitted), is_cached)
                self.assertTrue(torch.equal(found, wanted))
                self.assertTrue(all(map(torch.equal, caches, again)))


if __name__ == "__main__":
    unittest.main()
