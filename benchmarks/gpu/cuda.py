# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams, graphs and events of the CUDA driver: what timing needs beyond the runtime."""

import ctypes
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

STREAM_NON_BLOCKING = 1
CAPTURE_THREAD_LOCAL = 1


class Driver:
    """libcuda on one GPU; its primary context is current on this thread."""

    def __init__(self, ordinal=0):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", c_uint(0))
        self.device, self.context = c_int(), c_void_p()
        self.call("cuDeviceGet", byref(self.device), c_int(ordinal))
        self.call("cuDevicePrimaryCtxRetain", byref(self.context), self.device)
        self.call("cuCtxSetCurrent", self.context)
        self.stream = c_void_p()
        self.call("cuStreamCreate", byref(self.stream), c_uint(STREAM_NON_BLOCKING))
        self.events = [self.make("cuEventCreate", c_uint(0)) for _ in range(2)]

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            text = c_char_p()
            self.library.cuGetErrorString(c_int(status), byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()}")

    def make(self, name, *arguments):
        made = c_void_p()
        self.call(name, byref(made), *arguments)
        return made

    def allocate(self, size):
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), c_size_t(size))
        return address.value

    def free(self, address):
        self.call("cuMemFree_v2", c_uint64(address))

    def fill(self, address, size, byte=0):
        self.call("cuMemsetD8Async", c_uint64(address), ctypes.c_ubyte(byte), c_size_t(size),
                  self.stream)

    def copy(self, to, source, size):
        self.call("cuMemcpyDtoDAsync_v2", c_uint64(to), c_uint64(source), c_size_t(size),
                  self.stream)

    def synchronize(self):
        self.call("cuStreamSynchronize", self.stream)

    def capture(self, work):
        """A graph of what `work` puts on the stream."""
        self.call("cuStreamBeginCapture_v2", self.stream, c_int(CAPTURE_THREAD_LOCAL))
        work()
        graph, executable = c_void_p(), c_void_p()
        self.call("cuStreamEndCapture", self.stream, byref(graph))
        self.call("cuGraphInstantiateWithFlags", byref(executable), graph, c_uint64(0))
        return executable

    def microseconds(self, graph):
        """Of one replay. Waits for it."""
        start, end = self.events
        self.call("cuEventRecord", start, self.stream)
        self.call("cuGraphLaunch", graph, self.stream)
        self.call("cuEventRecord", end, self.stream)
        self.call("cuEventSynchronize", end)
        milliseconds = c_float()
        self.call("cuEventElapsedTime", byref(milliseconds), start, end)
        return milliseconds.value * 1e3
