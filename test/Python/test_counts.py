# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs of scripts/long say of the tests of others: scripts/count_tests.py, and `counted`
of scripts/common.sh."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
TESTS = "Ran 5 tests in 1.2s\n\nFAILED (failures=1, skipped=2)\n"
ARRAYS = "arrays equal 7, mismatching 0, unsupported 1\n"


class CountsTest(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def count(self, *pairs):
        """The exit status and the line for outputs and statuses of commands."""
        arguments = []
        for number, (text, status) in enumerate(pairs):
            path = self.root / f"{number}.log"
            path.write_text(text)
            arguments += [path, str(status)]
        return self.run_script(*arguments)

    def run_script(self, *arguments):
        run = subprocess.run([sys.executable, SCRIPTS / "count_tests.py", *arguments],
                             capture_output=True, text=True)
        return run.returncode, (run.stdout or run.stderr).strip()

    def test_sums(self):
        self.assertEqual(self.count((ARRAYS, 0)), (0, "7 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.count((ARRAYS, 0), (TESTS, 1)),
                         (1, "9 passed, 1 failed, 3 skipped"))

    def test_what_counts_nothing(self):
        for text, status in (("", 0), ("no such file", 1), (ARRAYS, 139)):
            self.assertEqual(self.count((text, status))[0], 1, text)

    def test_arguments(self):
        """Each file has a status: nothing is left out of the sum in silence."""
        path = self.root / "0.log"
        path.write_text(ARRAYS)
        for arguments in ((), (path,), (path, "0", path)):
            status, text = self.run_script(*arguments)
            self.assertEqual(status, 1, text)
            self.assertIn("expected a FILE and a STATUS of each command, but got", text)


class CountedTest(unittest.TestCase):
    def run_counted(self, command):
        """The exit status, the lines, and what is kept of those and of errors."""
        log = Path(self.enterContext(tempfile.TemporaryDirectory())) / "logs/one.log"
        run = subprocess.run(
            ["bash", "-c", 'set -euo pipefail; source "$0"; counted "$1" bash -c "$2"',
             SCRIPTS / "common.sh", log, command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        kept = [path.read_text().splitlines() for path in (log, Path(f"{log}.err"))]
        return run.returncode, run.stdout.splitlines(), *kept

    def test_success(self):
        """What libraries say at the end is not behind the counts."""
        counts = "2 passed, 0 failed"
        self.assertEqual(self.run_counted(f"echo a; echo {counts}; echo warning >&2"),
                         (0, ["a", counts], ["a", counts], ["warning"]))

    def test_failure(self):
        """Why it failed is shown, and counts are the last line."""
        counts = "1 passed, 1 failed"
        status, lines, kept, _ = self.run_counted(f"echo {counts}; echo reason >&2; exit 3")
        self.assertEqual((status, lines[-2:], kept), (3, ["   | reason", counts], [counts]))
        status, lines, *_ = self.run_counted("echo Traceback >&2; exit 1")
        self.assertEqual((status, lines[-1]), (1, "   | Traceback"))

    def test_sums(self):
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for number, text in enumerate(("x\n3 passed, 0 failed\n", "4 passed, 2 failed\n",
                                       "5 passed, 0 failed\nkilled\n", "")):
            (root / f"{number}.log").write_text(text)
        for numbers, wanted in (((0,), (0, "3 passed, 0 failed")),
                                ((0, 1), (1, "7 passed, 2 failed")),
                                ((0, 2, 3), (1, "3 passed, 2 failed"))):
            run = subprocess.run(["bash", "-c", 'source "$0"; sum_counts "$@"',
                                  SCRIPTS / "common.sh",
                                  *(root / f"{number}.log" for number in numbers)],
                                 capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout.strip()), wanted)


if __name__ == "__main__":
    unittest.main()
