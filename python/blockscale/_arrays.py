# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of NumPy and of packages with DLPack, as calls take and give them."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from typing import Any

import numpy as np

from blockscale import _native
from blockscale._errors import ArgumentError
from blockscale._types import ELEMENTS, Element, Spec

CPU, CUDA = (1, 0), 2  # of DLPack
_DLPACK = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_TYPE = re.compile(r"tensor<(?:(?:\d+|\?)x)*([^,>]+)")


@dataclasses.dataclass(frozen=True)
class Slot:
    """An argument or a result of a function: its type, and how it is stored; sizes
    below 0 are any. Calls write to results, and to arguments that the caller gives away."""

    name: str
    type: str
    dtype: int
    shape: tuple[int, ...]
    is_scalar: bool
    is_written: bool
    argument: int = -1  # whose memory a result may have; -1 for none

    @functools.cached_property
    def element(self) -> Element:
        match = _TYPE.match(self.type)
        return ELEMENTS.get(match[1] if match else self.type,
                            Element(self.type, _native.dtype_name(self.dtype)))

    @functools.cached_property
    def is_static(self) -> bool:
        return all(size >= 0 for size in self.shape)

    @functools.cached_property
    def numpy_dtypes(self) -> frozenset[Any]:
        """The dtypes of arrays of NumPy that it takes."""
        element = self.element
        found = {np.dtype(element.storage)}
        if element.numpy is not None:
            found.add(np.dtype(element.numpy))
        return frozenset(found)

    @functools.cached_property
    def torch_dtypes(self) -> frozenset[Any]:
        """The dtypes of PyTorch's tensors that it takes, where PyTorch is loaded."""
        torch = sys.modules["torch"]
        found = {getattr(torch, name, None)
                 for name in (self.element.storage, self.element.torch) if name}
        return frozenset(found - {None})

    @functools.cached_property
    def torch_result(self) -> Any:
        """The dtype of PyTorch's tensors for results."""
        torch = sys.modules["torch"]
        element = self.element
        found = None if element.is_packed else getattr(torch, element.torch, None)
        return getattr(torch, element.storage) if found is None else found


