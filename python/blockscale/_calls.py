# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of an executable on arrays of Python."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from blockscale import _native
from blockscale._arrays import CPU, Slot, View, allocate, find_address, is_torch, view_array
from blockscale._errors import ArgumentError, check
from blockscale._over_ranks import OverRanks, take_reductions
from blockscale._progress import Progress, watch_steps


class How(NamedTuple):
    """Options of a call, as those of Compiled.__call__."""

    stream: int
    accept_nan_scales: bool
    adversarial: bool
    seed: int
    max_steps: int
    progress: Progress | None
    over_ranks: OverRanks | None


def _make_slots(executable: Any, role: int, names: Sequence[str]) -> list[Slot]:
    kind = ("argument", "result")[role]
    slots = []
    for number, (type, dtype, shape, scalar) in enumerate(executable.slots(role)):
        name = f"@{executable.entry}: {kind} {number}"
        if names:
            name += f" ({names[number]})"
        slots.append(Slot(name, type, dtype, shape, scalar,
                          role == 1 or executable.is_writable(number),
                          executable.find_argument(number) if role else -1))
    return slots


class Caller:
    """Passes arrays to an executable. What is the same in each call is made once. Any thread may
    use it."""

    def __init__(self, executable: Any, names: Sequence[str], device: tuple[int, int],
                 is_emulated: bool):
        """`names` are those of the arguments, where they are known, and `device` is where arrays
        are, as DLPack says it."""
        self.executable = executable
        self.arguments = _make_slots(executable, 0, names)
        self.results = _make_slots(executable, 1, ())
        self._device = device
        self._is_emulated = is_emulated
        # Rows of arrays that no call uses now.
        self._rows: list[tuple[_native.Arrays, _native.Arrays]] = []

    def _take_rows(self) -> tuple[_native.Arrays, _native.Arrays]:
        try:
            return self._rows.pop()
        except IndexError:
            pass
        arguments = _native.Arrays([slot.dtype for slot in self.arguments])
        results = _native.Arrays([slot.dtype for slot in self.results])
        for number, slot in enumerate(self.results):
            results.set_rank(number, len(slot.shape))
        return arguments, results

    def _view(self, row: _native.Arrays, number: int, slot: Slot, array: Any,
              stream: int) -> View:
        """Puts an array that find_address() does not know into a row."""
        view = view_array(slot, array, self._device, stream)
        row.set(number, view.address, view.shape)
        return view

    def __call__(self, arrays: Sequence[Any], out: Sequence[Any] | None, how: How) -> list[Any]:
        """The results of a call."""
        if len(arrays) != len(self.arguments):
            raise ArgumentError(f"@{self.executable.entry}: expected {len(self.arguments)} "
                                f"arrays, but got {len(arrays)}")
        rows = self._take_rows()
        arguments, results = rows
        device = self._device
        views: list[View] = []  # which keep memory
        like = None
        for number, (slot, array) in enumerate(zip(self.arguments, arrays)):
            address = find_address(slot, array, device)
            if address >= 0:
                arguments.set(number, address, array.shape)
            else:
                views.append(self._view(arguments, number, slot, array, how.stream))
            # A scalar may be a tensor of the CPU.
            if like is None and is_torch(array) and not slot.is_scalar:
                like = array
        returned = self._allocate(rows, like, arrays) if out is None else list(out)
        if len(returned) != len(self.results):
            raise ArgumentError(f"@{self.executable.entry}: expected {len(self.results)} arrays "
                                f"as out, but got {len(returned)}")
        for number, (slot, array) in enumerate(zip(self.results, returned)):
            address = find_address(slot, array, device)
            if address >= 0:
                results.set(number, address, array.shape)
            else:
                views.append(self._view(results, number, slot, array, how.stream))
        reduce = None if how.over_ranks is None else take_reductions(
            how.over_ranks, None if device is CPU else device[1])
        if self._is_emulated:
            check(watch_steps(how.progress, lambda progress: self.executable.emulate(
                *rows, how.accept_nan_scales, how.adversarial, how.seed, how.max_steps,
                progress, (arrays, returned, views), reduce)))
        elif like is None or device is CPU:
            check(self.executable.call(*rows, how.stream, how.accept_nan_scales, reduce))
        else:
            allocated = [] if out is not None else [
                array for slot, array in zip(self.results, returned) if slot.argument < 0]
            self._launch(rows, like, allocated, how.stream, reduce)
        # Rows of a call that fails are not used again.
        self._rows.append(rows)
        return returned

    def _allocate(self, rows: tuple[_native.Arrays, _native.Arrays], like: Any,
                  arrays: Sequence[Any]) -> list[Any]:
        """Arrays for the results: those of arguments where results may be in them."""
        if self._device is not CPU and like is None and any(
                slot.argument < 0 for slot in self.results):
            raise ArgumentError(f"@{self.executable.entry}: expected arrays for the results on "
                                "the GPU as out")
        find = self.executable.find_result_shape
        return [arrays[slot.argument] if slot.argument >= 0 else allocate(
                    slot, slot.shape if slot.is_static else check(find(*rows, number))[0], like)
                for number, slot in enumerate(self.results)]

    def _launch(self, rows: tuple[_native.Arrays, _native.Arrays], like: Any,
                allocated: Sequence[Any], stream: int, reduce: Any) -> None:
        """Puts a call on a stream, PyTorch's current one if none is given, with a workspace of
        PyTorch's allocator. Nothing waits, so that it can be captured into a CUDA graph."""
        torch = sys.modules["torch"]
        current: int = torch.cuda.current_stream(self._device[1]).cuda_stream
        size = check(self.executable.find_workspace_bytes(rows[0]))[0]
        workspace = (torch.empty(size, dtype=torch.uint8, device=like.device) if size
                     else None)
        check(self.executable.launch(*rows, stream or current,
                                     0 if workspace is None else workspace.data_ptr(), size,
                                     reduce))
        if stream and stream != current:
            # The allocator gives memory of the current stream to other work of that.
            used = torch.cuda.ExternalStream(stream, device=like.device)
            for tensor in (*allocated, *([] if workspace is None else [workspace])):
                tensor.record_stream(used)

    def make_constants(self, last: Iterable[np.ndarray]) -> tuple[_native.Arrays, list[View]]:
        """A row of the arrays that are the last arguments of each call, and what keeps their
        memory."""
        arrays = list(last)
        slots = self.arguments[len(self.arguments) - len(arrays):]
        row = _native.Arrays([slot.dtype for slot in slots])
        views = [view_array(slot, array, CPU) for slot, array in zip(slots, arrays)]
        for number, view in enumerate(views):
            row.set(number, view.address, view.shape)
        return row, views
