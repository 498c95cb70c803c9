# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs storage-slices.mlir.

Usage: storage_slices.py MODULE FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import values
from expect import Expectations
from module import Module
from reference import (
    E4M3,
    E5M2,
    dequantize_mx,
    dequantize_nvfp4,
    from_bf16,
    pack,
    quantize_mx,
    quantize_nvfp4,
    swizzle,
    to_bf16,
)

random = np.random.default_rng(5)
expect = Expectations()
module = Module(Path(sys.argv[1]), sys.argv[2])


def check(name, arguments, want, what=""):
    expect.equal(f"@{name}{what}", module.call(name, *arguments), want)


def changed(array, place, part):
    """A copy of `array` with `part` at `place`."""
    array = array.copy()
    array[place] = part
    return array


def scales(*shape):
    """No zero, so that what belongs to the padding shows."""
    return random.integers(1, 0x7F, shape, dtype=np.uint8)


def check_scales():
    s = scales(2, 300, 9)
    check("swizzled", [swizzle(s)], [swizzle(s[1, 128:, 4:])])
    s = scales(5, 40, 5)
    for b in (0, 2):
        check("swizzled_batch", [swizzle(s), b], [swizzle(s[b : b + 3 : 2])], f" from {b}")
    for rows in (256, 300):
        s, t = scales(rows, 9), scales(128, 4)
        for i in (0, 1):
            place = np.s_[128 * i : 128 * i + 128, 4:8]
            check("swizzled_insert", [swizzle(s), swizzle(t), i], [swizzle(changed(s, place, t))],
                  f" of {rows} at {i}")
    s, t = scales(3, 40, 5), scales(40, 5)
    check("swizzled_insert_batch", [swizzle(s), swizzle(t), 2], [swizzle(changed(s, 2, t))])


def check_data():
    for rows in (1, 2, 7):
        q = values.codes(random, (rows, 9))
        check("packed", [pack(q)], [pack(q[1:, 4:])], f" of {rows}")
    q = values.codes(random, (9, 14))
    for i, n in ((0, 0), (0, 7), (3, 2), (6, 1)):
        check("packed_rows", [pack(q), i, n], [pack(q[1:8:2, 2 * i : 2 * i + 2 * n])], f" {i} {n}")
    for shape, row, j in (((5, 10), 3, 2), ((2, 9), 0, 1), ((2, 6), 0, 0)):
        q, t = values.codes(random, shape), values.codes(random, (2, 6))
        place = np.s_[row : row + 2, 2 * j : 2 * j + 6]
        check("packed_insert", [pack(q), pack(t), row, j], [pack(changed(q, place, t))],
              f" in {shape}")


def check_reads():
    q, s = values.codes(random, (256, 128)), scales(256, 8)
    check("dequantize", [pack(q), swizzle(s)], [dequantize_nvfp4(q[128:, 64:], s[128:, 4:])])
    for rows in (0, 1, 33):
        x = values.blocks(random, (rows, 96), values.TAME)
        for first in (0, 33):
            part = x[:, first : first + 63 : 2]
            codes, scale = quantize_nvfp4(part)
            amax = np.abs(part).max(initial=0)
            check("quantize_columns", [x, first], [pack(codes), scale, amax], f" {rows} {first}")
    s = scales(40, 20)
    check("swizzle_columns", [s], [swizzle(s[:, 5:12]), swizzle(s[:, 2:18:3])])
    x = values.floats(random, (5, 3, 64), np.uint16, values.TAME)
    for i in range(3):
        check("quantize_across", [x, i], quantize_mx(from_bf16(x[:, i]), E5M2), f" {i}")
    x = np.ascontiguousarray(x.swapaxes(1, 2))
    for i in range(3):
        check("quantize_strided", [x, i], quantize_mx(from_bf16(x[..., i]), E5M2), f" {i}")


def check_writes():
    x = values.blocks(random, (128, 64), values.TAME)
    codes, scale = quantize_nvfp4(x)
    q, s = values.codes(random, (300, 128)), scales(300, 8)
    for i in (0, 1):
        rows = slice(128 * i, 128 * i + 128)
        check("quantize_into", [x, pack(q), swizzle(s), i],
              [pack(changed(q, np.s_[rows, 64:], codes)),
               swizzle(changed(s, np.s_[rows, 4:], scale))], f" at {i}")
    # Few enough bits for f32 to hold every sum.
    a = E4M3.encode(random.integers(-8, 8, (20, 64)))
    sa = np.full((20, 2), 127, np.uint8)
    part = dequantize_mx(a, sa)[8:, 32:]
    y = random.standard_normal((40, 30), np.float32)
    for i in (0, 28):
        check("product_into", [a, sa, y, i],
              [changed(y, np.s_[i : i + 12, 7:19], part @ part.T)], f" at {i}")
    q, s = values.codes(random, (4, 32)), scales(4, 2)
    y = values.floats(random, (9, 80), np.uint16)
    check("dequantize_into", [pack(q), s, y],
          [changed(y, np.s_[1:8:2, 9:72:2], to_bf16(dequantize_nvfp4(q, s)))])


check_scales()
check_data()
check_reads()
check_writes()
expect.finish()
