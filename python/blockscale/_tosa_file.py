# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of TOSA for blockscale-import."""

from __future__ import annotations

from blockscale import tosa


def import_file(path: str, name: str) -> tosa.TosaModule:
    """The module of a .tosa file, whose function is called `name`."""
    return tosa.read(path, name=name)
