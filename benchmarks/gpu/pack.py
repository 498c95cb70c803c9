#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs the benchmarks for a machine that has a GPU, its driver, Python and NumPy:

  python3 benchmarks/gpu/pack.py FOLDER [--only GLOB]      # here, after scripts/build.sh
  python3 FOLDER/bench.py                                  # there

A bundle of each case, and the digests of the results that the CPU computes.
"""

import argparse
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from cases import CASES

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
sys.path.insert(0, str(ROOT / "scripts"))
# The folder is on the path now.
from log_head import describe_commit

CHIPS = "sm_80,sm_89,sm_90a,sm_100a"


def compile_case(case, folder):
    source = folder / f"{case.name}.mlir"
    source.write_text(case.module)
    subprocess.run([BUILD / "bin/blockscale-compile", source, f"--target={CHIPS}", "--emit=bundle",
                    "-o", folder / f"{case.name}.bundle"], check=True)
    source.unlink()


def digests_on_cpu(case):
    """Of the bytes of each result."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "module.mlir").write_text(case.module)
        command = [BUILD / "bin/blockscale-run", folder / "module.mlir", "--on=cpu"]
        for i, argument in enumerate(case.arguments()):
            np.save(folder / f"in{i}.npy", argument)
            command += ["--in", folder / f"in{i}.npy"]
        outputs = [folder / f"out{i}.npy" for i in range(case.results)]
        for output in outputs:
            command += ["--out", output]
        subprocess.run(command, check=True)
        return [hashlib.sha256(np.load(output).tobytes()).hexdigest() for output in outputs]


def pack(folder, cases):
    folder.mkdir(parents=True)
    for path in [*Path(__file__).parent.glob("*.py"), ROOT / "python/blockscale_runtime.py",
                 ROOT / "scripts/log_head.py", BUILD / "lib/libBlockScaleRuntime.so"]:
        shutil.copy(path, folder)
    digests = {}
    for case in cases:
        compile_case(case, folder)
        digests[case.name] = digests_on_cpu(case)
        print(case.name, flush=True)
    commit = describe_commit(ROOT)
    (folder / "pack.json").write_text(json.dumps({"commit": commit, "digests": digests}, indent=1))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="is created, and must not exist")
    parser.add_argument("--only", default="*", metavar="GLOB", help="these cases")
    options = parser.parse_args()
    pack(options.folder, [case for case in CASES if fnmatch.fnmatch(case.name, options.only)])


if __name__ == "__main__":
    main()
