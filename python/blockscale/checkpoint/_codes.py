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
from blockscale.checkpoint._layouts import DATA, GLOBAL, SCALES, find_fp8_formats, get_fp8_scales
from blockscale.checkpoint._tensors import Weight


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
    shape = (columns, rows) if weight.is_transposed else (rows, columns)
    if size != rows * columns or (not weight.layout.holds_swizzled and part.shape[-2:] != shape):
        raise ArgumentError(f"'{part.name}': expected {shape[0]} x {shape[1]} scales of "
                            f"{weight.format} for {rows} x {cols}, but got shape "
                            f"{list(part.shape)}")
    return found.reshape(shape).T if weight.is_transposed else found.reshape(shape)


def read_factors(weight: Weight, matrix: int) -> np.ndarray:
    """The numbers that E4M3 of a matrix is multiplied by, f32: one, one for each row, or one for
    each 128 x 128."""
    rows, cols = weight.shape[-2:]
    part = weight.parts[SCALES]
    tall, wide = get_fp8_scales(weight.format, rows, cols)
    data = weight.parts[DATA].shape
    if weight.format not in find_fp8_formats((*data[:-2], rows, cols), part.shape):
        raise ArgumentError(f"'{part.name}': expected shape {[tall, wide]} for {rows} x {cols}, "
                            f"but got {list(part.shape)}")
    scales: np.ndarray = part.numpy().astype(np.float32).reshape(-1)
    spread = np.broadcast_to(scales.reshape(-1, tall, wide),
                             (max(weight.num_matrices, 1), tall, wide))
    found: np.ndarray = spread[matrix]
    return found


def _read_data(weight: Weight, matrix: int, rows: slice, columns: int) -> np.ndarray:
    """The bytes of codes of some rows of a matrix."""
    n = weight.shape[-2]
    part = weight.parts[DATA]
    size = n * columns
    if part.nbytes != size * max(weight.num_matrices, 1):
        raise ArgumentError(f"'{part.name}': expected {n} x {columns} bytes of {weight.format}, "
                            f"but got shape {list(part.shape)}")
    data = part.bytes(matrix * size, (matrix + 1) * size)
    data = data.reshape(columns, n).T if weight.is_transposed else data.reshape(n, columns)
    return np.ascontiguousarray(data[rows])


def read_fp8(weight: Weight, matrix: int, rows: slice) -> np.ndarray:
    """The codes of E4M3 of some rows of a matrix, a byte each."""
    return _read_data(weight, matrix, rows, weight.shape[-1])


def read_codes(weight: Weight, matrix: int, rows: slice) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales of some rows of a matrix."""
    n, k = weight.shape[-2:]
    part = weight.parts[DATA]
    if weight.layout.holds_scales:
        size = part.nbytes // max(weight.num_matrices, 1)
        packed = part.bytes(matrix * size, (matrix + 1) * size).reshape(n, -1)
        chosen = np.ascontiguousarray(packed[rows])
        codes, scales, _ = _bytes.unpack_gguf(weight.format.upper(), len(chosen), k, chosen)
        return codes, scales
    columns = _kernels.get_code_columns(weight.format, k)
    return (_read_data(weight, matrix, rows, columns),
            np.ascontiguousarray(read_scales(weight, matrix)[rows]))


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
    value: np.float32 = np.float32(found[matrix])
    if weight.layout.is_reciprocal:
        value = np.float32(1) / value
    return value
