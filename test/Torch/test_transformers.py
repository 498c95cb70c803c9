# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformers, and the ops that they have besides linear layers, against PyTorch."""

import math
import unittest

import torch
import torch.nn.functional as F
from torch.export import Dim

import blockscale
import blockscale.torch
from models import CONFIGS, Encoder, as_bytes, emulated, make_mlp, make_tokens, quantize
from ops import OpsTest, export


class TransformerOpsTest(OpsTest):
    def test_moves_and_lookups(self):
        def function(x, i, flags):
            parts = torch.split(x, [1, 3, 2], 1)
            # Sizes of 1 broadcast, and negative indices count from the end.
            row, column = torch.tensor([[1], [-1]]), torch.tensor([0, 3, 2])
            return (x.transpose(0, 2), x.permute(2, 0, 1), x[:, 1:-1:2], x[-1], x[..., -3:],
                    torch.cat([x, x[:, :2]], 1), torch.stack([x, x], 1), *parts, *x.unbind(2)[:2],
                    x.expand(2, -1, -1, -1), x.index_select(1, i[0]), x[:, row, column],
                    x[row, :, column], torch.gather(i, 1, i.clamp(max=2)), F.embedding(i, x[0]),
                    flags.expand(3, 5), x.chunk(2, 1)[1])

        x = torch.randn(4, 6, 5)
        self.check(function, x, torch.tensor([[0, 5, 2], [3, 3, 1]]),
                   torch.tensor([True, False, True, True, False]))

    def test_elements(self):
        def function(x, i, y, flags):
            return (x * i, i * 3 + 1, i - i * i, i / 2, i.to(torch.float32), y.to(torch.int32),
                    x.to(torch.bool), flags.to(torch.int64), y * i, y > 0.1, i >= 2, i == x,
                    x != x, torch.where(flags, x, -1e9), torch.where(flags, i, 7),
                    x.masked_fill(~flags, float("-inf")), flags & (i > 1), flags | (x > 0),
                    torch.logical_and(i, flags), ~i, i ^ 5, x.pow(3), x.abs().pow(0.5),
                    x.clamp(-0.5, 0.25), i.clamp(min=1), torch.rsqrt(x * x + 1), torch.exp(x),
                    1 - x, torch.maximum(x, -x), flags.logical_not(), x.clamp(y.float(), x + 0.5),
                    i.clamp(max=torch.tensor(3)), x.clamp(min=x.flip(0)))

        i = torch.tensor([0, 1, 2, 3, -4, 300])
        self.check(function, torch.tensor([0.3, -1.5, 2.0, float("nan"), -4.0, 0.1]), i,
                   torch.linspace(-1, 1, 6).bfloat16(),
                   torch.tensor([True, False, True, True, False, True]))

    def test_reductions(self):
        def function(x, y, i):
            return (x.sum(), x.sum(1), x.mean((0, 2)), x.mean(-1, keepdim=True), x.amax(1),
                    x.amin((1, 2), keepdim=True), x.max(), i.sum(), i.sum(0), (i > 1).sum(1),
                    torch.linalg.vector_norm(x, dim=1), F.normalize(x, dim=-1),
                    torch.softmax(x, 1), F.log_softmax(x, -1), F.layer_norm(x, (6, 5)),
                    F.layer_norm(x, (5,), x[0, 0], x[1, 1], 1e-3), F.rms_norm(x, (5,), x[0, 0]),
                    F.group_norm(x, 3),
                    F.group_norm(x[:, :, None], 2, x[0, :, 0], x[1, :, 1], 1e-3),
                    y.sum(1), torch.softmax(y, -1), F.layer_norm(y, (5,)))

        generator = torch.Generator().manual_seed(0)
        x = torch.randn(4, 6, 5, generator=generator)
        self.check(lambda *args: function(*args)[:-3], x, x.bfloat16(), torch.arange(6).view(2, 3),
                   tolerance=2e-5)
        self.check(lambda *args: function(*args)[-3:], x, x.bfloat16(), torch.arange(6).view(2, 3),
                   tolerance=2 ** -7)

    def test_products_and_attention(self):
        def function(q, k, mask, bias):
            attend = F.scaled_dot_product_attention
            # A query that sees nothing gets zeros.
            return (torch.matmul(q, k.transpose(-1, -2)), torch.bmm(q[0], k[0].transpose(1, 2)),
                    torch.matmul(q, k[0, 0].t()), torch.baddbmm(bias, q[0], k[0].transpose(1, 2)),
                    attend(q, k, k), attend(q, k, k, attn_mask=mask),
                    attend(q, k, k, attn_mask=bias[0]), attend(q, k, k, is_causal=True),
                    attend(q, k, k, scale=0.5),
                    # One head of keys or of values for all queries.
                    attend(q, k[:, :1], k), attend(q, k[:, :1], k[:, 1:2], attn_mask=mask),
                    torch.baddbmm(bias, q[0], k[0].transpose(1, 2), beta=0.5, alpha=-3),
                    torch.baddbmm(bias * math.nan, q[0], k[0].transpose(1, 2), beta=0, alpha=2),
                    torch.baddbmm(bias * math.nan, q[0], k[0].transpose(1, 2), beta=0),
                    torch.addmm(bias[0], q[0, 0], k[0, 0].t(), beta=2, alpha=3),
                    # Groups of queries share a head of keys.
                    attend(torch.cat([q, q], 1), k, k, enable_gqa=True))

        generator = torch.Generator().manual_seed(0)
        q, k = (torch.randn(2, 3, 5, 8, generator=generator) for _ in range(2))
        mask = torch.rand(5, 5, generator=generator) > 0.5
        mask[1] = False
        self.check(function, q, k, mask, torch.randn(3, 5, 5, generator=generator),
                   tolerance=2e-5)

    def test_sizes_that_are_dynamic(self):
        def function(x):
            rows, columns = x.shape
            return (torch.arange(columns), torch.full((rows,), 2), torch.zeros(rows, columns),
                    torch.ones_like(x), x[1:], x[:, :-1], torch.cat([x, x], 1),
                    x.mean(1), x.view(rows, columns, 1).expand(-1, -1, 3))

        shapes = (({0: Dim("rows", min=3), 1: Dim("columns", min=3)},),)
        self.check(function, torch.randn(5, 4), dynamic_shapes=shapes)


