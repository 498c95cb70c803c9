# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu/races.py: how it reads the heads of files, what it makes of results, and that it
launches every case, on a driver whose GPU is the emulator."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
EMULATED_CUDA = BUILD / "lib/blockscale/libcuda.so.1"
SCRIPT = ROOT / "scripts/gpu/races.py"
LOG = ROOT / "docs/logs/races-h200.txt"

sys.path.insert(0, str(SCRIPT.parent))
import races

HEAD = "// grid 2, block 32, cluster 2, words 7\n"
GOOD = "// case 0: accepted, 0123abcd: all waits\n"
BROKEN = '// case 1: reported, "waited for": no barrier\n'


class ReadTest(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "name.ptx"
            path.write_text(f"// What it is.\n//\n{text}.version 8.0\n")
            return races.read_kernel(path)

    def test_a_head(self):
        kernel = self.read(HEAD + GOOD + BROKEN + "// case 2: unchecked: no flag\n")
        self.assertEqual((kernel.name, kernel.grid, kernel.block, kernel.cluster, kernel.words),
                         ("name", 2, 32, 2, 7))
        self.assertEqual([(case.verdict, case.crc, case.finding, case.what)
                          for case in kernel.cases],
                         [("accepted", 0x0123ABCD, None, "all waits"),
                          ("reported", None, "waited for", "no barrier"),
                          ("unchecked", None, None, "no flag")])

    def test_a_word_for_each_thread_by_default(self):
        kernel = self.read("// grid 2, block 32\n" + GOOD)
        self.assertEqual((kernel.cluster, kernel.words), (1, 64))

    def test_what_is_missing(self):
        for text, message in (
                (HEAD, "expected one line with the grid, and the cases from 0 on"),
                (GOOD, "expected one line with the grid"),
                (HEAD + HEAD + GOOD, "expected one line with the grid"),
                (HEAD + BROKEN, "the cases from 0 on"),
                (HEAD + "// case 0: wrong: x\n", "expected a case, but got '// case 0: wrong: x'"),
                (HEAD + "// case 0: accepted: x\n", "expected the CRC-32 of a result"),
                (HEAD + "// case 0: reported: x\n", "expected the text of a finding"),
                (HEAD + "// case 0: unchecked, 0123abcd: x\n", "expected the CRC-32")):
            with self.assertRaisesRegex(ValueError, message):
                self.read(text)

    def test_a_folder_without_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ValueError, "expected files of PTX"):
                races.read_kernels(Path(folder))


class JudgeTest(unittest.TestCase):
    GOOD = races.Case(0, "accepted", 5, None, "")
    BROKEN = races.Case(1, "reported", None, "race", "")

    def test_accepted(self):
        self.assertEqual(races.judge(self.GOOD, {(5, b"a"): 9}), ("1 result, the emulator's", True))
        self.assertEqual(races.judge(self.GOOD, {(5, b"a"): 9, (6, b"b"): 1}),
                         ("2 results: expected one", False))
        self.assertEqual(
            races.judge(self.GOOD, {(6, b"b"): 9}),
            ("1 result, 00000006: expected that of the emulator, 00000005", False))

    def test_reported(self):
        self.assertEqual(races.judge(self.BROKEN, {(5, b"a"): 9}), ("1 result", True))
        self.assertEqual(races.judge(self.BROKEN, {(5, b"a"): 1, (5, b"b"): 8}),
                         ("2 results", True))

    def test_sum(self):
        shown = [("accepted", 1)] + [("reported", 2)] * 5
        self.assertEqual(races.summarize(shown),
                         (["accepted 1: 0 with several results",
                           "reported 5: 5 with several results",
                           "unchecked 0: 0 with several results"], True))
        lines, is_enough = races.summarize(shown[:-1] + [("reported", 1), ("unchecked", 2)])
        self.assertFalse(is_enough)
        self.assertEqual(lines[-1],
                         "expected at least 5 of those reported to have several results")


class RunTest(unittest.TestCase):
    # The emulator has one result in one launch, so that no case shows several.
    def test_on_the_emulator(self):
        if not EMULATED_CUDA.exists():
            self.skipTest(f"{EMULATED_CUDA} is not built")
        if any(name in EMULATED_CUDA.read_bytes() for name in (b"__asan_init", b"__tsan_init")):
            self.skipTest("a sanitizer's library needs a process that began with the sanitizer")
        run = subprocess.run(
            [sys.executable, SCRIPT, "--launches=1", f"--library={EMULATED_CUDA}"],
            capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stdout, r"(?m)^machine  BlockScale emulator of sm_100a, driver ")
        kernels = races.read_kernels(ROOT / "test/Data/races")
        good = sum(case.verdict == "accepted" for kernel in kernels for case in kernel.cases)
        self.assertEqual(run.stdout.count(", accepted: 1 result, the emulator's ("), good)
        self.assertRegex(run.stdout, r"\nexpected at least 5 .*\nfailed\n$")

    # Each case as it stands here is in the log of the GPU.
    def test_log(self):
        log = LOG.read_text()
        for kernel in races.read_kernels(ROOT / "test/Data/races"):
            for case in kernel.cases:
                self.assertRegex(log, rf"(?m)^  {kernel.name} {case.number}, {case.verdict}: "
                                      r"\d+ results?(, the emulator's)? \(.*\)$")
        self.assertTrue(log.endswith("\npassed\n"))


if __name__ == "__main__":
    unittest.main()
