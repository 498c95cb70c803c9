# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A producer of DLPack tensors of any kind, in memory of NumPy arrays."""

import ctypes


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Producer:
    """`array`'s memory from byte `offset` on as a tensor on `device`, with its shape and strides
    unless others are given. It must outlive what is made of it. A `version` gives a capsule with
    `flags`. `deleted` counts the calls of its deleter; `options` are those of the last
    `__dlpack__`, and `capsule` is what that gave."""

    def __init__(self, array, device=(1, 0), dtype=(2, 32), shape=None, strides=None, offset=0,
                 version=None, flags=0):
        shape = array.shape if shape is None else shape
        if strides is None:
            strides = tuple(stride // array.itemsize for stride in array.strides)
        self.array = array
        self.device = device
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = (ctypes.c_int64 * len(strides))(*strides)
        tensor = _Tensor(array.ctypes.data, *device, len(shape), *dtype, 1, self._shape,
                         self._strides, offset)
        self.deleted = 0
        self._deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._delete)
        deleter = ctypes.cast(self._deleter, ctypes.c_void_p)
        self._name = b"dltensor_versioned" if version else b"dltensor"
        self._managed = (_Versioned(*version, None, deleter, flags, tensor) if version
                         else _Managed(tensor, None, deleter))

    def _delete(self, managed):
        assert managed == ctypes.addressof(self._managed)
        self.deleted += 1

    def __dlpack__(self, **options):
        self.options = options
        self.capsule = _new(ctypes.addressof(self._managed), self._name, None)
        return self.capsule

    def __dlpack_device__(self):
        return self.device
