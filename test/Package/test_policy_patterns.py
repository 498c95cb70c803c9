# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of policies, as docs/Policy.md describes them, in a time that goes with their length."""

import time
import unittest

from blockscale._policy import matches_pattern


class PolicyPatternsTest(unittest.TestCase):
    def test_patterns(self):
        for pattern, yes, no in (
                ("a", ["a"], ["", "aa", "b"]), ("*", ["", "a.b"], []),
                ("?", ["a", "."], ["", "ab"]),
                ("a*b", ["ab", "axb", "a.b.b"], ["a", "abx"]),
                ("a*b*c", ["abc", "abbcc", "a.b.c"], ["acb", "ac"]),
                ("*ab*ba*", ["abba", "xab.bax"], ["aba", "baab"]),
                ("[ab]x", ["ax", "bx"], ["cx", "x"]), ("[!ab]", ["c"], ["a", "b", ""]),
                ("[^ab]", ["c"], ["a", "b", ""]), ("[a^]", ["a", "^"], ["b"]),
                ("{up,down}_proj", ["up_proj", "down_proj"], ["gate_proj", "_proj"]),
                ("{a,b*}.{c,}", ["a.c", "a.", "bxx.c", "b."], ["c.", "a"]),
                (r"\*", ["*"], ["a"]), (r"\{a,b\}", ["{a,b}"], ["a"]), ("a,b", ["a,b"], ["a"]),
                ("a.b", ["a.b"], ["axb"])):
            with self.subTest(pattern):
                for name in yes:
                    self.assertTrue(matches_pattern(pattern, name), name)
                for name in no:
                    self.assertFalse(matches_pattern(pattern, name), name)

    def test_patterns_of_many_stars(self):
        start = time.process_time()
        for pattern in ("*a" * 12 + "b", "*a" * 100 + "b", "{a,*b}" * 10 + "c"):
            self.assertFalse(matches_pattern(pattern, "a" * 1000), pattern)
        self.assertLess(time.process_time() - start, 2)


if __name__ == "__main__":
    unittest.main()
