# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/Lowering.md names the passes of each pipeline, and no pass that there is not."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from docs_pages import ROOT

OPT = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build")) / "bin/blockscale-opt"
PIPELINES = ("to-cpu", "to-sm100", *(f"to-gpu=chip={chip}" for chip in (
    "sm_80", "sm_90a", "sm_100a", "sm_120a")))
NAME = re.compile(r"blockscale-[a-z0-9-]*[a-z0-9]")


@unittest.skipUnless(OPT.exists(), f"{OPT} is not built")
class DocsPassesTest(unittest.TestCase):
    def setUp(self):
        self.page = (ROOT / "docs/Lowering.md").read_text(encoding="utf-8")

    def run_opt(self, *arguments):
        return subprocess.run([OPT, *arguments], input="", capture_output=True, text=True,
                              check=True)

    def test_each_pass_is_named(self):
        for pipeline in PIPELINES:
            dump = self.run_opt(f"--blockscale-{pipeline}", "--dump-pass-pipeline").stderr
            found = set(NAME.findall(dump))
            self.assertGreater(len(found), 20)
            with self.subTest(pipeline):
                self.assertEqual(sorted(found - set(re.findall(r"`([\w-]+)`", self.page))), [])

    def test_each_name_is_a_pass_or_a_program(self):
        known = set(NAME.findall(self.run_opt("--help").stdout))
        known |= {path.name for path in (ROOT / "tools").iterdir()}
        for name in re.findall(r"`(blockscale-[\w-]+)`", self.page):
            with self.subTest(name):
                self.assertIn(name, known)


if __name__ == "__main__":
    unittest.main()
