# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of a checkpoint: one file, or a folder of shards, with or without an index."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import Any

from blockscale._errors import ArgumentError, read_file
from blockscale._json import parse
from blockscale._text import shorten

INDEX = "model.safetensors.index.json"
#: Begin of the names of files that have all tensors under names of their own.
_CONSOLIDATED = "consolidated"
#: Ends of the names of files that hold tensors.
ENDINGS = (".safetensors", ".gguf")
#: Larger ones are not read: the index of a model of a million tensors is no larger, and what it
#: becomes in memory is.
_MOST_JSON = 64 << 20


def read_json(path: str) -> dict[str, Any]:
    """The object that a file of JSON is."""
    try:
        too_large = os.path.getsize(path) > _MOST_JSON
    except OSError:
        too_large = False  # read_file() says what is wrong.
    if too_large:
        raise ArgumentError(f"expected '{path}' to have at most {_MOST_JSON} bytes, but got "
                            f"{os.path.getsize(path)}")

    if os.path.exists(path) and not os.path.isfile(path):
        # Opening a pipe would wait for what writes into it.
        raise ArgumentError(f"expected '{path}' to be a regular file, but got another")

    members = parse(read_file(path), f"'{path}'")
    if not isinstance(members, dict):
        raise ArgumentError(f"expected '{path}' to be an object of JSON, but got "
                            f"{type(members).__name__}")
    return members


def _check_shard(index: str, name: Any) -> None:
    """A shard is a file beside its index, and not another index."""
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"'{index}': expected names of files in weight_map, but got "
                            f"{shorten(name)}")
    if name != os.path.basename(name) or name in (".", "..") or "\\" in name or "\0" in name:
        raise ArgumentError(f"'{index}': expected a shard in the same folder, but got "
                            f"{shorten(name)}")
    if not name.endswith(ENDINGS):
        raise ArgumentError(f"'{index}': expected a shard that ends in {' or '.join(ENDINGS)}, but "
                            f"got {shorten(name)}")


def read_index(path: str) -> dict[str, str]:
    """The shard of each tensor, as an index has it."""
    found = read_json(path).get("weight_map")
    if not isinstance(found, dict) or not found:
        raise ArgumentError(f"'{path}': expected a weight_map with names of tensors, but got "
                            f"{type(found).__name__}")
    for name in found.values():
        _check_shard(path, name)
    return found


def find_files(path: str) -> tuple[list[str], Mapping[str, str], str]:
    """The files of tensors of a checkpoint, the shard that an index names for each tensor, and the
    folder of its configuration, "" where there is none.

    Raises: ArgumentError, FileError.
    """
    if not os.path.isdir(path):
        if path.endswith(".index.json"):
            return _find_indexed(path)
        if not path.endswith(ENDINGS) and os.path.exists(path):
            raise ArgumentError(f"expected a folder or a file that ends in {' or '.join(ENDINGS)}, "
                                f"but got '{path}'")
        return [path], {}, os.path.dirname(os.path.abspath(path))
    index = os.path.join(path, INDEX)
    if os.path.exists(index):
        return _find_indexed(index)
    found = sorted(file for ending in ENDINGS
                   for file in glob.glob(os.path.join(glob.escape(path), f"*{ending}")))
    if not found:
        raise ArgumentError(f"expected files of tensors ({', '.join(ENDINGS)}) in '{path}', but "
                            "got none")
    return _choose_files(path, found), {}, path


def _choose_files(folder: str, found: list[str]) -> list[str]:
    """The files of one checkpoint in a folder without an index. Some models are there twice, under
    the names of transformers and under those of their authors, whose file is consolidated.

    Raises: ArgumentError for files that are no parts of one.
    """
    names = [os.path.basename(file) for file in found]
    kinds = {os.path.splitext(name)[1] for name in names}
    if len(kinds) > 1:
        raise ArgumentError(f"expected files of {' or '.join(ENDINGS)} in '{folder}', but got "
                            "both; give the path of a file, or of an index")
    others = [file for file, name in zip(found, names) if not name.startswith(_CONSOLIDATED)]
    return others or found


def _find_indexed(index: str) -> tuple[list[str], Mapping[str, str], str]:
    folder = os.path.dirname(os.path.abspath(index))
    shards = read_index(index)
    files = []
    for name in dict.fromkeys(shards.values()):
        file = os.path.join(folder, name)
        if not os.path.isfile(file):
            raise ArgumentError(f"'{index}': expected the shard '{name}' in its folder, but it is "
                                "not there")
        files.append(file)
    return files, shards, folder
