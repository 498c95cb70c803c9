# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of a wheel: blockscale-compile, blockscale-run and the others.

They are one program in the package, which the C library has the code of, under several names.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes the program that this one is named like."""
    name = Path(sys.argv[0]).name
    program = Path(__file__).parent / "_lib" / "blockscale"
    if not program.exists():
        sys.exit(f"{name}: expected the programs in {program.parent}, as a wheel of "
                 f"scripts/wheel.sh has them, but they are not there; use bin/{name} of the "
                 "installation that this package was made from")
    os.execv(program, [name, *sys.argv[1:]])
