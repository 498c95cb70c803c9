# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/log_head.py, write_log.py and logs.py: the heads of logs, and which logs are stale; and
the logs of docs/logs have heads and are in the manifest."""

import contextlib
import io
import sys
import unittest
from pathlib import Path
from unittest import mock

from checkouts import CheckoutTest, git

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import log_head
import logs
import write_log

MANIFEST = """
[sets]
library = ["lib/{A,B}/**", "!lib/A/Ignored/**"]
["a.txt"]
command = "write it"
paths = ["@library", "script.py"]
"""


class HeadTest(unittest.TestCase):
    def test_is_read_as_it_was_written(self):
        heads = [log_head.make_head("0123abc", "a machine", "a command"),
                 log_head.make_head("unknown", "2 cores", "another", date="today")]
        text = f"{heads[0]}\nsome lines\ndate     alone\n\n{heads[1]}\n"
        self.assertEqual(log_head.read_heads(text), heads)
        self.assertRegex(heads[0].date, r"^\d{4}-\d\d-\d\d \d\d:\d\d UTC$")


class DescribeTest(CheckoutTest):
    def test_a_commit(self):
        self.assertEqual(log_head.describe_commit(self.root), "unknown")
        self.write("file", "1")
        self.write("docs/logs/a.txt", "1")
        commit = self.commit()
        self.assertEqual(log_head.describe_commit(self.root), commit)
        # A log that was just written is no change.
        self.write("docs/logs/a.txt", "2")
        self.write("new", "1")
        self.assertEqual(log_head.describe_commit(self.root), commit)
        self.write("file", "2")
        self.assertEqual(log_head.describe_commit(self.root), f"{commit}-dirty")

    # The commit of another project says nothing about a copy of this one in it.
    def test_a_folder_in_another_checkout(self):
        self.write("copy/file", "1")
        self.commit()
        self.assertEqual(log_head.describe_commit(self.root / "copy"), "unknown")

    def test_without_git(self):
        self.commit()
        with mock.patch.object(log_head.shutil, "which", return_value=None):
            self.assertEqual(log_head.describe_commit(self.root), "unknown")


class StaleTest(CheckoutTest):
    def setUp(self):
        super().setUp()
        self.write("docs/logs/manifest.toml", MANIFEST)
        for name in ("lib/A/one", "lib/A/Ignored/two", "lib/B/Inner/three", "lib/C/four"):
            self.write(name, "1")
        self.first = self.commit()

    def write_log(self, *commits, name="a.txt", end=""):
        heads = [f"{log_head.make_head(commit, 'a machine', 'a command')}\n" for commit in commits]
        self.write(f"docs/logs/{name}", "\n".join([*heads, end]))

    def find_faults(self):
        return logs.find_faults(self.root, logs.read_manifest(self.root)["a.txt"])

    def run_main(self):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            return logs.main([], self.root), text.getvalue()

    def test_a_log_of_this_commit(self):
        self.write_log(self.first)
        self.commit()
        self.assertEqual(self.find_faults(), [])
        self.assertEqual(self.run_main(), (0, "pass a.txt\n1 passed, 0 failed\n"))

    def test_a_change_of_what_it_speaks_of(self):
        self.write_log(self.first)
        for name in ("lib/B/Inner/three", "script.py"):
            with self.subTest(name):
                text = (self.root / name).read_text() if (self.root / name).exists() else None
                self.write(name, "2")
                # Before the change is committed and after it.
                self.assertEqual(self.find_faults(), [f"changed since {self.first}: {name}"])
                self.commit()
                self.assertEqual(self.find_faults(), [f"changed since {self.first}: {name}"])
                if text is None:
                    (self.root / name).unlink()
                else:
                    self.write(name, text)
                self.commit()
                self.assertEqual(self.find_faults(), [])

    def test_a_change_of_something_else(self):
        self.write_log(self.first)
        self.write("lib/C/four", "2")
        self.write("lib/A/Ignored/two", "2")
        self.commit()
        self.assertEqual(self.find_faults(), [])

    def test_comments_and_docstrings_are_no_code(self):
        cpp = 'int f() {\n  /* of one */ return g("// a"); // b\n}\nauto r = R"x(// c)x";\n'
        python = '"""A module."""\ndef f():\n    """A function."""\n    return "a"  # b\n'
        # What a file has, what it gets, and whether that is other code.
        for name, before, after, is_other in (
                ("a.cpp", cpp, cpp.replace("// b", "// d").replace("of one", "of\ntwo"), False),
                ("b.h", cpp, cpp.replace("return", " return\n"), False),
                ("c.cpp", cpp, cpp.replace("// a", "// d"), True),
                ("d.cpp", cpp, cpp.replace("// c", "// d"), True),
                ("e.cpp", cpp, cpp.replace("return", ""), True),
                ("f.py", python, python.replace("A ", "Another ").replace("# b", "# c"), False),
                ("g.py", python, python.replace('"a"', '"b"'), True),
                ("h.py", python, python + "x = [\n", True),
                ("i.txt", "// a\n", "// b\n", True)):
            with self.subTest(name):
                path = f"lib/A/{name}"
                self.write(path, before)
                commit = self.commit()
                self.write_log(commit)
                self.write(path, after)
                self.assertEqual(self.find_faults(),
                                 [f"changed since {commit}: {path}"] * is_other)

    def test_many_changes_are_counted(self):
        self.write_log(self.first)
        for i in range(5):
            self.write(f"lib/A/new{i}", "1")
        self.assertEqual(self.find_faults(), [
            f"changed since {self.first}: lib/A/new0, lib/A/new1, lib/A/new2 and up to 2 more"])

    def test_commits_that_say_nothing(self):
        git(self.root, "checkout", "--quiet", "--orphan", "another")
        self.write("another", "1")
        other = self.commit()
        git(self.root, "checkout", "--quiet", self.first)
        for commit, fault in (
                ("unknown", "its commit is unknown"),
                (f"{self.first}-dirty", f"{self.first}-dirty had changes that no commit has"),
                (other, f"{other} is no ancestor of this commit"),
                ("fffffff", "fffffff is no ancestor of this commit")):
            with self.subTest(fault):
                # One run of several is enough.
                self.write_log(self.first, commit, commit)
                self.assertEqual(self.find_faults(), [fault])

    def test_logs_without_a_head_and_with_failures(self):
        self.assertEqual(self.find_faults(), ["it is missing"])
        self.write_log()
        self.assertEqual(self.find_faults(), ["it has no head"])
        self.write_log(self.first, end="result   9 passed, 12 failed, 1 skipped\n")
        self.assertEqual(self.find_faults(), ["it has 12 failures"])
        self.write_log(self.first, end="result   9 passed, 0 failed, 1 skipped\n")
        self.assertEqual(self.find_faults(), [])

    def test_the_list(self):
        self.write_log("unknown")
        self.write_log(self.first, name="long/b.txt")
        self.assertEqual(self.run_main(), (1, ("FAIL a.txt\n     its commit is unknown\n"
                                               "     to write it anew: write it\n"
                                               "FAIL long/b.txt\n"
                                               "     it is not in docs/logs/manifest.toml\n"
                                               "0 passed, 2 failed\n")))

    def test_the_names_of_stale_logs(self):
        self.write_log(self.first, name="long/b.txt")
        with contextlib.redirect_stdout(io.StringIO()) as text:
            self.assertEqual(logs.main(["--list"], self.root), 0)
        self.assertEqual(text.getvalue(), "   a.txt, long/b.txt\n")
        (self.root / "docs/logs/long/b.txt").unlink()
        self.write_log(self.first)
        with contextlib.redirect_stdout(io.StringIO()) as text:
            self.assertEqual(logs.main(["--list"], self.root), 0)
        self.assertEqual(text.getvalue(), "   none\n")

    # A page without a link to a log is not listed, and a link to a log that is missing counts.
    def test_pages_with_figures_of_stale_logs(self):
        self.write_log(self.first)
        self.write("README.md", "[a](docs/logs/a.txt) (commit 0123abc)\n")
        self.write("docs/Page.md", "[a](logs/a.txt), [b](logs/long/b.txt)\n")
        self.write("docs/Other.md", "[a](Page.md), logs/a.txt\n")
        self.commit()
        with contextlib.redirect_stdout(io.StringIO()) as text:
            self.assertEqual(logs.main(["--release"], self.root), 1)
        self.assertEqual(text.getvalue(), ("pass README.md\n"
                                           "FAIL docs/Page.md\n"
                                           "     long/b.txt is stale\n"
                                           "1 passed, 1 failed\n"))

    def test_a_set_that_does_not_exist(self):
        self.write("docs/logs/manifest.toml", MANIFEST.replace("@library", "@libary"))
        with self.assertRaisesRegex(ValueError, "expected one of the sets library, but got @lib"):
            logs.read_manifest(self.root)

    # A log may not seem to hold because nobody could ask.
    def test_without_the_history(self):
        self.write_log(self.first)
        self.commit()
        shallow = self.root.parent / "shallow"
        git(self.root.parent, "clone", "--quiet", "--depth=1", self.root.as_uri(), shallow)
        self.assertRegex(logs.why_no_history(shallow), "the checkout is shallow")
        self.assertRegex(logs.why_no_history(self.root / "lib"), "expected a checkout of git")
        self.root = shallow
        self.assertEqual(self.run_main()[0], 1)
        with contextlib.redirect_stdout(io.StringIO()) as text:
            self.assertEqual(logs.main(["--list"], self.root), 0)
        self.assertRegex(text.getvalue(), "^   not known: expected all commits, ")
        self.assertRegex(self.run_main()[1], "^error: expected all commits, .*\n0 passed, 1 failed")


class WriteTest(CheckoutTest):
    def write_log_of(self, *arguments):
        with (contextlib.redirect_stdout(io.StringIO()),
              contextlib.redirect_stderr(io.StringIO())):
            return write_log.main(arguments, self.root)

    def test_writes_what_a_command_prints(self):
        self.write("docs/logs/a.txt", "as it was")
        commit = self.commit()
        path = self.root / "docs/logs/a.txt"
        self.assertEqual(self.write_log_of("a.txt", "sh", "-c", "echo so far; exit 3"), 3)
        self.assertEqual(path.read_text(), "as it was")
        self.assertEqual(self.write_log_of("a.txt", "echo", "7", "rows"), 0)
        head, = log_head.read_heads(path.read_text())
        self.assertEqual((head.commit, head.command), (commit, "echo 7 rows"))
        self.assertEqual(path.read_text(), f"{head}\n\n7 rows\n")

    def test_without_a_command(self):
        self.assertEqual(self.write_log_of("a.txt"), 2)
        self.assertEqual(self.write_log_of("--help", "echo"), 2)


class DocsLogsTest(unittest.TestCase):
    def test_each_is_in_the_manifest(self):
        listed = logs.read_manifest(ROOT)
        programs = {f"long/{path.stem}.txt" for path in (ROOT / "scripts/long").iterdir()
                    if path.is_file()}
        # A program's log is there once it ran.
        self.assertEqual({name for name in listed if name.startswith("long/")}, programs)
        self.assertLessEqual({*logs.find_logs(ROOT)}, {*listed})
        self.assertLessEqual({*listed} - programs, {*logs.find_logs(ROOT)})

    def test_each_has_a_head(self):
        for name in logs.find_logs(ROOT):
            with self.subTest(name):
                text = (ROOT / log_head.LOGS / name).read_text(encoding="utf-8")
                heads = log_head.read_heads(text)
                self.assertTrue(heads)
                self.assertTrue(text.startswith(f"{heads[0]}\n"))

    # A path that no file has would never make a log stale.
    def test_each_path_has_a_file(self):
        if not log_head.is_checkout(ROOT):
            self.skipTest("git lists the files, and this is no checkout of git")
        known = {}
        for log in logs.read_manifest(ROOT).values():
            for path in log.paths:
                if path not in known:
                    known[path] = log_head.ask_git(
                        ROOT, "ls-files", "--", f":(glob){path.removeprefix('!')}")
                self.assertTrue(known[path], f"{log.name}: no file {path}")


if __name__ == "__main__":
    unittest.main()
