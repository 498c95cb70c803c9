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

    @staticmethod
    def numbered(rows, cols):
        return np.arange(rows * cols, dtype=np.int32).reshape(rows, cols)

    def test_maps(self):
        maps = [key for key in self.golden if key.startswith("out_map_")]
        self.assertTrue(maps)
        for key in maps:
            with self.subTest(key):
                rows, cols = map(int, key.removeprefix("out_map_").split("x"))
                source = self.numbered(rows, cols)
                tiles = reference.swizzle(source, fill=-1)
                self.assertCodes(tiles.ravel(), self.golden[key])
                self.assertCodes(reference.unswizzle(tiles, rows, cols), source)

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


if __name__ == "__main__":
    unittest.main()
