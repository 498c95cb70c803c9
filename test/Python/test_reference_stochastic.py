# ===- test_reference_stochastic.py - The reference's random bits ---------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Philox against its published answers, and what stochastic rounding may do."""

import itertools
import unittest

import numpy as np

from golden import reference
from blockscale_reference import E2M1, E4M3

ONES = [0xFFFFFFFF] * 4
PI = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0]


class PhiloxTest(unittest.TestCase):
    def check(self, counter, key, want):
        got = [int(word) for word in reference.philox4x32(counter, key)]
        self.assertEqual([f"{word:08x}" for word in got], want.split())

    def test_known_answers_of_random123(self):
        self.check([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8")
        self.check(ONES, ONES[:2], "408f276d 41c83b0e a20bc7c6 6d5451fd")
        self.check(PI[:4], PI[4:], "d16cfe09 94fdcceb 5001e420 24126ea1")

    def test_assignment(self):
        seed, offset = 0x299F31D0A4093822, 0x0370734413198A2E
        got = reference.random_bytes((2, 3, 40), seed, offset)
        for row, col in ((0, 0), (1, 17), (3, 39), (5, 22)):
            group = row * 3 + col // 16
            word = reference.philox4x32((group, 0, PI[2], PI[3]), PI[4:])[col % 16 // 4]
            byte = (0, 2, 1, 3)[col % 4]
            self.assertEqual(got.reshape(6, 40)[row, col], int(word) >> 8 * byte & 255)

    def test_rows_start_a_group(self):
        long = reference.random_bytes((4, 48), 5, 6)
        np.testing.assert_array_equal(reference.random_bytes((4, 40), 5, 6), long[:, :40])

    def test_negative_numbers_are_their_bits(self):
        np.testing.assert_array_equal(
            reference.random_bytes((1, 16), -1, -2),
            reference.random_bytes((1, 16), 2**64 - 1, 2**64 - 2),
        )


class RoundingTest(unittest.TestCase):
    def test_proportions(self):
        values = E2M1.decode(np.arange(8))
        every = np.arange(256)
        for lower, upper in itertools.pairwise(values):
            for part in range(256):
                x = np.float32(lower + (upper - lower) * part / 256)
                got = E2M1.decode(reference.encode_stochastic(np.full(256, x), every))
                self.assertEqual(int((got == upper).sum()), part)
                self.assertEqual(int((got == lower).sum()), 256 - part)
                down = E2M1.decode(reference.encode_stochastic(np.full(256, -x), every))
                np.testing.assert_array_equal(down, -got)

    def test_edges(self):
        for bits in (0, 255):
            x = np.array([0, -0.0, 2.0**-149, 6, -7, np.inf, -np.inf, np.nan], np.float32)
            got = reference.encode_stochastic(x, np.full(8, bits))
            self.assertEqual(got.tolist(), [0, 8, 0, 7, 15, 7, 15, 7])
        below = np.nextafter(np.float32(2.0**-9), np.float32(0))
        self.assertEqual(int(reference.encode_stochastic(below, 255)), 0)

    def test_quantizers_draw_by_element(self):
        x = np.random.default_rng(3).normal(size=(64, 64)).astype(np.float32)
        for quantize, small, square in (
            (reference.quantize_nvfp4, (16, 1), (16, 16)),
            (lambda x, **o: reference.quantize_mx(x, E2M1, **o), (32, 1), (32, 32)),
        ):
            for block in (small, square):
                options = {"block": block, "rng": (11, 4)}
                codes, scale = quantize(x, **options)
                turned = quantize(x, transposed=True, **options)
                np.testing.assert_array_equal(turned[0].T, codes)
                np.testing.assert_array_equal(turned[1].T, scale)
                nearest = quantize(x, block=block)
                np.testing.assert_array_equal(nearest[1], scale)
                self.assertTrue((nearest[0] != codes).any())

    def test_part(self):
        """A part of a tensor has the bits that it has in the whole."""
        whole = reference.random_bytes((2, 32, 88), 11, 4)
        part = reference.random_bytes((32, 40), 11, 4, first=(32 * 6) + 3, per_row=6)
        np.testing.assert_array_equal(part, whole[1, :, 48:])

    def test_mean(self):
        x = np.float32(0.7) * np.ones((256, 1024), np.float32)
        x[:, ::16] = 6.0
        codes, scale = reference.quantize_nvfp4(x, rng=(0, 0))
        self.assertTrue((E4M3.decode(scale) == 1).all())
        got = E2M1.decode(codes)[x != 6]
        self.assertEqual(set(got.tolist()), {0.5, 1.0})
        # 0.7 is 102.4 / 256 of the way, of which 0.4 / 256 is cut off.
        self.assertAlmostEqual(got.mean(), 0.5 + 0.5 * 102 / 256, delta=2e-3)


if __name__ == "__main__":
    unittest.main()
