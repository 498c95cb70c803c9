# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forms that quantized weights have in memory."""

from __future__ import annotations

import torch

from blockscale._native import has_products
from blockscale._ops import FORMATS
from blockscale._types import DataLayout, Layout
from blockscale.torch import _cuda

#: Orders of a weight in memory. Row-major data and linear scales are what checkpoints have;
#: "tiles" have scales in the layout swizzle_128x4; "fragments" have that and data in the layout
#: fragments_64x64, as products on Hopper read them.
ROW_MAJOR, TILES, FRAGMENTS = LAYOUTS = ("row_major", "tiles", "fragments")


#: The format that instructions of GPUs do not multiply.
_INTEGERS = "mxint8"


def has_product(device: torch.device, is_weight_only: bool, *formats: str) -> bool:
    """Whether we have a product for the device and for the formats of its operands; elsewhere
    weights are dequantized by a kernel of ours and multiplied by PyTorch."""
    if device.type != "cuda":
        return True
    if _INTEGERS in formats:
        return False
    chip = _cuda.get_chip(device.index or 0)
    return chip is not None and has_products(chip, is_weight_only)


def get_layout(device: torch.device, is_weight_only: bool, *formats: str) -> str:
    """The order of weights on a device, where products have operands of these formats."""
    if device.type != "cuda" or not has_product(device, is_weight_only, *formats):
        return ROW_MAJOR
    return FRAGMENTS if _cuda.get_chip(device.index or 0) == "sm_90a" else TILES


def get_data_layout(layout: str) -> DataLayout | None:
    return DataLayout() if layout == FRAGMENTS else None


def get_scale_layout(layout: str) -> Layout | None:
    return None if layout == ROW_MAJOR else Layout()


def get_scale_order(layout: str) -> str | None:
    """The same by its name, as ops take it that know the groups."""
    order = get_scale_layout(layout)
    return None if order is None else order.name


def count_tiles(rows: int, cols: int, groups: int, dim: int) -> int:
    """The most tiles that scales of groups have (docs/Numerics.md, section 12): each group but the
    last may have a part of a tile."""
    if dim == 0:
        return (rows + 127 * groups) // 128 * -(-cols // 4)
    return -(-rows // 128) * ((cols + 3 * groups) // 4)


def get_storage(rows: int, cols: int, format: str, layout: str) -> tuple[list[int], list[int]]:
    """The shapes of data and scales of a matrix in storage form (docs/Spec.md, section 7)."""
    data, _, block = FORMATS[format]
    is_packed = data == "f4E2M1FN"
    columns = -(-cols // block)
    codes = ([-(-rows // 64), -(-cols // 64), 2048 if is_packed else 4096]
             if layout == FRAGMENTS else [rows, -(-cols // 2) if is_packed else cols])
    scales = ([rows, columns] if layout == ROW_MAJOR else
              [-(-rows // 128), -(-columns // 4), 32, 4, 4])
    return codes, scales
