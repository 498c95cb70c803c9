# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chips that the compiler of a build knows."""

import os
import re
import subprocess
import tempfile


def list_chips(build):
    """What the compiler says where it does not know a name. `build` is the folder of a build."""
    with tempfile.NamedTemporaryFile(suffix=".mlir") as module:
        said = subprocess.run([build / "bin/blockscale-compile", module.name, "--target=none",
                               "--emit=ptx", "-o", os.devnull], capture_output=True, text=True)
    names = re.search(r"expected target to be cpu, (.*), but got 'none'", said.stderr)
    if not names:
        raise RuntimeError(f"expected the compiler to list its chips, but got: {said.stderr}")
    return names[1].split(", ")
