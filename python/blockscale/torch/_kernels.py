# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the dialect on tensors of PyTorch: traced once, compiled for each device.

A kernel has one dynamic size, the rows of its first argument. Schedules of products go by sizes,
so on a GPU a kernel is compiled for each bucket of rows that is met: all kernels of a bucket take
any number of rows, and differ in the schedule alone.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from blockscale import _native
from blockscale._compile import Compiled
from blockscale._compile import compile as compile_module
from blockscale._errors import ArgumentError, Error, check
from blockscale._trace import Module
from blockscale.torch import _cuda

#: Says what is compiled, and what the backend takes of a graph and what not.
LOG = logging.getLogger("blockscale")

#: Rows up to which a schedule is chosen for the size itself. More rows are one more bucket.
ROW_BUCKETS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
#: So few rows that a product waits for its weight alone, whichever of the smallest tiles it has.
FEW_ROWS = 16
#: Of the addresses of arguments on a GPU.
ALIGNMENT = 16
_PLAN, _BUNDLE = 3, 4  # of _native.compile
_PRODUCTS = ("blockscale.scaled_mm", "blockscale.scaled_grouped_mm")

#: Makes the module for a number of rows, or for any number where it is None.
Build = Callable[["int | None"], Module]


def get_bucket(rows: int) -> int | None:
    """The largest number of rows of the bucket; None of the last bucket."""
    return next((each for each in ROW_BUCKETS if rows <= each), None)


def _emit(module: Module, chip: str, emission: int) -> bytes:
    # Machine code is for a cache: without one the driver compiles as fast.
    is_kept = bool(os.environ.get("BLOCKSCALE_CACHE_DIR"))
    made: Any
    made, _ = check(_native.compile(
        module.source, module.name, [chip], emission, None, True, None, False, False, None,
        machine_code=is_kept and emission == _BUNDLE, overlap_launches=True))
    data: bytes = made[0]
    return data


def get_schedules(module: Module, chip: str) -> list[dict[str, int]]:
    """The schedules that the model chooses for the products of a module, in order."""
    plan = json.loads(_emit(module, chip, _PLAN))
    # Products that share a kernel have one schedule.
    return [choice["schedule"] for choice in plan.get("choices", ())
            for _ in range(int(choice["key"]["products"]))]


def set_schedules(module: Module, schedules: Sequence[dict[str, int]]) -> None:
    """Gives the products of a module schedules, one for each."""
    products = [op for op in module.ops if op.name in _PRODUCTS]
    if len(products) != len(schedules):
        LOG.warning("expected %d schedules for %s, but got %d: the compiler chooses for any number "
                    "of rows", len(products), module.name, len(schedules))
        return
    for op, schedule in zip(products, schedules):
        text = ", ".join(f"{key} = {value}" for key, value in schedule.items())
        op.text += f" {{blockscale.schedule = #blockscale.gemm_schedule<{text}>}}"


def build_for(build: Build, bucket: int | None, chip: str) -> Module:
    """The module for any number of rows, with the schedules and the most rows of a bucket."""
    module = build(None)
    module.max_rows = bucket
    if bucket is not None and any(op.name in _PRODUCTS for op in module.ops):
        set_schedules(module, get_schedules(build(bucket), chip))
    return module


