# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs amax of tensors, batch elements, rows and groups, and global_scale, and
compares every bit with numpy.

Usage: amax.py FOLDER
"""

import sys

import numpy as np

import values
from ops import Functions, dynamic, tensor
from reference import amax, from_bf16, global_scale, group_amax, group_fault

DTYPES = {"bf16": np.uint16, "f32": np.float32}
KINDS = (values.TAME, values.TAME + values.WILD)
SHAPES = ((1, 1, 1), (2, 5, 63), (3, 7, 200), (2, 0, 4), (2, 4, 0), (0, 3, 3))
RECIPES = ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse",
           "torchao_training")

random = np.random.default_rng(62)
functions = Functions()


def inputs(shapes, element):
    """Arrays in storage form, and their values."""
    for kinds in KINDS:
        for shape in shapes:
            x = values.floats(random, shape, DTYPES[element], kinds)
            yield x, from_bf16(x) if element == "bf16" else x


def add_amax(shapes, element, of, dims):
    leading = {"tensor": 0, "batch": len(shapes[0]) - 2, "row": len(shapes[0]) - 1}[of]
    shape = dynamic(shapes[0], dims)
    type, result = tensor(shape, element), tensor(shape[:leading], "f32")
    cases = [([stored], [np.asarray(amax(x, of), np.float32)])
             for stored, x in inputs(shapes, element)]
    functions.add(f"amax {{0}} : {type} -> {result}", [type], [result], cases)


def add_groups(shape, element, dim, dims, offsets):
    """Groups that end at `offsets`, as many of them as their type says, or any."""
    groups = "?" if dims else len(offsets[0])
    types = [tensor(dynamic(shape, dims), element), tensor((groups,), "i32")]
    result = tensor((groups,), "f32")
    cases = []
    for ends in offsets:
        ends = np.array(ends, np.int32)
        # Nothing reads the ends where there is no element.
        fault = group_fault(ends, shape[dim]) if 0 not in shape else None
        cases += [([stored, ends], (fault and f"amax: {fault}") or [group_amax(x, ends, dim)])
                  for stored, x in inputs([shape], element)]
    functions.add(f"amax {{0}} offsets({{1}} : {types[1]}) group_dim {dim} : {types[0]} -> "
                  f"{result}", types, [result], cases)


def add_global_scale(recipe):
    type = tensor(("?", 3), "f32")
    x = np.array([[0, 1e-45, 1e-40], [1e-9, 1e-8, 0.37], [2688, 3e38, np.inf],
                  [np.nan, 1e-38, 2.0**-118]], np.float32)
    functions.add(f"global_scale {{0}} recipe {recipe} : {type}", [type], [type],
                  [([x], [global_scale(x, recipe)])])


for element in DTYPES:
    for of in ("tensor", "batch", "row"):
        add_amax(SHAPES, element, of, (0, 1, 2))
        add_amax([(2, 9, 130)], element, of, ())
    # Of matrices: all groups, empty ones; and errors where ends are descending, negative and
    # beyond the end.
    for dim, extent in ((0, 30), (1, 210)):
        ends = [(7, 9, extent), (0, 5, 5), (0, 0, 0), (20, 4, 22), (-3, 9, 12), (2, 9, extent + 1),
                (5, 2**31 - 1, -1), (-(2**31), 3, 4)]
        add_groups((30, 210), element, dim, (), ends)
        add_groups((30, 210), element, dim, (0, 1), [*ends, (), (1,), tuple(range(0, extent, 3))])
    for shape in ((0, 8), (8, 0)):
        add_groups(shape, element, 0, (0, 1), [(shape[0] // 2, shape[0]), (3, 9)])
for recipe in RECIPES:
    add_global_scale(recipe)
functions.check(sys.argv[1])
