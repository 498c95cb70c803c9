# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of tensors, by include/blockscale-c/Checkpoint.h. What fails here raises FileError or
ArgumentError itself."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any, Iterable, NamedTuple, Sequence

import numpy as np

from blockscale import _errors
from blockscale._native import _structures, status_name
from blockscale._native._library import LIBRARY, get_error

#: The formats of files, by their numbers in C.
FORMATS = ("safetensors", "gguf")


def check(status: int) -> None:
    """Raises what a function of the library returned, if that is a failure."""
    if status:
        _errors.fail(status_name(status), get_error(status))


class StorageType(NamedTuple):
    """How a file stores elements: the fewest that take whole bytes, those bytes, and the number
    of the type in GGUF files, which is negative for one that they lack."""

    name: str
    block_elements: int
    block_bytes: int
    in_safetensors: bool
    gguf_number: int


def _list_storage_types() -> dict[str, StorageType]:
    types: dict[str, StorageType] = {}
    while found := LIBRARY.blockscale_storage_type_get(len(types)):
        row = found.contents
        name = row.name.decode()
        types[name] = StorageType(name, row.block_elements, row.block_bytes,
                                  bool(row.in_safetensors), row.gguf_number)
    return types


#: All types, by their names.
STORAGE_TYPES = _list_storage_types()


# --- Metadata -----------------------------------------------------------------------------------

# The types of metadata by their numbers: a name, and for numbers the dtype of NumPy.
_TYPES = (("u8", "<u1"), ("i8", "<i1"), ("u16", "<u2"), ("i16", "<i2"), ("u32", "<u4"),
          ("i32", "<i4"), ("f32", "<f4"), ("bool", "?"), ("string", None), ("array", None),
          ("u64", "<u8"), ("i64", "<i8"), ("f64", "<f8"))
METADATA_TYPES = tuple(name for name, _ in _TYPES)
_NUMBERS = {name: i for i, name in enumerate(METADATA_TYPES)}
_STRING, _ARRAY = _NUMBERS["string"], _NUMBERS["array"]


class Array(NamedTuple):
    """An array of metadata: the name of the type of its elements, and these. Numbers are an array
    of NumPy, strings and arrays a list."""

    type: str
    elements: Any


class Metadata(NamedTuple):
    """A key of a file: the name of the type of its value, and the value. Text that is not UTF-8
    has surrogates, as os.fsdecode makes them."""

    key: str
    type: str
    value: Any


def _encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decode_text(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def _decode_elements(kind: int, count: int, data: bytes, at: int) -> tuple[Any, int]:
    """Elements of an array, whose bytes the library has checked, and where they end."""
    dtype = _TYPES[kind][1]
    if dtype is not None:
        end = at + count * np.dtype(dtype).itemsize
        return np.frombuffer(data, dtype, count, at).copy() if count else np.empty(0, dtype), end
    elements: list[Any] = []
    for _ in range(count):
        if kind == _STRING:
            length, = struct.unpack_from("<Q", data, at)
            elements.append(_decode_text(data[at + 8:at + 8 + length]))
            at += 8 + length
        else:
            inner, number = struct.unpack_from("<IQ", data, at)
            found, at = _decode_elements(inner, number, data, at + 12)
            elements.append(Array(METADATA_TYPES[inner], found))
    return elements, at


def _decode(entry: Any) -> Metadata:
    data = ctypes.string_at(entry.value, entry.bytes) if entry.bytes else b""
    value: Any
    if entry.type == _STRING:
        value = _decode_text(data)
    elif entry.type == _ARRAY:
        value = Array(METADATA_TYPES[entry.element_type],
                      _decode_elements(entry.element_type, entry.count, data, 0)[0])
    else:
        value = np.frombuffer(data, _TYPES[entry.type][1], 1)[0].item()
    return Metadata(_decode_text(entry.key), METADATA_TYPES[entry.type], value)


def _get_number(name: str) -> int:
    if name not in _NUMBERS:
        raise _errors.ArgumentError("expected the type of metadata to be one of "
                                    f"{', '.join(METADATA_TYPES)}, but got '{name}'")
    return _NUMBERS[name]


def _encode_numbers(kind: int, values: Any) -> bytes:
    dtype = np.dtype(_TYPES[kind][1])
    given = np.asarray(values)
    try:
        found = given.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        found = None
    # Numbers of other types are given where they mean the same; a float may be rounded.
    same = found is not None and (dtype.kind == "f" or np.array_equal(found, given))
    if not same:
        raise _errors.ArgumentError(f"expected numbers of {METADATA_TYPES[kind]}, but got "
                                    f"{values!r}")
    return found.tobytes()


def _encode_elements(kind: int, elements: Any) -> bytes:
    if _TYPES[kind][1] is not None:
        return _encode_numbers(kind, elements)
    parts = []
    for element in elements:
        if kind == _STRING:
            text = _encode_text(element)
            parts.append(struct.pack("<Q", len(text)) + text)
        else:
            inner = _get_number(element.type)
            parts.append(struct.pack("<IQ", inner, len(element.elements)) +
                         _encode_elements(inner, element.elements))
    return b"".join(parts)


def _encode(entry: Metadata) -> tuple[Any, bytes]:
    """An entry as C takes it, and the bytes that it points to."""
    kind = _get_number(entry.type)
    inner = count = 0
    if kind == _STRING:
        data = _encode_text(entry.value)
    elif kind == _ARRAY:
        inner, count = _get_number(entry.value.type), len(entry.value.elements)
        data = _encode_elements(inner, entry.value.elements)
    else:
        data = _encode_numbers(kind, entry.value)
    address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)
    return _structures.Metadata(_encode_name(entry.key), kind, inner, count, address,
                                len(data)), data


