# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs bundles on a GPU: libBlockScaleRuntime through ctypes.

    runtime = Runtime("lib/libBlockScaleRuntime.so")
    device = runtime.device(0)
    module = device.load(runtime.bundle("q.bundle"))
    q, s = module.run("quantize", x, g)                    # NumPy in and out

    call = module.function("quantize").call(("uint16", (m, 4096)), np.float32(1))
    call.shapes                                            # of the results
    call.launch(module, [x.data_ptr(), 0], [q.data_ptr(), s.data_ptr()],
                stream=torch.cuda.current_stream().cuda_stream)

A launch neither waits nor allocates on the device, so it can be captured into a graph. What
kernels find wrong, device.synchronize() raises, or the next launch.
Needs NumPy; include/blockscale-c/Runtime.h says what the functions do.
"""

import contextlib
import ctypes
import os
import weakref
from ctypes import (
    CFUNCTYPE,
    POINTER,
    byref,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint64,
    c_void_p,
)

import numpy as np

ARGUMENT, RESULT, CONSTANT, WORKSPACE = range(4)
DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
          "float16", "float32", "float64"]


class Error(RuntimeError):
    """`status` is its name in C, as BLOCKSCALE_NO_DRIVER."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class _Argument(ctypes.Structure):
    _fields_ = [("dtype", c_int), ("rank", c_size_t), ("shape", POINTER(c_int64)),
                ("scalar", c_void_p)]


class _Reduction(ctypes.Structure):
    _fields_ = [("address", c_uint64), ("count", c_uint64), ("dtype", c_int), ("kind", c_int),
                ("stream", c_void_p)]


_ReduceCallback = CFUNCTYPE(c_int, POINTER(_Reduction), c_void_p)


# name: (result, arguments); a result of None is a status that is checked, void is c_void_p
# that nobody looks at.
_FUNCTIONS = {
    "bundle_open": (None, [c_char_p, POINTER(c_void_p)]),
    "bundle_open_memory": (None, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "bundle_close": (c_void_p, [c_void_p]),
    "bundle_target_count": (c_size_t, [c_void_p]),
    "bundle_chip": (c_char_p, [c_void_p, c_size_t]),
    "function_count": (c_size_t, [c_void_p, c_size_t]),
    "function_get": (c_void_p, [c_void_p, c_size_t, c_size_t]),
    "function_find": (None, [c_void_p, c_size_t, c_char_p, POINTER(c_void_p)]),
    "function_name": (c_char_p, [c_void_p]),
    "function_dim_count": (c_size_t, [c_void_p]),
    "function_dim": (c_char_p, [c_void_p, c_size_t]),
    "function_reduces": (c_int, [c_void_p]),
    "function_buffer_count": (c_size_t, [c_void_p, c_int]),
    "function_buffer": (c_void_p, [c_void_p, c_int, c_size_t]),
    "buffer_name": (c_char_p, [c_void_p]),
    "buffer_type": (c_char_p, [c_void_p]),
    "buffer_element": (c_char_p, [c_void_p]),
    "buffer_layout": (c_char_p, [c_void_p]),
    "buffer_dtype": (c_int, [c_void_p]),
    "buffer_is_scalar": (c_int, [c_void_p]),
    "buffer_rank": (c_size_t, [c_void_p]),
    "buffer_size": (c_char_p, [c_void_p, c_size_t]),
    "buffer_alignment": (c_uint64, [c_void_p]),
    "buffer_is_writable": (c_int, [c_void_p]),
    "buffer_argument": (c_int64, [c_void_p]),
    "call_create": (None, [c_void_p, POINTER(_Argument), c_size_t, POINTER(c_void_p)]),
    "call_destroy": (c_void_p, [c_void_p]),
    "call_bytes": (c_uint64, [c_void_p, c_int, c_size_t]),
    "call_shape": (POINTER(c_int64), [c_void_p, c_int, c_size_t]),
    "call_workspace_bytes": (c_uint64, [c_void_p]),
    "device_open": (None, [c_int, c_char_p, POINTER(c_void_p)]),
    "device_close": (c_void_p, [c_void_p]),
    "device_name": (c_char_p, [c_void_p]),
    "device_capability": (c_int, [c_void_p]),
    "device_driver_version": (c_int, [c_void_p]),
    "device_multiprocessors": (c_int, [c_void_p]),
    "device_allocate": (None, [c_void_p, c_uint64, POINTER(c_uint64)]),
    "device_free": (c_void_p, [c_void_p, c_uint64]),
    "device_upload": (None, [c_void_p, c_uint64, c_void_p, c_uint64]),
    "device_download": (None, [c_void_p, c_void_p, c_uint64, c_uint64]),
    "device_synchronize": (None, [c_void_p, c_void_p]),
    "device_take_error": (None, [c_void_p]),
    "module_load": (None, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "module_unload": (c_void_p, [c_void_p]),
    "module_target": (c_size_t, [c_void_p]),
    "module_set_reduce": (c_void_p, [c_void_p, _ReduceCallback, c_void_p]),
    "launch": (None, [c_void_p, c_void_p, POINTER(c_uint64), c_size_t, POINTER(c_uint64),
                      c_size_t, c_uint64, c_uint64, c_void_p]),
    "time": (None, [c_void_p, c_void_p, POINTER(c_uint64), c_size_t, POINTER(c_uint64),
                    c_size_t, c_uint64, c_uint64, c_uint64, c_size_t, POINTER(c_double)]),
    "last_error": (c_char_p, []),
    "status_name": (c_char_p, [c_int]),
    "version": (c_char_p, []),
}


class _Handle:
    """An object of the library, released with this one."""

    def __init__(self, runtime, create, release, *arguments):
        self.runtime = runtime
        self.handle = runtime.make(create, *arguments)
        self._finalizer = weakref.finalize(self, getattr(runtime, release), self.handle)

    def close(self):
        self._finalizer()


class Runtime:
    """The library; its functions are attributes, without their prefix. By default it is
    $BLOCKSCALE_RUNTIME, or what the loader finds."""

    def __init__(self, path=None):
        path = path or os.environ.get("BLOCKSCALE_RUNTIME", "libBlockScaleRuntime.so")
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, f"blockscale_{name}")
            function.restype = c_int if result is None else result
            function.argtypes = arguments
            if result is None:
                function.errcheck = self._check
            setattr(self, name, function)

    def _check(self, status, function, arguments):
        if status:
            raise Error(self.status_name(status).decode(), self.last_error().decode())
        return status

    def make(self, create, *arguments):
        """The pointer that a function gives through its last parameter."""
        made = c_void_p()
        getattr(self, create)(*arguments, byref(made))
        return made.value

    def bundle(self, source):
        """A bundle that is read from a path, or from bytes."""
        return Bundle(self, source)

    def device(self, ordinal=0, driver=None):
        return Device(self, ordinal, driver)


class Bundle(_Handle):
    def __init__(self, runtime, source):
        if isinstance(source, (bytes, bytearray)):
            super().__init__(runtime, "bundle_open_memory", "bundle_close", bytes(source),
                             len(source))
        else:
            super().__init__(runtime, "bundle_open", "bundle_close", os.fsencode(source))
        self.chips = [runtime.bundle_chip(self.handle, i).decode()
                      for i in range(runtime.bundle_target_count(self.handle))]

    def functions(self, target=0):
        return [Function(self, self.runtime.function_get(self.handle, target, i))
                for i in range(self.runtime.function_count(self.handle, target))]

    def function(self, name=None, target=0):
        return Function(self, self.runtime.make(
            "function_find", self.handle, target, name and name.encode()))


class Buffer:
    """`sizes` are texts of expressions. An argument `is_writable` where the caller gives it away,
    and `argument` is the number of that whose memory a result may have, or None."""

    def __init__(self, runtime, handle):
        self.name = runtime.buffer_name(handle).decode()
        self.type = runtime.buffer_type(handle).decode()
        self.element = runtime.buffer_element(handle).decode()
        self.layout = runtime.buffer_layout(handle).decode()
        self.dtype = DTYPES[runtime.buffer_dtype(handle)]
        self.is_scalar = bool(runtime.buffer_is_scalar(handle))
        self.alignment = runtime.buffer_alignment(handle)
        self.is_writable = bool(runtime.buffer_is_writable(handle))
        number = runtime.buffer_argument(handle)
        self.argument = number if number >= 0 else None
        self.sizes = [runtime.buffer_size(handle, i).decode()
                      for i in range(runtime.buffer_rank(handle))]


class Function:
    """A call of one that `reduces` needs what Module.set_reduce() says."""

    def __init__(self, bundle, handle):
        self.bundle, self.runtime, self.handle = bundle, bundle.runtime, handle
        self.name = self.runtime.function_name(handle).decode()
        self.dims = [self.runtime.function_dim(handle, i).decode()
                     for i in range(self.runtime.function_dim_count(handle))]
        self.reduces = bool(self.runtime.function_reduces(handle))
        self.arguments, self.results, self.constants, self.workspaces = (
            [Buffer(self.runtime, self.runtime.function_buffer(handle, role, i))
             for i in range(self.runtime.function_buffer_count(handle, role))]
            for role in (ARGUMENT, RESULT, CONSTANT, WORKSPACE))

    def call(self, *arguments):
        """Each is an array or a NumPy scalar, or for an array its (dtype, shape)."""
        return Call(self, arguments)


def _check_bytes(array, is_written=False):
    """That the bytes of an array are those of its elements in the memory of the machine."""
    if not array.dtype.isnative:
        raise TypeError("expected an array in the byte order of this machine, but got "
                        f"{array.dtype.str}")
    if is_written and not (array.flags.c_contiguous and array.flags.writeable):
        what = "a read-only one" if array.flags.c_contiguous else f"strides {array.strides}"
        raise TypeError("expected a dense array that can be written to, but got " + what)


class Call(_Handle):
    """A function with sizes and values of scalars."""

    def __init__(self, function, arguments):
        self.function = function
        array = (_Argument * len(arguments))()
        kept = []
        for slot, argument in zip(array, arguments):
            if isinstance(argument, tuple):
                dtype, shape = argument
            else:
                value = np.ascontiguousarray(argument).reshape(np.shape(argument))
                _check_bytes(value)
                dtype, shape = value.dtype.name, value.shape
                slot.scalar = value.ctypes.data
                kept.append(value)
            if str(dtype) not in DTYPES:
                raise TypeError(f"expected a dtype of {', '.join(DTYPES)}, but got {dtype}")
            slot.dtype = DTYPES.index(str(dtype))
            slot.rank = len(shape)
            slot.shape = (c_int64 * len(shape))(*shape)
        super().__init__(function.runtime, "call_create", "call_destroy", function.handle,
                         array, len(arguments))
        self.workspace_bytes = self.runtime.call_workspace_bytes(self.handle)
        self.shapes = [tuple(self.runtime.call_shape(self.handle, RESULT, i)[:len(r.sizes)])
                       for i, r in enumerate(function.results)]

    def bytes(self, role, number):
        return self.runtime.call_bytes(self.handle, role, number)

    def launch(self, module, arguments, results, workspace=0, stream=None,
               workspace_bytes=None):
        """Launches the call on device addresses; those of scalars are not used. The
        workspace has the bytes that the call wants, unless `workspace_bytes` says how
        many."""
        if workspace_bytes is None:
            workspace_bytes = self.workspace_bytes
        with module.reducing():
            self.runtime.launch(
                module.handle, self.handle, (c_uint64 * len(arguments))(*arguments),
                len(arguments), (c_uint64 * len(results))(*results), len(results), workspace,
                workspace_bytes, stream)

    def time(self, module, arguments, results, workspace=0, flush_bytes=0, count=1):
        """Microseconds of `count` replays of a CUDA graph of the call, before each of which
        `flush_bytes` of other memory are overwritten. Waits for the end."""
        times = (c_double * count)()
        with module.reducing():
            self.runtime.time(
                module.handle, self.handle, (c_uint64 * len(arguments))(*arguments),
                len(arguments), (c_uint64 * len(results))(*results), len(results), workspace,
                self.workspace_bytes, flush_bytes, count, times)
        return list(times)


class Device(_Handle):
    def __init__(self, runtime, ordinal=0, driver=None):
        super().__init__(runtime, "device_open", "device_close", ordinal,
                         driver and os.fsencode(driver))
        self.name = runtime.device_name(self.handle).decode()
        self.capability = runtime.device_capability(self.handle)
        self.driver_version = runtime.device_driver_version(self.handle)
        self.multiprocessors = runtime.device_multiprocessors(self.handle)

    def load(self, bundle):
        return Module(self, bundle)

    def allocate(self, size):
        address = c_uint64()
        self.runtime.device_allocate(self.handle, size, byref(address))
        return address.value

    def free(self, address):
        self.runtime.device_free(self.handle, address)

    def upload(self, address, array):
        data = np.ascontiguousarray(array)
        _check_bytes(data)
        self.runtime.device_upload(self.handle, address, data.ctypes.data, data.nbytes)

    def download(self, address, array):
        _check_bytes(array, is_written=True)
        self.runtime.device_download(self.handle, array.ctypes.data, address, array.nbytes)

    def synchronize(self, stream=None):
        """Waits for a stream, then raises what kernels found wrong, as take_error() does."""
        self.runtime.device_synchronize(self.handle, stream)

    def take_error(self):
        """Raises what kernels on the GPU found wrong since that was raised last, without a
        wait: values that only the GPU has, such as ends of groups and indices."""
        self.runtime.device_take_error(self.handle)


class Module(_Handle):
    def __init__(self, device, bundle):
        super().__init__(device.runtime, "module_load", "module_unload", bundle.handle,
                         device.handle)
        self.device, self.bundle = device, bundle
        self.target = self.runtime.module_target(self.handle)
        self._callback = self._error = None

    def set_reduce(self, reduce):
        """Says what reduces float32 numbers over ranks in launches from now on; None for
        nothing. reduce(address, count, stream) gives each of them the largest one in its place,
        by what it puts on the stream."""
        def call(reduction, _):
            # ctypes loses exceptions of callbacks.
            try:
                reduce(reduction[0].address, reduction[0].count, reduction[0].stream)
            except BaseException as error:
                self._error = error
            return int(self._error is not None)
        self._callback = _ReduceCallback() if reduce is None else _ReduceCallback(call)
        self.runtime.module_set_reduce(self.handle, self._callback, None)

    @contextlib.contextmanager
    def reducing(self):
        """While the library launches: raises what reduced, in place of the library's error."""
        self._error = None
        try:
            yield
        finally:
            if self._error is not None:
                raise self._error

    def function(self, name=None):
        return self.bundle.function(name, self.target)

    def run(self, name, *arguments, fill=None):
        """Puts arrays on the GPU, calls the function and brings the results back. These, but for
        results in the memory of arguments, and the workspace hold a byte `fill` before, where
        there is one."""
        function = self.function(name)
        call = function.call(*arguments)
        addresses = []

        def allocate(size, fill=None):
            addresses.append(self.device.allocate(size))
            if fill is not None:
                self.device.upload(addresses[-1], np.full(size, fill, np.uint8))
            return addresses[-1]

        try:
            given = []
            for argument, buffer in zip(arguments, function.arguments):
                given.append(0 if buffer.is_scalar else allocate(np.asarray(argument).nbytes))
                if not buffer.is_scalar:
                    self.device.upload(given[-1], argument)
            results = [np.empty(shape, buffer.dtype)
                       for shape, buffer in zip(call.shapes, function.results)]
            outputs = [allocate(result.nbytes, fill) if buffer.argument is None
                       else given[buffer.argument]
                       for result, buffer in zip(results, function.results)]
            call.launch(self, given, outputs, allocate(call.workspace_bytes, fill))
            self.device.synchronize()
            for address, result in zip(outputs, results):
                self.device.download(address, result)
            return results
        finally:
            for address in addresses:
                self.device.free(address)
