# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that can be called, and their arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from blockscale._native import _structures
from blockscale._native._compile import encode, take_output
from blockscale._native._library import LIBRARY, get_error
from blockscale._native._reduce import Reduce, Reducer
from blockscale._native._watch import Progress, Watch

# Looked up once: a call takes a few microseconds.
_call = LIBRARY.blockscale_executable_call
_result_shape = LIBRARY.blockscale_executable_result_shape
_workspace_bytes = LIBRARY.blockscale_executable_workspace_bytes
_Outcome = tuple[int, str, list[tuple[Any, ...]], Any]
_OK: _Outcome = (0, "", [], None)


class Arrays:
    """Dense row-major arrays as C takes them, of given dtypes. One thread at a time uses it."""

    def __init__(self, dtypes: Sequence[int]):
        self.count = len(dtypes)
        self.row = (_structures.Array * self.count)()
        self.address = ctypes.addressof(self.row)
        self._entries = [self.row[i] for i in range(self.count)]
        self._shapes: list[tuple[int, ...] | None] = [None] * self.count
        self.sizes: list[Any] = [None] * self.count
        for entry, dtype in zip(self._entries, dtypes):
            entry.dtype = dtype

    def set(self, number: int, address: int, shape: tuple[int, ...]) -> None:
        entry = self._entries[number]
        if shape != self._shapes[number]:
            self.set_rank(number, len(shape))
            self.sizes[number][:] = shape
            self._shapes[number] = shape
        entry.data = address

    def set_rank(self, number: int, rank: int) -> None:
        """Makes room for sizes that are not known yet."""
        self._shapes[number] = None
        sizes = self.sizes[number] = (ctypes.c_int64 * rank)()
        self._entries[number].rank = rank
        self._entries[number].shape = ctypes.addressof(sizes)


class Executable:
    """A function compiled for a place. Any thread may call it.

    Attributes:
      entry: its name.
      target: "cpu", or the chip that it was compiled for.
      is_loaded: whether nothing was compiled to make it.
      reduces: whether calls reduce over ranks.
    """

    def __init__(self, handle: int):
        self._handle = handle
        self.entry: str = LIBRARY.blockscale_executable_entry(handle).decode()
        self.target: str = LIBRARY.blockscale_executable_target(handle).decode()
        self.is_loaded = bool(LIBRARY.blockscale_executable_is_loaded(handle))
        self.reduces = bool(LIBRARY.blockscale_executable_reduces(handle))

    def __del__(self, destroy: Any = LIBRARY.blockscale_executable_destroy) -> None:
        destroy(self._handle)

    def slots(self, role: int) -> list[tuple[str, int, tuple[int, ...], bool]]:
        """Type, dtype, shape and whether it is a scalar, of each argument (role 0) or result
        (1). Sizes below 0 are any."""
        slots = []
        for i in range(LIBRARY.blockscale_executable_slot_count(self._handle, role)):
            slot = _structures.Slot()
            LIBRARY.blockscale_executable_slot(self._handle, role, i, slot)
            slots.append((slot.type.decode(), slot.dtype, tuple(slot.shape[:slot.rank]),
                          slot.is_scalar != 0))
        return slots

    def is_writable(self, argument: int) -> bool:
        """Whether the caller gives an argument away: a call may write to it."""
        return bool(LIBRARY.blockscale_executable_is_writable(self._handle, argument))

    def find_argument(self, result: int) -> int:
        """The argument whose memory a result may have; -1 for none."""
        number: int = LIBRARY.blockscale_executable_result_argument(self._handle, result)
        return number

    def save(self) -> _Outcome:
        """The value is the bytes that load_executable takes."""
        output = ctypes.c_void_p()
        status = LIBRARY.blockscale_executable_save(self._handle, output)
        message = get_error(status)
        taken = take_output(output)
        return status, message, [], taken and taken[0]

    def find_result_shape(self, arguments: Arrays, results: Arrays, number: int) -> _Outcome:
        """The shape of a result, whose rank is set, for such arguments."""
        sizes = results.sizes[number]
        status = _result_shape(self._handle, arguments.address, arguments.count, number, sizes,
                               len(sizes))
        if status:
            return status, get_error(status), [], None
        return 0, "", [], tuple(sizes)

    def find_workspace_bytes(self, arguments: Arrays) -> _Outcome:
        """The bytes of the GPU's memory that launch() needs for such arguments."""
        found = ctypes.c_uint64()
        status = _workspace_bytes(self._handle, arguments.address, arguments.count, found)
        if status:
            return status, get_error(status), [], None
        return 0, "", [], found.value

    def _call(self, arguments: Arrays, results: Arrays, reduce: Reduce | None,
              **fields: Any) -> _Outcome:
        """A call with a configuration, which has no steps to tell of."""
        reducer = Reducer(reduce)
        config = _structures.CallConfig(reduce=reducer.callback, **fields)
        status = _call(self._handle, arguments.address, arguments.count, results.address,
                       results.count, ctypes.addressof(config))
        reducer.raise_error()
        return (status, get_error(status), [], None) if status else _OK

    def launch(self, arguments: Arrays, results: Arrays, stream: int, workspace: int,
               workspace_bytes: int, reduce: Reduce | None = None) -> _Outcome:
        """Puts the work of a call on a stream of a GPU. Nothing waits."""
        return self._call(arguments, results, reduce, stream=stream, no_wait=1,
                          workspace=workspace, workspace_bytes=workspace_bytes)

    def call(self, arguments: Arrays, results: Arrays, stream: int, accept_nan_scales: bool,
             reduce: Reduce | None = None) -> _Outcome:
        """Calls the function on the CPU or a GPU, where a call has no steps, and waits."""
        if stream or accept_nan_scales or reduce is not None:
            return self._call(arguments, results, reduce, stream=stream,
                              accept_nan_scales=accept_nan_scales)
        status = _call(self._handle, arguments.address, arguments.count, results.address,
                       results.count, None)
        return (status, get_error(status), [], None) if status else _OK

    def emulate(self, arguments: Arrays, results: Arrays, accept_nan_scales: bool,
                adversarial: bool, seed: int, max_steps: int, progress: Progress | None,
                memory: Any, reduce: Reduce | None = None) -> _Outcome:
        """Calls the function in the emulator, whose steps are kernels. `memory` is what the
        arrays are in, which lives until the work ends, also where nobody waits for that."""
        watch = Watch(progress)
        reducer = Reducer(reduce)
        config = _structures.CallConfig(
            accept_nan_scales=accept_nan_scales, adversarial=adversarial, seed=seed,
            max_steps=max_steps, on_progress=watch.on_progress, reduce=reducer.callback)

        def work(_: Any = memory) -> int:
            status: int = _call(self._handle, arguments.address, arguments.count,
                                results.address, results.count, ctypes.addressof(config))
            return status

        outcome = watch.run(work)
        reducer.raise_error()
        return (*outcome, None)

    def add_to_xla(self, constants: Arrays) -> _Outcome:
        """Makes it callable by XLA, with these for its last arguments; the value is its number.
        It and the arrays must live from then on."""
        number = ctypes.c_int64()
        status = LIBRARY.blockscale_xla_add_call(self._handle, constants.address,
                                                 constants.count, number)
        return status, get_error(status), [], number.value


