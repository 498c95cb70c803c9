# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules compiled for a target, and called."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

import numpy as np

from blockscale import _native
from blockscale._arrays import CPU, CUDA
from blockscale._calls import Caller, How
from blockscale._errors import ArgumentError, DeviceError, Diagnostic, check, read_file
from blockscale._over_ranks import OverRanks
from blockscale._progress import Progress, watch_steps
from blockscale._trace import Module

Source = Union[Module, str, bytes, "os.PathLike[str]"]
#: Why a kernel is launched as it is: a diagnostic of severity "remark".
Remark = Diagnostic
PLACES = {"cpu": 0, "emulator": 1, "cuda": 2}
_MLIR, _PTX, _CUBIN = 0, 2, 5


def read_source(source: Source) -> tuple[bytes, str]:
    """The text or bytecode of a module and its name."""
    if isinstance(source, Module):
        return source.source, source.name
    if isinstance(source, str) and source.endswith((".mlir", ".mlirbc")):
        raise ArgumentError(f"expected MLIR text, but got the name of a file; give "
                            f"pathlib.Path({source!r})")
    if isinstance(source, (str, bytes)):
        text = source.encode() if isinstance(source, str) else source
        return text, "<source>"
    if not isinstance(source, os.PathLike):
        raise ArgumentError("expected a Module, MLIR text, bytecode or a pathlib.Path, but "
                            f"got {type(source).__name__}")
    path = str(os.fspath(source))
    return read_file(path), path


def name_arguments(source: Source) -> list[str]:
    """The names of a function's arguments; none where they are not known."""
    if not isinstance(source, Module):
        return []
    return [value.name.removeprefix("%") for value in source.arguments]


def refuse_capture(kernels: str, advice: str) -> None:
    """Loading kernels is no work of a stream, so that a CUDA graph cannot have it."""
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        raise ArgumentError("expected a call before the capture of a CUDA graph, which loads "
                            f"{kernels}, but got none; {advice}")


