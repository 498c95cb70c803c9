# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How shown output is compared with a command's (test/Docs/Inputs/check_pages.py)."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "Docs/Inputs"))

import check_pages

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

    def test_commands_of_a_block(self):
        self.assertEqual(check_pages.commands_of("$ a\n> b\nc\n> d\n$ e\n"),
                         [("a\nb", ["c", "> d"]), ("e", [])])
        self.assertIn("not in its place: c",
                      check_pages.check_console("$ echo a\na\n$ echo b\nc\n"))

    def test_files_of_a_page_are_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            block = "$ echo a > /tmp/x; ls /tmp/x\n/tmp/x\n"
            self.assertEqual(check_pages.check_console(block, folder), "")
            self.assertEqual(Path(folder, "x").read_text(), "a\n")

    def test_excerpts(self):
        name = Path(__file__).relative_to(check_pages.ROOT)
        for text, wrong in (("class CheckPagesTest(unittest.TestCase):\n", ""),
                            ("class CheckPagesTest(...):\n...\n    def test_equal(self):\n", ""),
                            ("def test_" + "nothing(self):\n",
                             f"not in {name}: def test_nothing(self):")):
            self.assertEqual(check_pages.check("python", str(name), text, None), wrong)
        self.assertEqual(check_pages.check("c", "absent.c", "", None), "no absent.c")

    def test_commands_that_are_not_run(self):
        for text, wrong in (
            ("export PATH=$PWD:$PATH\npip install -r a\n", ""),
            ("A=b ./scripts/bench.sh --peers    # or [--peers]\n", ""),
            ("./scripts/bench.sh --peer\n", "bench.sh knows no --peer"),
            ("python3 scripts/absent.py\n", "no scripts/absent.py"),
            ("python3 benchmarks/gpu/static.py [--chip A]\n", "static.py knows no --chip"),
            ("python3 FOLDER/bench.py --anything\n", ""),
            ("/usr/bin/env --ignore-environment\n", ""),
            ("blockscale-absent --list\n", "blockscale-absent knows no --list"),
        ):
            with self.subTest(text):
                self.assertEqual(check_pages.check("sh", None, text, None), wrong)

    def test_every_language_is_known(self):
        self.assertEqual(check_pages.check("json", None, "{}", None), "")
        self.assertIn("Expecting", check_pages.check("json", None, "{", None))
        self.assertIsNone(check_pages.check("text", None, "{", None))
        self.assertEqual(check_pages.check("python", None, "{", None, "Torch.md"), "")
        self.assertEqual(check_pages.check("python", None, "{", None, "Absent.md"),
                         "expected a test/*/test_docs.py that runs docs/Absent.md")
        self.assertIn("but got 'cpp'", check_pages.check("cpp", None, "{", None))


if __name__ == "__main__":
    unittest.main()
