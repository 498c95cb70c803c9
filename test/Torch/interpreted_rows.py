# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels in Triton, run by Triton's interpreter beside their forms in ops of PyTorch. It takes
TRITON_INTERPRET=1 before triton is imported; test_triton_rows.py starts it so."""

import builtins
import contextlib
import unittest
import unittest.mock

import torch
from triton.runtime import interpreter


class OfArrays(type):
    """Makes integers of arrays of one element, too, as the interpreter does and numpy 2.4
    refuses."""

    def __call__(cls, x):
        return builtins.int(x.item() if getattr(x, "size", 0) == 1 else x)

    def __instancecheck__(cls, x):
        return isinstance(x, builtins.int)


interpreter.int = OfArrays("int", (), {})

import blockscale.torch  # noqa: F401
from blockscale.torch import _plain_rows, _rows, _triton_rows

OPS = torch.ops.blockscale
#: The interpreter multiplies no bfloat16.
DTYPES = (torch.float16, torch.float32)


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())
    for name, value in (("device", lambda _: contextlib.nullcontext()),
                        ("get_device_capability", lambda _: (8, 0))):
        unittest.enterModuleContext(unittest.mock.patch.object(torch.cuda, name, value))


class RowsTest(unittest.TestCase):
    def test_softmax(self):
        torch.manual_seed(0)
        for width in (3, 1024, 2500):
            for dtype in DTYPES:
                x = (torch.randn(3, width) * 4).to(dtype)
                for is_log in (False, True):
                    found = _triton_rows.softmax(x, is_log)
                    torch.testing.assert_close(found, _plain_rows.softmax(x, is_log).to(dtype))
                    padded = torch.nn.functional.pad(x, (0, 1111), value=-torch.inf)
                    again = _triton_rows.softmax(padded, is_log)[:, :width]
                    self.assertTrue(torch.equal(again, found))
        x = torch.tensor([[1, torch.nan], [torch.inf, 1], [-torch.inf, -torch.inf]])
        for is_log in (False, True):
            self.assertTrue(_triton_rows.softmax(x, is_log).isnan().all())

    def test_rotary(self):
        """The bits are those of the other form."""
        torch.manual_seed(1)
        for dtype in DTYPES:
            x = torch.randn(2, 5, 3, 34).to(dtype).transpose(1, 2)
            cos, sin = torch.randn(2, 1, 5, 34), torch.randn(5, 34).to(dtype)
            found = _triton_rows.rotate(x, cos.expand(x.shape), sin.expand(x.shape))
            self.assertTrue(torch.equal(found, _plain_rows.rotate(x, cos, sin).to(dtype)))


class AttentionTest(unittest.TestCase):
    def check(self, wanted, q, k, v, *args, new=None):
        """However many programs share the keys, and whatever tickets they had before, the bits are
        the same, and the values those of the other form."""
        tickets = torch.zeros(100, dtype=torch.int32)
        found = []
        for count in (1, _plain_rows.SEGMENT, 1 << 20):
            caches = k.clone(), v.clone()
            with unittest.mock.patch.object(_triton_rows, "_get_tickets", lambda *_: tickets):
                found.append((_triton_rows.attend(q, *caches, *args, new, count), *caches))
            self.assertFalse(tickets.any())
        for other in found[1:]:
            for one, each in zip(found[0], other):
                torch.testing.assert_close(one, each, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(found[0][0], wanted, rtol=2e-3, atol=2e-4, equal_nan=True)
        return found[0]

    def make(self, dtype, queries=7, keys=330):
        torch.manual_seed(2)
        return [torch.randn(2, heads, length, width).to(dtype) for heads, length, width in (
            (6, queries, 40), (2, keys, 40), (2, keys, 24))]

    def test_bounds(self):
        for dtype in DTYPES:
            q, k, v = self.make(dtype)
            k[1, :, 70:], v[1, :, 70:] = torch.nan, torch.nan
            lengths, positions = torch.tensor([329, 70]), torch.arange(7).expand(2, 7) * 40
            bounds = _rows._get_bounds(q, 330, lengths, positions, False)
            wanted = _plain_rows.attend(q, k, v, None, bounds, 0.2)
            found, *_ = self.check(wanted, q, k, v, None, lengths, positions, False, 0.2)
            self.assertFalse(found.isnan().any())
            bounds = _rows._get_bounds(q, 330, lengths, None, True)
            wanted = _plain_rows.attend(q, k, v, None, bounds, 0.2)
            self.check(wanted, q, k, v, None, lengths, None, True, 0.2)

    def test_masks_and_special_values(self):
        for dtype in DTYPES:
            q, k, v = self.make(dtype)
            seen = torch.rand(2, 6, 7, 330) < 0.3
            seen[1, :, :, 64:], seen[0, 0, 0] = False, False
            v[0, 1, 100, 3], v[0, 0, 7, 1] = torch.nan, -torch.inf
            v[1, 1, 10, 5], v[1, 1, 300, 5], q[1, 0, 2, 0] = torch.inf, torch.nan, torch.nan
            # One row for all heads, and for all queries, too.
            shared = seen[:, 1:2].expand(seen.shape), seen[:, 1:2, :1].expand(seen.shape)
            for mask in (seen, torch.where(seen, torch.randn(seen.shape), -torch.inf), *shared,
                         torch.where(seen[:, 1:2, :1], 0.5, -torch.inf).expand(seen.shape)):
                wanted = _plain_rows.attend(q, k, v, mask, torch.full((2, 7), 330), 0.2)
                self.check(wanted, q, k, v, mask, None, None, False, 0.2)

    def test_decoding(self):
        for dtype in DTYPES:
            q, keys, values = self.make(dtype, 1)
            k = torch.randn(2, 1, 2, 40).to(dtype).transpose(1, 2)
            v = torch.randn(2, 2, 1, 24).to(dtype)
            cos, sin = torch.randn(2, 1, 1, 40).to(dtype), torch.randn(2, 1, 1, 40).to(dtype)
            for place in (0, 63, 64, 299, -1):
                mask = torch.arange(330) <= place % 330
                caches, position = (keys.clone(), values.clone()), torch.tensor([place])
                wanted = OPS.decode_attention(q, k, v, *caches, cos, sin, position, mask, scale=0.2)
                _, *found = self.check(wanted, q, keys, values, mask.expand(2, 6, 1, 330), None,
                                       None, False, 0.2,
                                       new=(k, v, cos[:, 0, 0], sin[:, 0, 0], position))
                self.assertTrue(all(map(torch.equal, found, caches)))


if __name__ == "__main__":
    unittest.main()
