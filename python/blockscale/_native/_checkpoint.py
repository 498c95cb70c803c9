# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of tensors and what is in them, by include/blockscale-c/Checkpoint.h. What fails here
raises FileError or ArgumentError itself.

Arrays are dense and row-major: of NumPy, of anything with the buffer protocol, or of a package with
DLPack on the CPU. Only their bytes count, so that any dtype of the right size will do, and they
need no alignment. Functions write into arrays that are given, and those with `out=None` make one.
They use the threads of the library, without the GIL.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from blockscale import _errors
from blockscale._native import _structures, exchange, status_name
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
    found: np.ndarray | None
    try:
        found = given.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        found = None
    # Numbers of other types are given where they mean the same; a float may be rounded.
    if found is None or not (dtype.kind == "f" or np.array_equal(found, given)):
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
      origin: where the bytes come from, the same whenever the file is opened: its absolute path.

    Raises: FileError, where the file cannot be read or breaks a rule of its format.
    """

    def __init__(self, path: str | os.PathLike[str]):
        handle = ctypes.c_void_p()
        self.origin = os.path.abspath(os.fspath(path))
        check(LIBRARY.blockscale_tensor_file_open(os.fsencode(path), handle))
        opened: Any = handle.value
        self._handle: int = opened
        self.data: np.ndarray = np.asarray(_Mapping(self._handle))
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
        return self.view_bytes(tensor.offset, tensor.nbytes)

    def view_bytes(self, offset: int, nbytes: int) -> np.ndarray:
        """Bytes of the file, uint8, without a copy."""
        return self.data[offset:offset + nbytes]

    def release(self, offset: int, nbytes: int) -> None:
        """Takes bytes that were read out of the memory of the process. They are read again where
        they are looked at again. The page that the range ends in stays."""
        check(LIBRARY.blockscale_tensor_file_release(self._handle, offset, nbytes))

    def check_unchanged(self) -> None:
        """Whether the file is what it was when it was opened, so that what was read of it is, too.

        Raises: FileError.
        """
        check(LIBRARY.blockscale_tensor_file_check(self._handle))


@contextlib.contextmanager
def guard_reads() -> Iterator[None]:
    """In here, reads of a file that was cut meanwhile give zeros, where they would end the process.
    Who reads calls check_unchanged() afterwards."""
    LIBRARY.blockscale_read_guard_begin()
    try:
        yield
    finally:
        LIBRARY.blockscale_read_guard_end()


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


# --- Arrays -------------------------------------------------------------------------------------


def _get_memory(name: str, array: Any, is_written: bool) -> tuple[int, int, Any]:
    """The address and the bytes of an array, and what keeps it."""
    found: tuple[int, int, Any]
    if hasattr(array, "__dlpack__") and not isinstance(array, np.ndarray):
        view = exchange(array)
        dense = 1
        for size, stride in zip(reversed(view.shape), reversed(view.strides)):
            if size != 1 and stride != dense:
                raise _errors.ArgumentError(f"expected {name} to be dense and row-major, but got "
                                            f"strides {view.strides}")
            dense *= size
        if view.device[0] != 1:
            raise _errors.ArgumentError(f"expected {name} on the CPU, but got device "
                                        f"{view.device}")
        found = view.address, dense * view.dtype[1] // 8, view
        writable = view.is_writable
    else:
        given = array if isinstance(array, np.ndarray) else np.frombuffer(array, np.uint8)
        if not given.flags.c_contiguous:
            raise _errors.ArgumentError(f"expected {name} to be dense and row-major, but got "
                                        f"strides {given.strides}")
        found = given.ctypes.data, given.nbytes, given
        writable = given.flags.writeable
    if is_written and not writable:
        raise _errors.ArgumentError(f"expected {name} to be writable, but it is not")
    return found


class _Call:
    """The arguments of one call, in order; arrays are kept until its end."""

    def __init__(self) -> None:
        self.arguments: list[Any] = []
        self._kept: list[Any] = []

    def add(self, *values: Any) -> _Call:
        self.arguments.extend(value.encode() if isinstance(value, str) else value
                              for value in values)
        return self

    def read(self, name: str, array: Any) -> _Call:
        return self._add_memory(name, array, False)

    def write(self, name: str, array: Any) -> _Call:
        return self._add_memory(name, array, True)

    def _add_memory(self, name: str, array: Any, is_written: bool) -> _Call:
        address, size, keeper = _get_memory(name, array, is_written)
        self._kept.append(keeper)
        return self.add(address, size)

    def run(self, function: Any) -> None:
        check(function(*self.arguments))


def _make(out: Any, shape: tuple[int, ...], dtype: Any = np.uint8) -> Any:
    """`out`, or room for a result; the library refuses sizes that are negative."""
    return np.empty([max(size, 0) for size in shape], dtype) if out is None else out


# --- Orders -------------------------------------------------------------------------------------

# Elements that share a scale, by the type of blocks.
_GROUPS = {"MXFP4": 32, "NVFP4": 16}


def _make_blocks(type: str, rows: int, cols: int, out: Any) -> Any:
    """Room for blocks; of a type that the library refuses, nothing."""
    elements, size = STORAGE_TYPES[type][1:3] if type in _GROUPS else (1, 0)
    return _make(out, (rows, cols // elements * size))


def pack_gguf(type: str, rows: int, cols: int, codes: Any, scales: Any,
              out: Any = None) -> tuple[Any, int]:
    """Brings row-major codes and scales into blocks of GGUF, uint8 [rows, bytes of a row]. Returns
    them, and the number of scales that mean something else there."""
    out, changed = _make_blocks(type, rows, cols, out), ctypes.c_uint64()
    _Call().add(type, rows, cols).read("codes", codes).read("scales", scales).write(
        "out", out).add(changed).run(LIBRARY.blockscale_gguf_pack)
    return out, changed.value


def unpack_gguf(type: str, rows: int, cols: int, blocks: Any, codes: Any = None,
                scales: Any = None) -> tuple[Any, Any, int]:
    """The inverse: uint8 [rows, cols / 2] and [rows, cols / elements of a scale], and the number
    of scales that are other bytes, or that mean something else, since ggml reads them otherwise."""
    codes = _make(codes, (rows, cols // 2))
    scales = _make(scales, (rows, cols // _GROUPS.get(type, 1)))
    changed = ctypes.c_uint64()
    _Call().add(type, rows, cols).read("blocks", blocks).write("codes", codes).write(
        "scales", scales).add(changed).run(LIBRARY.blockscale_gguf_unpack)
    return codes, scales, changed.value


def _reorder(function: Any, count: int, rows: int, row_bytes: int, array: Any, out: Any) -> Any:
    out = _make(out, (count, rows, row_bytes))
    address, size, keeper = _get_memory("array", array, False)
    to, to_size, to_keeper = _get_memory("out", out, True)
    if to_size != size:
        raise _errors.ArgumentError(f"expected out to have {size} bytes, but got {to_size}")
    check(function(count, rows, row_bytes, address, to, size))
    del keeper, to_keeper
    return out


def split_rows(count: int, rows: int, row_bytes: int, array: Any, out: Any = None) -> Any:
    """Brings each of `count` matrices whose rows alternate between two others to those one after
    the other: gate and up of gpt-oss."""
    return _reorder(LIBRARY.blockscale_split_rows, count, rows, row_bytes, array, out)


def alternate_rows(count: int, rows: int, row_bytes: int, array: Any, out: Any = None) -> Any:
    """The inverse of split_rows."""
    return _reorder(LIBRARY.blockscale_alternate_rows, count, rows, row_bytes, array, out)


# --- Conversions --------------------------------------------------------------------------------


def quantize_gguf(type: str, input_type: str, rows: int, cols: int, x: Any,
                  out: Any = None) -> Any:
    """Quantizes x, of the storage type F32, BF16 or F16, to blocks of GGUF as ggml does."""
    out = _make_blocks(type, rows, cols, out)
    _Call().add(type, input_type, rows, cols).read("x", x).write("out", out).run(
        LIBRARY.blockscale_gguf_quantize)
    return out


def mxfp4_max_exponent(scales: Any) -> int:
    """The largest k of E8M0 scales 2^k, zeros and NaN not counted; 0 if there are none."""
    exponent = ctypes.c_int32()
    _Call().read("scales", scales).add(exponent).run(LIBRARY.blockscale_mxfp4_max_exponent)
    return exponent.value


def mxfp4_to_nvfp4(rows: int, cols: int, codes: Any, scales: Any, max_exponent: int,
                   out_codes: Any = None, out_scales: Any = None) -> tuple[Any, Any, float, int]:
    """Brings MXFP4 to NVFP4: codes, E4M3 scales, the global scale, and the number of blocks of 32
    with other values than before. `max_exponent` is that of all that shares the global scale."""
    out_codes = _make(out_codes, (rows, cols // 2))
    out_scales = _make(out_scales, (rows, cols // 16))
    scale, changed = ctypes.c_float(), ctypes.c_uint64()
    _Call().add(rows, cols).read("codes", codes).read("scales", scales).add(max_exponent).write(
        "out_codes", out_codes).write("out_scales", out_scales).add(scale, changed).run(
            LIBRARY.blockscale_mxfp4_to_nvfp4)
    return out_codes, out_scales, scale.value, changed.value


def mxfp4_to_fp8(rows: int, cols: int, block: tuple[int, int], codes: Any, scales: Any,
                 out: Any = None, out_scales: Any = None) -> tuple[Any, Any, int]:
    """Brings MXFP4 to E4M3, uint8 [rows, cols], with f32 scales of blocks of that shape, and the
    number of these with other values than before."""
    block_rows, block_cols = block
    counts = -(-rows // block_rows) if block_rows > 0 else 0, (
        -(-cols // block_cols) if block_cols > 0 else 0)
    out, out_scales = _make(out, (rows, cols)), _make(out_scales, counts, np.float32)
    call = _Call().add(rows, cols, block_rows, block_cols).read("codes", codes).read(
        "scales", scales).write("out", out).write("out_scales", out_scales)
    # The library takes the number of scales.
    size = call.arguments[-1]
    if size % 4:
        raise _errors.ArgumentError(f"expected out_scales of float32, but got {size} bytes")
    call.arguments[-1] = size // 4
    changed = ctypes.c_uint64()
    call.add(changed).run(LIBRARY.blockscale_mxfp4_to_fp8)
    return out, out_scales, changed.value


# --- Facts --------------------------------------------------------------------------------------


def amax(type: str, x: Any) -> float:
    """The largest magnitude of elements of a storage type; NaN if there is one, 0 of nothing."""
    found = ctypes.c_float()
    _Call().add(type).read("x", x).add(found).run(LIBRARY.blockscale_amax)
    return found.value


class Statistics(NamedTuple):
    """Numbers of elements, and bounds of what is not NaN. `least` is the least magnitude that is
    not 0; infinity if there is none."""

    count: int  # type: ignore[assignment]  # tuples have a method of this name
    nan: int
    infinite: int
    zero: int
    negative: int
    min: float
    max: float
    least: float


def scan(type: str, x: Any) -> Statistics:
    """Statistics of elements of a storage type: F32, BF16, F16, F8_E4M3, F8_E5M2, F8_E8M0."""
    found = _structures.Statistics()
    _Call().add(type).read("x", x).add(found).run(LIBRARY.blockscale_scan)
    return Statistics(*(getattr(found, name) for name in Statistics._fields))


class CodeStatistics(NamedTuple):
    """`codes`, uint64 [2, 16]: elements by the parity of their column and by their E2M1 code.
    `largest`, uint64 [8]: blocks by the code, without sign, of their largest magnitude."""

    codes: np.ndarray
    largest: np.ndarray


def scan_codes(rows: int, cols: int, block_cols: int, codes: Any) -> CodeStatistics:
    """Statistics of packed E2M1 codes with blocks of 1 by `block_cols`."""
    found = _structures.CodeStatistics()
    _Call().add(rows, cols, block_cols).read("codes", codes).add(found).run(
        LIBRARY.blockscale_scan_codes)
    return CodeStatistics(np.array(found.codes, np.uint64), np.array(found.largest, np.uint64))


def column_squares(type: str, rows: int, cols: int, x: Any) -> np.ndarray:
    """The sum of squares of each column, float64 [cols]."""
    squares = np.empty(cols)
    _Call().add(type, rows, cols).read("x", x).add(squares.ctypes.data, cols).run(
        LIBRARY.blockscale_column_squares)
    return squares


def column_squares_of_codes(scale_type: str, rows: int, cols: int, block_cols: int, codes: Any,
                            scales: Any) -> np.ndarray:
    """The same for packed E2M1 codes times scales, F8_E4M3 or F8_E8M0, of `block_cols` columns."""
    squares = np.empty(cols)
    _Call().add(scale_type, rows, cols, block_cols).read("codes", codes).read(
        "scales", scales).add(squares.ctypes.data, cols).run(
            LIBRARY.blockscale_column_squares_of_codes)
    return squares


class Difference(NamedTuple):
    """Numbers of elements: all; those of other values, where NaNs are equal; those among them of
    which one is NaN or infinite, which are in no sum. The largest difference and the first element
    that has it, -1 if there is none."""

    count: int  # type: ignore[assignment]  # tuples have a method of this name
    different: int
    incomparable: int
    reference_squares: float
    difference_squares: float
    largest: float
    largest_index: int


def compare(reference_type: str, reference: Any, type: str, x: Any) -> Difference:
    """Compares elements of storage types with as many of a reference."""
    found = _structures.Difference()
    _Call().add(reference_type).read("reference", reference).add(type).read("x", x).add(found).run(
        LIBRARY.blockscale_compare)
    return Difference(*(getattr(found, name) for name in Difference._fields))
