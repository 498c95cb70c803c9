# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints in object storage: folders that fsspec reads and writes, and their mirrors here."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from blockscale._errors import ArgumentError, fail
from blockscale._native._checkpoint import TensorFile
from blockscale.checkpoint._files import ENDINGS

#: Bytes that are read at once, and those of a piece that is there or not.
CHUNK, BLOCK = 16 << 20, 1 << 20
#: Larger files beside the tensors are no part of a checkpoint.
_MOST_BESIDE = 256 << 20
#: The longest header of a file of safetensors.
_SAFETENSORS_HEADER = 100_000_000
#: Bytes at the begin of a GGUF file that have its header.
_GGUF_HEADER = 64 << 20
#: File systems whose files are there when the last byte is, or not at all.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "hf", "memory"}
_KEEP_SIZE, _PUNCH_HOLE = 1, 2


def is_remote(path: str) -> bool:
    """Whether a path is a URL of fsspec. Paths, and URLs of file://, are of file systems that each
    machine has mounted."""
    return re.match(r"[a-z][a-z0-9+.-]*(://|::)", path) is not None and not is_file_url(path)


def is_file_url(path: str) -> bool:
    return path.startswith("file://")


def to_path(path: str) -> str:
    """The path that a URL of file:// names; other paths as they are."""
    return path.removeprefix("file://") if is_file_url(path) else path


class Entry(NamedTuple):
    """A file of a folder: its size, and a digest of what the file system says of it, which changes
    when the file is written anew."""

    size: int
    mark: str


class Snapshot(NamedTuple):
    """What a mirror has before the first tensor is read: for each file what the folder said of it,
    and the bytes at its begin."""

    url: str
    files: Mapping[str, tuple[Entry, bytes]]


