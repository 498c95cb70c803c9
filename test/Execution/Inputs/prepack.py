# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs prepack and compares every byte with numpy, and products of prepacked data with
those of row-major data.

Usage: prepack.py FOLDER
"""

import sys

import numpy as np

from expect import Expectations
from module import Module
from ops import RANGE_SIZES, SWIZZLED, dynamic, tensor
from prepacked import BITS, PREPACKED, noise, prepacked_storage, stored
from reference import prepack, swizzle

random = np.random.default_rng(64)
expect = Expectations()
functions, checks = [], []


def add(text, *check):
    """A function, whose name is {} in `text`, and what it is checked with."""
    name = f"f{len(functions)}"
    functions.append(text.replace("{}", name))
    checks.append((name, *check))


def add_prepack(element, shapes, dims):
    """There and back."""
    row_major = tensor(dynamic(shapes[0], dims), element)
    blocks = tensor(dynamic(shapes[0], dims), element, PREPACKED)
    sizes = "".join(f", %n{dim}: index" for dim in dims)
    operand = f" sizes({', '.join(f'%n{dim}' for dim in dims)})" if dims else ""
    codes = [noise(random, shape, element) for shape in shapes]
    add(f"func.func @{{}}(%d: {row_major}) -> {blocks} {{\n"
        f"  %r = blockscale.prepack %d : {row_major} -> {blocks}\n  return %r : {blocks}\n}}\n",
        f"{row_major} to blocks",
        [([stored(c, element)], prepack(c, BITS[element])) for c in codes])
    add(f"func.func @{{}}(%d: {blocks}{sizes}) -> {row_major} {{\n"
        f"  %r = blockscale.prepack %d{operand} : {blocks} -> {row_major}\n"
        f"  return %r : {row_major}\n}}\n",
        f"{blocks} to rows",
        [([prepacked_storage(c, element), *(np.int64(c.shape[dim]) for dim in dims)],
          stored(c, element)) for c in codes])


def add_constant(element, shape):
    """Prepacked and brought back when the function is compiled."""
    row_major, blocks = tensor(shape, element), tensor(shape, element, PREPACKED)
    codes = noise(random, shape, element)
    for source, result, wanted in ((row_major, blocks, prepack(codes, BITS[element])),
                                   (blocks, row_major, stored(codes, element))):
        add(f"func.func @{{}}() -> {result} {{\n"
            f'  %d = arith.constant dense<"0x{codes.tobytes().hex()}"> : {source}\n'
            f"  %r = blockscale.prepack %d : {source} -> {result}\n  return %r : {result}\n}}\n",
            f"constant {source} to {result}", [([], wanted)])


def add_product(element, scale, block, m, n, k, is_b=True, groups=0, dims=False, tiled=False):
    """A product of prepacked data, and of the same data row-major."""
    scaled = (groups, n, k) if groups else (n, k)
    type, scales = scaled, (*scaled[:-1], k // block)
    n_type = "?" if dims else n
    if dims:
        type, scales = (*scaled[:-2], "?", k), (*scaled[:-2], "?", k // block)
    x, s = tensor((m, k), "bf16"), tensor(scales, scale, SWIZZLED if tiled else None)
    y = tensor((m, n_type) if is_b else (n_type, m), "f32")
    ends = tensor((groups,), "i32")
    codes = noise(random, scaled, element)
    given = noise(random, (*scaled[:-1], k // block), scale)
    plain = (random.standard_normal((m, k)).astype(np.float32).view(np.uint32) >> 16)
    arrays = [plain.astype(np.uint16), swizzle(given) if tiled else given]
    if groups:
        arrays.append(np.sort(random.integers(0, m + 1, groups)).astype(np.int32))
    for layout in (None, PREPACKED):
        w = tensor(type, element, layout)
        operands, types = ("%x, %w", f"{x}, {w}") if is_b else ("%w, %x", f"{w}, {x}")
        offsets, argument = "", ""
        if groups:
            offsets, argument, types = " offsets(%e)", f", %e: {ends}", f"{types}, {ends}"
        add(f"func.func @{{}}(%w: {w}, %x: {x}, %s: {s}{argument}) -> {y} {{\n"
            f"  %r = blockscale.scaled_{'grouped_' * bool(groups)}mm {operands}{offsets} "
            f"scales({'none, %s' if is_b else '%s, none'}) block [1, {block}]\n"
            f"      : {types}, {s} -> {y}\n  return %r : {y}\n}}\n",
            f"product of {w} and {x}",
            [([prepacked_storage(codes, element) if layout else stored(codes, element), *arrays],
              None if layout is None else "as before")])


for element in BITS:
    # Whether a dynamic number of 4-bit codes is odd is not known.
    if BITS[element] == 8:
        add_prepack(element, [(1, 1), (64, 64), (65, 127), (16, 130), (0, 4), (7, 0)], (0, 1))
    add_prepack(element, [(1, 67), (64, 67), (130, 67), (0, 67)], (0,))
    for shape in ((64, 64), (1, 1), (5, 128), (7, 0)):
        add_prepack(element, [shape], ())
    add_prepack(element, [(2, 3, 70, 33)], ())
    add_prepack(element, [(3, 64, 96)], (1,))
    add_constant(element, (2, 70, 67))
for element, scale, block in (("f4E2M1FN", "f8E4M3FN", 16), ("f4E2M1FN", "f8E8M0FNU", 32),
                              ("f8E4M3FN", "f8E8M0FNU", 32), ("f8E5M2", "f8E8M0FNU", 32),
                              ("f6E2M3FN", "f8E8M0FNU", 32), ("f6E3M2FN", "f8E8M0FNU", 32),
                              ("i8", "f8E8M0FNU", 32)):
    add_product(element, scale, block, 3, 70, 96)
    add_product(element, scale, block, 5, 33, 160, is_b=False)
    add_product(element, scale, block, 40, 65, 64, groups=3)
add_product("f4E2M1FN", "f8E4M3FN", 16, 4, 100, 80, dims=True)
add_product("f4E2M1FN", "f8E4M3FN", 16, 4, 100, 80, is_b=False, dims=True)
add_product("f8E4M3FN", "f8E8M0FNU", 32, 9, 50, 64, groups=2, dims=True)
add_product("f4E2M1FN", "f8E4M3FN", 16, 4, 130, 80, tiled=True)

module = Module("".join(functions), sys.argv[1])
before = None
for name, what, cases in checks:
    for arguments, wanted in cases:
        for size in RANGE_SIZES:
            got = module.call(name, *arguments, range_size=size)
            if wanted is None:
                before = got
            else:
                expect.equal(f"{what}, {size} items a range", got,
                             before if isinstance(wanted, str) else [wanted])
expect.finish()
