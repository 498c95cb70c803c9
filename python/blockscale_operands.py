# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands for measurements of products: arrays for the arguments of a bundle's function."""

import math

import numpy as np


def evaluate(size, dims):
    """A size of an argument: a number, or the name of a dim."""
    return dims[size] if size in dims else int(size)


def make_ends(total, groups):
    """Ends of groups of like sizes, where copies may begin."""
    step = 128 if total >= 128 * groups else 32
    ends = [total * (i + 1) // groups // step * step for i in range(groups)]
    return np.array([*ends[:-1], total], np.int32)


def make_array(random, buffer, shape, key, total):
    """Values that products are fast and finite with, in storage form."""
    element, size = buffer.element, math.prod(shape)
    if not shape:
        return np.ones(shape, buffer.dtype)
    if element == "i32" and len(shape) == 1:
        return make_ends(total, shape[0])
    if element == "bf16":
        floats = random.standard_normal(size, np.float32)
        return (floats.view(np.uint32) >> 16).astype(np.uint16).reshape(shape)
    if element == "f8E8M0FNU":
        return random.integers(119, 126, shape).astype(np.uint8)
    if element in ("f8E4M3FN", "f8E5M2"):
        codes = random.integers(0x28, 0x48, shape).astype(np.uint8)
        # Scales have no sign.
        if "f8E4M3FN" in (key["scale_a"], key["scale_b"]):
            return codes
        return codes | (random.integers(0, 2, shape) << 7).astype(np.uint8)
    if buffer.dtype in ("float16", "float32", "float64"):
        return random.standard_normal(shape).astype(buffer.dtype)
    most = 64 if element.startswith("f6") else 256 if buffer.dtype == "uint8" else 2
    return random.integers(0, most, shape).astype(buffer.dtype)


def make_arguments(function, key, sizes):
    """Arguments of a function with a product of that key, whose dynamic dimensions have the
    sizes, in order; the last one serves all that follow."""
    dims = {name: sizes[min(i, len(sizes) - 1)] for i, name in enumerate(function.dims)}
    random, arrays = np.random.default_rng(0), []
    # The sizes of A, which groups cut.
    first = function.arguments[0]
    cut = {"rows": 0, "columns": -1}.get(key["groups"], 0)
    total = evaluate(first.sizes[cut], dims) if first.sizes else 0
    if cut and first.element.startswith("f4"):
        total *= 2
    for buffer in function.arguments:
        if buffer.is_scalar:
            is_size = bool(buffer.sizes)
            arrays.append(np.dtype(buffer.dtype).type(
                evaluate(buffer.sizes[0], dims) if is_size else 1))
            continue
        shape = tuple(evaluate(size, dims) for size in buffer.sizes)
        arrays.append(make_array(random, buffer, shape, key, total))
    return arrays
