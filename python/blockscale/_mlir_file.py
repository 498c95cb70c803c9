# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of MLIR, text and bytecode, for blockscale-import."""

from __future__ import annotations

import dataclasses
from typing import Any

from blockscale import _native
from blockscale._errors import CompileError, check, fail, read_file


@dataclasses.dataclass(frozen=True)
class Text:
    """The text of a module."""

    source: bytes


def import_file(path: str, name: str) -> Text:
    """The module of a file, which is parsed and verified. Text stays as it is; functions keep
    their names."""
    source = read_file(path)
    is_bytecode = source.startswith(b"ML\xefR")
    try:
        made: Any
        made, _ = check(_native.compile(source, path, [], 0, None, True, None, False, False, None))
        text, _ = made
    except CompileError as error:
        if not is_bytecode:
            raise
        told = error.diagnostics[0].message if error.diagnostics else str(error)
        fail("BLOCKSCALE_FILE", f"cannot read '{path}': expected bytecode of a module, but it has "
                                f"an error: {told}")
    return Text(text if is_bytecode else source)
