# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of one op each, and the results expected of them.

They are compiled together, for the baseline CPU, where vectors are short, and for
this one, and called with parallel ranges of several sizes. Many functions may be
divided between the two.
"""

from pathlib import Path

import numpy as np

from expect import Expectations
from module import Module, ModuleError

CPUS = ("x86-64", "host")
RANGE_SIZES = (0, 1, 3)
SCALE_ELEMENTS = {16: "f8E4M3FN", 32: "f8E8M0FNU"}  # by block size
SWIZZLED = "#blockscale.layout<swizzle_128x4>"


def tensor(shape, element, layout=None):
    """A type; sizes may be '?'."""
    dims = "".join(f"{size}x" for size in shape)
    return f"tensor<{dims}{element}{', ' + layout if layout else ''}>"


def dynamic(shape, dims):
    """`shape` with '?' in some dimensions, which count from the last if negative."""
    dims = [dim % len(shape) for dim in dims]
    return tuple("?" if i in dims else size for i, size in enumerate(shape))


def with_one_nan(array, type):
    """An array in the storage form of `type`, with every NaN value the same: its
    sign and payload mean nothing."""
    if array.dtype.kind == "f":
        return np.where(np.isnan(array), array.dtype.type(np.nan), array)
    if type.rstrip(">").endswith("bf16"):
        return np.where((array & 0x7FFF) > 0x7F80, np.uint16(0x7FFF), array)
    return array


class Functions:
    def __init__(self):
        self._functions = []

    def add(self, op, arguments, results, cases):
        """A function that is one op: `op` with {0}, {1}, .. for the arguments, and
        the types of arguments and results. A case is arrays for the arguments, and
        those expected as results, or a message expected of a failed check."""
        self._functions.append((f"f{len(self._functions)}", op, arguments, results, cases))

    def check(self, folder, divided=False):
        """Compiles and calls all functions, prints what is wrong, and exits. Where
        `divided`, each is for one CPU, drawn at random, so that no order of the
        functions decides."""
        expect = Expectations()
        drawn = np.random.default_rng(1).integers(len(CPUS), size=len(self._functions))
        for i, cpu in enumerate(CPUS):
            place = Path(folder) / cpu
            place.mkdir(parents=True, exist_ok=True)
            functions = [function for function, one in zip(self._functions, drawn)
                         if one == i or not divided]
            module = Module("".join(function_of(*function[:4]) for function in functions),
                            place, cpu=cpu)
            for name, op, _, results, cases in functions:
                for arguments, wanted in cases:
                    shapes = [np.shape(array) for array in arguments]
                    for size in RANGE_SIZES:
                        what = f"{cpu}: {op} on {shapes}, {size} items a range"
                        _check(expect, what, module, name, arguments, size, results, wanted)
        expect.finish()


def function_of(name, op, arguments, results):
    """The text of a function that is one op, written as for `Functions.add`."""
    names = [f"%a{i}" for i in range(len(arguments))]
    signature = ", ".join(f"{n}: {t}" for n, t in zip(names, arguments))
    values = ", ".join(f"%r{i}" for i in range(len(results)))
    types = ", ".join(results)
    return (f"func.func @{name}({signature}) -> ({types}) {{\n"
            f"  {values} = blockscale.{op.format(*names)}\n"
            f"  return {values} : {types}\n}}\n")


def _check(expect, what, module, name, arguments, size, types, wanted):
    try:
        got = module.call(name, *arguments, range_size=size)
    except ModuleError as error:
        if isinstance(wanted, str) and wanted in str(error):
            return expect.record(what, None)
        raise
    if isinstance(wanted, str):
        return expect.record(what, f"expected the error '{wanted}'")
    got, wanted = ([with_one_nan(array, type) for array, type in zip(arrays, types, strict=True)]
                   for arrays in (got, wanted))
    expect.equal(what, got, wanted)
    return None
