# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares arrays bit for bit, but for the payload of NaN, which nothing specifies."""

import sys

import numpy as np

FLOATS = ("float32", "float16", "bfloat16")


def first_difference(a, b):
    """Where and how two lists of arrays differ, or None."""
    for result, (x, y) in enumerate(zip(a, b, strict=True)):
        if (x.dtype, x.shape) != (y.dtype, y.shape):
            return f"result {result}: {x.dtype} {x.shape}, then {y.dtype} {y.shape}"
        width = np.dtype(f"u{x.itemsize}")
        bits = x.view(width), y.view(width)
        differ = bits[0] != bits[1]
        if x.dtype.name in FLOATS:
            differ &= ~(np.isnan(x) & np.isnan(y))
        places = np.argwhere(differ)
        if len(places):
            at = tuple(places[0].tolist())
            digits = 2 * x.itemsize
            return (f"result {result}: {len(places)} of {x.size} elements differ, first at "
                    f"{at}: 0x{bits[0][at]:0{digits}X}, then 0x{bits[1][at]:0{digits}X}")
    return None


class Expectations:
    """Counts what holds and prints what does not."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def record(self, what, problem):
        """A check whose `problem` is None where it holds."""
        self.passed += problem is None
        self.failed += problem is not None
        if problem is not None:
            print(f"error: {what}: {problem}", flush=True)

    def equal(self, what, got, want):
        """Lists of arrays are equal, in type, shape and every bit."""
        self.record(what, first_difference(got, want))

    def finish(self):
        """Prints the counts and ends the process."""
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed or not self.passed else 0)
