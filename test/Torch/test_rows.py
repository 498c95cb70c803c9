# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norm, softmax, rotary embedding and attention on the CPU: a row has the same bits alone and in
any company, and what they compute is what PyTorch computes."""

import math
import unittest

import torch
from torch import nn
from torch.nn import functional as F

import blockscale
import blockscale.torch
from blockscale.torch import _plain_rows

OPS = torch.ops.blockscale
DTYPES = (torch.bfloat16, torch.float16, torch.float32)
NAN, INF = math.nan, math.inf


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def draw(*shape, dtype=torch.float32):
    """Numbers of many exponents, whose sums are other ones in other orders."""
    return (torch.randn(*shape) * torch.exp2(torch.randn(*shape) * 2)).to(dtype)


def same(one, other):
    kind = torch.int16 if one.element_size() == 2 else torch.int32
    return torch.equal(one.contiguous().view(kind), other.contiguous().view(kind))


class CompanyTest(unittest.TestCase):
    """Rows alone, in batches of other sizes and shapes, at other places."""

    def check(self, call, *operands):
        """`call` of rows of operands: that of all rows has what each has alone, and so have rows in
        another order, part of them, and rows of more dimensions."""
        y = call(*operands)
        for row in (0, 11, len(y) - 1):
            alone = call(*(each[row:row + 1] for each in operands))
            self.assertTrue(same(alone[0], y[row]))
        order = torch.randperm(len(y))
        self.assertTrue(same(call(*(each[order] for each in operands)), y[order]))
        self.assertTrue(same(call(*(each[5:18] for each in operands)), y[5:18]))
        deep = call(*(each.unflatten(0, (3, -1)) for each in operands))
        self.assertTrue(same(deep.flatten(0, 1), y))
        # Rows that do not lie behind one another in memory.
        apart = [torch.cat([each, each], -1)[..., :each.shape[-1]] for each in operands]
        self.assertTrue(same(call(*apart), y))

    def test_rows(self):
        torch.manual_seed(0)
        for dtype in DTYPES:
            for width in (1, 33, 256, 2500):
                x, weight = draw(24, width, dtype=dtype), draw(width, dtype=dtype)
                with self.subTest(dtype=dtype, width=width):
                    self.check(lambda x, weight=weight: OPS.rms_norm(x, weight, 1e-5), x)
                    self.check(OPS.softmax, x)
                    self.check(OPS.log_softmax, x)
            with self.subTest(dtype=dtype):
                self.check(OPS.rotary_embedding, draw(24, 34, dtype=dtype), draw(24, 34),
                           draw(24, 34))

    def test_padding(self):
        """-inf behind a row changes none of its bits, in whatever block of the sum it ends."""
        torch.manual_seed(1)
        for width in (5, 1023, 1024, 1025, 3000):
            x = draw(4, width)
            for op in (OPS.softmax, OPS.log_softmax):
                for more in (1, 1000, 1024, 5000):
                    padded = F.pad(x, (0, more), value=-INF)
                    with self.subTest(op=str(op), width=width, more=more):
                        self.assertTrue(same(op(padded)[:, :width], op(x)))

    def test_sums_would_differ(self):
        """The rows are such that other orders of their sums have other bits."""
        torch.manual_seed(2)
        powers = draw(64, 2500).abs()
        reverse = _plain_rows._sum_rows(powers.flip(-1))
        self.assertFalse(torch.equal(_plain_rows._sum_rows(powers), reverse))


class ValuesTest(unittest.TestCase):
    def test_exponentials(self):
        """Those of f64, rounded once, for all f32 that have one, and logarithms from 1 on."""
        torch.manual_seed(0)
        x = torch.cat([torch.linspace(-110, 95, 100001), draw(1000),
                       torch.tensor([0.0, -0.0, 1.0, -INF, INF, NAN, -104.0, 88.7, 200.0, -500.0])])
        self.assertTrue(torch.equal(_plain_rows.exp(x).nan_to_num(-1),
                                    x.double().exp().float().nan_to_num(-1)))
        y = torch.cat([1 + torch.rand(10000), torch.exp2(torch.rand(100000) * 127),
                       torch.tensor([1.0, 2.0, 4.0, 3e38, NAN])])
        self.assertTrue(torch.equal(_plain_rows.log(y).nan_to_num(-1),
                                    y.double().log().float().nan_to_num(-1)))

    def test_softmax(self):
        torch.manual_seed(0)
        for dtype in DTYPES:
            x = draw(3, 70, 5, dtype=dtype)
            for dim in (-1, 1, 0):
                for op, other in ((OPS.softmax, torch.softmax), (OPS.log_softmax,
                                                                 torch.log_softmax)):
                    with self.subTest(dtype=dtype, dim=dim, op=str(op)):
                        found = op(x, dim)
                        self.assertEqual((found.dtype, found.is_contiguous()), (dtype, True))
                        torch.testing.assert_close(found, other(x.double(), dim).to(dtype))

    def test_special_values(self):
        x = torch.tensor([[1, 2, -INF], [NAN, 1, 2], [INF, 1, 2], [-INF, -INF, -INF], [9e4, 0, 1]])
        for op, other in ((OPS.softmax, torch.softmax), (OPS.log_softmax, torch.log_softmax)):
            torch.testing.assert_close(op(x), other(x, -1), equal_nan=True)
        self.assertEqual(OPS.softmax(torch.zeros(0, 3)).shape, (0, 3))
        self.assertEqual(OPS.softmax(torch.zeros(3, 0)).shape, (3, 0))

    def test_norm(self):
        torch.manual_seed(0)
        for dtype in DTYPES:
            for of_weight in (None, dtype, torch.float32):
                x = draw(2, 3, 100, dtype=dtype)
                weight = None if of_weight is None else draw(100, dtype=of_weight)
                wanted = F.rms_norm(x.double(), (100,),
                                    None if weight is None else weight.double(), 0.25)
                with self.subTest(dtype=dtype, of_weight=of_weight):
                    found = OPS.rms_norm(x, weight, 0.25)
                    torch.testing.assert_close(found, wanted.to(dtype))
        small = draw(4, 100) * 1e-4
        torch.testing.assert_close(OPS.rms_norm(small), F.rms_norm(small, (100,)))

    def test_rotary(self):
        torch.manual_seed(0)
        for dtype in DTYPES:
            q = draw(2, 7, 4, 32, dtype=dtype).transpose(1, 2)
            cos, sin = draw(2, 1, 7, 32), draw(7, 32, dtype=dtype)
            turned = torch.cat([-q[..., 16:], q[..., :16]], -1)
            wanted = (q.double() * cos.double()).float() + (turned.double()
                                                            * sin.double()).float()
            with self.subTest(dtype=dtype):
                self.assertTrue(torch.equal(OPS.rotary_embedding(q, cos, sin), wanted.to(dtype)))


class RegionTest(unittest.TestCase):
    def test_norm_has_the_bits_of_regions(self):
        """Of a norm that the backend puts into one with the layers behind it."""
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm, self.linear = nn.RMSNorm(256), nn.Linear(256, 64)

            def forward(self, x):
                h = self.norm(x)
                return h, self.linear(h)
        torch.manual_seed(0)
        for dtype in (torch.bfloat16, torch.float32):
            torch._dynamo.reset()
            model = Model().to(dtype).eval()
            model.norm.weight.copy_(draw(256))
            blockscale.torch.quantize_(model, {"version": 1, "leave_last_projection": False,
                                               "rules": [{"format": "mxfp8"}]})
            x = draw(9, 256, dtype=dtype)
            explanation, = blockscale.torch.explain(model, x)
            self.assertTrue(any("rsqrt" in nodes for _, nodes in explanation.taken), explanation)
            compiled = torch.compile(model, backend="blockscale", options={"rest": "eager"})
            self.assertTrue(same(compiled(x)[0], OPS.rms_norm(x, model.norm.weight,
                                                              model.norm.eps)))


class AttentionTest(unittest.TestCase):
    def make(self, batch=2, heads=6, groups=2, queries=70, keys=300, width=40, out=24,
             dtype=torch.bfloat16):
        torch.manual_seed(0)
        return (draw(batch, heads, queries, width, dtype=dtype) / 4,
                draw(batch, groups, keys, width, dtype=dtype),
                draw(batch, groups, keys, out, dtype=dtype))

    def test_values(self):
        for dtype in DTYPES:
            for groups in (1, 2, 6):
                q, k, v = self.make(groups=groups, dtype=dtype)
                for name, options in (("none", {}), ("scale", {"scale": 0.07}),
                                      ("causal", {"causal": True})):
                    wanted = F.scaled_dot_product_attention(
                        *(each.double() for each in (q, k, v)), enable_gqa=True,
                        is_causal=name == "causal", scale=options.get("scale"))
                    found = OPS.attention(q, k, v, **options)
                    with self.subTest(dtype=dtype, groups=groups, options=name):
                        self.assertEqual(found.dtype, dtype)
                        bound = 3e-4 if dtype == torch.float32 else 0.02
                        torch.testing.assert_close(found.double(), wanted, rtol=bound, atol=bound)

    def test_masks(self):
        q, k, v = self.make(dtype=torch.float32)
        for shape in ((2, 6, 70, 300), (2, 1, 1, 300), (70, 300), (1, 6, 70, 1)):
            seen, bias = torch.rand(shape) < 0.4, draw(*shape)
            for mask in (seen, bias, torch.where(seen, bias, -INF)):
                with self.subTest(shape=shape, dtype=mask.dtype):
                    torch.testing.assert_close(
                        OPS.attention(q, k, v, mask), F.scaled_dot_product_attention(
                            q, k, v, mask, enable_gqa=True), rtol=3e-4, atol=3e-4)

    def test_a_query_in_company(self):
        """One query over just its keys has the bits that it has beside others, in batches, over
        keys with NaN behind them, by lengths, positions and masks of both kinds; at the ends of
        chunks and segments, too."""
        for dtype in DTYPES:
            q, k, v = self.make(queries=300, dtype=dtype)
            lengths = torch.tensor([300, 130])
            more = [F.pad(each, (0, 0, 0, 90), value=NAN) for each in (k, v)]
            places = torch.arange(300)
            seen = ((torch.arange(390) <= places[:, None])
                    & (torch.arange(390) < lengths[:, None, None]))[:, None]
            bias = torch.where(seen, 0.0, -INF)
            calls = {"causal": OPS.attention(q, *more, lengths=lengths, causal=True),
                     "positions": OPS.attention(q, *more, None, lengths, places),
                     "of each": OPS.attention(q, *more, None, lengths.int(),
                                              places.int().expand(2, 300)),
                     "mask": OPS.attention(q, *more, seen),
                     "bias": OPS.attention(q, *more, bias)}
            for place in (0, 1, 62, 63, 64, 65, 127, 129, 255, 256, 257, 299):
                for number in (0, 1):
                    if place >= lengths[number]:
                        continue
                    part = slice(number, number + 1)
                    alone = OPS.attention(q[part, :, place:place + 1], k[part, :, :place + 1],
                                          v[part, :, :place + 1])[0, :, 0]
                    for name, found in calls.items():
                        with self.subTest(dtype=dtype, place=place, number=number, call=name):
                            self.assertTrue(same(found[number, :, place], alone))
            some = OPS.attention(q[1:, :, 40:99], k[1:, :, :130], v[1:, :, :130],
                                 positions=places[40:99])
            self.assertTrue(same(some, calls["causal"][1:, :, 40:99]))

    def test_other_orders_have_other_bits(self):
        """Of the same keys in another order: what the tests above would find."""
        q, k, v = self.make(queries=4, dtype=torch.float32)
        self.assertFalse(torch.equal(OPS.attention(q, k, v),
                                     OPS.attention(q, k.flip(2), v.flip(2))))

    def test_strides(self):
        q, k, v = self.make()
        wanted = OPS.attention(q, k, v)
        other = [each.transpose(1, 2).contiguous().transpose(1, 2) for each in (q, k, v)]
        self.assertTrue(same(OPS.attention(*other), wanted))

    def test_special_values(self):
        """A row of NaN, infinite values and rows that see nothing are as in PyTorch; a key that is
        masked out changes nothing, whatever it holds."""
        q, k, v = self.make(queries=5, dtype=torch.float32)
        seen = torch.rand(2, 6, 5, 300) < 0.5
        seen[..., 0], seen[0, 0, 1] = True, False
        # Scores are near one another, so that no weight is 0.
        wanted = OPS.attention(q, k, v, seen, scale=0.001)
        self.assertTrue(torch.equal(wanted[0, 0, 1], torch.zeros(24)))
        q[0, 0, 0, 3] = NAN
        v[1, 0, 100, 5], v[1, 0, 101, 5], v[1, 0, 102, 6] = INF, NAN, -INF
        found = OPS.attention(q, k, v, seen, scale=0.001)
        self.assertTrue(found[0, 0, 0].isnan().all())
        for head in range(3):
            for row in range(5):
                one = found[1, head, row]
                sees = seen[1, head, row]
                expected = wanted[1, head, row].clone()
                expected[5] = NAN if sees[101] else INF if sees[100] else expected[5]
                expected[6] = -INF if sees[102] else expected[6]
                self.assertTrue(torch.equal(one.nan_to_num(7, 8, 9), expected.nan_to_num(7, 8, 9)))
        self.assertTrue(torch.equal(found[1, 3:], wanted[1, 3:]))
        self.assertEqual(OPS.attention(q[:0], k[:0], v[:0]).shape, (0, 6, 5, 24))
        self.assertTrue(torch.equal(OPS.attention(q, k, v, lengths=torch.tensor([0, 0])),
                                    torch.zeros(2, 6, 5, 24)))

    def test_decoding(self):
        """A step with a cache is the rotary embeddings, two rows of the cache, and attention."""
        for dtype in DTYPES:
            q, keys, values = self.make(queries=1, dtype=dtype)
            k, v = draw(2, 1, 2, 40, dtype=dtype).transpose(1, 2), draw(2, 2, 1, 24, dtype=dtype)
            cos, sin = draw(2, 1, 1, 40, dtype=dtype), draw(1, 1, 40, dtype=dtype)
            for place in (0, 63, 64, 299, -1):
                mask = torch.arange(300) <= place % 300
                caches = keys.clone(), values.clone()
                wanted = keys.clone(), values.clone()
                for cache, row in zip(wanted, (OPS.rotary_embedding(k, cos, sin), v)):
                    cache[:, :, place:place % 300 + 1] = row
                found = OPS.decode_attention(q, k, v, *caches, cos, sin, torch.tensor([place]),
                                             mask, scale=0.2)
                with self.subTest(dtype=dtype, place=place):
                    self.assertTrue(all(map(same, caches, wanted)))
                    self.assertTrue(same(found, OPS.attention(
                        OPS.rotary_embedding(q, cos, sin), *wanted, mask, scale=0.2)))


class GraphTest(unittest.TestCase):
    def test_exported_and_compiled(self):
        class Model(nn.Module):
            def forward(self, x, weight):
                h = OPS.rms_norm(x, weight, 1e-6)
                heads = h.unflatten(-1, (4, 16)).transpose(1, 2)
                q = OPS.rotary_embedding(heads, heads[:, :1], heads[:, :1])
                y = OPS.attention(q, heads, heads, causal=True).transpose(1, 2).flatten(2)
                return OPS.log_softmax(OPS.softmax(y, 1))
        torch.manual_seed(0)
        x, weight = draw(3, 9, 64, dtype=torch.bfloat16), draw(64, dtype=torch.bfloat16)
        model, other = Model(), draw(2, 30, 64, dtype=torch.bfloat16)
        batch, length = torch.export.Dim("batch"), torch.export.Dim("length")
        program = torch.export.export(model, (x, weight), dynamic_shapes=(
            {0: batch, 1: length}, None))
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
        for call in (program.module(), compiled):
            for each in (x, other):
                self.assertTrue(same(call(each, weight), model(each, weight)))

    def test_fakes(self):
        """Shapes and dtypes of results are known without their values."""
        q = torch.zeros(2, 6, 5, 8, dtype=torch.float16)
        k, v = torch.zeros(2, 3, 7, 8).half(), torch.zeros(2, 3, 7, 4).half()
        apart = torch.zeros(2, 5, 6, 8).transpose(1, 2)
        for op, operands in ((OPS.attention, (q, k, v)), (OPS.softmax, (apart,)),
                             (OPS.softmax, (apart, 1)), (OPS.log_softmax, (apart,)),
                             (OPS.rms_norm, (apart,)), (OPS.rotary_embedding, (apart, q, q)),
                             (OPS.attention, (apart.half(), k, v))):
            wanted, found = op(*operands), op(*(
                each.to("meta") if isinstance(each, torch.Tensor) else each for each in operands))
            self.assertEqual((found.shape, found.dtype, found.stride()),
                             (wanted.shape, wanted.dtype, wanted.stride()))


class RefusedTest(unittest.TestCase):
    def check(self, expected, call):
        with self.assertRaisesRegex(blockscale.ArgumentError, expected):
            call()

    def test_rows(self):
        x = torch.zeros(3, 8)
        self.check("rms_norm: expected x to be float32, bfloat16, float16, but got torch.int64",
                   lambda: OPS.rms_norm(x.long()))
        self.check(r"rms_norm: expected a weight of shape \[8\], .*, but got \[3\]",
                   lambda: OPS.rms_norm(x, torch.zeros(3)))
        self.check("softmax: expected x to be .*, but got torch.float64",
                   lambda: OPS.softmax(x.double()))
        self.check("log_softmax: expected dim from -2 to 1, but got 2",
                   lambda: OPS.log_softmax(x, 2))
        self.check("rotary_embedding: expected an even last dimension of x, but got 7",
                   lambda: OPS.rotary_embedding(x[:, :7], x[:, :7], x[:, :7]))
        self.check(r"rotary_embedding: expected cos whose last dimension is 8, .* shape \[3, 8\], "
                   r"but got \[3, 4\]", lambda: OPS.rotary_embedding(x, x[:, :4], x))
        self.check("rotary_embedding: expected x of rank 4 or less",
                   lambda: OPS.rotary_embedding(x[None, None, None], x, x))

    def test_attention(self):
        q, k = torch.zeros(2, 6, 5, 8), torch.zeros(2, 3, 7, 8)

        def check(expected, *operands, **options):
            self.check(f"attention: expected {expected}", lambda: OPS.attention(*operands,
                                                                                **options))
        check("q of rank 4", q[0], k, k)
        check("k of torch.float32, as q is, but got torch.float16", q, k.half(), k)
        check(r"k of shape \[2, groups, length, 8\]", q, k[..., :4], k)
        check(r"v of shape \[2, 3, 7\] before", q, k, k[:, :, :3])
        check("a number of heads of q that is a multiple .* 5 and 3", q[:, :5], k, k)
        check(r"a mask that is expanded to shape \[2, 6, 5, 7\], but got \[5, 6\]", q, k, k,
              torch.zeros(5, 6))
        check("mask to be bool, .* but got torch.int64", q, k, k, torch.zeros(5, 7).long())
        check(r"lengths of shape \[2\]", q, k, k, lengths=torch.tensor([1]))
        check("lengths to be int32, int64", q, k, k, lengths=torch.zeros(2))
        check(r"positions of shape \[5\] or \[2, 5\]", q, k, k, positions=torch.arange(4))
        check("causal=True, .*, or positions, but got both", q, k, k,
              positions=torch.arange(5), causal=True)

    def test_decoding(self):
        q, k = torch.zeros(2, 6, 1, 8), torch.zeros(2, 3, 1, 8)
        cache, table, place = torch.zeros(2, 3, 7, 8), torch.zeros(2, 1, 1, 8), torch.tensor([1])

        def check(expected, *operands):
            self.check(f"decode_attention: expected {expected}",
                       lambda: OPS.decode_attention(*operands))
        check("one query of each head, but got 2", q.expand(2, 6, 2, 8), k, k, cache, cache, table,
              table, place)
        check(r"k of shape \[2, 3, 1, 8\], one row of the cache", q, k[:1], k, cache, cache, table,
              table, place)
        check("a position that is one number", q, k, k, cache, cache, table, table,
              torch.tensor([1, 2]))
        check("cos that is one for all heads", q, k, k, cache, cache,
              table.expand(2, 6, 1, 8).contiguous(), table, place)

    def test_derivatives(self):
        x = torch.zeros(2, 4, 8, 8, requires_grad=True)
        with torch.enable_grad():
            for op, operands in ((OPS.rms_norm, (x,)), (OPS.softmax, (x,)), (OPS.log_softmax, (x,)),
                                 (OPS.rotary_embedding, (x, x.detach(), x.detach())),
                                 (OPS.attention, (x, x, x))):
                with self.assertRaisesRegex(RuntimeError, "has no derivative: call the model under "
                                                          "torch.no_grad"):
                    op(*operands).sum().backward()


if __name__ == "__main__":
    unittest.main()