class TransformerTest(unittest.TestCase):
    def test_one_module_takes_all_sizes(self):
        model = Encoder()
        batch, words = Dim("batch", min=1, max=64), Dim("words", min=2, max=16)
        program = export(model, *make_tokens(5, 9),
                         dynamic_shapes=({0: batch, 1: words}, {0: batch, 1: words}))
        imported = blockscale.torch.from_export(program)
        compiled = imported.compile()
        for lengths in ((5, 9), (3,), (16, 2, 11)):
            tokens = make_tokens(*lengths, seed=1)
            torch.testing.assert_close(compiled(*tokens), model(*tokens), rtol=1e-5, atol=1e-6)
        # Each linear layer is one product, with the name of its module.
        products = [op for op in imported.module.ops if op.name == "linalg.matmul"]
        self.assertEqual([op.location[2] for op in products], [
            f"layers.0.{name}" for name in (
                "attention.query", "attention.key", "attention.value", "attention.out", "up",
                "down")])

    def test_attention_that_is_written_out(self):
        model, tokens = Encoder(is_written_out=True), make_tokens(5, 9)
        program = export(model, *tokens)
        for each in (program, program.run_decompositions({})):
            found = blockscale.torch.from_export(each).compile()(*tokens)
            torch.testing.assert_close(found, model(*tokens), rtol=1e-5, atol=1e-6)

    # The other layers of the model are computed in bf16 too.
    def test_layers_that_torchao_quantized(self):
        model, tokens = Encoder(width=64, hidden=96).bfloat16(), make_tokens(5, 9)
        quantize(model, CONFIGS["mxfp8"])
        program = export(model, *tokens)
        found = blockscale.torch.from_export(program).compile()(*tokens)
        with emulated():
            wanted = model(*tokens)
        cosines = (found.double() * wanted.double()).sum(1)
        self.assertGreater(cosines.min(), 0.995)


class ResourcesTest(unittest.TestCase):
    # A module with its weights computes what one does that is given them.
    def test_weights_in_the_module(self):
        x = torch.randn(5, 96).bfloat16()
        for config in ("nvfp4", "mxfp8"):
            with self.subTest(config):
                program = export(make_mlp(CONFIGS[config]), x)
                given = blockscale.torch.from_export(program)
                kept = blockscale.torch.from_export(program, constants="resources")
                self.assertTrue(given.constants)
                self.assertEqual((kept.constants, len(kept.module.arguments)), ({}, 1))
                self.assertTrue(kept.module.resources)
                found, wanted = kept.compile()(x), given.compile()(x)
                self.assertTrue((as_bytes(found) == as_bytes(wanted)).all())


if __name__ == "__main__":
    unittest.main()
