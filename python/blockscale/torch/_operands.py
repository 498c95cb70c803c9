# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codes and scales as ops of the dialect take them, from how PyTorch keeps them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from blockscale._errors import ArgumentError
from blockscale._linalg import Size, get_spec
from blockscale._trace import Value
from blockscale._types import Layout, element_name
from blockscale.torch._forms import count_tiles
from blockscale.torch._importer import Constant, Importer, Input, Narrow, sizes_of


def _evaluate(size: Size, symbols: dict[Any, int]) -> int:
    return size if isinstance(size, int) else int(size.subs(symbols))


def arrange_scales(tensor: Tensor, sizes: Sequence[int], layout: Layout | None) -> Tensor:
    """Scales of `sizes` in the shape of their storage."""
    *batch, rows, cols = sizes
    raw = tensor.contiguous().view(torch.uint8).flatten()
    if layout is not None and layout.groups:
        # A buffer may have room for other sizes of groups than these.
        count = count_tiles(rows, cols, layout.groups, layout.dim) * 512
        if raw.numel() < count:
            raw = torch.cat([raw, raw.new_zeros(count - raw.numel())])
        return raw[:count].view(-1, 32, 4, 4)
    shape = ([*sizes] if layout is None else
             [*batch, -(-rows // 128), -(-cols // 4), 32, 4, 4])
    if raw.numel() != math.prod(shape):
        kind = "row-major" if layout is None else "in tiles of 128 rows and 4 columns"
        raise ArgumentError(f"expected {math.prod(shape)} bytes of scales, {list(sizes)} "
                            f"{kind}, but got {list(tensor.shape)}")
    return raw.view(shape)


def arrange_codes(tensor: Tensor, is_transposed: bool) -> Tensor:
    """Row-major bytes, of the transpose where `is_transposed`."""
    tensor = tensor.transpose(-2, -1) if is_transposed else tensor
    return tensor.view(torch.uint8)


def take_codes(importer: Importer, what: str, operand: Any, sizes: Sequence[Size],
               element: str, is_transposed: bool) -> Value:
    """Codes [.., M, K], which the graph has transposed where `is_transposed`."""
    spec = get_spec(sizes, element)
    if isinstance(operand, Constant):
        rows = operand.value.transpose(-2, -1) if is_transposed else operand.value
        return importer.bind_constant(rows.contiguous().view(torch.uint8),
                                     f"{operand.name}_data", spec)
    if not isinstance(operand, Narrow):
        importer.refuse(f"expected {what} to be codes, but got {operand!r}")
    is_flipped = operand.is_transposed != is_transposed
    if isinstance(operand.source, Input):
        return importer.take_input(operand.source, spec,
                                   lambda tensor, _: arrange_codes(tensor, is_flipped))
    if operand.source.spec != spec or is_flipped:
        form = "transposed " if is_flipped else ""
        importer.refuse(f"expected {what} to be {spec}, but got {form}{operand.source.spec}")
    return operand.source


def take_scales(importer: Importer, what: str, operand: Any, sizes: Sequence[Size],
                element: str, layout: Layout | None, groups: Size = 0) -> Value:
    """Scales with logical `sizes`, [.., M, K/B], in a layout of as many groups as `groups` is in
    a call, where the layout does not say it."""
    spec = get_spec(sizes, element, layout)
    isAny = layout is not None and layout.groups is None
    if isinstance(operand, Constant):
        if isAny:
            importer.refuse(f"expected {what} to be an input, as their groups are those of a call, "
                            "but got a constant")
        return importer.bind_constant(
            _arrange(importer, what, operand.value, sizes, layout), f"{operand.name}_scale",
            spec)
    if not isinstance(operand, Narrow):
        importer.refuse(f"expected {what} to be scales, but got {operand!r}")
    if isinstance(operand.source, Input):
        if operand.is_transposed:
            importer.refuse(f"expected {what} to be scales that are not transposed")
        meta = operand.source.meta
        if all(isinstance(size, int) for size in [*sizes, *sizes_of(meta)]) and not isAny:
            _arrange(importer, what, torch.empty(meta.shape, dtype=torch.uint8), sizes, layout)
        return importer.take_input(operand.source, spec, _make_arrange(sizes, layout, groups))
    if operand.source.spec != spec or operand.is_transposed:
        importer.refuse(f"expected {what} to be {spec}, but got {operand.source.spec}")
    return operand.source


def take_bias(importer: Importer, operand: Any, dtype: Any) -> Value | None:
    """A bias, of the result's dtype, if there is one."""
    if operand is None:
        return None
    taken, wanted = importer.array(operand, "bias"), element_name(dtype)
    if taken.dtype != wanted:
        importer.refuse(f"expected a bias of the result's dtype, {wanted}, but got {taken.dtype}")
    return taken.value


def _make_arrange(sizes: Sequence[Size], layout: Layout | None, groups: Size
                  ) -> Callable[[Tensor, dict[Any, int]], Tensor]:
    def arrange(tensor: Tensor, symbols: dict[Any, int]) -> Tensor:
        own = layout
        if own is not None and own.groups is None:
            own = dataclasses.replace(own, groups=_evaluate(groups, symbols))
        return arrange_scales(tensor, [_evaluate(size, symbols) for size in sizes], own)
    return arrange


def _arrange(importer: Importer, what: str, tensor: Tensor, sizes: Sequence[Any],
             layout: Layout | None) -> Tensor:
    try:
        return arrange_scales(tensor, sizes, layout)
    except ArgumentError as error:
        return importer.refuse(f"{what}: {error}")
