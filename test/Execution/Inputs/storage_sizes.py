# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs storage-sizes.mlir, and static forms of its functions, on many sizes.

Usage: storage_sizes.py MODULE FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import values
from expect import Expectations
from module import Module, ModuleError
from reference import pack, quantize_nvfp4, swizzle

ROWS = (0, 1, 31, 32, 33, 127, 128, 129, 200, 256, 300)
COLS = (1, 2, 3, 4, 5, 6, 7, 8, 9)
STATIC = ((0, 4), (4, 0), (1, 1), (33, 5), (128, 4), (129, 9), (300, 7))
RANGE_SIZES = (0, 1)  # of parallel loops: all at once, one by one

random = np.random.default_rng(3)
expect = Expectations()


def scales(*shape):
    """No zero, so that what belongs to the padding shows."""
    return random.integers(1, 0x7F, shape, dtype=np.uint8)


def check_whole(module, rows, cols):
    s = scales(rows, cols)
    at = f"of {rows} x {cols}"
    for size in RANGE_SIZES:
        expect.equal(f"swizzle {at}", module.call("swizzle", s, range_size=size), [swizzle(s)])
        expect.equal(f"unswizzle {at}",
                     module.call("unswizzle", swizzle(s), rows, cols, range_size=size), [s])
    batch = scales(3, 2, rows, cols)
    expect.equal(f"batch {at}", module.call("batch", batch), [swizzle(batch)])
    expect.equal(f"unbatch {at}", module.call("unbatch", swizzle(batch), 3, rows, cols), [batch])


def check_slices(module, rows, cols):
    s = scales(rows, cols)
    for i in range(rows // 128 + 1):
        for j in range(cols // 4 + 1):
            rest = s[128 * i :, 4 * j :]
            expect.equal(f"suffix ({i}, {j}) of {rows} x {cols}",
                         module.call("suffix", s, i, j), [rest, swizzle(rest)])
            expect.equal(f"prefix ({i}, {j}) of {rows} x {cols}",
                         module.call("prefix", s, i, j), [s[: 128 * i, : 4 * j]])


def check_quantize(module, rows, cols):
    """The narrowest and the widest data with this many scales."""
    for k in (16 * cols - 15, 16 * cols):
        x = values.blocks(random, (rows, k), values.TAME)
        q, s = quantize_nvfp4(x, "te")
        for size in RANGE_SIZES:
            expect.equal(f"quantize {rows} x {k}",
                         module.call("quantize", x, range_size=size), [pack(q), swizzle(s)])


def check_casts(module):
    q, s = pack(values.codes(random, (200, 9))), swizzle(scales(200, 5))
    expect.equal("learn", module.call("learn", q, s), [q, s])
    expect.equal("forget", module.call("forget", q, s), [q, s])


def check_reshapes(module):
    for m, n in ((1, 6), (2, 3), (6, 1), (0, 5)):
        x = values.blocks(random, (m * n, 32), values.TAME)
        q, _ = quantize_nvfp4(x, "te")
        expect.equal(f"reshape to {m} x {n}", module.call("reshape", x, m, n),
                     [pack(q).reshape(m, n, 16)])


def check_wrong_sizes(module):
    """Sizes of other tiles than those given are an error."""
    for rows, cols in ((129, 5), (0, 5), (33, 9), (33, 4)):
        try:
            module.call("unswizzle", swizzle(scales(33, 5)), rows, cols)
            problem = "no error"
        except ModuleError as error:
            problem = None if "swizzle: expected dimension" in str(error) else str(error)
        expect.record(f"unswizzle tiles of 33 x 5 to {rows} x {cols}", problem)


def check_static(folder):
    text = "#swizzled = #blockscale.layout<swizzle_128x4>\n"
    for rows, cols in STATIC:
        linear = f"tensor<2x{rows}x{cols}xf8E8M0FNU>"
        tiled = f"tensor<2x{rows}x{cols}xf8E8M0FNU, #swizzled>"
        text += (f"func.func @to_{rows}_{cols}(%s: {linear}) -> {tiled} {{\n"
                 f"  %t = blockscale.swizzle %s : {linear} -> {tiled}\n"
                 f"  return %t : {tiled}\n}}\n"
                 f"func.func @from_{rows}_{cols}(%s: {tiled}) -> {linear} {{\n"
                 f"  %t = blockscale.swizzle %s : {tiled} -> {linear}\n"
                 f"  return %t : {linear}\n}}\n")
    module = Module(text, folder)
    for rows, cols in STATIC:
        s = scales(2, rows, cols)
        expect.equal(f"to_{rows}_{cols}", module.call(f"to_{rows}_{cols}", s), [swizzle(s)])
        expect.equal(f"from_{rows}_{cols}",
                     module.call(f"from_{rows}_{cols}", swizzle(s)), [s])


module = Module(Path(sys.argv[1]), sys.argv[2])
for rows in ROWS:
    for cols in COLS:
        check_whole(module, rows, cols)
        check_slices(module, rows, cols)
        check_quantize(module, rows, cols)
check_casts(module)
check_reshapes(module)
check_wrong_sizes(module)
check_static(sys.argv[2])
expect.finish()
