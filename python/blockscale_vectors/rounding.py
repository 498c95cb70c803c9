# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Roundings to a narrow format that are not those of the recipes."""

import numpy as np

#: What the recipes do.
NEAREST_EVEN = "to nearest, ties to the even code"

# Whether a value goes to its upper neighbour. `side` is above 0 where that one is nearer, and 0
# at a tie.
_GOES_UP = {
    "to nearest, ties away from zero": lambda side, x: (side > 0) | ((side == 0) & (x > 0)),
    "to nearest, ties toward zero": lambda side, x: (side > 0) | ((side == 0) & (x < 0)),
    "to nearest, ties up": lambda side, x: side >= 0,
    "toward zero": lambda side, x: x < 0,
    "away from zero": lambda side, x: x > 0,
}
OTHERS = tuple(_GOES_UP)


def encode(element, values, rounding):
    """Codes of f32 values as `element.encode` gives them, but for the rounding, one of OTHERS."""
    values = np.asarray(values, np.float32)
    codes, numbers = _table(element)
    # A sum of two neighbours and twice an f32 are exact in f64.
    x = np.clip(np.nan_to_num(values.astype(np.float64)), numbers[0], numbers[-1])
    above = np.searchsorted(numbers, x)
    below = np.where(numbers[above] == x, above, above - 1)
    side = 2 * x - (numbers[below] + numbers[above])
    chosen = codes[np.where(_GOES_UP[rounding](side, x), above, below)]
    sign = getattr(element, "sign_bit", 0)
    chosen = np.where((chosen == 0) & np.signbit(values), np.uint8(sign), chosen)
    return np.where(np.isnan(values), element.encode(values), chosen)


def neighbours(element, values):
    """The codes below and above each value, which are one where the value has a code."""
    return (encode(element, values, "toward zero"), encode(element, values, "away from zero"))


def _table(element):
    """Codes of the finite numbers in ascending order, and the numbers; zero once."""
    codes = np.arange(256).astype(np.uint8)
    sign = getattr(element, "sign_bit", None)
    if sign is not None:
        codes = codes[codes < 2 * sign]
        codes = codes[((codes & (sign - 1)) <= element.max_code) & (codes != sign)]
    numbers = element.decode(codes).astype(np.float64)
    order = np.argsort(numbers)
    return codes[order], numbers[order]
