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


_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Producer:
    """`array`'s memory as a tensor on `device`, with its shape and strides unless others
    are given. It must outlive what is made of it."""

    def __init__(self, array, device=(1, 0), dtype=(2, 32), shape=None, strides=None):
        shape = array.shape if shape is None else shape
        if strides is None:
            strides = tuple(stride // array.itemsize for stride in array.strides)
        self.array = array
        self.device = device
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = (ctypes.c_int64 * len(strides))(*strides)
        self._managed = _Managed(_Tensor(
            array.ctypes.data, *device, len(shape), *dtype, 1, self._shape, self._strides, 0))

    def __dlpack__(self, **_):
        return _new(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self):
        return self.device
