# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of the same operands with every pair of scale layouts: one may be
linear and the other swizzled or grouped, and no byte of the result depends on it.

Usage: matmul_layouts.py FOLDER
"""

import sys

import numpy as np

from expect import Expectations
from module import Module
from products import Case, Op

# More than a tile of scales in both dimensions.
SHAPE = {"B": (2,), "M": 150, "N": 133, "K": 352}
MX = {"scale": "f8E8M0FNU", "a": "f6E3M2FN", "b": "f4E2M1FN"}
FORMATS = {"nvfp4": {"global_a": "each"}, "mx": MX}
BOTH = ("linear", "swizzled")
LAYOUTS = {"mm": (BOTH, BOTH), "rows": ((*BOTH, "grouped"), BOTH),
           "columns": ((*BOTH, "grouped"), (*BOTH, "grouped"))}
ENDS = {"mm": (), "rows": (37, 37, 140), "columns": (96, 96, 320)}

ops = []
for kind, (layouts_a, layouts_b) in LAYOUTS.items():
    shape = SHAPE if kind == "mm" else {**SHAPE, "B": (), "G": 3}
    ops += [Op(f"{kind}_{format}_{a}_{b}", kind, **options, layout_a=a, layout_b=b,
               batch=int(kind == "mm"), shape=shape, dynamic="")
            for format, options in FORMATS.items() for a in layouts_a for b in layouts_b]
module = Module("".join(op.text() for op in ops), sys.argv[1])
expect = Expectations()
linear = None
for op in ops:
    case = Case(op, np.random.default_rng(51), ENDS[op.kind])
    got = module.call(op.name, *case.arguments)
    if (op.layout_a, op.layout_b) == ("linear", "linear"):
        expect.record(op.name, case.problem(got[0]))
        linear = got
    else:
        expect.equal(op.name, got, linear)
expect.finish()
