# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs: what is written where, before the first byte is.

A job is a list of tasks. A task reads tensors of the source and writes tensors of one shard of the
result; it depends on nothing else, so that it can run in any process, and again. Shapes alone
decide the headers of shards and the places of all tensors.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from blockscale import _native
from blockscale._errors import ArgumentError
from blockscale._native._checkpoint import STORAGE_TYPES, Metadata, lay_out
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._config import CONFIG, MODELOPT_CONFIG
from blockscale.checkpoint._files import INDEX

#: Bytes of tensors of a shard, unless one tensor or group has more.
SHARD_BYTES = 5 * 10**9


def count_bytes(dtype: str, shape: Sequence[int]) -> int:
    """The bytes of a tensor of a storage type."""
    kind = STORAGE_TYPES[dtype]
    return math.prod(shape) // kind.block_elements * kind.block_bytes


@dataclasses.dataclass(frozen=True)
class Output:
    """A tensor of the result."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int

    @classmethod
    def of(cls, name: str, dtype: str, shape: Sequence[int]) -> Output:
        return cls(name, dtype, tuple(shape), count_bytes(dtype, shape))


@dataclasses.dataclass(frozen=True)
class Task:
    """A part of a job.

    Attributes:
      kind: which function does it, of blockscale.checkpoint._jobs._tasks.
      name: for messages.
      arguments: what that function takes, of types of JSON.
      outputs: the tensors that it writes, whole.
      nbytes: of the source's tensors that it reads.
    """

    kind: str
    name: str
    arguments: Mapping[str, Any]
    outputs: tuple[Output, ...]
    nbytes: int


@dataclasses.dataclass(frozen=True)
class Shard:
    """A file of the result: its name, its first bytes, and the offset of each tensor in it."""

    name: str
    header: bytes
    offsets: Mapping[str, int]
    nbytes: int


@dataclasses.dataclass(frozen=True)
class Job:
    """What is done to a source.

    Attributes:
      source: the path of the checkpoint that is read.
      tasks: in the order of the source.
      shards: the files of tensors.
      places: the number of the shard of each tensor.
      files: all other files by name, in the order in which they are written.
      copied: names of files of the source's folder that are copied.
      folder: the source's folder.
      identity: a digest of all this and of the sizes and times of the source's files.
    """

    source: str
    tasks: tuple[Task, ...]
    shards: tuple[Shard, ...]
    places: Mapping[str, int]
    files: Mapping[str, bytes]
    copied: tuple[str, ...]
    folder: str
    identity: str

    @property
    def nbytes(self) -> int:
        """Of the source's tensors that are read."""
        return sum(task.nbytes for task in self.tasks)


#: Files that say what tensors are: a result has its own or none.
_CONFIGURATIONS = (INDEX, CONFIG, MODELOPT_CONFIG)
#: Ends of names of files that are made anew, or belong to the source's tensors alone.
_NOT_COPIED = (".safetensors", ".index.json", ".gguf", ".bin", ".pt", ".pth", ".h5", ".msgpack",
               ".onnx", ".partial")


def list_copied(folder: str, written: Sequence[str]) -> list[str]:
    """The files beside a checkpoint that belong to its result, too: of its tokenizer, say."""
    return sorted(each.name for each in os.scandir(folder)
                  if each.is_file() and not each.name.startswith(".") and each.name not in written
                  and not each.name.endswith(_NOT_COPIED))


def _make_shard(name: str, outputs: Sequence[Output], entries: Sequence[Metadata]) -> Shard:
    # Large elements come first, so that each is at a multiple of its size.
    ordered = sorted(outputs, key=lambda each: -STORAGE_TYPES[each.dtype].block_bytes)
    layout = lay_out("gguf" if name.endswith(".gguf") else "safetensors",
                     [(each.name, each.dtype, each.shape) for each in ordered], entries)
    places = {each.name: offset for each, offset in zip(ordered, layout.offsets)}
    return Shard(name, layout.header, places, layout.nbytes)


