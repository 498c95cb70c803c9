# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The difference of two checkpoints, in whatever layouts, by the numbers that they stand for."""

from __future__ import annotations

import dataclasses
import json
import math
import operator
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from blockscale._errors import ArgumentError
from blockscale._native import _checkpoint as _bytes
from blockscale._tables import make_table
from blockscale._text import escape
from blockscale.checkpoint._checkpoint import Checkpoint, Path
from blockscale.checkpoint._checkpoint import open as open_checkpoint
from blockscale.checkpoint._families import get_family
from blockscale.checkpoint._jobs._run import Progress
from blockscale.checkpoint._layouts import PLAIN_DTYPES
from blockscale.checkpoint._measure import get_sqnr
from blockscale.checkpoint._split import split_bias, split_weight
from blockscale.checkpoint._summary import to_json
from blockscale.checkpoint._tensors import Tensor
from blockscale.checkpoint._values import Rows, list_chunks

#: Reads some rows of a matrix as f32.
_Reader = Callable[[int, int], np.ndarray]

#: A family in which each expert has layers of its own.
_APART = get_family("modelopt")


@dataclasses.dataclass(frozen=True)
class TensorDifference:
    """A tensor or a weight that both checkpoints have.

    Attributes:
      name: of the layer, or of the expert's layer of a stack, or of the tensor.
      shape: of the numbers.
      forms: how both store it.
      different: numbers that are not equal.
      signal, noise: sums of squares of the first's numbers, and of differences.
      largest: difference.
      message: why they cannot be compared.
    """

    name: str
    shape: tuple[int, ...]
    forms: tuple[str, str]
    different: int = 0
    signal: float = 0.0
    noise: float = 0.0
    largest: float = 0.0
    message: str = ""

    @property
    def sqnr(self) -> float:
        """In decibels; infinite where all numbers are equal."""
        if self.message or (self.different and not self.noise):
            return -math.inf
        return get_sqnr(self.signal, self.noise)


@dataclasses.dataclass(frozen=True)
class Difference:
    """What differs.

    Attributes:
      tensors: that both have, the least alike first.
      only_first, only_second: names of what one has.
    """

    tensors: tuple[TensorDifference, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """Whether both stand for the same numbers."""
        return not (self.only_first or self.only_second) and all(
            not each.different and not each.message for each in self.tensors)

    def is_within(self, sqnr: float) -> bool:
        """Whether both have the same tensors, with at least this ratio in decibels."""
        return not (self.only_first or self.only_second) and all(
            each.sqnr >= sqnr for each in self.tensors)

    def describe(self, shown: int | None = None) -> str:
        """A table of the tensors that differ most."""
        different = [each for each in self.tensors if each.different or each.message]
        lines = []
        if different:
            rows = [("tensor", "shape", "SQNR dB", "largest", "different", "")]
            for each in different[:shown]:
                total = math.prod(each.shape)
                rows.append((each.name, "x".join(map(str, each.shape)), f"{each.sqnr:.2f}",
                             f"{each.largest:.4g}", f"{each.different} of {total}",
                             each.message or " / ".join(dict.fromkeys(each.forms))))
            lines.append(make_table(rows, (2, 3, 4)))
            if shown is not None and len(different) > shown:
                lines.append(f"and {len(different) - shown} more")
        for names, which in ((self.only_first, "first"), (self.only_second, "second")):
            lines += [f"only the {which} has '{escape(name)}'" for name in names[:shown]]
            if shown is not None and len(names) > shown:
                lines.append(f"and {len(names) - shown} more")
        lines.append(f"{len(self.tensors) - len(different)} of {len(self.tensors)} tensors have "
                     "the same numbers")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.describe()

    def to_dict(self) -> Mapping[str, Any]:
        """What --json writes."""
        return {"tensors": [{**dataclasses.asdict(each), "shape": list(each.shape),
                             "forms": list(each.forms), "sqnr_db": to_json(each.sqnr)}
                            for each in self.tensors],
                "only_first": list(self.only_first), "only_second": list(self.only_second),
                "is_equal": self.is_equal}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)


@dataclasses.dataclass(frozen=True)
class _Item:
    """A matrix of numbers: its shape, its form, how to read rows, and how to let go of them."""

    shape: tuple[int, ...]
    form: str
    rows: int
    cols: int
    read: _Reader
    release: Callable[[int, int], None]


def _wrap_rows(rows: Rows) -> _Item:
    return _Item((rows.count, rows.cols), rows.weight.layout.name, rows.count, rows.cols,
                 lambda begin, end: rows.read(begin, end).astype(np.float32, copy=False),
                 rows.release)


