# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on CUDA devices, for tensors of PyTorch: the only file that talks to a GPU.

A call runs on PyTorch's current stream. Results and workspaces come from PyTorch's allocator.
Nothing waits for the GPU, so that calls can be captured into a CUDA graph, once the kernels are
loaded: the first call of each kernel loads them, which a capture does not allow. What kernels find
wrong, such as ends of groups, the next call of ours raises, or synchronize().
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Sequence
from ctypes import byref, c_int64, c_uint64, c_void_p
from typing import Any

import torch
from torch import Tensor

from blockscale._compile import refuse_capture
from blockscale._errors import ArgumentError, fail
from blockscale._native import choose_chip, status_name
from blockscale._native._library import LIBRARY, get_error
from blockscale._native._structures import CallArgument

#: The codes that argument dtypes have in C, by the bytes of an element.
_DTYPES = {torch.bool: 0, torch.uint8: 1, torch.int8: 2, torch.bfloat16: 3, torch.uint16: 3,
           torch.int32: 6, torch.int64: 8, torch.float16: 9, torch.float32: 10}
_RESULT = 1
#: Sizes of arguments of which a function keeps the evaluated plan.
_MAX_CALLS = 4096


def _check(status: int) -> None:
    if status:
        fail(status_name(status), get_error(status))


def _make(create: Any, *arguments: Any) -> int:
    """The pointer that a function gives through its last parameter."""
    made = c_void_p()
    _check(create(*arguments, byref(made)))
    return made.value or 0


@functools.cache
def _open_device(index: int) -> int:
    torch.cuda.init()
    return _make(LIBRARY.blockscale_device_open, index, None)


@functools.cache
def get_chip(index: int) -> str | None:
    """What to compile for on a device; None if we have no kernels for it."""
    return choose_chip(*torch.cuda.get_device_capability(index))


def synchronize(device: torch.device | str | int | None = None) -> None:
    """Waits for the work on a CUDA device, as torch.cuda.synchronize does, and raises what
    kernels of BlockScale found wrong there since that was raised last.

    Kernels check what only the GPU knows, such as the ends of groups and indices. Work goes on,
    with zeros for a group and with the nearest element for an index; the next call of BlockScale on
    the device raises the error, or this function. torch.cuda.synchronize alone raises nothing of
    it.

    Args:
      device: of torch.cuda; the current one by default.

    Raises:
      ArgumentError: with the rule, the expected and the found, of the first error.
    """
    torch.cuda.synchronize(device)
    index = device if device is None or isinstance(device, int) else torch.device(device).index
    _check(LIBRARY.blockscale_device_take_error(
        _open_device(torch.cuda.current_device() if index is None else index)))


class Call:
    """A function for arguments of certain sizes.

    Attributes:
      shapes: of the results.
      workspace: the bytes that a launch needs.
    """

    def __init__(self, module: int, function: int, tensors: Sequence[Tensor], ranks: Sequence[int]):
        arguments = (CallArgument * len(tensors))()
        for slot, tensor in zip(arguments, tensors):
            slot.dtype = _DTYPES[tensor.dtype]
            slot.rank = tensor.dim()
            slot.shape = (c_int64 * max(tensor.dim(), 1))(*tensor.shape)
        self._module = module
        self._handle = _make(LIBRARY.blockscale_call_create, function, arguments, len(tensors))
        weakref.finalize(self, LIBRARY.blockscale_call_destroy, self._handle)
        self.workspace: int = LIBRARY.blockscale_call_workspace_bytes(self._handle)
        self.shapes = [tuple(LIBRARY.blockscale_call_shape(self._handle, _RESULT, number)[:rank])
                       for number, rank in enumerate(ranks)]

    def launch(self, arguments: Sequence[int], results: Sequence[int], workspace: int,
               device: int) -> None:
        """Runs it on a device's current stream. The caller answers for the memory at these
        addresses: what lies there has the dtypes and sizes of the call."""
        given, made = len(arguments), len(results)
        _check(LIBRARY.blockscale_launch(
            self._module, self._handle, (c_uint64 * given)(*arguments), given,
            (c_uint64 * made)(*results), made, workspace, self.workspace,
            torch._C._cuda_getCurrentRawStream(device)))


def _check_shapes(out: Sequence[Tensor], shapes: Sequence[tuple[int, ...]]) -> None:
    for number, (tensor, shape) in enumerate(zip(out, shapes, strict=True)):
        if tuple(tensor.shape) != shape:
            raise ArgumentError(f"expected shape {shape} for result {number}, but got "
                                f"{tuple(tensor.shape)}")


class Function:
    """A function of a bundle on a device, whose results have known dtypes."""

    def __init__(self, bundle: bytes, name: str, device: int, results: Sequence[torch.dtype]):
        refuse_capture(f"the kernels of @{name}", "run the model once before")
        self._device = torch.device("cuda", device)
        opened = _make(LIBRARY.blockscale_bundle_open_memory, bundle, len(bundle))
        # Kernels stay loaded as long as the process: work on any stream may use them.
        self._module = _make(LIBRARY.blockscale_module_load, opened, _open_device(device))
        target = LIBRARY.blockscale_module_target(self._module)
        self._function = _make(LIBRARY.blockscale_function_find, opened, target, name.encode())
        count = LIBRARY.blockscale_function_buffer_count(self._function, _RESULT)
        buffers = [LIBRARY.blockscale_function_buffer(self._function, _RESULT, number)
                   for number in range(count)]
        self._ranks = [LIBRARY.blockscale_buffer_rank(buffer) for buffer in buffers]
        self._results = list(results)
        self._calls: dict[Any, Call] = {}
        self._lock = threading.Lock()

    def get_call(self, tensors: Sequence[Tensor]) -> Call:
        """The call for arguments of such sizes."""
        key = tuple(tensor.shape for tensor in tensors)
        call = self._calls.get(key)
        if call is None:
            call = Call(self._module, self._function, tensors, self._ranks)
            with self._lock:
                if len(self._calls) >= _MAX_CALLS:
                    self._calls.clear()
                self._calls[key] = call
        return call

    def _allocate(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=self._device)

    def __call__(self, tensors: Sequence[Tensor], out: Sequence[Tensor] | None = None
                 ) -> list[Tensor]:
        """`tensors` are contiguous, on the device, and of the dtypes of the arguments, and so are
        those for the results, `out`, if there are any."""
        call = self.get_call(tensors)
        if out is None:
            results = [self._allocate(shape, dtype)
                       for shape, dtype in zip(call.shapes, self._results)]
        else:
            results = list(out)
            _check_shapes(results, call.shapes)
        # PyTorch's allocator gives memory of a stream again to work of that stream alone.
        workspace = self._allocate([call.workspace], torch.uint8) if call.workspace else None
        call.launch([each.data_ptr() for each in tensors], [each.data_ptr() for each in results],
                    0 if workspace is None else workspace.data_ptr(), self._device.index)
        return results
