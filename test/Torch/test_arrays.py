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
        amax(torch.nn.Parameter(x.detach()))

    # Such an argument is the result, too, where that may be in it.
    def test_tensors_that_are_given_away(self):
        source = """
            func.func @put(%x: tensor<?x4xf32> {bufferization.writable = true},
                           %y: tensor<1x4xf32>, %p: index) -> tensor<?x4xf32> {
              %z = tensor.insert_slice %y into %x[%p, 0] [1, 4] [1, 1]
                  : tensor<1x4xf32> into tensor<?x4xf32>
              return %z : tensor<?x4xf32>
            }"""
        for target in ("cpu", "sm_100a"):
            with self.subTest(target):
                put = bs.compile(source, target=target)
                x, y = torch.zeros(3, 4), torch.ones(1, 4)
                self.assertIs(put(x, y, 1), x)
                self.assertEqual(x.tolist(), [[0] * 4, [1] * 4, [0] * 4])
                with self.assertRaisesRegex(bs.ArgumentError, "argument 0, which is given away, "
                                            "in memory of its own, but it overlaps argument 1"):
                    put(x, x[1:2], 0)

    # What is seen of such a tensor is not what its memory has.
    def test_tensors_whose_memory_is_something_else(self):
        negated = torch._neg_view(torch.ones(8, 64))
        self.assertTrue(negated.is_contiguous())
        copy = bs.compile("func.func @copy(%x: tensor<8x64xf32>) -> tensor<8x64xf32> "
                          "{ return %x : tensor<8x64xf32> }")
        imaginary = torch.complex(torch.zeros(8, 64), torch.ones(8, 64)).conj().imag
        for tensor in (negated, imaginary):
            with self.assertRaisesRegex(bs.ArgumentError, r"give .resolve_neg\(\) of it"):
                copy(tensor)
        dense = negated.resolve_neg()
        self.assertTrue(torch.equal(copy(dense), torch.full((8, 64), -1.0)))
        for tensor in (dense.to("meta"), dense.to_sparse()):
            with self.subTest(tensor.layout), self.assertRaises(bs.ArgumentError):
                copy(tensor)

    def test_views(self):
        x = torch.arange(16 * 64, dtype=torch.float32).reshape(16, 64)
        copy = bs.compile("func.func @copy(%x: tensor<?x64xf32>) -> tensor<?x64xf32> "
                          "{ return %x : tensor<?x64xf32> }")
        for view in (x[3:7], x[:0], x[5:6, :], x.reshape(2, 8, 64)[1]):
            found = copy(view)
            self.assertTrue(torch.equal(found, view))
            into = torch.zeros(18, 64)[2:2 + len(view)]
            self.assertIs(copy(view, out=[into]), into)
            self.assertTrue(torch.equal(into, view))
        # One caller serves shapes in any order, those of other ranks are refused.
        for rows in (3, 1, 3):
            self.assertTrue(torch.equal(copy(x[:rows]), x[:rows]))
            with self.assertRaisesRegex(bs.ArgumentError, r"expected storage shape \(\?, 64\)"):
                copy(x.reshape(2, 8, 64))


if __name__ == "__main__":
    unittest.main()