def _encode_name(name: str) -> bytes:
    if "\0" in name:
        raise _errors.ArgumentError(f"expected a name without NUL, but got {name!r}")
    return _encode_text(name)


# --- Files --------------------------------------------------------------------------------------


class Tensor(NamedTuple):
    """A tensor of a file: its shape counts elements, its longest stride first, in both formats;
    `offset` and `nbytes` are those of its bytes in the file."""

    name: str
    type: StorageType
    shape: tuple[int, ...]
    offset: int
    nbytes: int


class _Mapping:
    """The memory of a file, which arrays of NumPy keep."""

    def __init__(self, handle: int):
        self._handle = handle
        self.__array_interface__ = {
            "version": 3, "typestr": "|u1", "shape": (LIBRARY.blockscale_tensor_file_size(handle),),
            "data": (LIBRARY.blockscale_tensor_file_data(handle) or 0, True)}

    def __del__(self, close: Any = LIBRARY.blockscale_tensor_file_close) -> None:
        close(self._handle)


class TensorFile:
    """A safetensors or GGUF file, mapped; its header was checked.

    Attributes:
      format: one of FORMATS.
      data: the bytes of the whole file, uint8, read-only. Views of it keep the file open.
      tensors: by their offsets.
      metadata: in the order of the file.

    Raises: FileError, where the file cannot be read or breaks a rule of its format.
    """

    def __init__(self, path: str | os.PathLike[str]):
        handle = ctypes.c_void_p()
        check(LIBRARY.blockscale_tensor_file_open(os.fsencode(path), handle))
        self._handle = handle.value
        self.data: np.ndarray = np.asarray(_Mapping(handle.value))
        self.format = FORMATS[LIBRARY.blockscale_tensor_file_format(handle)]
        self.tensors = tuple(map(self._get_tensor, range(
            LIBRARY.blockscale_tensor_file_tensor_count(handle))))
        self.metadata = tuple(map(self._get_metadata, range(
            LIBRARY.blockscale_tensor_file_metadata_count(handle))))

    def _get_tensor(self, number: int) -> Tensor:
        row = _structures.Tensor()
        check(LIBRARY.blockscale_tensor_file_tensor(self._handle, number, row))
        return Tensor(row.name.decode(), STORAGE_TYPES[row.type.contents.name.decode()],
                      tuple(row.shape[:row.rank]), row.offset, row.bytes)

    def _get_metadata(self, number: int) -> Metadata:
        row = _structures.Metadata()
        check(LIBRARY.blockscale_tensor_file_metadata(self._handle, number, row))
        return _decode(row)

    def view(self, tensor: Tensor) -> np.ndarray:
        """The bytes of a tensor, uint8, without a copy."""
        return self.data[tensor.offset:tensor.offset + tensor.nbytes]

    def release(self, offset: int, nbytes: int) -> None:
        """Takes bytes that were read out of the memory of the process. They are read again where
        they are looked at again. The page that the range ends in stays."""
        check(LIBRARY.blockscale_tensor_file_release(self._handle, offset, nbytes))


class Layout(NamedTuple):
    """A new file: its first bytes, where each tensor begins, and the bytes of all. What belongs
    to no tensor is 0."""

    header: bytes
    offsets: tuple[int, ...]
    nbytes: int


def lay_out(format: str, tensors: Iterable[tuple[str, str, Sequence[int]]],
            metadata: Iterable[Metadata] = ()) -> Layout:
    """Lays tensors, (name, name of the storage type, shape), out one after the other.

    Raises: ArgumentError, where the format does not allow them.
    """
    if format not in FORMATS:
        raise _errors.ArgumentError(f"expected format to be one of {', '.join(FORMATS)}, but got "
                                    f"'{format}'")
    rows = []
    for name, kind, shape in tensors:
        sizes = (ctypes.c_int64 * len(shape))(*shape)
        rows.append(_structures.NewTensor(_encode_name(name), kind.encode(), len(shape), sizes))
    entries = [_encode(entry) for entry in metadata]
    handle = ctypes.c_void_p()
    check(LIBRARY.blockscale_file_layout_create(
        FORMATS.index(format), (_structures.NewTensor * len(rows))(*rows), len(rows),
        (_structures.Metadata * len(entries))(*(entry for entry, _ in entries)), len(entries),
        handle))
    try:
        header = ctypes.string_at(LIBRARY.blockscale_file_layout_header(handle),
                                  LIBRARY.blockscale_file_layout_header_bytes(handle))
        offsets = LIBRARY.blockscale_file_layout_offsets(handle)
        return Layout(header, tuple(offsets[:len(rows)]) if rows else (),
                      LIBRARY.blockscale_file_layout_file_bytes(handle))
    finally:
        LIBRARY.blockscale_file_layout_destroy(handle)
