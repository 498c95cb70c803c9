# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A job is one module, its inputs, and the checks on each of its results."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cases import unpack_e2m1
from contract import compare_bits
from ir import Function


@dataclass
class Check:
    """Judges a result against the expected array `array`.

    `form` turns what is stored into the form of `want`, `judge` gives the verdict
    on that. `want` is the expected array, or its content in another layout where
    that is checked, too. `route` says how the result was computed, where one array
    is computed in several ways; --out writes the `written` one.
    """

    array: str
    want: np.ndarray
    form: Callable
    judge: Callable
    route: str = ""
    written: bool = True


class Job:
    def __init__(self, name):
        self.name = name
        self.function = Function()
        self.inputs = []
        self.outputs = []  # (number of results, checks on them)

    def input(self, type, bits):
        """An argument of `type` that holds `bits`."""
        dtype, shape = type.storage()
        stored = np.ascontiguousarray(bits).view(dtype).reshape(shape)
        self.inputs.append(stored)
        return self.function.argument(type)

    def output(self, values, checks):
        """Returns a value, or some that are checked together; none if no check."""
        values = values if isinstance(values, list) else [values]
        if checks:
            self.function.results += values
            self.outputs.append((len(values), checks))

    def checks(self):
        return [check for _, checks in self.outputs for check in checks]


def reshaped(want):
    """The form of results that differ from `want` only in shape and dtype."""
    return lambda stored: stored.view(want.dtype).reshape(want.shape)


def packed_rows(want):
    """As `reshaped`; rows that `want` keeps longer are filled with zero bytes."""

    def form(stored):
        missing = want.shape[-1] - stored.shape[-1]
        return np.pad(stored, [(0, 0)] * (stored.ndim - 1) + [(0, missing)])

    return form


def bits_check(array, want, element, uncompared=(), **options):
    """Compares bits; packed f4 bytes code by code."""
    uncompared = dict(uncompared)
    if element == "f4E2M1FN":
        return Check(
            array,
            want,
            packed_rows(want),
            lambda got: compare_bits(
                unpack_e2m1(got), unpack_e2m1(want), element, uncompared
            ),
            **options,
        )
    return Check(
        array,
        want,
        reshaped(want),
        lambda got: compare_bits(got, want, element, uncompared),
        **options,
    )
