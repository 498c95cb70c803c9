# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs swizzle and expand_scale and compares every byte with numpy.

Usage: scales.py FOLDER
"""

import sys

import numpy as np

from ops import SCALE_ELEMENTS, SWIZZLED, Functions, dynamic, tensor
from reference import expand_scale, group_bounds, group_fault, swizzle, swizzle_groups

random = np.random.default_rng(63)
functions = Functions()


def random_scales(shape):
    """No zero, so that what belongs to the padding shows."""
    return random.integers(1, 256, shape, dtype=np.uint8)


def add_swizzle(shapes, dims):
    linear = tensor(dynamic(shapes[0], dims), "f8E4M3FN")
    tiled = tensor(dynamic(shapes[0], dims), "f8E4M3FN", SWIZZLED)
    scales = [random_scales(shape) for shape in shapes]
    functions.add(f"swizzle {{0}} : {linear} -> {tiled}", [linear], [tiled],
                  [([s], [swizzle(s)]) for s in scales])
    names = ", ".join(f"{{{1 + i}}}" for i in range(len(dims)))
    sizes = f" sizes({names})" if dims else ""
    functions.add(f"swizzle {{0}}{sizes} : {tiled} -> {linear}",
                  [tiled] + ["index"] * len(dims), [linear],
                  [([swizzle(s, fill=0x77), *(np.int64(s.shape[d]) for d in dims)], [s])
                   for s in scales])


def add_grouped_swizzle(shape, dim, block, offsets):
    groups = len(offsets[0])
    linear = tensor(shape, "f8E8M0FNU")
    layout = f"#blockscale.layout<swizzle_128x4, groups = {groups}, dim = {dim}>"
    tiled = tensor(shape, "f8E8M0FNU", layout)
    ends_type = tensor((groups,), "i32")
    text = f"offsets({{1}} : {ends_type})" + (f" block {block}" if block > 1 else "")
    scale = random_scales(shape)
    to, back = [], []
    for given in offsets:
        bounds = group_bounds(given, shape[dim] * block, block)
        ends = [end // block for _, end in bounds]
        kept = np.arange(shape[dim]) < ends[-1]
        covered = np.where(kept[:, None] if dim == 0 else kept, scale, 0).astype(np.uint8)
        fault = group_fault(given, shape[dim] * block, block)
        error = fault and f"swizzle: {fault}"
        given = np.array(given, np.int32)
        to.append(([scale, given], error or [swizzle_groups(scale, ends, dim)]))
        back.append(([swizzle_groups(scale, ends, dim, fill=0x77), given], error or [covered]))
    functions.add(f"swizzle {{0}} {text} : {linear} -> {tiled}", [linear, ends_type], [tiled], to)
    functions.add(f"swizzle {{0}} {text} : {tiled} -> {linear}", [tiled, ends_type], [linear], back)


def add_expand(block, dim, layout, sizes, batch=(), dims=()):
    """`sizes` are the expanded size and the blocks across; of the source's
    dimensions `dims` are dynamic."""
    element = SCALE_ELEMENTS[block]

    def get_shapes(size, across):
        blocks = -(-size // block)
        source = (*batch, blocks, across) if dim == "k" else (*batch, across, blocks)
        return source, (*batch, size, across)

    (source, result), cases = get_shapes(*sizes[0]), []
    source_type = dynamic(source, dims)
    rows, cols = source_type[-2:] if dim == "k" else source_type[:-3:-1]
    rows = "?" if rows == "?" else result[-2]
    types = [tensor(source_type, element)]
    operand = ""
    if rows == "?":
        types.append("index")
        operand = " sizes({1})"
    result_type = tensor((*source_type[:-2], rows, cols), element, layout)
    for size, across in sizes:
        scale = random_scales(get_shapes(size, across)[0])
        expanded = expand_scale(scale, block, dim, size)
        cases.append(([scale] + [np.int64(size)] * (rows == "?"),
                      [swizzle(expanded) if layout else expanded]))
    if rows == "?":
        # As many tiles or rows as the blocks have, or more.
        scale = random_scales(get_shapes(*sizes[0])[0])
        cases += [([scale, np.int64(wrong)],
                   f"of source to fit the shape of the result, but got {-(-sizes[0][0] // block)}")
                  for wrong in (sizes[0][0] + block, 0)]
    functions.add(f"expand_scale {{0}} block [{block}, {block}] scale_dim {dim}{operand} : "
                  f"{types[0]} -> {result_type}", types, [result_type], cases)


add_swizzle([(1, 1), (128, 4), (129, 5), (300, 70), (0, 4), (7, 0)], (0, 1))
add_swizzle([(2, 2, 130, 9)], ())
add_grouped_swizzle((300, 6), 0, 1, [(3, 130, 300), (0, 0, 299), (-7, 50, 60), (1, 301, 20)])
add_grouped_swizzle((130, 21), 1, 16, [(48, 48, 336), (16, 32, 320), (32, 40, 64), (16, 0, 352)])

for block in SCALE_ELEMENTS:
    for dim in "kn":
        for layout in (None, SWIZZLED):
            add_expand(block, dim, layout, [(300, 5), (33, 70), (1, 1), (128, 4), (256, 33),
                                            (0, 3), (40, 0)], dims=(-1, -2))
            add_expand(block, dim, layout, [(130, 9)])
            # A static size of a batch of any size.
            add_expand(block, dim, layout, [(64, 3)], (3, 2), (1,))
functions.check(sys.argv[1])