class Compiled:
    """A module for a target: what it became, and a function to call.

    Attributes:
      target: "cpu" or a chip, as "sm_100a".

    Any thread may use it.
    """

    def __init__(self, source: Source, target: str, on: str, entry: str | None,
                 device: int, fuse: bool, tuned: str | None, ptxas: str | None,
                 progress: Progress | None, bytecode_reader: str | None,
                 policy: str | None, checks: bool, overlap_launches: bool):
        self._source, self._name = read_source(source)
        self._names = name_arguments(source)
        self.target = target
        self._on = on
        self._entry = entry
        self._device = device
        self._fuse = fuse
        self._tuned = tuned
        self._ptxas = ptxas
        self._bytecode_reader = bytecode_reader
        self._policy = policy
        self._checks = checks
        self._overlap_launches = overlap_launches
        self._lock = threading.Lock()
        self._caller: Caller | None = None
        self._ptx: str | None = None
        self._begin(progress)

    def _compile(self, emission: int, progress: Progress | None, stages: bool = False) -> Any:
        return check(watch_steps(progress, lambda watch: _native.compile(
            self._source, self._name, [self.target], emission, self._ptxas, self._fuse,
            self._tuned, self.target != "cpu", stages, watch,
            self._bytecode_reader, self._policy, checks=self._checks,
            overlap_launches=self._overlap_launches)))

    def _check_gpu(self, what: str) -> None:
        if self.target == "cpu":
            raise ArgumentError(f"expected a GPU as target for {what}, but got cpu; compile "
                                "with target='sm_100a', say")

    @functools.cached_property
    def stages(self) -> Mapping[str, str]:
        """The module after each stage of the pipeline, by name, "input" first."""
        (_, stages), _ = self._compile(_MLIR, None, stages=True)
        return dict(stages)

    @property
    def mlir(self) -> str:
        """The module as it was given."""
        return self.stages["input"].rstrip("\n")

    @property
    def ptx(self) -> str:
        """The kernels of a GPU."""
        self._check_gpu("PTX")
        if self._ptx is None:
            self._ptx = self._compile(_PTX, None)[0][0].decode()
        return self._ptx

    @property
    def cubin(self) -> bytes:
        """Their machine code. Needs ptxas."""
        self._check_gpu("a cubin")
        cubin: bytes = self._compile(_CUBIN, None)[0][0]
        return cubin

    def _begin(self, progress: Progress | None) -> None:
        """Compiles the function, or where that cannot be called here, only sees whether it can be
        compiled."""
        try:
            self._caller = self._make_caller(progress)
        except ArgumentError:
            # Without one function to call, the module still has stages.
            self._compile(_MLIR, progress)
        except DeviceError:
            if self._on != "cuda":
                raise
            self._compile(_MLIR, progress)

    @functools.cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """Why kernels of a GPU are launched as they are."""
        if self.target == "cpu":
            return ()
        return tuple(each for each in self._compile(_MLIR, None)[1]
                     if each.severity == "remark")

    @property
    def is_loaded(self) -> bool:
        """Whether the function was made without compilation: from the cache in
        $BLOCKSCALE_CACHE_DIR, or by blockscale.load()."""
        return self._caller is not None and self._caller.executable.is_loaded

    @property
    def reduces_over_ranks(self) -> bool:
        """Whether calls reduce amaxes over ranks, for which they need `over_ranks`."""
        return bool((self._caller or self._get_caller(None)).executable.reduces)

    def _make_caller(self, progress: Progress | None) -> Caller:
        if self._on == "cuda":
            refuse_capture("the kernels", "call the function once before")
        chip = None if self.target == "cpu" else self.target
        executable, _ = check(watch_steps(
            progress, lambda watch: _native.create_executable(
                self._source, self._name, PLACES[self._on], self._entry, chip,
                self._device, self._fuse, self._tuned, watch,
                self._bytecode_reader, self._policy, checks=self._checks,
                overlap_launches=self._overlap_launches)))
        return self._wrap(executable)

    def _wrap(self, executable: Any) -> Caller:
        device = (CUDA, self._device) if self._on == "cuda" else CPU
        return Caller(executable, self._names, device, self._on == "emulator")

    def _get_caller(self, progress: Progress | None) -> Caller:
        with self._lock:
            if self._caller is None:
                self._caller = self._make_caller(progress)
            return self._caller

    def prepare(self, last: Iterable[np.ndarray]) -> tuple[Any, Any, Any]:
        """The executable, the arrays that are its last arguments as it takes them, and what
        keeps their memory. The function is one for the CPU."""
        caller = self._get_caller(None)
        return (caller.executable, *caller.make_constants(last))

    def __call__(self, *arrays: Any, out: Sequence[Any] | None = None, stream: int = 0,
                 accept_nan_scales: bool = False, adversarial: bool = False, seed: int = 0,
                 max_steps: int | None = None, progress: Progress | None = None,
                 over_ranks: OverRanks | None = None) -> Any:
        """Calls the function, and returns when its results are there; with tensors of PyTorch
        on a GPU, when its work is on the stream.

        Args:
          arrays: row-major arrays of NumPy (dtypes of ml_dtypes for bf16 and f8), or of
            any package with DLPack, in the memory of the place; none is copied for the
            CPU or a GPU. f4 data are uint8 [.., K/2], two codes a byte; swizzled scales
            are their tiles [.., R/128, C/4, 32, 4, 4].
          out: arrays for the results. Without it, a result that may have the memory of an
            argument that the module gives away (`bufferization.writable = true`) is in that
            array, which is returned.
          stream: a CUstream's address, of on="cuda"; PyTorch's current one for its
            tensors.
          accept_nan_scales: takes scales that are NaN.
          adversarial, seed: the emulator does asynchronous work as late as it may.
          max_steps: the instructions of a cluster's warps after which the emulator gives up a
            kernel; None for 1,000,000,000.
          progress: called with step, number and count; count is 0 where not known.
          over_ranks: what reduces amaxes over ranks (`amax_over_ranks`), which is called with
            each Reduction; one_rank where there is one. A function that reduces needs it.

        Returns: the result, or a tuple of them: of PyTorch where an argument is, else of
          NumPy.

        Raises: ArgumentError, CompileError, DeviceError, and what `progress` and `over_ranks`
        raise.
        """
        caller = self._caller or self._get_caller(progress)
        if max_steps is not None and max_steps < 1:
            raise ArgumentError(f"expected max_steps to be at least 1, but got {max_steps}")
        for name, value in (("adversarial", adversarial), ("seed", seed),
                            ("max_steps", max_steps)):
            if value and self._on != "emulator":
                raise ArgumentError(f"expected on to be emulator with {name}, but got {self._on}")
        returned = caller(arrays, out, How(stream, accept_nan_scales, adversarial, seed,
                                           max_steps or 0, progress, over_ranks))
        return returned[0] if len(returned) == 1 else tuple(returned)


