# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers as codes and scales, and back, by ml_dtypes and formulas of their own."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np

FP4, E4M3, E8M0 = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu


class Coded(NamedTuple):
    """Codes [.., N, K / 2] or [.., N, K], scales of blocks or rows, the global scale of NVFP4 or
    None, and the numbers in f32 that these stand for."""

    codes: np.ndarray
    scales: np.ndarray
    global_scale: np.float32 | None
    values: np.ndarray


def pack_pairs(codes: np.ndarray) -> np.ndarray:
    """Two codes to a byte along the last dimension, the even one in the low nibble."""
    return (codes[..., 0::2] | codes[..., 1::2] << 4).astype(np.uint8)


def unpack_pairs(data: np.ndarray) -> np.ndarray:
    return np.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)


def decode_fp4(codes: np.ndarray) -> np.ndarray:
    """Codes of E2M1, one in a byte, as f64."""
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float64)
    return np.concatenate([table, -table])[codes]


def decode_e8m0(scales: np.ndarray) -> np.ndarray:
    return np.exp2(scales.view(np.uint8).astype(np.float64) - 127)


def spread(scales: np.ndarray, block: int, size: int) -> np.ndarray:
    """Scales of blocks of the last dimension, for each of its elements."""
    return np.repeat(scales, block, -1)[..., :size]


def split_blocks(values: np.ndarray, block: int) -> np.ndarray:
    return np.asarray(values, np.float64).reshape(*values.shape[:-1], -1, block)


def encode_nvfp4(values: np.ndarray, amax: float | None = None) -> Coded:
    """ModelOpt's way: the global scale is amax / 2688."""
    blocks = split_blocks(values, 16)
    global_scale = np.float32((np.abs(blocks).max() if amax is None else amax) / 2688)
    wanted = np.abs(blocks).max(-1) / (6 * float(global_scale))
    scales = np.clip(wanted, 2.0 ** -9, 448).astype(np.float32).astype(E4M3)
    factors = scales.astype(np.float64) * float(global_scale)
    codes = (blocks / factors[..., None]).astype(np.float32).astype(FP4).view(np.uint8) & 15
    return Coded(pack_pairs(codes.reshape(values.shape)), scales, global_scale, (
        decode_fp4(codes) * factors[..., None]).astype(np.float32).reshape(values.shape))


def _exponents(amaxes: np.ndarray, largest: int) -> np.ndarray:
    """Bytes of E8M0 for blocks whose largest code has the exponent `largest`."""
    with np.errstate(divide="ignore"):
        logs = np.floor(np.log2(amaxes))
    return np.where(amaxes > 0, np.clip(logs - largest + 127, 0, 254), 0).astype(np.uint8)


def encode_mxfp4(values: np.ndarray) -> Coded:
    blocks = split_blocks(values, 32)
    scales = _exponents(np.abs(blocks).max(-1), 2)
    factors = decode_e8m0(scales)[..., None]
    codes = np.clip(blocks / factors, -6, 6).astype(np.float32).astype(FP4).view(np.uint8) & 15
    return Coded(pack_pairs(codes.reshape(values.shape)), scales, None, (
        decode_fp4(codes) * factors).astype(np.float32).reshape(values.shape))


def encode_mxfp8(values: np.ndarray) -> Coded:
    blocks = split_blocks(values, 32)
    scales = _exponents(np.abs(blocks).max(-1), 8)
    factors = decode_e8m0(scales)[..., None]
    codes = np.clip(blocks / factors, -448, 448).astype(np.float32).astype(E4M3)
    return Coded(codes.reshape(values.shape), scales, None, (
        codes.astype(np.float64) * factors).astype(np.float32).reshape(values.shape))


def encode_fp8(values: np.ndarray, axis: int | tuple[int, ...] | None = None,
               dtype: type = np.float32) -> Coded:
    """E4M3 with one scale for all, or for what lies along `axis`, which keeps a size of 1."""
    values = np.asarray(values, np.float64)
    amaxes = np.maximum(np.abs(values).max(axis=axis, keepdims=axis is not None), 1e-12)
    scales = np.asarray(amaxes / 448, np.float32).astype(dtype)
    factors = scales.astype(np.float64)
    codes = np.clip(values / factors, -448, 448).astype(np.float32).astype(E4M3)
    return Coded(codes, scales, None, (codes.astype(np.float64) * factors).astype(np.float32))


def spread_tiles(scales: np.ndarray, shape: tuple[int, ...], block: int = 128) -> np.ndarray:
    """Scales of blocks of rows and columns, for each element of a shape."""
    wide = np.repeat(np.repeat(scales, block, -2), block, -1)
    return wide[..., :shape[-2], :shape[-1]]


def encode_fp8_blocks(values: np.ndarray, dtype: type = np.float32, block: int = 128) -> Coded:
    """E4M3 with a scale for each 128 x 128; those of E8M0 are powers of two, rounded up."""
    values = np.asarray(values, np.float64)
    rows, columns = (-(-size // block) for size in values.shape[-2:])
    amaxes = np.zeros((*values.shape[:-2], rows, columns))
    for row in range(rows):
        for column in range(columns):
            part = values[..., row * block:(row + 1) * block, column * block:(column + 1) * block]
            amaxes[..., row, column] = np.maximum(np.abs(part).max((-2, -1)), 1e-12)
    if dtype is E8M0:
        exponents = np.ceil(np.log2(amaxes / 448))
        scales = (exponents + 127).astype(np.uint8).view(E8M0)
        factors = np.exp2(exponents)
    else:
        scales = (amaxes / 448).astype(np.float32).astype(dtype)
        factors = scales.astype(np.float64)
    wide = spread_tiles(factors, values.shape, block)
    codes = np.clip(values / wide, -448, 448).astype(np.float32).astype(E4M3)
    return Coded(codes, scales, None, (codes.astype(np.float64) * wide).astype(np.float32))
