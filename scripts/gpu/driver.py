# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The few calls of a CUDA driver that a launch needs, by ctypes."""

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p


class Cuda:
    """A driver with the primary context of device 0. A call is `cuda("cuInit", 0)`, and raises
    RuntimeError where the driver returns an error."""

    def __init__(self, library="libcuda.so.1"):
        self.lib = ctypes.CDLL(library)
        self("cuInit", 0)
        device, context, version = c_int(), c_void_p(), c_int()
        self("cuDeviceGet", byref(device), 0)
        name = ctypes.create_string_buffer(100)
        self("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()
        self("cuDriverGetVersion", byref(version))
        self.version = f"{version.value // 1000}.{version.value % 1000 // 10}"
        self("cuDevicePrimaryCtxRetain", byref(context), device)
        self("cuCtxPushCurrent_v2", context)

    def __call__(self, function, *arguments):
        status = getattr(self.lib, function)(*arguments)
        if status:
            text = c_char_p()
            self.lib.cuGetErrorString(status, byref(text))
            raise RuntimeError(f"{function}: {text.value.decode() if text.value else status}")

    def allocate(self, size):
        pointer = c_uint64()
        self("cuMemAlloc_v2", byref(pointer), c_size_t(size))
        return pointer.value

    def load(self, ptx):
        """The module of a PTX text."""
        module = c_void_p()
        self("cuModuleLoadDataEx", byref(module), c_char_p(ptx + b"\0"), 0, None, None)
        return module

    def find(self, module, kernel):
        function = c_void_p()
        self("cuModuleGetFunction", byref(function), module, kernel.encode())
        return function

    def launch(self, function, grid, block, shared, values):
        """`values` are the parameters, as ctypes objects."""
        parameters = (c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        self("cuLaunchKernel", function, *grid, block, 1, 1, shared, None, parameters, None)


def find_driver_release():
    """The release of NVIDIA's driver, as 580.159.04; 'unknown' on a machine without its
    management library."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return "unknown"
    text = ctypes.create_string_buffer(80)
    if library.nvmlInit_v2() or library.nvmlSystemGetDriverVersion(text, 80):
        return "unknown"
    return text.value.decode()