def _split(tasks: Sequence[Task], most: int) -> list[list[Output]]:
    """The tensors of each shard."""
    shards: list[list[Output]] = [[]]
    size = 0
    for task in tasks:
        nbytes = sum(each.nbytes for each in task.outputs)
        if shards[-1] and size + nbytes > most:
            shards.append([])
            size = 0
        shards[-1] += task.outputs
        size += nbytes
    return shards


def _identify(source: Checkpoint, tasks: Sequence[Task], shards: Sequence[Shard],
              files: Mapping[str, bytes], copied: Sequence[str]) -> str:
    states = [(mapped.origin, os.stat(path)) for path, mapped in source.files.items()]
    members = {
        "version": _native.version,
        "source": [(origin, state.st_size, state.st_mtime_ns) for origin, state in states],
        # Bytes are the same wherever they are made.
        "tasks": [(task.kind, task.name, {name: value for name, value in task.arguments.items()
                                          if name != "on"}) for task in tasks],
        "shards": [(shard.name, hashlib.sha256(shard.header).hexdigest()) for shard in shards],
        "files": [(name, hashlib.sha256(data).hexdigest()) for name, data in files.items()],
        "copied": list(copied),
    }
    return hashlib.sha256(json.dumps(members, sort_keys=True).encode()).hexdigest()


def make_job(source: Checkpoint, tasks: Sequence[Task], files: Mapping[str, bytes], *,
             file_name: str = "", metadata: Mapping[str, str] | None = None,
             gguf: Sequence[Metadata] | None = None,
             shard_bytes: int = SHARD_BYTES) -> Job:
    """A job of tasks.

    Args:
      files: configurations that are written, by name.
      file_name: of the one file that is the result; "" for a folder.
      metadata: of each file of safetensors.
      gguf: metadata of a result that is one file of GGUF.

    Raises: ArgumentError for two tensors of one name.
    """
    seen: set[str] = set()
    for task in tasks:
        for output in task.outputs:
            if output.name in seen:
                raise ArgumentError(f"expected each tensor of the result once, but '{output.name}' "
                                    f"comes of '{task.name}' and of another weight")
            seen.add(output.name)
    is_one = bool(file_name) or gguf is not None
    parts = [[each for task in tasks for each in task.outputs]] if is_one else _split(
        tasks, shard_bytes)
    shards = []
    for number, outputs in enumerate(parts):
        ending = ".safetensors" if gguf is None else ".gguf"
        name = file_name or (f"model{ending}" if len(parts) == 1 else
                             f"model-{number + 1:05}-of-{len(parts):05}{ending}")
        if not name.endswith(ending):
            raise ArgumentError(f"expected a file that ends in {ending}, but got '{name}'")
        shards.append(_make_shard(name, outputs, gguf if gguf is not None else [
            Metadata(key, "string", value)
            for key, value in {"format": "pt", **(metadata or {})}.items()]))
    places = {name: number for number, shard in enumerate(shards) for name in shard.offsets}
    if file_name:
        written: dict[str, bytes] = {}
        copied: list[str] = []
    else:
        written = dict(files)
        if len(shards) > 1:
            written = {INDEX: _write_index(parts, shards), **written}
        copied = list_copied(source.folder, [*written, *_CONFIGURATIONS])
    return Job(source.path, tuple(tasks), tuple(shards), places, written, tuple(copied),
               source.folder, _identify(source, tasks, shards, written, copied))


def _write_index(parts: Sequence[Sequence[Output]], shards: Sequence[Shard]) -> bytes:
    total = sum(each.nbytes for outputs in parts for each in outputs)
    names = {each.name: shard.name for outputs, shard in zip(parts, shards) for each in outputs}
    return write_json({"metadata": {"total_size": total},
                       "weight_map": dict(sorted(names.items()))})


def write_json(members: Mapping[str, Any]) -> bytes:
    """A file of JSON, as transformers writes them."""
    return (json.dumps(members, indent=2) + "\n").encode()
