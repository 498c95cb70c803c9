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


class Error:
    """Sums of squares of numbers and of their errors, over all rows that were added, and the count
    of blocks with other numbers."""

    def __init__(self) -> None:
        self.signal = self.noise = self.largest = 0.0
        self.count = self.changed = 0

    def add(self, x: np.ndarray, dtype: str, codes: np.ndarray, scales: np.ndarray, format: str,
            global_scale: np.float32 | None, counts_blocks: bool) -> None:
        """Adds rows of a dtype and what stands for them."""
        found = np.empty(x.shape, np.float32)
        _kernels.dequantize(codes, scales, format, global_scale, found)
        difference = _bytes.compare(_kernels.STORED[dtype], x, "F32", found)
        self.signal += difference.reference_squares
        self.noise += difference.difference_squares
        self.largest = max(self.largest, difference.largest)
        self.count += difference.count
        if counts_blocks:
            starts = range(0, x.shape[1], FORMATS[format][2])
            changed = x.astype(np.float32, copy=False) != found
            self.changed += int(np.logical_or.reduceat(changed, starts, axis=1).sum())

    def describe(self) -> dict[str, Any]:
        """As tasks return it."""
        return {"signal": self.signal, "noise": self.noise, "largest": self.largest,
                "count": self.count, "changed": self.changed}


def get_sqnr(signal: float, noise: float) -> float:
    """The ratio of signal to noise in decibels; infinite without noise."""
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf
