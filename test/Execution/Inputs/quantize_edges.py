# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs quantize and dequantize on every bf16 value, on f32 values at the edges of
the formats, and with every kind of global scale.

Usage: quantize_edges.py FOLDER
"""

import sys

import numpy as np

import values
from expect import Expectations
from module import Module
from quantizers import CODECS, MX_RECIPES, NVFP4_RECIPES, Case, Op
from reference import from_bf16

SHAPE = {"B": (), "M": 1024, "K": 64}

random = np.random.default_rng(17)
expect = Expectations()


def bf16_patterns(order):
    """Every bf16 value as f32, 64 in a row."""
    return from_bf16(order.astype(np.uint16)).reshape(1024, 64)


def edges():
    """Products of the thresholds and midpoints of the codes with powers of two,
    one f32 step to either side: 64 in a row, next to the block's largest value."""
    points = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6, 7, 15, 30, 56, 60, 62, 416, 432, 448,
                       464, 480, 49152, 53248, 57344, 61440], np.float32)
    steps = np.stack([np.nextafter(points, np.float32(0)), points,
                      np.nextafter(points, np.float32(np.inf))]).ravel()
    rows = steps[random.integers(0, steps.size, (1024, 64))]
    rows *= random.choice((-1, 1), rows.shape)
    exponents = random.integers(-149, 112, (1024, 1)).astype(np.float32)
    with np.errstate(over="ignore"):
        return (rows * np.exp2(exponents)).astype(np.float32)


def ops():
    for recipe in NVFP4_RECIPES:
        for source in ("", "scale", "amax"):
            yield Op(f"{recipe}_{source}", recipe, source=source, dynamic="M", layout="swizzled")
    for recipe in MX_RECIPES:
        for data in CODECS:
            yield Op(f"{recipe}_{data}", recipe, data, dynamic="K")


all_ops = list(ops())
for op in all_ops:
    op.shape = SHAPE
module = Module("".join(op.text() for op in all_ops), sys.argv[1], cpu="host")


def check(what, op, x, factor=None):
    op.shape = {"B": (), "M": x.shape[0], "K": x.shape[1]}
    case = Case(op, random, factor, x=x)
    got = module.call(op.name, *case.arguments)
    expect.equal(f"@{op.name} of {what}", case.comparable(got), case.comparable(case.results))


patterns = np.arange(1 << 16)
for op in all_ops:
    check("bf16 values in order", op, bf16_patterns(patterns))
    check("bf16 values at random", op, bf16_patterns(random.permutation(patterns)))
    # Finite blocks: those above have NaN or infinity in some elements.
    check("finite bf16 values", op, bf16_patterns(random.permutation(
        np.tile(patterns[patterns & 0x7FFF < 0x7F80], 2)[: 1 << 16])))
    check("edges", op, edges())
    for factor in values.GLOBALS if op.source else ():
        check(f"{op.source} {factor}", op, values.blocks(random, (64, 64)), factor)
expect.finish()
