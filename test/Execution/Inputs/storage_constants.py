# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs storage-constants.mlir.

Usage: storage_constants.py MODULE FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from expect import Expectations
from module import Module
from reference import E2M1, E4M3, pack, swizzle

expect = Expectations()
module = Module(Path(sys.argv[1]), sys.argv[2])


def check(name, arguments, *want):
    expect.equal(f"@{name}", module.call(name, *arguments), list(want))


def e2m1(values):
    return pack(E2M1.encode(values))


def count(first, last, *shape):
    return np.arange(first, last + 1, dtype=np.uint8).reshape(shape)


check("packed", [], pack(count(1, 15, 3, 5)))
check("packed_splat", [], e2m1(np.full((2, 3, 5), -6)), e2m1(np.full((3, 4), 0.5)))
check("packed_row", [], e2m1([0.5, -0.0, 6]))
codes = np.concatenate([count(0, 15, 16), count(8, 15, 8)[::-1]])
check("resources", [], pack(codes.reshape(4, 6)), swizzle(codes.reshape(2, 3, 4)),
      codes.reshape(4, 6))
check("swizzled", [], swizzle(count(1, 30, 2, 3, 5)))
check("swizzled_splat", [], swizzle(np.full((130, 5), 0x38, np.uint8)),
      swizzle(np.full((128, 4), 0x7F, np.uint8)))
check("empty", [], np.zeros((0, 3), np.uint8), np.zeros((4, 0), np.uint8),
      np.zeros((0, 2, 32, 4, 4), np.uint8))
scales = np.repeat(np.float32([[1, 2], [0.5, 4], [0.25, 8]]), 16, axis=1)
check("operands", [], 3 * scales, e2m1([[6, -0.5]]),
      swizzle(E4M3.encode(np.full((2, 1), 0.5))))
for value in (1, 2):
    part = np.full((128, 4), value, np.uint8)
    whole = np.full((130, 5), 0x38, np.uint8)
    whole[:128, :4] = part
    check("changed", [swizzle(part)], swizzle(whole))
expect.finish()
