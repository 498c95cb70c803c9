# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of exported functions and of StableHLO."""

from __future__ import annotations

import pathlib

from blockscale._trace import Module
from blockscale.jax._program import from_export, from_stablehlo


def import_file(path: str, name: str = "forward") -> Module:
    """The module of a file: what jax.export.Exported.serialize() made where it ends in .jax,
    else StableHLO, text or a portable artifact. Large constants are resources.

    Raises: UnsupportedError, ArgumentError for damaged bytes, FileError.
    """
    read = from_export if path.endswith(".jax") else from_stablehlo
    return read(pathlib.Path(path), name, constants="resources").module
