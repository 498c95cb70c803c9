# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which process makes a run, and what becomes of runs whose process ends or hangs."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from batches import run_lines

# A stand-in for blockscale-run, whose runs say the number of the process, or end it, or hang.
TOOL = """
import os, sys, time
assert sys.argv[1:] == ["--batch=-"], sys.argv
for number, line in enumerate(sys.stdin, 1):
    if "hang" in line:
        time.sleep(60)
    if "end" in line:
        print("ended")
        sys.exit(3)
    print(os.getpid(), os.environ.get("WORD"))
    print(f"line {number}: exit status {int('wrong' in line)}", flush=True)
"""


class BatchesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tool = Path(folder.name) / "tool"
        self.tool.write_text(f"#!{sys.executable}\n{TOOL}")
        self.tool.chmod(0o755)

    def run_lines(self, *lines, **options):
        return run_lines([line.split() for line in lines], str(self.tool), **options)

    def test_runs_behind_each_other_share_a_process(self):
        first = self.run_lines("a", "wrong", "c")
        self.assertEqual([status for status, _ in first], [0, 1, 0])
        said = {printed for _, printed in first + self.run_lines("d")}
        self.assertEqual(len(said), 1)

    def test_another_environment_is_another_process(self):
        (_, one), = self.run_lines("a", env={"WORD": "one"})
        (_, two), = self.run_lines("a", env={"WORD": "two"})
        self.assertEqual([one.split()[1], two.split()[1]], ["one", "two"])
        self.assertEqual(self.run_lines("b", env={"WORD": "one"}), [(0, one)])

    def test_threads_have_processes_of_their_own(self):
        with ThreadPoolExecutor(4) as pool:
            runs = list(pool.map(lambda _: self.run_lines("a", "b"), range(20)))
        for first, second in runs:
            self.assertEqual(first, second)

    def test_an_end_is_of_all_that_follow(self):
        (_, before), *others = self.run_lines("a", "end", "c")
        self.assertEqual(others, [(3, "ended\n")] * 2)
        (status, after), = self.run_lines("a")
        self.assertEqual(status, 0)
        self.assertNotEqual(before, after)

    def test_a_process_that_hangs_is_killed(self):
        start = time.monotonic()
        with self.assertRaises(subprocess.TimeoutExpired):
            self.run_lines("a", "hang", timeout=1)
        self.assertLess(time.monotonic() - start, 30)
        self.assertEqual(self.run_lines("a", timeout=30)[0][0], 0)

    def test_no_more_wait_than_there_are_cores(self):
        words = [str(number) for number in range(os.cpu_count() + 1)]
        said = [self.run_lines("a", env={"WORD": word})[0][1] for word in words]
        again = [self.run_lines("a", env={"WORD": word})[0][1] for word in reversed(words)]
        self.assertEqual(said[1:], again[:-1][::-1])
        self.assertNotEqual(said[0], again[-1])


if __name__ == "__main__":
    unittest.main()
