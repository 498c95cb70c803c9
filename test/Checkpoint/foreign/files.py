# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of safetensors with any dtype, and files of GGUF, read and written byte by byte."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import decoders

DTYPES = decoders.DTYPES | {
    "I32": np.int32, "U32": np.uint32, "U16": np.uint16, "I16": np.int16, "BOOL": np.bool_,
    "F64": np.float64, "F8_E5M2": ml_dtypes.float8_e5m2}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


class Stored(NamedTuple):
    """A tensor of a dtype that NumPy has no elements for, as F4 with two to a byte."""

    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray


def describe(value: Any) -> tuple[str, tuple[int, ...]]:
    """The dtype, by safetensors' names, and the shape of a tensor."""
    if isinstance(value, Stored):
        return value.dtype, value.shape
    return NAMES[value.dtype], value.shape


def write_safetensors(path: Path, tensors: Mapping[str, Any],
                      metadata: Mapping[str, str] | None = None) -> None:
    header: dict[str, Any] = {"__metadata__": dict(metadata or {"format": "pt"})}
    parts, offset = [], 0
    for name, value in tensors.items():
        data = value.data if isinstance(value, Stored) else value
        dtype, shape = describe(value)
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [offset, offset + data.nbytes]}
        offset += data.nbytes
        parts.append(np.ascontiguousarray(data).tobytes())
    path.write_bytes(decoders.pack_header(header) + b"".join(parts))


def read_safetensors(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """(name -> array or Stored, metadata)."""
    data = path.read_bytes()
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    tensors: dict[str, Any] = {}
    for name, entry in header.items():
        first, last = (8 + size + offset for offset in entry["data_offsets"])
        if entry["dtype"] in DTYPES:
            tensors[name] = np.frombuffer(data[first:last], DTYPES[entry["dtype"]]).reshape(
                entry["shape"])
        else:
            tensors[name] = Stored(entry["dtype"], tuple(entry["shape"]),
                                   np.frombuffer(data[first:last], np.uint8))
    return tensors, metadata


#: Types of GGUF's tensors: name, elements and bytes of a block, dtype of NumPy.
GGML = {0: ("F32", 1, 4, np.float32), 1: ("F16", 1, 2, np.float16),
        30: ("BF16", 1, 2, ml_dtypes.bfloat16), 39: ("MXFP4", 32, 17, np.uint8),
        40: ("NVFP4", 64, 36, np.uint8)}
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
            12: "d"}


class _Reader:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, form: str) -> Any:
        value, = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self) -> str:
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == 8:
            return self.text()
        if kind == 9:
            inner, count = self.take("I"), self.take("Q")
            return [self.value(inner) for _ in range(count)]
        return self.take(_SCALARS[kind])


def read_gguf(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """(name -> array, or Stored with the logical shape; metadata)."""
    reader = _Reader(path.read_bytes())
    assert reader.take("4s") == b"GGUF" and reader.take("I") == 3
    count, entries = reader.take("Q"), reader.take("Q")
    metadata = {reader.text(): reader.value(reader.take("I")) for _ in range(entries)}
    infos = []
    for _ in range(count):
        name = reader.text()
        shape = tuple(reader.take("Q") for _ in range(reader.take("I")))[::-1]
        infos.append((name, shape, reader.take("I"), reader.take("Q")))
    alignment = metadata.get("general.alignment", 32)
    begin = -(-reader.at // alignment) * alignment
    tensors: dict[str, Any] = {}
    for name, shape, kind, offset in infos:
        title, elements, nbytes, dtype = GGML[kind]
        total = int(np.prod(shape)) // elements * nbytes
        data = np.frombuffer(reader.data[begin + offset:begin + offset + total], dtype)
        tensors[name] = Stored(title, shape, data) if elements > 1 else data.reshape(shape)
    return tensors, metadata
