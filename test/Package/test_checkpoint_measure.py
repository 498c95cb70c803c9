# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of quantized rows is the same however they are added: few at a time, which are measured
together, or all at once."""

import unittest

import numpy as np

from blockscale.checkpoint import _measure
from blockscale.checkpoint._measure import Error

ROWS, COLS, BLOCK = 300, 2048, 16
GLOBAL = np.float32(0.5)


def measure(operands, sizes):
    """What an Error tells of rows that are added in parts of these sizes."""
    error = Error("f32", "nvfp4", GLOBAL, counts_blocks=True)
    begin = 0
    for size in sizes:
        error.add(*(each[begin:begin + size] for each in operands))
        begin += size
    assert begin == ROWS
    return error.describe()


class ErrorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        random = np.random.default_rng(0)
        codes = random.integers(0, 256, (ROWS, COLS // 2), np.uint8)
        scales = random.integers(1, 0x70, (ROWS, COLS // BLOCK), np.uint8)
        magnitudes = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
        both = np.stack([codes & 15, codes >> 4], axis=-1).reshape(ROWS, COLS)
        values = np.where(both & 8, -1.0, 1.0) * magnitudes[both & 7]
        factors = np.where(scales >> 3, (1 + (scales & 7) / 8) * 2.0 ** ((scales >> 3) - 7.0),
                           (scales & 7) * 2.0**-9)
        exact = (values * np.repeat(factors, BLOCK, axis=1) * GLOBAL).astype(np.float32)
        # Some elements of some blocks are other numbers.
        cls.other = random.random((ROWS, COLS)) < 0.02
        cls.x = np.where(cls.other, exact + np.float32(0.25), exact)
        cls.exact, cls.operands = exact, (cls.x, codes, scales)

    def test_of_all_rows(self):
        found = measure(self.operands, [ROWS])
        wide, difference = self.x.astype(np.float64), self.x.astype(np.float64) - self.exact
        self.assertEqual(found["count"], self.x.size)
        self.assertEqual(found["largest"], np.abs(difference).max())
        np.testing.assert_allclose([found["signal"], found["noise"]],
                                   [(wide**2).sum(), (difference**2).sum()], rtol=1e-9)
        changed = self.x != self.exact
        self.assertEqual(found["changed"], changed.reshape(ROWS, -1, BLOCK).any(-1).sum())

    def test_of_parts(self):
        """Parts that are kept to the end, that are measured before, and that are never kept."""
        whole = measure(self.operands, [ROWS])
        row_bytes = self.x[0].nbytes
        most = _measure._KEPT_BYTES // row_bytes
        self.assertLess(2 * most, ROWS)
        for sizes in ([1] * ROWS, [7] * 42 + [6], [most - 1, 1, ROWS - most],
                      [most, 1, ROWS - most - 1]):
            found = measure(self.operands, sizes)
            for name in ("count", "largest", "changed"):
                self.assertEqual(found[name], whole[name], (name, sizes))
            np.testing.assert_allclose([found["signal"], found["noise"]],
                                       [whole["signal"], whole["noise"]], rtol=1e-12)


if __name__ == "__main__":
    unittest.main()
