# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tasks of jobs do. Each function takes a task's arguments, the source, and where to write; it
returns what it found, of types of JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._convert._group import convert_group
from blockscale.checkpoint._jobs._plan import Task
from blockscale.checkpoint._kernels import DTYPES, STORED, compute_amax
from blockscale.checkpoint._layouts import FP8_BLOCK, FP8_BLOCKS, PLAIN_DTYPES
from blockscale.checkpoint._quantize._group import quantize_group
from blockscale.checkpoint._values import CHUNK_BYTES, Rows, list_chunks


class Sink(Protocol):
    """Where tasks write."""

    def write(self, name: str, data: np.ndarray, begin: int = 0) -> None:
        """Writes bytes of a tensor of the result, from one of its bytes on."""


def _tell(names: Iterable[str]) -> Any:
    """What a task found that copies tensors: those with numbers that are not finite, if any."""
    found = list(names)
    return {"not_finite": found} if found else None


def _is_finite(data: np.ndarray, dtype: str) -> bool:
    """Whether bytes of plain numbers are finite; those of other types are."""
    if dtype not in PLAIN_DTYPES or not data.size:
        return True
    numbers = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    kind = DTYPES[PLAIN_DTYPES[dtype]]
    if numbers.ctypes.data % kind.itemsize:
        numbers = numbers.copy()
    return math.isfinite(compute_amax(numbers.view(kind).reshape(1, -1), PLAIN_DTYPES[dtype]))


def copy_tensors(arguments: Mapping[str, Any], source: Checkpoint, sink: Sink) -> Any:
    """Copies tensors: `names` has that of the result by that of the source."""
    bad: dict[str, None] = {}
    for name, target in arguments["names"].items():
        tensor = source.tensors[name]
        for begin in range(0, tensor.nbytes, CHUNK_BYTES):
            end = min(begin + CHUNK_BYTES, tensor.nbytes)
            data = tensor.bytes(begin, end)
            if not _is_finite(data, tensor.dtype):
                bad[target] = None
            sink.write(target, data, begin)
            tensor.release(begin, end)
    return _tell(bad)


def copy_rows(arguments: Mapping[str, Any], source: Checkpoint, sink: Sink) -> Any:
    """Copies `count` elements of a row of `tensor`, each `step` from the one before."""
    tensor = source.tensors[arguments["tensor"]]
    row = tensor.bytes().reshape(tensor.shape[0], -1, arguments["item_bytes"])
    first, step = arguments["first"], arguments["step"]
    chosen = np.ascontiguousarray(
        row[arguments["matrix"], first::step][:arguments["count"]])
    sink.write(arguments["target"], chosen)
    return _tell([] if _is_finite(chosen, tensor.dtype) else [arguments["target"]])


def stack_rows(arguments: Mapping[str, Any], source: Checkpoint, sink: Sink) -> Any:
    """Writes rows of a matrix; each has the elements of some tensors by turns."""
    size, at, is_finite = arguments["item_bytes"], 0, True
    for names in arguments["tensors"]:
        parts = [source.tensors[name].bytes().reshape(-1, size) for name in names]
        row = np.stack(parts, 1).reshape(-1)
        sink.write(arguments["target"], row, at)
        at += row.size
        is_finite = is_finite and _is_finite(row, source.tensors[names[0]].dtype)
    return _tell([] if is_finite else [arguments["target"]])


def decode(arguments: Mapping[str, Any], source: Checkpoint, sink: Sink) -> Any:
    """Writes the numbers of a weight in a dtype, and counts the blocks that it has not all numbers
    of."""
    weight = source.weights[arguments["weight"]]
    dtype = DTYPES[arguments["dtype"]]
    lost, is_finite = 0, True
    block = (FP8_BLOCK if weight.format == FP8_BLOCKS else 1), weight.layout.block
    for matrix in range(max(weight.num_matrices, 1)):
        rows = Rows(weight, matrix)
        start = matrix * rows.count
        columns = (np.empty((rows.cols, rows.count), dtype) if arguments["transposes"] else None)
        for begin, end in list_chunks(rows.count, rows.row_bytes):
            numbers = rows.read(begin, end)
            with np.errstate(over="ignore"):  # What is infinite then is told.
                found = numbers.astype(dtype, copy=False)
            lost += _count_changed(numbers, found, block)
            is_finite = is_finite and _is_finite(found, STORED[arguments["dtype"]])
            if columns is None:
                sink.write(arguments["target"], found,
                           (start + begin) * rows.cols * dtype.itemsize)
            else:
                columns[:, begin:end] = found.T
            rows.release(begin, end)
        if columns is not None:
            sink.write(arguments["target"], columns, matrix * columns.nbytes)
    return {"lost": lost, **({} if is_finite else {"not_finite": [arguments["target"]]})}


def _count_changed(numbers: np.ndarray, found: np.ndarray, block: tuple[int, int]) -> int:
    """Blocks with numbers that another type does not have, of so many rows and columns."""
    if numbers.dtype == found.dtype or not numbers.size:
        return 0
    changed = (numbers != found.astype(numbers.dtype)) & ~np.isnan(numbers)
    for axis, size in enumerate(block):
        if size > 1:
            changed = np.logical_or.reduceat(changed, range(0, changed.shape[axis], size), axis)
    return int(changed.sum())


KINDS: Mapping[str, Callable[[Mapping[str, Any], Checkpoint, Any], Any]] = {
    "copy": copy_tensors,
    "copy_rows": copy_rows,
    "stack_rows": stack_rows,
    "decode": decode,
    "convert": convert_group,
    "quantize": quantize_group,
}


def run(task: Task, source: Checkpoint, sink: Sink) -> Any:
    """Does a task: what it writes depends on the task and the source alone."""
    with source.reading():
        return KINDS[task.kind](task.arguments, source, sink)
