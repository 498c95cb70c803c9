# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls functions of dynamic sizes with one size changed. Each call reports an
error, but where the new size makes sense too, and touches no memory besides the
arguments' and the results'.

Usage: mismatches.py FOLDER
"""

import re
import sys

import numpy as np

import products
import quantizers
from expect import Expectations
from module import Module, ModuleError

SHAPE = {"B": (2,), "M": 130, "N": 9, "K": 160, "G": 2}
MX = {"scale": "f8E8M0FNU", "a": "f8E4M3FN", "b": "f8E5M2", "global_a": ""}
QUANTIZERS = [
    quantizers.Op("torchao", "torchao", batch=1, source="scale", form="each"),
    quantizers.Op("floor", "floor", "f8E4M3FN", batch=1, layout="swizzled"),
]
PRODUCTS = [
    products.Op(f"{kind}_{i}", kind, batch=int(kind == "mm"), bias="f32",
                dynamic="BMNKG", **{"global_a": "each", **options})
    for kind in ("mm", "rows", "columns")
    for i, options in enumerate(({}, {"layout_a": "swizzled", "layout_b": "swizzled"}, MX))
]
PRODUCTS += [products.Op("mm_rows", batch=1, global_a="row", global_b="row", dynamic="BMNK")]
PRODUCTS += [products.Op(f"{kind}_bias", kind, bias="f32", has_bias_each=True, dynamic="MNKG")
             for kind in ("rows", "columns")]

random = np.random.default_rng(41)
expect = Expectations()
for op in QUANTIZERS + PRODUCTS:
    op.shape = SHAPE
module = Module("".join(op.text() for op in QUANTIZERS + PRODUCTS), sys.argv[1])


def resized(array, axis, size):
    """Cut, or repeated from its begin."""
    return np.take(array, range(size), axis, mode="wrap")


def problem(name, arguments):
    """None where the call reports a size."""
    try:
        module.call(name, *arguments)
    except ModuleError as error:
        by_kernel = re.match(r"@\S+: (scaled_mm|scaled_grouped_mm|(de)?quantize): expected .+, "
                             r"but got -?\d+$", str(error))
        return None if by_kernel else str(error)
    return "no error"


def makes_sense(op, number, from_end, size, changed):
    """Whether the other arguments leave room for another size of argument `number`
    in the dimension `from_end` from the last, 1."""
    if op in QUANTIZERS:
        if from_end == 1:
            return changed % op.block == 0
        return from_end == 2 or not op.source
    if op.kind != "mm" and number == 2:  # the ends
        return op.kind == "columns" and not op.global_a
    # Matrices of several heights have scales of as many tiles.
    layout = (op.layout_a, op.layout_b)[number] if number < 2 else ""
    return (layout == "swizzled" and from_end == 2 and not (number == 1 and op.bias)
            and -(-size // 128) == -(-changed // 128))


def check(op, case):
    for number, slot in enumerate(module.arguments(op.name)):
        argument = np.asarray(case.arguments[number])
        for axis, size in enumerate(argument.shape):
            if slot.shape[axis] is not None:
                continue
            for changed in {0, 1, size - 1, size + 1, 3 * size} - {size}:
                arguments = list(case.arguments)
                arguments[number] = resized(argument, axis, changed)
                found = problem(op.name, arguments)
                if found == "no error" and makes_sense(op, number, argument.ndim - axis, size,
                                                       changed):
                    found = None
                expect.record(f"@{op.name} with argument {number} {arguments[number].shape} "
                              f"for {argument.shape}", found)


for op in PRODUCTS:
    check(op, products.Case(op, random, () if op.kind == "mm" else (32, 96)))
for op in QUANTIZERS:
    check(op, quantizers.Case(op, random))
expect.finish()
