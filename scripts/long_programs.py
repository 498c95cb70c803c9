# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs of scripts/long begin with: the project, its build, and the Python of tests."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The folder of the build: build/, or one that is there and named by the environment.
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
_VENV = ROOT / ".venv/bin/python"
PYTHON = _VENV if _VENV.exists() else Path(sys.executable)


def run_script(name, *arguments):
    """Runs a program of scripts. Where it fails, this program ends, which counts as a failure."""
    if subprocess.run([ROOT / "scripts" / name, *arguments]).returncode != 0:
        print("0 passed, 1 failed")
        sys.exit(1)


def build(*targets, with_package=False):
    """Builds all, or some targets, and perhaps the package of Python, unless the environment names
    a build."""
    if "BLOCKSCALE_BUILD_DIR" in os.environ:
        return
    run_script("build.sh", *(targets or ["all"]))
    if with_package:
        run_script("package.sh", BUILD)