def create_executable(source: bytes, source_name: str, place: int, entry: str | None,
                      chip: str | None, device: int, fuse: bool, tuned: str | None,
                      progress: Progress | None, bytecode_reader: str | None = None,
                      policy: str | None = None, cpu: str | None = None,
                      keep_code: bool = False, ptxas: str | None = None,
                      checks: bool = True, overlap_launches: bool = False) -> _Outcome:
    """Compiles a function; the value is an Executable, or None. `cpu` is the one to compile for,
    `keep_code` makes save() work, and `ptxas` makes what that gives have machine code of
    kernels."""
    watch = Watch(progress)
    config = _structures.ExecutableConfig(
        place=place, entry=encode(entry), chip=encode(chip), device=device, no_fusion=not fuse,
        source_name=encode(source_name), on_diagnostic=watch.on_diagnostic,
        on_progress=watch.on_progress, bytecode_reader=encode(bytecode_reader),
        tuned=encode(tuned), policy=encode(policy), cpu=encode(cpu), keep_code=keep_code,
        ptxas=encode(ptxas), no_checks=not checks, overlap_launches=overlap_launches)
    made = ctypes.c_void_p()
    try:
        outcome = watch.run(lambda: LIBRARY.blockscale_executable_create(
            source, len(source), config, made))
    finally:
        value = Executable(made.value) if made.value else None
    return (*outcome, value)


def load_executable(saved: bytes, place: int, device: int) -> _Outcome:
    """A function that save() wrote; the value is an Executable, or None."""
    made = ctypes.c_void_p()
    status = LIBRARY.blockscale_executable_load(
        saved, len(saved), _structures.ExecutableConfig(place=place, device=device), made)
    message = get_error(status)
    return status, message, [], Executable(made.value) if made.value else None


def xla_handler() -> Any:
    """The handler of XLA's typed FFI for what add_to_xla added, in a capsule."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(LIBRARY.blockscale_xla_handler(), None, None)
