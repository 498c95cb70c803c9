# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of other packages, by DLPack: capsules of `__dlpack__`, of both forms."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from typing import Any

# The newest version whose structures these are. Another major one has others.
_MAJOR, _MINOR = 1, 1
_READ_ONLY = 1  # a flag
_CUDA = 2  # a type of devices


class _Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p),
                ("deleter", c_void_p), ("flags", c_uint64), ("tensor", _Tensor)]


#: By the name of a capsule: its structure, and the name that says that it was taken.
_FORMS = {b"dltensor_versioned": (_ManagedVersioned, b"used_dltensor_versioned"),
          b"dltensor": (_Managed, b"used_dltensor")}

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [py_object, c_char_p]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = c_void_p, [py_object, c_char_p]
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.argtypes = [py_object, c_char_p]
# With the GIL, which a deleter may need.
_Deleter = ctypes.PYFUNCTYPE(None, c_void_p)


class Exchanged:
    """A view of an array of another package, which it keeps alive: address, dtype (DLPack's code,
    and the bits), device (DLPack's type and the number of it), shape, strides in elements, and
    whether it may be written."""

    def __init__(self, capsule: Any):
        self._deleter = 0
        name = next((name for name in _FORMS if _is_valid(capsule, name)), None)
        if name is None:
            raise TypeError("expected a capsule of DLPack that nobody took, but got "
                            f"{capsule!r}")
        kind, used = _FORMS[name]
        self._managed = _get_pointer(capsule, name)
        managed: Any = kind.from_address(self._managed)
        # From here on this object calls the deleter, and not the capsule.
        _set_name(capsule, used)
        self._deleter = managed.deleter or 0
        if kind is _ManagedVersioned and managed.major != _MAJOR:
            raise BufferError(f"expected version {_MAJOR} of DLPack, but got "
                              f"{managed.major}.{managed.minor}")
        tensor = managed.tensor
        self.is_writable = kind is _Managed or not managed.flags & _READ_ONLY
        self.address: int = (tensor.data or 0) + tensor.byte_offset
        self.dtype = tensor.code, tensor.bits * tensor.lanes
        self.device = tensor.device_type, tensor.device_id
        self.shape: tuple[int, ...] = tuple(tensor.shape[:tensor.ndim])
        self.strides: tuple[int, ...] = (tuple(tensor.strides[:tensor.ndim]) if tensor.strides
                                         else self._get_dense_strides())

    def _get_dense_strides(self) -> tuple[int, ...]:
        strides: list[int] = []
        stride = 1
        for size in reversed(self.shape):
            strides.insert(0, stride)
            stride *= size
        return tuple(strides)

    def __del__(self) -> None:
        if self._deleter:
            deleter, self._deleter = self._deleter, 0
            _Deleter(deleter)(self._managed)


def exchange(object: Any, stream: int = 0) -> Exchanged:
    """A view of what has `__dlpack__`. Memory of a GPU is ready for work on `stream`, a CUstream;
    0 is the default one.

    Raises: TypeError, BufferError, RuntimeError, AttributeError: what the array's package raises,
      and where it does not follow DLPack.
    """
    options: dict[str, Any] = {}
    if stream and object.__dlpack_device__()[0] == _CUDA:
        options["stream"] = stream
    try:
        capsule = object.__dlpack__(max_version=(_MAJOR, _MINOR), **options)
    except TypeError:  # of a package that is older than versions
        capsule = object.__dlpack__(**options)
    return Exchanged(capsule)
