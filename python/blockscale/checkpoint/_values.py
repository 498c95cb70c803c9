# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of weights, rows by rows."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from blockscale.checkpoint import _kernels
from blockscale.checkpoint._codes import read_codes, read_factors, read_fp8, read_global
from blockscale.checkpoint._layouts import DATA, FP8_BLOCK, FP8_BLOCKS, FP8_CHANNEL
from blockscale.checkpoint._tensors import Weight

#: Bytes of numbers that are worked on at once.
CHUNK_BYTES = 8 << 20
#: Rows of a chunk are whole tiles of swizzled scales and whole blocks of FP8 sources.
_ROWS = 128


def list_chunks(rows: int, row_bytes: int) -> Iterator[tuple[int, int]]:
    """First and last row of parts of a matrix, of about CHUNK_BYTES."""
    step = max(CHUNK_BYTES // max(row_bytes, 1) // _ROWS, 1) * _ROWS
    return ((first, min(first + step, rows)) for first in range(0, rows, step))


def get_dtype(weight: Weight) -> str:
    """The dtype that the numbers of a weight are read in: its own where it is plain, else f32."""
    return weight.dtype if weight.layout.is_plain else "f32"


def get_computed(weight: Weight) -> str:
    """The dtype in which models compute with a weight: bf16 of FP8 sources."""
    return "bf16" if weight.layout.is_fp8 else get_dtype(weight)


class Rows:
    """Rows of one matrix of a weight.

    Args:
      matrix: the number of the matrix in a stack; None for a weight of two dimensions.
      first, step: of the rows of the matrix that these are, which alternate where a stack has rows
        of gate and up so.
      count: of these rows.
      cast: the type to which f32 is rounded.
    """

    def __init__(self, weight: Weight, matrix: int | None, first: int = 0,
                 count: int | None = None, step: int = 1, cast: str | None = None):
        self.weight = weight
        self._matrix = 0 if matrix is None else matrix
        self._first, self._step = first, step
        self.count = weight.shape[-2] if count is None else count
        self.cols = weight.shape[-1]
        dtype = get_dtype(weight)
        self._cast = cast if cast and dtype == "f32" else None
        self.dtype = self._cast or dtype

    @property
    def row_bytes(self) -> int:
        return self.cols * int(_kernels.DTYPES[self.dtype].itemsize)

    def read(self, begin: int, end: int) -> np.ndarray:
        """These rows [end - begin, K], a view where they are in the file like that."""
        weight = self.weight
        if weight.layout.is_plain:
            found = self._read_plain(begin, end)
        elif weight.layout.is_fp8:
            found = self._read_fp8(begin, end)
        else:
            found = self._read_codes(begin, end)
        if self._cast:
            found = found.astype(_kernels.DTYPES[self._cast])
        return found

    def _select(self, begin: int, end: int) -> slice:
        return slice(self._first + begin * self._step,
                     self._first + (end - 1) * self._step + 1 if end > begin else self._first,
                     self._step)

    def _get_range(self, begin: int, end: int) -> tuple[int, int]:
        """Bytes of plain data that have these rows; all of a matrix whose columns they are."""
        rows = self.weight.shape[-2]
        part = self.weight.parts[DATA]
        size = part.nbytes // max(self.weight.num_matrices, 1)
        start = self._matrix * size
        if self.weight.is_transposed:
            return start, start + size
        row = size // max(rows, 1)
        chosen = self._select(begin, end)
        return start + chosen.start * row, start + max(chosen.stop, chosen.start) * row

    def _read_plain(self, begin: int, end: int) -> np.ndarray:
        part = self.weight.parts[DATA]
        dtype = _kernels.DTYPES[self.weight.dtype]
        first, last = self._get_range(begin, end)
        data = part.bytes(first, last)
        if (part.offset + first) % dtype.itemsize:
            data = data.copy()
        data = data.view(dtype)
        if self.weight.is_transposed:
            matrix = data.reshape(self.cols, self.weight.shape[-2])
            return np.ascontiguousarray(matrix[:, self._select(begin, end)].T)
        return np.ascontiguousarray(data.reshape(-1, self.cols)[::self._step])

    def _read_fp8(self, begin: int, end: int) -> np.ndarray:
        """E4M3 by its scales, in f32."""
        chosen = self._select(begin, end)
        data = read_fp8(self.weight, self._matrix, chosen).view(ml_dtypes.float8_e4m3fn)
        factors = read_factors(self.weight, self._matrix)
        if self.weight.format == FP8_BLOCKS:
            numbers = np.arange(chosen.start, chosen.stop, chosen.step) // FP8_BLOCK
            factors = np.repeat(factors[numbers], FP8_BLOCK, axis=1)[:, :self.cols]
        elif self.weight.format == FP8_CHANNEL:
            factors = factors[chosen]
        found: np.ndarray = data.astype(np.float32)
        found *= factors
        return found

    def _read_codes(self, begin: int, end: int) -> np.ndarray:
        weight = self.weight
        data, scales = read_codes(weight, self._matrix, self._select(begin, end))
        found = np.empty((len(data), self.cols), np.float32)
        _kernels.dequantize(data, scales, weight.format, read_global(weight, self._matrix), found)
        return found

    def release(self, begin: int, end: int) -> None:
        """Says that these rows are not needed any more."""
        if self.weight.layout.is_plain and not self.weight.is_transposed:
            self.weight.parts[DATA].release(*self._get_range(begin, end))
        elif end == self.count:
            for part in self.weight.parts.values():
                size = part.nbytes // max(self.weight.num_matrices, 1)
                part.release(self._matrix * size, (self._matrix + 1) * size)
