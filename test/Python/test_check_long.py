# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/check_long.py: what it runs, what it writes, and what it leaves out."""

import contextlib
import io
import shutil
import sys
import unittest
from pathlib import Path

from checkouts import CheckoutTest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_long
import log_head
from check_long import Counts

# Each one adds a line to the file `ran`, which git ignores.
PROGRAM = """#!/bin/sh
echo {name} >>ran
{lines}
"""


class JudgeTest(unittest.TestCase):
    def test_counts(self):
        for status, lines, counts in (
                (0, ["FAIL a", "3 passed, 0 failed"], Counts(3)),
                (1, ["3 passed, 2 failed, 4 skipped"], Counts(3, 2, 4)),
                # An exit status that the counts do not explain, and no counts.
                (1, ["3 passed, 0 failed, 4 skipped"], Counts(3, 1, 4)),
                (0, ["3 passed, 0 failed", "done"], Counts(0, 1)),
                (0, ["it had 3 passed, 0 failed"], Counts(0, 1)),
                (0, [], Counts(0, 1))):
            with self.subTest(lines):
                self.assertEqual(check_long.judge(status, lines), counts)


class CheckLongTest(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.write(".gitignore", "ran\n.cache\n")
        self.write("docs/logs/manifest.toml", "".join(
            f'["long/{name}.txt"]\ncommand = ""\npaths = ["{name}/**"]\n' for name in "abc"))
        self.write("scripts/long/README", "not a program")
        self.write_program("a.sh", "seq -f '%g ' 30; echo 2 passed, 0 failed")
        self.write_program("b.py", "echo 1 passed, 0 failed, 5 skipped")
        self.write("a/code", "1")
        self.first = self.commit()

    def write_program(self, name, lines):
        path = self.write(f"scripts/long/{name}", PROGRAM.format(name=name[0], lines=lines))
        path.chmod(0o755)

    def run_main(self, *arguments):
        """The exit status, the programs that ran, and the last line."""
        ran = self.root / "ran"
        ran.unlink(missing_ok=True)
        with contextlib.redirect_stdout(io.StringIO()) as text:
            status = check_long.main(arguments, self.root)
        return (status, ran.read_text().split() if ran.exists() else [],
                text.getvalue().splitlines()[-1])

    def read(self, name):
        return (self.root / f"docs/logs/long/{name}.txt").read_text(encoding="utf-8")

    def test_writes_a_log_for_each(self):
        self.assertEqual(self.run_main(), (0, ["a", "b"], "3 passed, 0 failed, 5 skipped"))
        head, = log_head.read_heads(self.read("a"))
        self.assertEqual((head.commit, head.command),
                         (self.first, "scripts/check-long.sh --only a"))
        # Lines of a program may end in blanks, and those of a log do not.
        self.assertRegex(self.read("a"), rf"^{head}\nseconds  \d+\.\d\n"
                                         r"result   2 passed, 0 failed\n\nThe end of its "
                                         r"output:\n\n20\n")
        # The first log is no change of the code for the second.
        self.assertEqual(log_head.read_heads(self.read("b"))[0].commit, self.first)
        self.assertIn("result   1 passed, 0 failed, 5 skipped\n", self.read("b"))

    def test_only(self):
        self.assertEqual(self.run_main("--only", "b"), (0, ["b"], "1 passed, 0 failed, 5 skipped"))
        self.assertFalse((self.root / "docs/logs/long/a.txt").exists())
        with contextlib.redirect_stderr(io.StringIO()) as text, self.assertRaises(SystemExit):
            self.run_main("--only", "c")
        self.assertIn("expected one of a, b, but got c", text.getvalue())

    def test_resumes(self):
        self.run_main("--only", "a")
        everything = "3 passed, 0 failed, 5 skipped"
        self.assertEqual(self.run_main("--resume"), (0, ["b"], everything))
        self.assertEqual(self.run_main("--resume"), (0, [], everything))
        # Code of another log, and of this one.
        self.write("c/code", "1")
        self.commit()
        self.assertEqual(self.run_main("--resume"), (0, [], everything))
        self.write("a/code", "2")
        self.assertEqual(self.run_main("--resume"), (0, ["a"], everything))
        # That run was of code that is not committed.
        self.commit()
        self.assertEqual(self.run_main("--resume"), (0, ["a"], everything))
        self.assertEqual(self.run_main("--resume"), (0, [], everything))
        self.assertEqual(self.run_main(), (0, ["a", "b"], everything))

    def test_a_failure_runs_again(self):
        self.write_program("a.sh", "echo 2 passed, 1 failed")
        self.commit()
        self.assertEqual(self.run_main(), (1, ["a", "b"], "3 passed, 1 failed, 5 skipped"))
        self.assertEqual(self.run_main("--resume"),
                         (1, ["a"], "3 passed, 1 failed, 5 skipped"))

    # Of a program that the manifest lacks, nobody knows which code it is about.
    def test_a_program_without_paths(self):
        self.write_program("d.sh", "echo 1 passed, 0 failed")
        self.commit()
        self.run_main()
        self.assertEqual(self.run_main("--resume")[1], ["d"])

    def test_code_that_changes_meanwhile(self):
        self.write_program("a.sh", "echo 2 >a/code; echo 2 passed, 0 failed")
        commit = self.commit()
        self.run_main("--only", "a")
        self.assertEqual(log_head.read_heads(self.read("a"))[0].commit, f"{commit}-dirty")

    def test_no_history(self):
        with contextlib.redirect_stderr(io.StringIO()) as text, self.assertRaises(SystemExit):
            shutil.rmtree(self.root / ".git")
            self.run_main("--resume")
        self.assertIn("--resume: expected a checkout of git", text.getvalue())


if __name__ == "__main__":
    unittest.main()
