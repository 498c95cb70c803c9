# ===- test_reference_layout.py - The reference's scale layouts -----------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Where each scale lies, against golden maps."""

import unittest

import numpy as np

from golden import GoldenTest, load, reference


class LayoutTest(GoldenTest):
    @classmethod
    def setUpClass(cls):
        cls.golden = load("swizzle__maps")
        cls.golden_8x4 = load("swizzle__maps_8x4")

    @staticmethod
    def numbered(rows, cols):
        return np.arange(rows * cols, dtype=np.int32).reshape(rows, cols)

    def check_maps(self, golden, layout):
        maps = [key for key in golden if key.startswith("out_map_")]
        self.assertTrue(maps)
        for key in maps:
            with self.subTest(key):
                rows, cols = map(int, key.removeprefix("out_map_").split("x"))
                source = self.numbered(rows, cols)
                tiles = reference.swizzle(source, fill=-1, layout=layout)
                self.assertCodes(tiles.ravel(), golden[key])
                self.assertCodes(reference.unswizzle(tiles, rows, cols, layout), source)

    def test_maps(self):
        self.check_maps(self.golden, "swizzle_128x4")

    def test_maps_8x4(self):
        self.check_maps(self.golden_8x4, "swizzle_8x4")

    def test_groups(self):
        """Upper-bound buffers agree over their common prefix; the rest is padding."""
        for name, dim in (
            ("mgroup0", 0),
            ("mgroup1", 0),
            ("kgroup0", 1),
            ("kgroup1", 1),
        ):
            with self.subTest(name):
                ends = self.golden[f"in_{name}_offs"].tolist()
                other = int(self.golden[f"in_{name}_{'rows' if dim else 'cols'}"][0])
                shape = (other, ends[-1]) if dim else (ends[-1], other)
                got = reference.swizzle_groups(self.numbered(*shape), ends, dim, -1)
                got, want = got.ravel(), self.golden[f"out_{name}_map"].ravel()
                common = min(got.size, want.size)
                self.assertCodes(got[:common], want[:common])
                self.assertTrue((np.concatenate([got, want])[2 * common :] == -1).all())
                self.assertEqual(np.sum(got >= 0), shape[0] * shape[1])


class FragmentsTest(unittest.TestCase):
    """The order of prepacked data, element by element as docs/Numerics.md has it."""

    @staticmethod
    def place(row, col):
        """Thread, product, register and half of an element of a block."""
        lane = row % 8 * 4 + col % 8 // 2
        return (row // 16 * 32 + lane, col // 16, row % 16 // 8 + col % 16 // 8 * 2, col % 2)

    def test_bytes(self):
        codes = np.random.default_rng(1).integers(1, 256, (2, 65, 70), dtype=np.uint8)
        blocks = reference.prepack(codes, 8)
        self.assertEqual(blocks.shape, (2, 2, 2, 4096))
        want = np.zeros_like(blocks)
        for row, col in np.ndindex(65, 70):
            thread, product, register, half = self.place(row % 64, col % 64)
            byte = product // 2 * 2048 + thread * 16 + product % 2 * 8 + register * 2 + half
            want[:, row // 64, col // 64, byte] = codes[:, row, col]
        self.assertTrue((blocks == want).all())
        self.assertTrue((reference.unprepack(blocks, 65, 70, 8) == codes).all())

    def test_words(self):
        codes = np.random.default_rng(2).integers(0, 16, (65, 70), dtype=np.uint8)
        blocks = reference.prepack(codes, 4)
        self.assertEqual(blocks.shape, (2, 2, 2048))
        words = blocks.view("<u4")
        for row, col in np.ndindex(128, 128):
            thread, product, register, half = self.place(row % 64, col % 64)
            # A register is a word that is rotated, or bits of both words of two products.
            first, second = (int(words[row // 64, col // 64, thread * 4 + product // 2 * 2 + i])
                             for i in range(2))
            if register == 3:
                word = (first & 0x06030603) | (second & 0xF9FCF9FC)
            else:
                word = (first, second)[product % 2]
            left = ((0, 4, 10, 8), (2, 6, 12, 14))[product % 2][register]
            pair = (word << left | word >> (32 - left)) & 0xFFFFFFFF
            code = (pair >> (16 * half + 12) & 8) | (pair >> (16 * half + 6) & 7)
            want = codes[row, col] if row < 65 and col < 70 else 0
            self.assertEqual(code, want, (row, col))
        self.assertTrue((reference.unprepack(blocks, 65, 70, 4) == codes).all())


if __name__ == "__main__":
    unittest.main()