class Remote:
    """A folder of a file system of fsspec.

    Raises: ImportError where fsspec or the package of the file system is missing, ArgumentError for
      a URL of no file system, FileError for what cannot be read or written.
    """

    def __init__(self, url: str):
        try:
            import fsspec
        except ImportError as error:
            raise ImportError(f"expected fsspec to be installed to reach '{url}'; "
                              "pip install blockscale[cluster]") from error
        self.url = url
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise ImportError(f"'{url}': {error}") from error
        except ValueError as error:
            raise ArgumentError(f"expected a path or a URL of fsspec, but got '{url}': "
                                f"{error}") from error
        self._root = self._root.rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def locate(self, name: str) -> str:
        """The URL of a file."""
        return f"{self.url.rstrip('/')}/{name}"

    def _call(self, verb: str, name: str, function: Any, *arguments: Any, **named: Any) -> Any:
        """What a function of the file system returns. Its packages raise what they like."""
        try:
            return function(*arguments, **named)
        except Exception as error:
            fail("BLOCKSCALE_FILE", f"cannot {verb} '{self.locate(name)}': "
                                    f"{type(error).__name__}: {error}")

    def list(self) -> dict[str, Entry]:
        """The files of the folder by name, without those of folders in it. A folder that is not
        there has none."""
        def look() -> Any:
            # What was listed before is kept, and other processes have written since.
            self._files.invalidate_cache(self._root)
            try:
                return self._files.ls(self._root, True)
            except FileNotFoundError:
                return []
        found = {}
        for each in self._call("read", "", look):
            # Some stores list an empty object of the folder's own name.
            name = each["name"].rstrip("/").rpartition("/")[2]
            if each["type"] == "file" and each["name"].rstrip("/") != self._root:
                said = repr(sorted((key, str(value)) for key, value in each.items()))
                if not isinstance(each["size"], int):
                    fail("BLOCKSCALE_FILE", f"cannot read '{self.locate(name)}': expected its "
                                            f"size, but got {each['size']!r}")
                found[name] = Entry(each["size"], hashlib.sha256(said.encode()).hexdigest())
        return found

    def read(self, name: str, begin: int, end: int) -> bytes:
        # By their names: file systems have other arguments before them.
        data: bytes = self._call("read", name, self._files.cat_file, self._path(name),
                                 start=begin, end=end)
        if len(data) != end - begin:
            fail("BLOCKSCALE_FILE", f"cannot read '{self.locate(name)}': expected {end - begin} "
                                    f"bytes at {begin}, but got {len(data)}")
        return data

    @property
    def _is_object_store(self) -> bool:
        protocols = self._files.protocol
        known = {protocols} if isinstance(protocols, str) else set(protocols)
        return bool(known & _OBJECT_STORES)

    def _make_folder(self) -> None:
        # Object storage has no folders, and a bucket that is not there is an error.
        if not self._is_object_store:
            self._call("write", "", self._files.makedirs, self._root, True)

    def put(self, path: str, name: str) -> None:
        """Copies a file of this machine; others see all of it or none."""
        self._make_folder()
        if self._is_object_store:
            self._call("write", name, self._files.put_file, path, self._path(name))
            return
        partial = self._path(f"{name}.partial")
        self._call("write", name, self._files.put_file, path, partial)
        self._call("write", name, self._files.mv, partial, self._path(name))

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file."""
        self._make_folder()
        self._call("write", name, self._files.pipe_file, self._path(name), data)

    def read_all(self, name: str) -> bytes:
        """A small file."""
        data: bytes = self._call("read", name, self._files.cat_file, self._path(name))
        return data

    def remove(self, name: str) -> None:
        self._call("remove", name, self._files.rm_file, self._path(name))


class Mirror:
    """Files of this machine with the names, the sizes and the headers of a remote checkpoint's,
    whose tensors have no bytes before they are fetched: what reads files reads a mirror."""

    def __init__(self, folder: str, snapshot: Snapshot):
        self.folder = folder
        self.remote = Remote(snapshot.url)
        for name, (entry, head) in snapshot.files.items():
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(head)
                file.truncate(entry.size)
            # A job is the same whenever its source is mirrored, unless the source was written anew.
            seconds = int(entry.mark[:8], 16)
            os.utime(path, (seconds, seconds))

    @staticmethod
    def take(url: str) -> Snapshot:
        """Reads the headers of the files of tensors, and other files whole.

        Raises: FileError, ArgumentError for a folder without files.
        """
        remote = Remote(url)
        found: dict[str, tuple[Entry, bytes]] = {}
        entries = remote.list()
        if not any(name.endswith(ENDINGS) for name in entries):
            raise ArgumentError(f"expected files of tensors ({', '.join(ENDINGS)}) in '{url}', but "
                                "got none")
        for name, entry in entries.items():
            size = entry.size
            if name.endswith(".safetensors"):
                length = int.from_bytes(remote.read(name, 0, min(8, size)), "little")
                # A longer header is refused when the mirror is read.
                head = remote.read(name, 0, min(size, 8 + min(length, _SAFETENSORS_HEADER)))
            elif name.endswith(".gguf"):
                head = remote.read(name, 0, min(size, _GGUF_HEADER))
            elif size <= _MOST_BESIDE:
                head = remote.read(name, 0, size)
            else:
                continue
            found[name] = (entry, head)
        return Snapshot(url, found)

    @staticmethod
    def check(snapshot: Snapshot) -> None:
        """Whether a source is still what it was: tensors are read when they are needed.

        Raises: FileError.
        """
        remote = Remote(snapshot.url)
        entries = remote.list()
        for name, (entry, _) in snapshot.files.items():
            if entries.get(name) != entry:
                found = "was written anew" if name in entries else "is not there any more"
                fail("BLOCKSCALE_FILE", f"expected '{remote.locate(name)}' to stay as "
                                        f"it was while it was read, but it {found}")

    def open(self, path: str) -> MirrorFile:
        """The file of tensors at a path in the mirror."""
        return MirrorFile(path, self.remote)


class MirrorFile(TensorFile):
    """A file of a mirror. Bytes are fetched when they are looked at, in pieces of BLOCK, and take
    no place on the disk any more once they are released, where the file system can."""

    def __init__(self, path: str, remote: Remote):
        super().__init__(path)
        self._remote, self._name = remote, os.path.basename(path)
        self.origin = remote.locate(self._name)
        self._descriptor = os.open(path, os.O_RDWR)
        weakref.finalize(self, os.close, self._descriptor)
        self._present: set[int] = set()
        self._lock = threading.Lock()

    def view_bytes(self, offset: int, nbytes: int) -> np.ndarray:
        blocks = range(offset // BLOCK, -(-(offset + nbytes) // BLOCK)) if nbytes else range(0)
        with self._lock:
            missing = [block for block in blocks if block not in self._present]
            for begin, end in _join(missing, CHUNK // BLOCK):
                self._fetch(begin * BLOCK, min(end * BLOCK, self.data.nbytes))
                self._present.update(range(begin, end))
        return super().view_bytes(offset, nbytes)

    def _fetch(self, begin: int, end: int) -> None:
        data = memoryview(self._remote.read(self._name, begin, end))
        try:
            while data.nbytes:
                count = os.pwrite(self._descriptor, data, begin)
                data, begin = data[count:], begin + count
        except OSError as error:
            fail("BLOCKSCALE_FILE", f"cannot write the mirror of '{self._name}': {error.strerror}")

    def check_unchanged(self) -> None:
        """The mirror is written while it is read; Mirror.check() is about what it is of."""

    def release(self, offset: int, nbytes: int) -> None:
        super().release(offset, nbytes)
        first, last = -(-offset // BLOCK), (offset + nbytes) // BLOCK
        if first >= last:
            return
        with self._lock:
            self._present.difference_update(range(first, last))
            ctypes.CDLL(None).fallocate(
                self._descriptor, _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_int64(first * BLOCK),
                ctypes.c_int64((last - first) * BLOCK))


def _join(blocks: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Runs of numbers that follow each other, as [begin, end), none longer than `most`."""
    begin = 0
    for at in range(1, len(blocks) + 1):
        if at == len(blocks) or blocks[at] != blocks[at - 1] + 1 or at - begin == most:
            yield blocks[begin], blocks[at - 1] + 1
            begin = at


__all__ = ["Mirror", "MirrorFile", "Remote", "Snapshot", "is_remote", "to_path"]
