# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requirements E1-E10 and E12: expert weights [E, N, K] in MXFP8, in blocks of 32x1
and 32x32. The formulas are here in numpy as they are stated.

Usage: requirements_mx.py FOLDER
"""

import sys

import numpy as np

from module import Module
from reference import E4M3, from_bf16, swizzle, to_bf16, unswizzle
from requirements_checks import SWIZZLED, Requirements, around, f32, tensor

FORMS = {"rows": "block [1, 32]",
         "columns": "block [32, 1]",
         "columns_k": "block [32, 1] transposed",
         "squares": "block [32, 32]",
         "squares_n": "block [32, 32] transposed scale_dim n",
         "squares_k": "block [32, 32] scale_dim k"}
TILED = ("columns_k", "squares_n", "squares_k")
SHAPES = ((1, 32, 32), (3, 96, 160), (2, 160, 96), (2, 64, 288))

random = np.random.default_rng(45)
expect = Requirements()


def function(form, rule, element):
    x, data = tensor("???", element), tensor("???", "f8E4M3FN")
    scale = tensor("???", "f8E8M0FNU", SWIZZLED * (form in TILED))
    return (f"func.func @{form}_{rule}_{element}(%x: {x}) -> ({data}, {scale}) {{\n"
            f"  %q, %s = blockscale.quantize %x {FORMS[form]} recipe {rule}\n"
            f"      : {x} -> {data}, {scale}\n  return %q, %s : {data}, {scale}\n}}\n")


kinds = [(rule, element) for rule in ("floor", "rceil") for element in ("f32", "bf16")]
module = Module("".join(function(form, *kind) for form in FORMS for kind in kinds), sys.argv[1])


def floor_byte(amax):
    """floor(log2 amax) - 8, the exponent of 448."""
    return (np.frexp(amax)[1] - 1 - 8 + 127).astype(np.uint8)


def rceil_byte(amax):
    """ceil(log2(amax / 448))."""
    fraction, exponent = np.frexp(amax.astype(np.float64) / 448)
    return (exponent - (fraction == 0.5) + 127).astype(np.uint8)


BYTE_OF = {"floor": floor_byte, "rceil": rceil_byte}


def blocks_along_n(x):
    experts, n, k = x.shape
    return x.reshape(experts, n // 32, 32, k).transpose(0, 1, 3, 2)


def tiles(x):
    """Each tile of 32 x 32 as one block of 1024."""
    experts, n, k = x.shape
    split = x.reshape(experts, n // 32, 32, k // 32, 32).transpose(0, 1, 3, 2, 4)
    return split.reshape(experts, n // 32, k // 32, 1024)


def from_tiles(blocks, shape):
    experts, n, k = shape
    split = blocks.reshape(experts, n // 32, k // 32, 32, 32).transpose(0, 1, 3, 2, 4)
    return split.reshape(shape)


def codes_of(blocks, scale):
    power = np.exp2(scale.astype(np.float64) - 127)[..., None]
    return E4M3.encode((blocks / power).astype(f32))


def check_weights(x, rule, element):
    stored = to_bf16(x) if element == "bf16" else x
    what = f"{x.shape}, {rule}, {element}"
    experts, n, k = x.shape
    got = {form: module.call(f"{form}_{rule}_{element}", stored) for form in FORMS}
    byte_of, other = BYTE_OF[rule], BYTE_OF["floor" if rule == "rceil" else "rceil"]
    amax = np.abs(blocks_along_n(x)).max(-1)
    columns = byte_of(amax)
    along_k = byte_of(np.abs(x.reshape(experts, n, k // 32, 32)).max(-1))
    compact = byte_of(np.abs(tiles(x)).max(-1))

    for form, want in (("rows", along_k), ("columns", columns), ("squares", compact)):
        expect.equal(f"E1, E2: {form} of {what}", got[form][1:], [want])
    expect.told(f"E4: 32 along n, one k, {what}", got["columns"][1], columns,
                np.repeat(compact, 32, axis=-1))
    expect.told(f"E5: 1024 of a tile, {what}", got["squares"][1], compact,
                np.ascontiguousarray(columns[:, :, ::32]))
    expect.told(f"E10: {what}", got["columns"][1], columns, other(amax))
    shapes = [got[form][1].shape for form in ("columns", "squares")]
    expect.holds(f"E6: {what}", shapes == [(experts, n // 32, k), (experts, n // 32, k // 32)],
                 f"got {shapes}")

    # E12: each tile as one block, and back; the scales repeated before tiles are made.
    codes = from_tiles(codes_of(tiles(x), compact), x.shape)
    repeated = np.repeat(compact.transpose(0, 2, 1), 32, axis=1)
    expect.equal(f"E12: {what}", [got["squares"][0], *got["squares_n"]],
                 [codes, np.ascontiguousarray(codes.transpose(0, 2, 1)), swizzle(repeated)])
    expect.equal(f"E3: {what}", [got["columns_k"][0]],
                 [np.ascontiguousarray(got["columns"][0].transpose(0, 2, 1))])

    # E7, E8, E9: for dgrad the matrix (K, N/32), whichever the block, in whole tiles.
    size = -(-k // 128) * 128 * (-(-n // 32 // 4) * 4)
    for form, matrix in (("columns_k", columns.transpose(0, 2, 1)), ("squares_n", repeated)):
        blocked = got[form][1]
        expect.holds(f"E7: size of {form}, {what}", blocked[0].size == size)
        expect.equal(f"E7: {form}, {what}", [unswizzle(blocked, k, n // 32)], [matrix])
        padding = swizzle(np.zeros_like(matrix), fill=1) != 0
        expect.holds(f"E8: {form}, {what}", padding.sum() == experts * size - matrix.size
                     and not blocked[padding].any(), "padding is not 0")
    rows = unswizzle(got["squares_n"][1], k, n // 32).reshape(experts, k // 32, 32, n // 32)
    expect.holds(f"E9: {what}", (rows == rows[:, :, :1]).all() and rows.all(),
                 "not in each of 32 rows")
    forward = np.repeat(compact, 32, axis=1)
    expect.equal(f"E7: for the product along K, {what}", got["squares_k"][1:], [swizzle(forward)])


def check_boundaries():
    """E10: amaxes about each power of two, and 448 times one."""
    amax = around(np.concatenate([np.exp2(np.arange(-100, 100, 7)),
                                  448 * np.exp2(np.arange(-100, 100, 7))]), 0)
    x = np.zeros((1, 32, 32 * -(-len(amax) // 32)), f32)
    for step in (-2.0**-8, 0, 2.0**-7):
        x[0, 5, :len(amax)] = amax * f32(1 + step)
        x[0, 5, len(amax):] = 1
        stored = from_bf16(to_bf16(x))
        for rule, element in kinds:
            argument = to_bf16(x) if element == "bf16" else stored
            got = module.call(f"columns_{rule}_{element}", argument)[1]
            expect.equal(f"E10: {rule} beside boundaries, {element}", [got],
                         [BYTE_OF[rule](np.abs(stored[:, 5:6]))])


for shape in SHAPES:
    # Each column, row and tile has its own size.
    gains = [np.exp2(random.uniform(-7, 7, sizes)) for sizes in
             ((shape[0], shape[1], 1), (shape[0], 1, shape[2]))]
    weights = (random.standard_normal(shape) * gains[0] * gains[1]).astype(f32)
    for kind in kinds:
        check_weights(from_bf16(to_bf16(weights)), *kind)
check_boundaries()
expect.finish()
