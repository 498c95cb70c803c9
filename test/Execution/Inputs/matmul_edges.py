# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs matmul ops on operands, scales and offsets at the edge of what is legal.

Usage: matmul_edges.py FOLDER
"""

import sys

import numpy as np

from expect import Expectations
from module import Module, ModuleError
from products import Case, Op, data, scales
from reference import group_fault

MX = {"scale": "f8E8M0FNU", "a": "f8E5M2", "b": "f8E4M3FN"}
SHAPE = {"B": (), "M": 37, "N": 21, "K": 160}
OPS = [
    Op("nvfp4", shape=SHAPE, global_a="scalar", layout_a="swizzled"),
    Op("mx", **MX, shape=SHAPE, layout_b="swizzled"),
    Op("rows", "rows", **MX, shape={**SHAPE, "G": 3}, layout_a="grouped"),
    Op("columns", "columns", **MX, shape={**SHAPE, "G": 3}, layout_a="grouped", layout_b="grouped"),
    Op("linear_rows", "rows", shape={**SHAPE, "G": 3}, global_b="each"),
    Op("linear_columns", "columns", shape={**SHAPE, "G": 3}, global_a="each", result="bf16"),
]
# Of the extent in blocks: all; empty groups; all empty; a part.
ENDS = ((1, 2, 5), (0, 1, 1), (0, 0, 0), (1, 4, 4))
# Errors: descending; negative; beyond the end; not whole blocks, in the columns form.
WRONG_ENDS = ((32, 0, 160), (-32, 64, 64), (0, 32, 999), (2**31 - 1, 0, 0), (-(2**31), -1, 0),
              (0, 30, 32))

random = np.random.default_rng(21)
expect = Expectations()
module = Module("".join(op.text() for op in OPS), sys.argv[1], cpu="host")
ops = {op.name: op for op in OPS}


def check(what, name, **options):
    op = ops[name]
    case = Case(op, random, **options)
    [got] = module.call(name, *case.arguments)
    expect.record(what, case.problem(got))
    return case, got


def changed_scales(name, *changes):
    """Random scale bytes of a, but for the given (row, column, byte)."""
    op = ops[name]
    array = scales(random, op.scale, (op.shape["M"], op.shape["K"] // op.block))
    for row, col, byte in changes:
        array[row, col] = byte
    return array


def changed_data(name, *changes):
    op = ops[name]
    array = data(random, op.a, (op.shape["M"], op.shape["K"]))
    for row, col, byte in changes:
        array[row, col] = byte
    return array


def expect_nan_rows(what, case, got, rows):
    """That the comparison saw NaN there, and nowhere else."""
    found = set(np.flatnonzero(np.isnan(got).all(axis=-1)).tolist())
    others = np.isnan(np.delete(got, sorted(found), axis=0)).any()
    expect.record(f"{what}: rows", None if found == rows and not others
                  else f"expected NaN in rows {rows}, but got {found}")


# A NaN scale makes its row NaN, whatever the other factor.
for name, byte in (("nvfp4", 0x7F), ("nvfp4", 0xFF), ("mx", 0xFF)):
    what = f"NaN scale {byte:#x} of {name}"
    expect_nan_rows(what, *check(what, name, sa=changed_scales(name, (3, 2, byte), (36, 4, byte))),
                    {3, 36})

# A scale byte with the sign set is the negative number that it is.
check("signed scale", "nvfp4", sa=changed_scales("nvfp4", (0, 0, 0xB8), (5, 9, 0x81), (7, 1, 0x80)))

# The smallest and the largest scale, alone and together with an ordinary one.
extreme = changed_scales("mx")
extreme[0], extreme[1], extreme[2, ::2], extreme[3, ::2] = 0, 254, 0, 254
check("extreme scales", "mx", sa=extreme)

# NaN and infinity in the data.
what = "NaN data"
expect_nan_rows(what, *check(what, "mx", a=changed_data("mx", (2, 159, 0x7D), (9, 0, 0xFF))),
                {2, 9})
check("infinite data", "mx", a=changed_data("mx", (2, 159, 0x7C), (9, 0, 0xFC)))
check("opposite infinities", "mx", a=changed_data("mx", (4, 1, 0x7C), (4, 150, 0xFC)))

for name in ("rows", "columns", "linear_rows", "linear_columns"):
    op = ops[name]
    extent, unit = (SHAPE["K"], op.block) if op.kind == "columns" else (SHAPE["M"], 1)
    step = extent // 5 // unit * unit
    for ends in ENDS:
        ends = tuple(step * end for end in ends)
        check(f"{name} with ends {ends}", name, ends=ends)
    for ends in WRONG_ENDS:
        wanted = group_fault(ends, extent, unit)
        if wanted:
            try:
                module.call(name, *Case(op, random, ends=ends).arguments)
                got = "no error"
            except ModuleError as error:
                got = str(error)
            expect.record(f"{name} with ends {ends}",
                          None if f"scaled_grouped_mm: {wanted}" in got
                          else f"expected '{wanted}', but got {got}")

# What the comparison must notice: a lost block, and a factor off by 2^-16.
for name in ("nvfp4", "mx"):
    case = Case(ops[name], random)
    case.arguments[3][..., -1] = 1
    [got] = module.call(name, *case.arguments)
    expect.record(f"a changed scale of {name}", None if case.problem(got) else "not noticed")
case = Case(ops["nvfp4"], random)
case.arguments[-1] *= np.float32(1 + 2**-16)
[got] = module.call("nvfp4", *case.arguments)
expect.record("a changed global scale", None if case.problem(got) else "not noticed")
expect.finish()
