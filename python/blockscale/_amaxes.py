# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Amaxes of activations, as callers and files of JSON give them."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from blockscale._errors import ArgumentError
from blockscale._text import shorten

#: What lies between them is neither 0 nor infinite when it is rounded to f32.
_BELOW, _ABOVE = 2.0 ** -150, (2.0 - 2.0 ** -24) * 2.0 ** 127


def read_amaxes(amaxes: Mapping[str, Any] | None) -> dict[str, float]:
    """Amaxes by the names of layers, which may be numbers of Python, of numpy and of PyTorch.

    Raises: ArgumentError for what is no positive and finite number of f32.
    """
    if amaxes is None:
        return {}
    if not isinstance(amaxes, Mapping):
        raise ArgumentError("expected amaxes by the names of layers, but got "
                            f"{type(amaxes).__name__}")
    return {name: _read(name, amax) for name, amax in amaxes.items()}


def _read(name: Any, amax: Any) -> float:
    if not isinstance(name, str):
        raise ArgumentError(f"expected amaxes by the names of layers, but got {shorten(name)}")
    number: Any = amax.item() if getattr(amax, "ndim", None) == 0 else amax
    is_number = isinstance(number, numbers.Real) and not isinstance(number, bool)
    if not is_number or not _BELOW < number < _ABOVE:
        raise ArgumentError(f"expected the amax of '{name}' to be positive and finite in f32, but "
                            f"got {shorten(number)}")
    return float(number)
