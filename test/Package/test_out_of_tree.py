# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/out-of-tree, a project of CMake with a dialect of its own, built with what
`cmake --install` leaves of the build, and its own lit suite."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
# It has the options of CMake for projects that use this one.
CONFIG = BUILD / "test/lit.site.cfg.py"
# Not a temporary one, so that nothing is compiled again where nothing changed.
FOLDER = BUILD / "out-of-tree"


@unittest.skipUnless(CONFIG.exists(), f"no build of the project in {BUILD}")
class OutOfTreeTest(unittest.TestCase):
    def run_cmake(self, *words):
        done = subprocess.run(["cmake", *map(str, words)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_builds_and_passes_its_tests(self):
        options = re.search('^config.cmake_options = "(.*)"$',
                            CONFIG.read_text(encoding="utf-8"), re.M)[1].split()
        # Files that are not installed any more are not there.
        shutil.rmtree(FOLDER / "prefix", ignore_errors=True)
        self.run_cmake("--install", BUILD, "--prefix", FOLDER / "prefix")
        self.run_cmake("-G", "Ninja", "-S", ROOT / "examples/out-of-tree", "-B", FOLDER / "build",
                       f"-DCMAKE_PREFIX_PATH={FOLDER / 'prefix'}", *options)
        shown = self.run_cmake("--build", FOLDER / "build", "--target", "check-embed", "-j", 1)
        count = sum(path.suffix in (".mlir", ".test")
                    for path in (ROOT / "examples/out-of-tree/test").iterdir())
        self.assertGreater(count, 3)
        self.assertRegex(shown, rf"Passed: {count} \(100.00%\)")


if __name__ == "__main__":
    unittest.main()
