# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are written whole, or not at all, and never through a link.

Others may be able to put files into a folder, links among them, before this process writes there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from typing import BinaryIO

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def _replace(path: str) -> Iterator[BinaryIO]:
    """A new file in the same folder, which takes the name of `path` when it is complete. A link of
    that name is replaced."""
    folder, name = os.path.split(os.path.abspath(path))
    part = os.path.join(folder, f".{name}.{secrets.token_hex(4)}")
    handle = os.open(part, _NEW, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def write(path: str, data: bytes) -> None:
    """Writes a file, or none."""
    with _replace(path) as file:
        file.write(data)


def copy(source: str, path: str) -> None:
    """Copies a file, or none."""
    with open(source, "rb") as read, _replace(path) as file:
        shutil.copyfileobj(read, file)


def open_in_place(path: str) -> int:
    """A descriptor to read and write a file where it is, which is made where it is missing.

    Raises: OSError, also where a link has the name.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def find_stranger(folder: str) -> str | None:
    """What is wrong with a folder in which files are made, in words for a message; None where
    nobody but this user, root and the folder's group can change what is in it."""
    found = os.lstat(folder)
    if stat.S_ISLNK(found.st_mode):
        return "it is a link"
    if not stat.S_ISDIR(found.st_mode):
        return "it is a file"
    if found.st_mode & stat.S_IWOTH:
        return f"its mode is {stat.S_IMODE(found.st_mode):04o}"
    if found.st_uid in (0, os.geteuid()) or found.st_uid == _find_owner(folder):
        return None
    return f"user {found.st_uid} owns it"


def _find_owner(folder: str) -> int | None:
    """The user who owns what this process makes in a folder: on a network file system root may be
    another one there."""
    part = os.path.join(folder, f".{secrets.token_hex(8)}")
    try:
        handle = os.open(part, _NEW, 0o600)
    except OSError:
        return None
    try:
        return os.fstat(handle).st_uid
    finally:
        os.close(handle)
        os.unlink(part)
