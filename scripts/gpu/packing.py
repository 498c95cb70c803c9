# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts put into the folder that a machine with a GPU takes: copies of this project's
files, and bundles of modules."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from log_head import describe_commit

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
# What computes results here calls the project's tools by their names.
os.environ["PATH"] = f"{BUILD / 'bin'}:{os.environ['PATH']}"


def make_folder(folder, patterns):
    """A new folder with the runtime's library, and the project's files of these patterns."""
    folder.mkdir(parents=True)
    copy_files(patterns, folder)
    shutil.copy(BUILD / "lib/libBlockScaleRuntime.so", folder)


def describe(folder, **about):
    """Writes what the folder holds, for Pack of packed.py."""
    (folder / "pack.json").write_text(json.dumps({"commit": describe_commit(ROOT), **about}))


def copy_files(patterns, folder):
    """Files of the project, each to the place in the folder that it has here."""
    for pattern in patterns:
        for path in ROOT.glob(pattern):
            to = folder / path.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)


def build_bundle(text, chip, to, options=()):
    """Compiles the text of a module for a chip, to the bundle `to`."""
    module = to.with_suffix(".mlir")
    module.write_text(text)
    subprocess.run([BUILD / "bin/blockscale-compile", module, f"--target={chip}",
                    "--emit=bundle", "-o", to, *options], check=True)
    module.unlink()