class Kernel:
    """A function of the dialect.

    Args:
      name: for messages.
      build: makes the module.
      results: dtypes of the results.
    """

    def __init__(self, name: str, build: Build, results: Sequence[torch.dtype]):
        self.name = name
        self._build = build
        self._results = tuple(results)
        self._cpu: Compiled | None = None
        #: Arguments and results of i8, which modules of ours hold as bytes.
        self._signed: tuple[int, ...] = ()
        self._signed_results: tuple[int, ...] = ()
        self._cuda: dict[tuple[int, int | None], _cuda.Function] = {}
        self._lock = threading.Lock()

    def _make(self, rows: int | None) -> Module:
        module = self._build(rows)
        self._signed, self._signed_results = (
            tuple(number for number, value in enumerate(values) if value.dtype == "i8")
            for values in (module.arguments, module.results))
        return module

    def _compile_cpu(self) -> Compiled:
        with self._lock:
            if self._cpu is None:
                LOG.debug("compile %s for cpu", self.name)
                self._cpu = compile_module(self._make(None))
            return self._cpu

    def _compile_cuda(self, device: int, bucket: int | None) -> _cuda.Function:
        with self._lock:
            found = self._cuda.get((device, bucket))
            if found is None:
                chip = _cuda.get_chip(device)
                if chip is None:
                    raise ArgumentError(f"expected a GPU that one of {_native.chips} suits for "
                                        f"{self.name}, but got cuda:{device}, whose capability is "
                                        f"{torch.cuda.get_device_capability(device)}")
                LOG.debug("compile %s for %s, %s rows", self.name, chip,
                          "more" if bucket is None else f"up to {bucket}")
                module = build_for(self._make, bucket, chip)
                found = _cuda.Function(_emit(module, chip, _BUNDLE), module.name, device,
                                       self._results)
                self._cuda[device, bucket] = found
            return found

    def is_loaded(self, device: torch.device) -> bool:
        """Whether calls on a GPU have what they need, for any number of rows."""
        return (device.index or 0, None) in self._cuda

    def get_call(self, tensors: Sequence[Tensor]) -> _cuda.Call:
        """The call on the GPU of tensors of certain sizes, for any number of rows. It is for who
        launches many and checks their tensors."""
        index = tensors[0].device.index or 0
        function = self._cuda.get((index, None)) or self._compile_cuda(index, None)
        return function.get_call(_view(tensors, self._signed))

    def __call__(self, tensors: Sequence[Tensor], rows: int | None = None,
                 out: Sequence[Tensor] | None = None) -> list[Tensor]:
        """The results for contiguous tensors on one device. Schedules are for a number of rows,
        if there is one. With `out`, the results are written into these tensors, which are
        returned.

        Raises: ArgumentError for what results cannot be written into: tensors of another number,
          shape, dtype or device, that are not contiguous, or that overlap each other or arguments.
        """
        device = tensors[0].device
        if out is not None:
            self._check_out(out, device)
        if device.type == "cuda":
            index = 0 if device.index is None else device.index
            bucket = None if rows is None else get_bucket(rows)
            function = self._cuda.get((index, bucket)) or self._compile_cuda(index, bucket)
            results = function(_view(tensors, self._signed), out)
        else:
            results = self._call_cpu(tensors, out)
        if out is not None:
            torch.autograd.graph.increment_version(out)
        return results

    def _call_cpu(self, tensors: Sequence[Tensor], out: Sequence[Tensor] | None) -> list[Tensor]:
        compiled = self._cpu or self._compile_cpu()
        made = None if out is None else _view(out, self._signed_results)
        results = compiled(*_view(tensors, self._signed), out=made, accept_nan_scales=True)
        if out is not None:
            return list(out)
        results = results if isinstance(results, tuple) else (results,)
        return [result if result.dtype == dtype else result.view(dtype)
                for result, dtype in zip(results, self._results)]

    def _check_out(self, out: Sequence[Tensor], device: torch.device) -> None:
        """Who makes the call checks shapes and overlaps."""
        if len(out) != len(self._results):
            raise ArgumentError(f"{self.name}: expected {len(self._results)} tensors for the "
                                f"results, but got {len(out)}")
        for number, (tensor, dtype) in enumerate(zip(out, self._results)):
            place = f"{self.name}: expected result {number}"
            if tensor.dtype != dtype:
                raise ArgumentError(f"{place} of {dtype}, but got {tensor.dtype}")
            if tensor.device != device:
                raise ArgumentError(f"{place} on {device}, but got {tensor.device}")
            if not tensor.is_contiguous():
                raise ArgumentError(f"{place} in a row-major tensor, but got strides "
                                    f"{list(tensor.stride())} of shape {list(tensor.shape)}")


def _view(tensors: Sequence[Tensor], signed: Collection[int]) -> Sequence[Tensor]:
    """Tensors, of which some hold numbers with a sign."""
    if not signed:
        return tensors
    return [tensor.view(torch.int8) if number in signed else tensor
            for number, tensor in enumerate(tensors)]


# PyTorch's threads wait for work on the cores where those of the library would compute.
_native.use_openmp(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))

_KERNELS: dict[Hashable, Kernel] = {}
_LOCK = threading.Lock()


def get_kernel(key: Hashable, make: Callable[[], Kernel]) -> Kernel:
    """The kernel of a key, which is made once."""
    found = _KERNELS.get(key)
    if found is None:
        with _LOCK:
            found = _KERNELS.get(key)
            if found is None:
                found = _KERNELS[key] = make()
    return found


def to_argument(tensor: Tensor) -> Tensor:
    """A tensor as kernels take it: row-major, at an address that tensor maps accept."""
    tensor = tensor.detach().contiguous()
    if tensor.device.type == "cuda" and tensor.data_ptr() % ALIGNMENT:
        return tensor.clone()
    return tensor


def join_tensors(tensors: list[Tensor]) -> Tensor | None:
    """Tensors that lie behind one another in one piece of memory, as one; None if they do not, or
    are numbers, which have no dimension along which they could."""
    first = tensors[0]
    if not first.dim():
        return first if len(tensors) == 1 else None
    end = first.data_ptr()
    storage = first.untyped_storage().data_ptr()
    for each in tensors:
        if (each.data_ptr() != end or each.untyped_storage().data_ptr() != storage
                or not each.is_contiguous()):
            return None
        end += each.numel() * each.element_size()
    shape = (sum(each.shape[0] for each in tensors), *first.shape[1:])
    return first.as_strided(shape, first.stride())


__all__ = ["LOG", "Error", "Kernel", "get_bucket", "get_kernel", "join_tensors", "to_argument"]
