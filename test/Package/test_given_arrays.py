# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that a caller gives away: what a call writes there, and what it refuses."""

import functools
import unittest

import ml_dtypes
import numpy as np

import blockscale as bs
from producer import Producer

APPEND = """
func.func @append(%data: tensor<?x64xf8E4M3FN> {bufferization.writable = true},
                  %scale: tensor<?x2xf8E8M0FNU> {bufferization.writable = true},
                  %x: tensor<1x64xf32>, %p: index)
    -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<1x64xf32> -> tensor<1x64xf8E4M3FN>, tensor<1x2xf8E8M0FNU>
  %a = tensor.insert_slice %q into %data[%p, 0] [1, 64] [1, 1]
      : tensor<1x64xf8E4M3FN> into tensor<?x64xf8E4M3FN>
  %b = tensor.insert_slice %s into %scale[%p, 0] [1, 2] [1, 1]
      : tensor<1x2xf8E8M0FNU> into tensor<?x2xf8E8M0FNU>
  return %a, %b : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}"""
# One element of a tensor of rank 0, which is not what its memory was.
RAISE = """
func.func @raise(%x: tensor<f32> {bufferization.writable = true}) -> tensor<f32> {
  %y = arith.addf %x, %x : tensor<f32>
  return %y : tensor<f32>
}"""


def make_caches():
    return np.full((8, 64), 0x11, np.uint8), np.full((8, 2), 0x22, np.uint8)


ROW = np.ones((1, 64), np.float32)


def in_each_place(test):
    @functools.wraps(test)
    def run(self):
        for target in ("cpu", "sm_100a"):
            with self.subTest(target):
                test(self, bs.compile(APPEND, target=target))
    return run


class GivenArraysTest(unittest.TestCase):
    def expect_appended(self, data, scale, rows):
        for row in range(8):
            codes, factor = (0x78, 119) if row in rows else (0x11, 0x22)
            np.testing.assert_array_equal(np.asarray(data)[row].view(np.uint8), codes)
            np.testing.assert_array_equal(np.asarray(scale)[row].view(np.uint8), factor)

    @in_each_place
    def test_results_are_the_arrays(self, append):
        data, scale = make_caches()
        for position in (5, 2):
            found = append(data, scale, ROW, position)
            self.assertIs(found[0], data)
            self.assertIs(found[1], scale)
        self.expect_appended(data, scale, (5, 2))

    # Also where the dtype of the array is that of the elements, or it is another package's.
    @in_each_place
    def test_arrays_of_other_kinds(self, append):
        data, scale = make_caches()
        named = data.view(ml_dtypes.float8_e4m3fn)
        exchanged = Producer(scale, dtype=(1, 8))
        found = append(named, exchanged, ROW, 1)
        self.assertIs(found[0], named)
        self.assertIs(found[1], exchanged)
        self.expect_appended(data, scale, (1,))

    @in_each_place
    def test_results_elsewhere(self, append):
        data, scale = make_caches()
        out = np.empty_like(data), np.empty_like(scale)
        found = append(data, scale, ROW, 7, out=out)
        self.assertIs(found[0], out[0])
        self.expect_appended(*out, (7,))
        data, scale = make_caches()
        found = append(data, scale, ROW, 7, out=(data, out[1]))
        self.expect_appended(data, out[1], (7,))

    @in_each_place
    def test_what_is_refused(self, append):
        data, scale = make_caches()
        both = np.zeros(8 * 64 + 16, np.uint8)
        aliased = both[:512].reshape(8, 64), both[504:520].reshape(8, 2)
        read_only = data.copy()
        read_only.flags.writeable = False
        for arrays, out, message in (
                ((*aliased, ROW, 0), None,
                 ("expected argument 1, which is given away, in memory of its own, but it "
                  "overlaps argument 0")),
                ((data, scale, data[:4].view(np.float32).reshape(1, 64), 0), None,
                 ("expected argument 0, which is given away, in memory of its own, but it "
                  "overlaps argument 2")),
                ((read_only, scale, ROW, 0), None,
                 ("argument 0: expected an array that can be written, but got one that is "
                  "read-only")),
                ((data, Producer(scale, dtype=(1, 8), version=(1, 0), flags=1), ROW, 0), None,
                 "argument 1: expected an array that can be written"),
                ((data, scale, ROW, 0), (data, data[:1, :16].reshape(8, 2)),
                 "expected result 1 in memory of its own, but it overlaps argument 0")):
            with self.subTest(message), self.assertRaisesRegex(bs.ArgumentError, message):
                append(*arrays, out=out)
        self.expect_appended(data, scale, ())

    # Without an array there is nothing to write to.
    def test_scalars_of_numpy(self):
        double = bs.compile(RAISE)
        x = np.array(3, np.float32)
        self.assertEqual(double(x), 6)
        with self.assertRaisesRegex(bs.ArgumentError,
                                    "argument 0: expected an array that can be written, but got "
                                    "a scalar of NumPy; give numpy.array of it"):
            double(np.float32(3))

    # A function that was saved knows it, too.
    def test_compiled_ahead(self):
        file = bs.compile_ahead(APPEND, targets=["cpu", "sm_100a"])
        for target in ("cpu", "sm_100a"):
            with self.subTest(target):
                data, scale = make_caches()
                found = bs.load(file, target=target)(data, scale, ROW, 3)
                self.assertIs(found[0], data)
                self.expect_appended(data, scale, (3,))


if __name__ == "__main__":
    unittest.main()
