# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of quantized rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blockscale.checkpoint import _kernels


class Error:
    """Sums of squares of numbers and of their errors, over all rows that were added."""

    def __init__(self) -> None:
        self.signal = self.noise = self.largest = 0.0
        self.count = 0

    def add(self, x: np.ndarray, codes: np.ndarray, scales: np.ndarray, format: str,
            global_scale: np.float32 | None) -> None:
        """Adds rows and what stands for them."""
        found = np.empty(x.shape, np.float32)
        _kernels.dequantize(codes, scales, format, global_scale, found)
        self.add_numbers(x.astype(np.float32, copy=False), found)

    def add_numbers(self, reference: np.ndarray, found: np.ndarray) -> None:
        """Adds arrays of f32, the reference first."""
        difference = (reference - found).reshape(-1)
        flat = reference.reshape(-1)
        self.signal += float(np.dot(flat, flat))
        self.noise += float(np.dot(difference, difference))
        if difference.size:
            self.largest = max(self.largest, float(np.abs(difference).max()))
        self.count += flat.size

    def describe(self) -> dict[str, Any]:
        """As tasks return it."""
        return {"signal": self.signal, "noise": self.noise, "largest": self.largest,
                "count": self.count}


def get_sqnr(signal: float, noise: float) -> float:
    """The ratio of signal to noise in decibels; infinite without noise."""
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf
