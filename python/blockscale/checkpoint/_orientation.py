# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which way stacks of experts lie: [E, N, K], or [E, K, N] as some models have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockscale.checkpoint._config import get_size
from blockscale.checkpoint._layouts import Layout
from blockscale.checkpoint._names import STACKS
from blockscale.checkpoint._tensors import Tensor


def order_stack(shape: tuple[int, ...], name: str, others: Mapping[str, Tensor],
                config: Mapping[str, Any]) -> bool | None:
    """Whether a plain stack is [E, K, N]; None where sizes do not tell."""
    hidden = get_size(config, "hidden_size")
    path, _, last = name.rpartition(".")
    rows_are_hidden = last in ("down_proj", "w2")
    _, first, second = shape
    if hidden is None or hidden not in (first, second):
        return None
    if first != second:
        return (second if rows_are_hidden else first) == hidden
    for other in STACKS:
        sibling = others.get(f"{path}.{other}")
        if sibling is not None and sibling.shape[1:2] != sibling.shape[2:3]:
            return order_stack(sibling.shape, sibling.name, {}, config)
    return None


def orient(name: str, layout: Layout, data: Tensor, scales: Tensor | None,
           stacks: Mapping[str, Tensor], config: Mapping[str, Any]
           ) -> tuple[tuple[int, ...], bool] | None:
    """The shape [E, N, K] of a stack of codes, and whether these are [E, K, N]; None where
    nothing tells."""
    e, first, second = data.shape
    step = 2 if layout.is_packed else 1
    straight, turned = (e, first, step * second), (e, second, step * first)
    if layout.has_block_scales and scales is not None:
        # Blocks are along K.
        for shape, is_transposed in ((straight, False), (turned, True)):
            n, columns = shape[1], -(-shape[2] // layout.block)
            if scales.shape == ((e, columns, n) if is_transposed else (e, n, columns)):
                return shape, is_transposed
        return None
    if layout.format != "fp8_tensor":
        return straight, False
    order = order_stack(data.shape, name, stacks, config)
    return None if order is None else (turned if order else straight, order)
