# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of PyTorch as arguments and results of compiled functions."""

import unittest

import torch

import blockscale as bs


@bs.jit
def amax(x: bs.Spec((None, 64), "bf16")):
    return bs.amax(x)


class TestTensors(unittest.TestCase):
    def test_results_are_tensors(self):
        x = torch.linspace(-3, 5, 128).reshape(2, 64).to(torch.bfloat16)
        self.assertEqual(float(amax(x)), 5)
        data, scales = bs.jit(lambda x: bs.quantize(x))(x)
        self.assertEqual((data.dtype, scales.dtype), (torch.uint8, torch.float8_e4m3fn))

        @bs.jit
        def dequantize(data: bs.Spec((4, 64), "e2m1"), scale: bs.Spec((4, 4), "e4m3")):
            return bs.dequantize(data, scale)

        found = dequantize(torch.full((4, 32), 0x22, dtype=torch.uint8),
                           torch.ones(4, 4).to(torch.float8_e4m3fn))
        self.assertTrue(torch.equal(found, torch.ones(4, 64)))

    def test_one_tensor_among_arrays_makes_results_tensors(self):
        add = bs.jit(lambda x, y: x + y)
        x = torch.ones(4, 8)
        self.assertIsInstance(add(x.numpy(), x), torch.Tensor)

    def test_what_is_refused(self):
        x = torch.zeros(64, 64, dtype=torch.bfloat16)
        for wrong, message in ((x.T[:, ::2], "contiguous"),
                               (x.float(), "expected dtype bfloat16 .* but got float32"),
                               (x.to(torch.float8_e5m2), "dtype bfloat16 .* got float8_e5m2")):
            with self.subTest(message), self.assertRaisesRegex(bs.ArgumentError, message):
                amax(wrong)
        amax(x.requires_grad_())


if __name__ == "__main__":
    unittest.main()
