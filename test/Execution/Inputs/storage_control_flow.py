# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs storage-control-flow.mlir.

Usage: storage_control_flow.py MODULE FOLDER
"""

import sys
from pathlib import Path

import numpy as np

import values
from expect import Expectations
from module import Module
from reference import dequantize_nvfp4, pack, quantize_nvfp4, swizzle

ROWS = (0, 1, 128, 129, 300)

random = np.random.default_rng(9)
expect = Expectations()
module = Module(Path(sys.argv[1]), sys.argv[2])


def check(name, arguments, want, what=""):
    expect.equal(f"@{name}{what}", module.call(name, *arguments), want)


def scales(*shape):
    """No zero, so that what belongs to the padding shows."""
    return random.integers(1, 0x7F, shape, dtype=np.uint8)


def check_calls():
    q = values.codes(random, (6, 8))
    want = q.copy()
    want[1::2] = q[0]
    check("odd_rows", [pack(q)], [pack(want)])
    for rows in ROWS:
        x = values.blocks(random, (rows, 40), values.TAME)
        q, s = quantize_nvfp4(x, "te")
        check("calls", [x], [pack(q), swizzle(s), dequantize_nvfp4(q, s, "te")], f" of {rows}")
        s = scales(rows, 5)
        check("public", [s], [swizzle(s)], f" of {rows}")
        check("call_public", [s], [swizzle(s), swizzle(s)], f" of {rows}")


def check_choices():
    for rows in ROWS:
        s, t = scales(rows, 5), scales(rows + 40, 5)
        q, p = values.codes(random, (rows, 7)), values.codes(random, (rows + 3, 7))
        arguments = [swizzle(s), swizzle(t), pack(q), pack(p)]
        check("choices", [0, *arguments], [swizzle(s), pack(q), pack(q)], f" first of {rows}")
        check("choices", [7, *arguments], [swizzle(t), pack(p), pack(p)], f" second of {rows}")
    x, y = (values.blocks(random, shape, values.TAME) for shape in ((40, 96), (20, 48)))
    for first in (False, True):
        q, s = quantize_nvfp4(x if first else y)
        if first:
            q, s = q[1::2, 48:], s[1::2, 3:]
        z = dequantize_nvfp4(q, s)
        d, e = quantize_nvfp4(x[:20, 1::2] if first else y, "te")
        check("chosen_layout", [np.bool_(first), x, y], [z, pack(d), swizzle(e)], f" {first}")


def check_loops():
    s, t = scales(384, 5), scales(128, 5)
    for n in range(4):
        want = s.copy()
        want[128 * n :] = np.tile(t, (3 - n, 1))
        check("while", [swizzle(s), swizzle(t), n], [swizzle(want)], f" to {n}")
    for rows in ROWS:
        x = values.blocks(random, (rows, 96))
        q, s = quantize_nvfp4(x)
        for name in ("whole", "tiled", "looped"):
            check(name, [x], [pack(q), swizzle(s)], f" of {rows}")
    s, t = scales(130, 5), scales(130, 5)
    for n in range(4):
        a, b = s, t
        for _ in range(n):
            c = b.copy()
            c[128:, 4:] = a[128:, 4:]
            a, b = c, a
        check("swapped", [swizzle(s), swizzle(t), n], [swizzle(a), swizzle(b)], f" {n} times")


check_calls()
check_choices()
check_loops()
expect.finish()
