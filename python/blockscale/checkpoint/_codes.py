# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codes and scales of weights, row-major and linear whatever their layout."""

from __future__ import annotations

import math

import numpy as np

from blockscale import _native
from blockscale._errors import ArgumentError, check
from blockscale._native import _checkpoint as _bytes
from blockscale.checkpoint import _kernels
from blockscale.checkpoint._checkpoint import Weight
from blockscale.checkpoint._layouts import DATA, GLOBAL, INPUT, SCALES


def read_scales(weight: Weight, matrix: int) -> np.ndarray:
    """The scales of a matrix [N, K / block], a byte each."""
    rows, cols = weight.shape[-2:]
    columns = -(-cols // weight.layout.block)
    part = weight.parts[SCALES]
    count = max(weight.num_matrices, 1)
    if part.nbytes % count:
        raise ArgumentError(f"'{part.name}': expected scales for {count} matrices, but got "
                            f"{part.nbytes} bytes")
    size = part.nbytes // count
    found = part.bytes(matrix * size, (matrix + 1) * size)
    if weight.is_swizzled:
        linear: np.ndarray = check(_native.unswizzle(found, rows, columns))[0]
        return linear
    if size != rows * columns:
        raise ArgumentError(f"'{part.name}': expected {rows} x {columns} scales of {weight.format} "
                            f"for {rows} x {cols}, but got {size}")
    return found.reshape(rows, columns)


def read_codes(weight: Weight, matrix: int, rows: slice) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales of some rows of a matrix."""
    n, k = weight.shape[-2:]
    part = weight.parts[DATA]
    if weight.layout.family == "gguf":
        size = part.nbytes // max(weight.num_matrices, 1)
        packed = part.bytes(matrix * size, (matrix + 1) * size).reshape(n, -1)
        chosen = np.ascontiguousarray(packed[rows])
        codes, scales, _ = _bytes.unpack_gguf(weight.format.upper(), len(chosen), k, chosen)
        return codes, scales
    columns = _kernels.get_code_columns(weight.format, k)
    size = n * columns
    if part.nbytes != size * max(weight.num_matrices, 1):
        raise ArgumentError(f"'{part.name}': expected {n} x {columns} bytes of {weight.format}, "
                            f"but got shape {list(part.shape)}")
    data = part.bytes(matrix * size, (matrix + 1) * size).reshape(n, columns)
    return (np.ascontiguousarray(data[rows]), np.ascontiguousarray(read_scales(weight,
                                                                                matrix)[rows]))


def read_scalars(weight: Weight, role: str) -> np.ndarray | None:
    """The scalars of a role as they are stored, one for each matrix, f32; None without."""
    part = weight.parts.get(role)
    if part is None:
        return None
    found = part.numpy().reshape(-1).astype(np.float32)
    count = math.prod(weight.shape[:-2])
    if found.size not in (1, count):
        raise ArgumentError(f"'{part.name}': expected {count} numbers, but got shape "
                            f"{list(part.shape)}")
    return np.broadcast_to(found, (count,))


def read_global(weight: Weight, matrix: int) -> np.float32 | None:
    """The decode scale of a matrix, None where the format has none."""
    found = read_scalars(weight, GLOBAL)
    if found is None:
        return None
    value = np.float32(found[matrix])
    return np.float32(1) / value if weight.layout.is_reciprocal else value


def read_input(weight: Weight) -> np.float32 | None:
    """The largest decode scale of a weight's activations."""
    found = read_scalars(weight, INPUT)
    if found is None:
        return None
    return np.float32((1 / found).max() if weight.layout.is_reciprocal else found.max())
