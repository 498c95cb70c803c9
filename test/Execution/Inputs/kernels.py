# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls single-op functions and compares with the numpy reference.

A subject adds functions to a `Kernels`, each with the shapes to call it with and
a judge of its results; all are compiled together and called with parallel ranges
of several sizes.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy as np

from module import Module

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

RANGE_SIZES = (0, 1, 3)
SCALE_ELEMENTS = {16: "f8E4M3FN", 32: "f8E8M0FNU"}
SWIZZLED = "#blockscale.layout<swizzle_128x4>"


def ceildiv(a, b):
    return -(-a // b)


def tensor(shape, element, layout=None):
    """A type; sizes may be '?'."""
    dims = "".join(f"{size}x" for size in shape)
    return f"tensor<{dims}{element}{', ' + layout if layout else ''}>"


def dynamic(shape, dims):
    """`shape` with '?' in some dimensions."""
    return tuple("?" if i in dims else size for i, size in enumerate(shape))


@dataclass
class Call:
    """Arguments, and `judge(results)`, which gives a complaint or None."""

    arguments: list
    judge: Callable


def bytes_equal(*wanted):
    def judge(results):
        for i, (got, want) in enumerate(zip(results, wanted, strict=True)):
            if (got.dtype, got.shape) != (want.dtype, want.shape):
                return f"result {i}: {got.dtype} {got.shape}, not {want.dtype} {want.shape}"
            bits = [a.view(f"u{a.itemsize}") for a in (got, want)]
            differs = bits[0] != bits[1]
            if want.dtype.kind == "f":
                differs &= ~(np.isnan(got) & np.isnan(want))
            if differs.any():
                at = tuple(np.argwhere(differs)[0].tolist())
                return (f"result {i}: {differs.sum()} of {got.size} elements differ, "
                        f"first at {at}: {got[at]}, not {want[at]}")
        return None
    return judge


class Kernels:
    def __init__(self):
        self._functions, self._calls = [], []

    def add(self, op, arguments, results, calls):
        """A function that is one op: `op` with {0}, {1}, .. for the arguments;
        types of arguments and results."""
        name = f"f{len(self._functions)}"
        names = [f"%a{i}" for i in range(len(arguments))]
        signature = ", ".join(f"{n}: {t}" for n, t in zip(names, arguments))
        values = ", ".join(f"%r{i}" for i in range(len(results)))
        types = ", ".join(results)
        self._functions.append(
            f"func.func @{name}({signature}) -> ({types}) {{\n"
            f"  {values} = blockscale.{op.format(*names)}\n"
            f"  return {values} : {types}\n}}\n")
        self._calls.append((name, op, calls))

    def run(self, folder, cpu):
        """Complaints, after all calls; prints the number of calls."""
        folder.mkdir(parents=True, exist_ok=True)
        module = Module("".join(self._functions), folder, cpu=cpu)
        complaints, count = [], 0
        for name, op, calls in self._calls:
            for call in calls:
                for range_size in RANGE_SIZES:
                    results = module.call(name, *call.arguments, range_size=range_size)
                    count += 1
                    complaint = call.judge(results)
                    if complaint:
                        shapes = [np.shape(a) for a in call.arguments]
                        complaints.append(f"{op} on {shapes}, {range_size} items a range: "
                                          f"{complaint}")
                        break
        print(f"{cpu}: {count} calls of {len(self._calls)} kernels, "
              f"{len(complaints)} wrong")
        return complaints


def main(kernels, folder):
    """Runs on the baseline CPU, where vectors are short, and on this one."""
    complaints = [c for cpu in ("x86-64", "host")
                  for c in kernels.run(folder / cpu, cpu)]
    for complaint in complaints:
        print("error:", complaint)
    sys.exit(bool(complaints))
