# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of quantized rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blockscale._native import _checkpoint as _bytes
from blockscale._ops import FORMATS
from blockscale.checkpoint import _kernels

#: One of so many rows is dequantized to measure the error, unless all are.
MEASURED = 256
#: So many bytes of rows are measured at once, since few rows take less time than a call.
_KEPT_BYTES = 1 << 20


class Error:
    """Sums of squares of numbers and of their errors, over all rows that were added, and the count
    of blocks with other numbers.

    Args:
      dtype: of the numbers.
      format, global_scale: of what stands for them.
      counts_blocks: whether blocks with other numbers are counted.
    """

    def __init__(self, dtype: str, format: str, global_scale: np.float32 | None,
                 counts_blocks: bool) -> None:
        self._dtype, self._format = dtype, format
        self._global_scale, self._counts_blocks = global_scale, counts_blocks
        self._signal = self._noise = self._largest = 0.0
        self._count = self._changed = 0
        # Copies of rows, codes and scales that were added and not measured.
        self._kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._kept_bytes = 0

    def add(self, x: np.ndarray, codes: np.ndarray, scales: np.ndarray) -> None:
        """Adds rows, and the codes and linear scales that stand for them."""
        if x.nbytes >= _KEPT_BYTES:
            self._measure(x, codes, scales)
            return
        self._kept.append((x.copy(), codes.copy(), scales.copy()))
        self._kept_bytes += x.nbytes
        if self._kept_bytes >= _KEPT_BYTES:
            self._measure_kept()

    def _measure_kept(self) -> None:
        if self._kept:
            self._measure(*map(np.concatenate, zip(*self._kept)))
        self._kept, self._kept_bytes = [], 0

    def _measure(self, x: np.ndarray, codes: np.ndarray, scales: np.ndarray) -> None:
        found = np.empty(x.shape, np.float32)
        _kernels.dequantize(codes, scales, self._format, self._global_scale, found)
        difference = _bytes.compare(_kernels.STORED[self._dtype], x, "F32", found)
        self._signal += difference.reference_squares
        self._noise += difference.difference_squares
        self._largest = max(self._largest, difference.largest)
        self._count += difference.count
        if self._counts_blocks:
            starts = range(0, x.shape[1], FORMATS[self._format][2])
            changed = x.astype(np.float32, copy=False) != found
            self._changed += int(np.logical_or.reduceat(changed, starts, axis=1).sum())

    def describe(self) -> dict[str, Any]:
        """As tasks return it."""
        self._measure_kept()
        return {"signal": self._signal, "noise": self._noise, "largest": self._largest,
                "count": self._count, "changed": self._changed}


def get_sqnr(signal: float, noise: float) -> float:
    """The ratio of signal to noise in decibels; infinite without noise."""
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf
