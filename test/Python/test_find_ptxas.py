# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/find-ptxas.sh takes the first ptxas of CUDA 13 or later."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class FindPtxasTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "scripts").mkdir()
        for name in ("find-ptxas.sh", "common.sh"):
            shutil.copy(SCRIPTS / name, self.root / "scripts")

    def ptxas(self, folder, release="13.0"):
        path = self.root / folder / "ptxas"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V0'\n")
        path.chmod(0o755)
        return str(path)

    def find(self, path="", **environment):
        """What the script finds in `path` and an otherwise empty environment."""
        return subprocess.run(
            [self.root / "scripts/find-ptxas.sh"], capture_output=True, text=True,
            env={"PATH": f"{path}:/usr/bin:/bin", **environment}).stdout.strip()

    def test_search_order(self):
        in_venv = self.ptxas(".venv/lib/python3.11/site-packages/nvidia/cu13/bin")
        in_path = self.ptxas("cuda-path/bin")
        in_home = self.ptxas("cuda-home/bin")
        in_root = self.ptxas("cuda-root/bin")
        on_path = self.ptxas("path")
        named = self.ptxas("named")
        environment = {}
        self.assertEqual(self.find(**environment), in_venv)
        environment["CUDA_PATH"] = str(self.root / "cuda-path")
        self.assertEqual(self.find(**environment), in_path)
        environment["CUDA_HOME"] = str(self.root / "cuda-home")
        self.assertEqual(self.find(**environment), in_home)
        environment["CUDA_ROOT"] = str(self.root / "cuda-root")
        self.assertEqual(self.find(**environment), in_root)
        path = str(self.root / "path")
        self.assertEqual(self.find(path, **environment), on_path)
        environment["BLOCKSCALE_PTXAS"] = named
        self.assertEqual(self.find(path, **environment), named)

    def test_older_than_13_is_passed_over(self):
        self.ptxas("old", release="12.9")
        newer = self.ptxas("home/bin", release="14.1")
        self.assertEqual(
            self.find(str(self.root / "old"), CUDA_HOME=str(self.root / "home")), newer)

    def test_a_name_that_is_no_program_is_passed_over(self):
        in_venv = self.ptxas(".venv/lib/python3.11/site-packages/nvidia/cu13/bin")
        self.assertEqual(self.find(BLOCKSCALE_PTXAS="/nowhere/ptxas"), in_venv)

    @unittest.skipIf(os.path.exists("/usr/local/cuda/bin/ptxas"), "the machine has one")
    def test_none(self):
        self.assertEqual(self.find(), "")


if __name__ == "__main__":
    unittest.main()
