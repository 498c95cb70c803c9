# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How shown output is compared with a command's (test/Docs/Inputs/check_pages.py)."""

import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "Docs/Inputs"))

import check_pages  # noqa: E402

FOUND = ["a", "b", "c", "d", "b"]


class CheckPagesTest(unittest.TestCase):
    def test_equal(self):
        for wanted in (FOUND, ["...", "b"], ["a", "..."], ["a", "b", "...", "d", "b"],
                       ["...", "c", "..."], ["...", "b", "c", "...", "b"], ["..."]):
            with self.subTest(wanted):
                self.assertIsNone(check_pages.differs(wanted, FOUND))

    def test_a_gap_in_a_line(self):
        self.assertIsNone(check_pages.differs(["a(...)", "b"], ["a(b, c)", "b"]))
        self.assertIsNone(check_pages.differs(["...=..."], ["a = b"]))
        self.assertEqual(check_pages.differs(["a(...) c"], ["a(b, c)"]), 0)
        self.assertEqual(check_pages.differs(["a.c..."], ["abc"]), 0)

    def test_blanks(self):
        self.assertIsNone(check_pages.differs(["  a b"], ["\ta  \tb"]))
        self.assertEqual(check_pages.differs(["ab"], ["a b"]), 0)

    def test_different(self):
        for wanted, at in ((["a"], 0), (["b", "..."], 0), (["a", "...", "c"], 2),
                           (["a", "x", "..."], 0), (["...", "d", "...", "c", "..."], 3),
                           (["a", "...", "b", "d", "..."], 2), ([*FOUND, "e"], 0)):
            with self.subTest(wanted):
                self.assertEqual(check_pages.differs(wanted, FOUND), at)

    def test_a_block_of_a_command_names_it(self):
        self.assertIn("COMMAND", check_pages.check_console("echo a\na\n"))
        self.assertEqual(check_pages.check_console("$ echo a\na\n"), "")
        self.assertIn("not in its place: b", check_pages.check_console("$ echo a\nb\n"))


if __name__ == "__main__":
    unittest.main()