@dataclasses.dataclass(frozen=True)
class View:
    """Where an array is. `owner` keeps its memory."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    dtype: str  # of NumPy, "bfloat16", or "code 10 of 8 bits" of DLPack
    is_accepted: bool  # whether the slot takes the dtype
    is_writable: bool
    device: tuple[int, int]
    owner: Any


def is_torch(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _view_numpy(slot: Slot, array: np.ndarray) -> View:
    size = array.dtype.itemsize
    if any(stride % size for stride in array.strides):
        raise ArgumentError(f"{slot.name}: expected strides that are multiples of "
                            f"{size} bytes, but got {array.strides}; give "
                            "numpy.ascontiguousarray of it")
    name = array.dtype.name
    if not array.dtype.isnative:
        name += f" of the other byte order, '{array.dtype.str}'"
    return View(array.ctypes.data, array.shape,
                tuple(stride // size for stride in array.strides), name,
                array.dtype in slot.numpy_dtypes, array.flags.writeable, CPU, array)


def _view_exchanged(slot: Slot, array: Any, stream: int) -> View:
    if is_torch(array):
        array = array.detach()
        if array.is_neg():
            raise ArgumentError(f"{slot.name}: expected a tensor with its elements in memory, but "
                                "got one that has their negatives there; give .resolve_neg() of "
                                "it")
        # DLPack knows these types since 1.1; the bits are the same.
        torch = sys.modules["torch"]
        if str(array.dtype).startswith(("torch.float8", "torch.float4")):
            dtype = str(array.dtype).removeprefix("torch.")
            view = _view_exchanged(slot, array.view(torch.uint8), stream)
            return dataclasses.replace(view, dtype=dtype,
                                       is_accepted=dtype == slot.element.torch)
    try:
        exchanged = _native.exchange(array, stream)
    except (AttributeError, RuntimeError, TypeError, BufferError) as error:
        raise ArgumentError(
            f"{slot.name}: expected an array of NumPy or one with __dlpack__, but got "
            f"{type(array).__name__}: {error}") from error
    code, bits = exchanged.dtype
    name = (f"{_DLPACK[code]}{bits}" if code in _DLPACK
            else f"code {code} of {bits} bits of DLPack")
    element = slot.element
    storage = (1 if element.storage.startswith("uint") else
               2 if element.storage.startswith("float") else
               6 if element.storage == "bool" else 0,
               np.dtype(element.storage).itemsize * 8)
    device = exchanged.device
    return View(exchanged.address, exchanged.shape, exchanged.strides, name,
                (code, bits) in (storage, element.dlpack), exchanged.is_writable,
                device if device[0] == CUDA else (device[0], 0), exchanged)


def _check_device(slot: Slot, view: View, device: tuple[int, int]) -> None:
    # Memory that is pinned or managed (3, 13) is the host's, too.
    found = CPU if view.device[0] in (1, 3, 13) else view.device
    if slot.is_scalar:
        device = CPU
    if found == device:
        return
    names = {1: "the CPU", 2: f"GPU {view.device[1]}"}
    if device == CPU:
        raise ArgumentError(f"{slot.name}: expected an array in the CPU's memory, but got "
                            f"one on {names.get(found[0], f'device {found}')}; move it "
                            "there, or compile with on='cuda'")
    raise ArgumentError(f"{slot.name}: expected an array on GPU {device[1]}, but got one on "
                        f"{names.get(found[0], f'device {found}')}; move it there")


def find_address(slot: Slot, array: Any, device: tuple[int, int]) -> int:
    """The address of an array of PyTorch or NumPy that can be passed for `slot` on `device`; -1
    where view_array() must tell. Calls take a few microseconds, so that this asks for little."""
    kind = type(array)
    if kind is np.ndarray:
        flags = array.flags
        if (array.dtype in slot.numpy_dtypes and flags.c_contiguous
                and (device is CPU or slot.is_scalar)
                and (flags.writeable or not slot.is_written)):
            address: int = array.ctypes.data
            return address
        return -1
    torch = sys.modules.get("torch")
    # Of other classes the memory may be something else.
    if torch is None or (kind is not torch.Tensor and kind is not torch.nn.Parameter):
        return -1
    is_there = (array.is_cpu if device is CPU or slot.is_scalar
                else array.is_cuda and array.get_device() == device[1])
    # The elements of some views are the memory's with another sign.
    if not (is_there and array.dtype in slot.torch_dtypes and array.is_contiguous()
            and not array.is_neg()):
        return -1
    try:
        address = array.data_ptr()
    except RuntimeError:  # There are tensors without memory.
        return -1
    return address


def view_array(slot: Slot, array: Any, device: tuple[int, int], stream: int = 0) -> View:
    """Where `array` is, if it can be passed for `slot` on `device`, for work on `stream`."""
    is_scalar = isinstance(array, np.generic)
    if is_scalar and slot.is_written:
        raise ArgumentError(f"{slot.name}: expected an array that can be written, but got a "
                            "scalar of NumPy; give numpy.array of it")
    if is_scalar or (slot.is_scalar and isinstance(array, (bool, int, float))):
        array = np.asarray(array, slot.element.storage if slot.is_scalar else None)
    if isinstance(array, np.ndarray):
        view = _view_numpy(slot, array)
    else:
        view = _view_exchanged(slot, array, stream)
    element = slot.element
    if not view.is_accepted:
        raise ArgumentError(f"{slot.name}: expected dtype {element.describe()} for "
                            f"{slot.type}, but got {view.dtype}; convert it")
    _check_device(slot, view, device)
    if slot.is_written and not view.is_writable:
        raise ArgumentError(f"{slot.name}: expected an array that can be written, but got "
                            "one that is read-only")
    expected = 1
    for size, stride in zip(view.shape[::-1], view.strides[::-1]):
        if size > 1 and 0 not in view.shape and stride != expected:
            raise ArgumentError(
                f"{slot.name}: expected a row-major array, but got strides {view.strides} "
                f"of shape {view.shape}; give a copy, as numpy.ascontiguousarray or "
                ".contiguous() make it")
        expected *= max(size, 1)
    return view


def allocate(slot: Slot, shape: tuple[int, ...], like: Any) -> Any:
    """An array for a result: of PyTorch where `like` is a tensor, on its device, else of NumPy."""
    if like is None:
        element = slot.element
        return np.empty(shape, element.storage if element.numpy is None else element.numpy)
    return sys.modules["torch"].empty(shape, dtype=slot.torch_result, device=like.device)


def pack_codes(codes: Any) -> Any:
    """Codes of 4 bits, an array of NumPy or JAX with a byte each, as bytes of two."""
    return codes[..., 0::2] & 15 | codes[..., 1::2] << 4


def get_spec(array: Any) -> Spec:
    """The spec of an array whose dtype is that of its elements."""
    dtype = getattr(array, "dtype", None)
    shape = getattr(array, "shape", None)
    if dtype is None or shape is None:
        raise ArgumentError(f"expected an array, but got {array!r}")
    try:
        return Spec(tuple(shape), dtype)
    except ArgumentError as error:
        raise ArgumentError(f"{error}; annotate the parameter with its Spec where an array "
                            "is stored in another form") from error