def compile(source: Source, *, target: str = "cpu", on: str | None = None,
            entry: str | None = None, device: int = 0, fuse: bool = True,
            tuned: str | os.PathLike[str] | None = None, ptxas: str | None = None,
            progress: Progress | None = None, bytecode_reader: str | None = None,
            policy: str | os.PathLike[str] | None = None, checks: bool = True,
            overlap_launches: bool = False) -> Compiled:
    """Compiles a module.

    Args:
      source: a traced Module, MLIR text, bytecode that MLIR wrote, or a pathlib.Path of
        a file.
      target: "cpu", or a chip, as "sm_100a"; the error of another name lists all.
      on: where it is called: "cpu", "emulator" or "cuda"; None for "cpu", or for a chip
        "emulator".
      entry: the function to call; None for the only public one.
      device: the number of the GPU.
      fuse: whether kernels of a GPU may have several ops.
      tuned: a folder of measured choices of schedules (docs/Tuning.md), for a chip.
      ptxas: the program that makes cubins; None for a search.
      progress: called with step, number and count before each stage; None shows them on
        a terminal when they take long.
      bytecode_reader: the program that reads bytecode, blockscale-read-bytecode; None
        for a search.
      policy: the path of a policy by which products of linalg are quantized first
        (docs/Policy.md).
      checks: whether a call checks that sizes and indices that the compiler cannot prove to fit
        do so; without it, those that do not read and write foreign memory.
      overlap_launches: whether launches of a call may begin before those before them have ended,
        on GPUs that can do that (docs/LaunchPlan.md).

    Raises: CompileError, ArgumentError, FileError.
    """
    if not isinstance(target, str):
        raise ArgumentError(f"expected target to be cpu or the name of a chip, but got {target!r}")
    place = on or ("cpu" if target == "cpu" else "emulator")
    if place not in PLACES:
        raise ArgumentError(f"expected on to be cpu, emulator or cuda, but got {on!r}")
    if (place == "cpu") != (target == "cpu"):
        raise ArgumentError(f"expected on to be {'cpu' if target == 'cpu' else 'emulator or cuda'}"
                            f" with target {target}, but got {place}")
    if tuned is not None and target == "cpu":
        raise ArgumentError("expected a GPU as target with tuned, but got cpu")
    if overlap_launches and target == "cpu":
        raise ArgumentError("expected a GPU as target with overlap_launches, but got cpu")
    if device != 0 and place != "cuda":
        raise ArgumentError(f"expected on to be cuda with device, but got {place}")
    folder = None if tuned is None else os.fspath(tuned)
    return Compiled(source, target, place, entry, device, fuse, folder, ptxas, progress,
                    bytecode_reader, None if policy is None else os.fspath(policy), checks,
                    overlap_launches)


def set_num_threads(threads: int) -> None:
    """Sets the threads of calls on the CPU; 0 for $BLOCKSCALE_NUM_THREADS or one for
    each hardware thread.

    Raises: ArgumentError for what is no number of threads.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or not 0 <= threads < 1 << 31:
        raise ArgumentError(f"expected threads to be a number from 0 to {(1 << 31) - 1}, but got "
                            f"{threads!r}")
    _native.set_num_threads(threads)


def set_cache_owners(owners: Iterable[str | int] | None) -> None:
    """Names users, or their numbers, whose files the cache in $BLOCKSCALE_CACHE_DIR may have,
    beside this user and root: that of whom keeps a cache for several users. None stands for
    $BLOCKSCALE_CACHE_OWNERS.

    Raises: ArgumentError for a user who does not exist.
    """
    users = None if owners is None else ",".join(map(str, owners))
    check(_native.set_cache_owners(users))
