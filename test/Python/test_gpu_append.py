# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""benchmarks/gpu/append.py: its bars, and how it finds bytes that are wrong."""

import sys
import unittest
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks/gpu"))

import append


class AppendTest(unittest.TestCase):
    # Neither the size of the cache nor a comparison with index_copy_ may cost more.
    def test_bars(self):
        benchmark = append.Append()
        times = {f"{work}, {size}": 5.0 for work in ("ours", append.PEERS[0])
                 for size in append.SIZES}
        row = {"label": "MXFP8", "us": times, "larger": 1.05, "share": 1.0, "problem": ""}
        for change, verdict in (({}, "met"), ({"larger": 0.95}, "met"),
                                ({"larger": 1.06}, "MISSED"), ({"larger": 0.94}, "MISSED"),
                                ({"share": 0.99}, "MISSED"),
                                ({"problem": "WRONG: 1 bytes"}, "WRONG: 1 bytes")):
            with self.subTest(change):
                self.assertEqual(benchmark.verdict(row | change), verdict)

    # A peer that failed has no times.
    def test_cells(self):
        times = {f"ours, {size}": 5.0 for size in append.SIZES}
        row = {"label": "MXFP8", "us": times, "larger": 1.05, "share": 1.0}
        cells = append.Append().make_cells(row)
        self.assertEqual(len(cells), len(append.Append.columns))
        self.assertEqual(cells[:4], ["MXFP8", "5.00", "5.00", ""])

    def test_wrong_bytes(self):
        row = [np.arange(4, dtype=np.uint8)[None], np.full((1, 2), 9, np.uint8)]
        for changes, problem in (((), ""), (((0, 0, 2),), "WRONG: 1 bytes"),
                                 (((0, 1, 0), (1, 2, 1)), "WRONG: 2 bytes")):
            caches = [np.full((3, part.shape[1]), append.BEFORE, np.uint8) for part in row]
            for cache, part in zip(caches, row):
                cache[1] = part
            for number, position, column in changes:
                caches[number][position, column] ^= 1
            self.assertEqual(append.find_problem(caches, row, 1), problem)
            for cache in caches:
                np.testing.assert_array_equal(cache, append.BEFORE)


if __name__ == "__main__":
    unittest.main()
