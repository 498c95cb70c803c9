# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is in files of tensors from Python: orders, conversions and facts, against NumPy."""

import math
import unittest

import ml_dtypes
import numpy as np

import blockscale as bs
from blockscale._native import _checkpoint as native

E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])
E4M3 = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(float)


def unpack(codes):
    return np.stack([codes & 15, codes >> 4], -1).reshape(codes.shape[0], -1)


class DataTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(7)

    def bytes(self, *shape, end=256):
        return self.random.integers(0, end, shape, np.uint8)

    def refuse(self, message, function, *arguments, **others):
        with self.assertRaisesRegex(bs.ArgumentError, message):
            function(*arguments, **others)


class OrderTest(DataTest):
    def test_blocks_of_gguf(self):
        for kind, group, scales_of_block, cols in (("MXFP4", 32, 1, 96), ("NVFP4", 16, 4, 128)):
            codes, scales = self.bytes(3, cols // 2), self.bytes(3, cols // group, end=0x78)
            blocks, changed = native.pack_gguf(kind, 3, cols, codes, scales)
            self.assertEqual(changed, 0)
            rows = blocks.reshape(3, -1, scales_of_block * (1 + group // 2))
            self.assertTrue(np.array_equal(rows[..., :scales_of_block].reshape(3, -1), scales))
            packed = rows[..., scales_of_block:].reshape(3, -1, group // 2)
            self.assertTrue(np.array_equal(
                np.concatenate([packed & 15, packed >> 4], -1).reshape(3, -1), unpack(codes)))
            found = native.unpack_gguf(kind, 3, cols, blocks)
            self.assertTrue(np.array_equal(found[0], codes) and np.array_equal(found[1], scales))
            self.assertEqual(found[2], 0)

    def test_scales_that_mean_something_else(self):
        codes, scales = self.bytes(1, 32), np.array([[0x7F, 0xB8, 0x38, 0]], np.uint8)
        blocks, changed = native.pack_gguf("NVFP4", 1, 64, codes, scales)
        self.assertEqual(changed, 2)
        _, found, changed = native.unpack_gguf("NVFP4", 1, 64, blocks)
        self.assertEqual((found.tolist(), changed), ([[0, 0x38, 0x38, 0]], 2))

    def test_rows(self):
        x = self.bytes(2, 6, 5)
        split = native.split_rows(2, 6, 5, x)
        self.assertTrue(np.array_equal(split[:, :3], x[:, ::2]))
        self.assertTrue(np.array_equal(split[:, 3:], x[:, 1::2]))
        out = np.empty_like(x)
        self.assertIs(native.alternate_rows(2, 6, 5, split, out), out)
        self.assertTrue(np.array_equal(out, x))

    def test_errors(self):
        codes, scales = self.bytes(1, 16), self.bytes(1, 1)
        self.refuse("expected type to be MXFP4 or NVFP4, but got 'Q8_0'", native.pack_gguf,
                    "Q8_0", 1, 32, codes, scales)
        self.refuse("expected cols to be a multiple of 64, but got 32", native.pack_gguf,
                    "NVFP4", 1, 32, codes, scales)
        self.refuse("expected codes to have 32 bytes, but got 16", native.pack_gguf,
                    "MXFP4", 2, 32, codes, self.bytes(2))
        self.refuse("expected blocks to have 17 bytes, but got 16", native.unpack_gguf,
                    "MXFP4", 1, 32, codes)
        self.refuse("expected rows to be a multiple of 2, but got 3", native.split_rows,
                    1, 3, 4, self.bytes(12))
        self.refuse("expected alternating to have 8 bytes, but got 12", native.split_rows,
                    1, 2, 4, self.bytes(12), self.bytes(12))
        self.refuse("expected out to have 12 bytes, but got 8", native.split_rows,
                    1, 2, 4, self.bytes(12))
        self.refuse(r"expected rows from 0 to 2\^31, but got -1", native.pack_gguf,
                    "MXFP4", -1, 32, codes, scales)


class ArrayTest(DataTest):
    def test_kinds_of_arrays(self):
        x = np.array([1.5, -3], np.float32)
        for array in (x, x.tobytes(), bytearray(x.tobytes()), memoryview(x), x.reshape(2, 1),
                      np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:]):
            self.assertEqual(native.amax("F32", array), 3.0)

    def test_arrays_with_dlpack(self):
        class Exchanged:
            def __init__(self, array):
                self.__dlpack__ = array.__dlpack__
                self.__dlpack_device__ = array.__dlpack_device__

        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        self.assertEqual(native.amax("F32", Exchanged(x)), 11.0)
        self.refuse(r"expected x to be dense and row-major, but got strides \(1, 4\)",
                    native.amax, "F32", Exchanged(x.T))
        out = np.zeros((1, 17), np.uint8)
        native.quantize_gguf("MXFP4", "F32", 1, 32, np.ones(32, np.float32), Exchanged(out))
        self.assertEqual(out[0, 0], 125)

    def test_errors(self):
        x = np.zeros((4, 4), np.float32)
        self.refuse(r"expected x to be dense and row-major, but got strides \(32, 8\)",
                    native.amax, "F32", x[::2, ::2])
        x.flags.writeable = False
        self.refuse("expected out to be writable, but it is not", native.split_rows,
                    1, 4, 16, x, x)
        self.refuse("expected out to be writable, but it is not", native.split_rows,
                    1, 4, 16, x, bytes(64))


class ConversionTest(DataTest):
    def test_mxfp4_to_nvfp4(self):
        codes, scales = self.bytes(5, 64), self.bytes(5, 4, end=18) + 100
        exponent = native.mxfp4_max_exponent(scales)
        self.assertEqual(exponent, int(scales.max()) - 127)
        found, block, scale, changed = native.mxfp4_to_nvfp4(5, 128, codes, scales, exponent)
        self.assertEqual(changed, 0)
        self.assertTrue(np.array_equal(found, codes))
        self.assertTrue(np.array_equal(E4M3[block] * scale,
                                       np.repeat(2.0 ** (scales.astype(int) - 127), 2, 1)))

    def test_mxfp4_to_fp8(self):
        codes, scales = self.bytes(6, 64), self.bytes(6, 4, end=15) + 100
        found, block, changed = native.mxfp4_to_fp8(6, 128, (4, 64), codes, scales)
        self.assertEqual((found.shape, block.shape, changed), ((6, 128), (2, 2), 0))
        values = E4M3[found] * np.repeat(np.repeat(block, 4, 0)[:6], 64, 1)
        expected = E2M1[unpack(codes)] * np.repeat(2.0 ** (scales.astype(int) - 127), 32, 1)
        self.assertTrue(np.array_equal(values, expected))
        scales[0, 0] = 40
        codes[0, 0] = 1
        self.assertEqual(native.mxfp4_to_fp8(6, 128, (4, 64), codes, scales)[2], 1)

    def test_blocks_of_ggml(self):
        x = self.random.standard_normal((3, 128)).astype(np.float32)
        x[0, :14] = [.25, .75, 1.25, 1.75, 2.5, 3.5, 5, -.25, -.75, -1.25, -5, -0., 6, 4]
        for kind in ("MXFP4", "NVFP4"):
            codes, scales, _ = native.unpack_gguf(
                kind, 3, 128, native.quantize_gguf(kind, "F32", 3, 128, x))
            size = 128 // scales.shape[1]
            amax = np.abs(x).reshape(3, -1, size).max(-1)
            if kind == "MXFP4":
                scale = 2.0 ** (np.floor(np.log2(amax)) - 2)
                self.assertTrue(np.array_equal(scale, 2.0 ** (scales.astype(int) - 127)))
            else:
                scale = E4M3[scales]
                self.assertTrue((np.abs(amax / 6 / scale - 1) <= 1 / 16).all())
            # The first of the nearest ones.
            errors = np.abs(E2M1 - (x / np.repeat(scale, size, 1))[..., None])
            self.assertTrue(np.array_equal(unpack(codes), errors.argmin(-1)))
            bf16 = x.astype(ml_dtypes.bfloat16)
            self.assertTrue(np.array_equal(
                native.quantize_gguf(kind, "BF16", 3, 128, bf16),
                native.quantize_gguf(kind, "F32", 3, 128, bf16.astype(np.float32))))

    def test_errors(self):
        codes, scales = self.bytes(1, 32), self.bytes(1, 2)
        self.refuse("expected max_exponent from -127 to 124, but got 125", native.mxfp4_to_nvfp4,
                    1, 64, codes, scales, 125)
        self.refuse("expected cols to be a multiple of 32, but got 48", native.mxfp4_to_nvfp4,
                    1, 48, codes, scales, 0)
        self.refuse("expected block_cols to be a multiple of 32, but got 48", native.mxfp4_to_fp8,
                    1, 64, (1, 48), codes, scales)
        self.refuse("expected block_rows to be at least 1, but got 0", native.mxfp4_to_fp8,
                    1, 64, (0, 64), codes, scales)
        self.refuse("expected block_scales to have 8 bytes, but got 4", native.mxfp4_to_fp8,
                    1, 64, (1, 32), codes, scales, None, np.empty(1, np.float32))
        self.refuse("expected input_type to be F32, BF16 or F16, but got F8_E4M3",
                    native.quantize_gguf, "MXFP4", "F8_E4M3", 1, 64, self.bytes(64))


class FactTest(DataTest):
    def test_statistics(self):
        x = np.array([1, -2, 0, -0., np.nan, np.inf, 2.0 ** -30], np.float32)
        self.assertEqual(native.scan("F32", x), (7, 1, 1, 2, 1, -2.0, math.inf, 2.0 ** -30))
        self.assertTrue(math.isnan(native.amax("F32", x)))
        self.assertEqual(native.amax("F32", x[:4]), 2.0)
        self.assertEqual(native.amax("F16", b""), 0.0)
        self.assertEqual(native.scan("F8_E8M0", bytes([127, 255, 128]))[:2], (3, 1))

    def test_codes(self):
        codes = np.array([[0x21, 0x7A], [0x00, 0x00]], np.uint8)
        found = native.scan_codes(2, 4, 2, codes)
        self.assertEqual([(parity, code) for parity, code in np.argwhere(found.codes)],
                         [(0, 0), (0, 1), (0, 10), (1, 0), (1, 2), (1, 7)])
        self.assertEqual(found.codes.sum(), 8)
        self.assertEqual(found.largest.tolist(), [2, 0, 1, 0, 0, 0, 0, 1])

    def test_columns(self):
        codes, scales = self.bytes(9, 64), self.bytes(9, 8, end=0x7F)
        values = E2M1[unpack(codes)] * np.repeat(E4M3[scales], 16, 1)
        found = native.column_squares_of_codes("F8_E4M3", 9, 128, 16, codes, scales)
        np.testing.assert_allclose(found, (values ** 2).sum(0), rtol=1e-12)
        np.testing.assert_allclose(
            native.column_squares("F32", 9, 128, values.astype(np.float32)), found, rtol=1e-12)

    def test_comparison(self):
        a = self.random.standard_normal(1000).astype(np.float32)
        b = a.astype(ml_dtypes.bfloat16)
        found = native.compare("F32", a, "BF16", b)
        error = a.astype(float) - b.astype(float)
        self.assertEqual(found[:3], (1000, np.count_nonzero(error), 0))
        np.testing.assert_allclose(found[3:5], ((a.astype(float) ** 2).sum(), (error ** 2).sum()))
        self.assertEqual(found.largest, np.abs(error).max())
        self.assertEqual(found.largest_index, np.abs(error).argmax())

    def test_errors(self):
        self.refuse("expected type to be one of F32, BF16, F16, F8_E4M3, F8_E5M2, F8_E8M0, but "
                    "got 'I64'", native.amax, "I64", b"")
        self.refuse("expected the bytes of x to be a multiple of 4, but got 6", native.scan,
                    "F32", bytes(6))
        self.refuse("expected x to have 2 elements, as the reference, but got 4", native.compare,
                    "F32", bytes(8), "BF16", bytes(8))
        self.refuse("expected block_cols to be a multiple of 2, but got 3", native.scan_codes,
                    1, 4, 3, bytes(2))
        self.refuse("expected block_cols to be at least 2, but got 0", native.scan_codes,
                    1, 4, 0, bytes(2))
        self.refuse("expected scale_type to be F8_E4M3 or F8_E8M0, but got F32",
                    native.column_squares_of_codes, "F32", 1, 4, 2, bytes(2), bytes(8))


if __name__ == "__main__":
    unittest.main()
