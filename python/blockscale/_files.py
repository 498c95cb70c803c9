# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are written whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile


def write(path: str, data: bytes) -> None:
    """Writes a file, or none: it takes its name when it is complete."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, part = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