def _wrap_tensor(tensor: Tensor, select: Callable[[np.ndarray], np.ndarray] | None = None) -> _Item:
    def read_all() -> np.ndarray:
        array = tensor.numpy()
        return (array if select is None else select(array)).reshape(1, -1)
    count = read_all().shape[1] if select else math.prod(tensor.shape)

    def read(begin: int, end: int) -> np.ndarray:
        return read_all()[:, begin:end].astype(np.float32)
    # Elements take the place of rows, so that large tensors are read in parts.
    return _Item(tensor.shape if select is None else (count,), tensor.dtype, count, 1, read,
                 lambda begin, end: None)


def _list_items(checkpoint: Checkpoint) -> dict[str, _Item]:
    """What a checkpoint has, by names that are the same in each layout."""
    for unknown in checkpoint.unexplained:
        raise ArgumentError("expected weights whose numbers are known to compare, but "
                            f"'{unknown.name}' of '{checkpoint.path}' is {unknown}")
    items: dict[str, _Item] = {}
    for weight in checkpoint.weights.values():
        for parts in split_weight(checkpoint, weight, _APART):
            for part in parts:
                items[f"{part.name}.weight"] = _wrap_rows(Rows(
                    weight, part.matrix, part.first, part.count, part.step))
        if len(weight.shape) == 3:
            for name, (bias, matrix, first, step, count) in split_bias(
                    checkpoint, weight.name, _APART).items():
                chosen = slice(first, first + (count - 1) * step + 1, step)
                items[name] = _wrap_tensor(checkpoint.tensors[bias],
                                           operator.itemgetter((matrix, chosen)))
    stacked = {f"{name}_bias" for name, weight in checkpoint.weights.items()
               if len(weight.shape) == 3}
    for name, tensor in checkpoint.others.items():
        if name not in stacked and (tensor.dtype in PLAIN_DTYPES or tensor.dtype[0] in "IUBF"):
            items[name] = _wrap_tensor(tensor)
    return items


def _compare(name: str, first: _Item, second: _Item) -> TensorDifference:
    forms = (first.form, second.form)
    if first.shape != second.shape:
        return TensorDifference(name, first.shape, forms, message=(
            f"expected shape {list(first.shape)}, but got {list(second.shape)}"))
    different, signal, noise, largest = 0, 0.0, 0.0, 0.0
    for begin, end in list_chunks(first.rows, 4 * first.cols):
        found = _bytes.compare("F32", np.ascontiguousarray(first.read(begin, end)), "F32",
                               np.ascontiguousarray(second.read(begin, end)))
        different += found.different
        signal += found.reference_squares
        noise += found.difference_squares
        largest = max(largest, found.largest)
        first.release(begin, end)
        second.release(begin, end)
    return TensorDifference(name, first.shape, forms, different, signal, noise, largest)


def diff(first: Path, second: Path, *, threads: int | None = None,
         progress: Progress | None = None) -> Difference:
    """Compares two checkpoints by the numbers of their tensors, whatever their layouts: codes and
    scales stand for numbers, experts of stacks are those of layers of their own, and bf16 is f32.
    What belongs to a layout alone, as input scales, is not compared.

    Args:
      first: the reference.
      second: the other one.
      threads: that work; None for one for each core.
      progress: called with a name, and the bytes of numbers of f32 that were compared, and of all.

    Returns: what differs.

    Raises: ArgumentError, FileError.
    """
    count = threads if threads is not None else len(os.sched_getaffinity(0))
    if count < 1:
        raise ArgumentError(f"expected threads to be 1 or more, but got {threads}")
    checkpoints = open_checkpoint(first), open_checkpoint(second)
    with checkpoints[0].reading(), checkpoints[1].reading():
        return _compare_all(_list_items(checkpoints[0]), _list_items(checkpoints[1]), count,
                            progress)


def _compare_all(one: Mapping[str, _Item], other: Mapping[str, _Item], threads: int,
                 progress: Progress | None) -> Difference:
    names = [name for name in one if name in other]
    sizes = [4 * math.prod(one[name].shape) for name in names]
    found, done = [], 0
    with ThreadPoolExecutor(threads) as pool:
        results = pool.map(lambda name: _compare(name, one[name], other[name]), names)
        for number, result in enumerate(results):
            found.append(result)
            done += sizes[number]
            if progress:
                progress(result.name, done, sum(sizes))
    found.sort(key=lambda each: (each.sqnr, -each.largest))
    return Difference(tuple(found), tuple(name for name in one if name not in other),
                      tuple(name for name in other if name not in one))
