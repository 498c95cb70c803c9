# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that leave a GPU idle: which are written anew, and that what is in their place gives the
same."""

import dataclasses
import unittest

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from blockscale.torch._few_rows import FewRowsRewriter

ATEN = torch.ops.aten
LENGTH = 128256


@dataclasses.dataclass
class Largest:
    dim: int | None
    keeps: bool = False

    def __call__(self, x):
        return x.argmax(self.dim, self.keeps)


def rewrite(function, inputs, devices=("cpu",), mode="fake"):
    """The function as rewritten, and its ops before and behind that."""
    module = make_fx(function, tracing_mode=mode)(*inputs)
    ops = [[node.target for node in module.graph.nodes if node.op == "call_function"]]
    FewRowsRewriter(module.graph, devices).run()
    module.graph.lint()
    module.recompile()
    ops.append([node.target for node in module.graph.nodes if node.op == "call_function"])
    return module, *ops


class FewRowsTest(unittest.TestCase):
    def check(self, function, inputs, is_rewritten=True, **options):
        module, before, behind = rewrite(function, inputs, **options)
        self.assertEqual(before != behind, is_rewritten, behind)
        found, wanted = module(*inputs), function(*inputs)
        self.assertEqual((found.dtype, found.shape, found.stride()),
                         (wanted.dtype, wanted.shape, wanted.stride()))
        self.assertTrue(torch.equal(found, wanted))
        return behind

    def test_largest(self):
        torch.manual_seed(0)
        for shape in ((LENGTH,), (1, 1, LENGTH), (3, 5, 8192), (16, 32000)):
            for dim, keeps in ((-1, False), (len(shape) - 1, True)):
                with self.subTest(shape=shape, dim=dim):
                    behind = self.check(Largest(dim, keeps),
                                        [torch.randn(shape).bfloat16()])
                    self.assertEqual(behind.count(ATEN.argmax.default), 2)

    def test_equal_and_special_numbers(self):
        """The first of the largest counts, and a NaN is larger than all."""
        def find(x):
            return x.argmax(-1)
        x = torch.zeros(4, LENGTH)
        x[0, [70, 5000, 100000]] = 1
        x[1, [99, 120000]] = torch.nan
        x[1, 7] = torch.inf
        x[2] = -torch.inf
        x[3, ::2] = -0.0
        self.check(find, [x])
        self.assertEqual(rewrite(find, [x])[0](x).tolist(), [70, 99, 0, 0])

    def test_rows_that_are_left(self):
        torch.manual_seed(0)
        for name, shape, dim in (("short", (1, 4096), -1), ("of a length without parts",
                                                              (1, 128257), -1),
                                 ("many", (17, 8192), -1), ("columns", (8192, 2), 0),
                                 ("all", (2, 8192), None)):
            with self.subTest(name):
                self.check(Largest(dim), [torch.randn(shape)], False)
        self.check(lambda x: x.argmax(-1), [torch.randn(1, 8192)], False, devices=("cuda",))
        self.check(lambda x: x.argmax(-1), [torch.randn(2, 8192)], False, mode="symbolic")

    def test_products(self):
        torch.manual_seed(0)
        for dtype in (torch.float32, torch.bfloat16):
            a, b = torch.randn(3, 64, 1).to(dtype), torch.randn(3, 1, 7).to(dtype)
            with self.subTest(dtype=dtype):
                self.assertEqual(self.check(torch.bmm, [a, b]), [ATEN.mul.Tensor])
                self.assertEqual(self.check(torch.mm, [a[0], b[0]]), [ATEN.mul.Tensor])

    def test_products_that_are_left(self):
        torch.manual_seed(0)
        for name, a, b in (("of sums", torch.randn(4, 2), torch.randn(2, 4)),
                           ("large", torch.randn(300, 1), torch.randn(1, 300)),
                           ("of whole numbers", torch.ones(4, 1).int(), torch.ones(1, 4).int())):
            with self.subTest(name):
                self.check(torch.mm, [a, b], False)

    def test_slices(self):
        x = torch.randn(1, 1, 16)
        self.check(lambda x: (x + 1)[:, -1:] * 2, [x])
        for name, function in (("a part", lambda x: (x + 1)[..., 1:] * 2),
                               ("an input", lambda x: x[:, -1:] * 2),
                               ("a result", lambda x: (x + 1)[:, -1:])):
            with self.subTest(name):
                self.check(function, [x], False)


if __name__ == "__main__":
    unittest.main()
