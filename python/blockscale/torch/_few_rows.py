# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of PyTorch that leave most of a GPU idle in a step of decoding, as others that give the same.

The next token is the place of the largest logit. One program looks for it in a whole row:

    argmax(x [.., N], -1)
    ->
    parts = x [.., A, B]; the largest of each part and its place; then the first part of the largest

A rotary embedding multiplies positions by frequencies as a product of matrices with K = 1, which is
a launch of cuBLAS between others. As an elementwise op it is part of what comes behind:

    mm(a [M, 1], b [1, N])
    ->
    a * b

A model takes the last position of all, and with one position that is everything. Without the slice,
what is before it and behind it can be one call:

    x[:, -1:] -> x, if x has one position
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import fx

from blockscale.torch._nodes import emit

_ATEN = torch.ops.aten
_PRODUCTS = (_ATEN.mm.default, _ATEN.bmm.default)
#: The least length of a row that is taken apart, the most rows, and the least length of a part.
_LONG, _FEW, _LEAST = 8192, 16, 64
#: The most results of a product that is elementwise.
_MOST_RESULTS = 1 << 16


def _choose_part(length: int) -> int:
    """The length of parts of a row: near the square root, so that both steps take as long; 0 if
    there are no equal parts."""
    return next((part for part in range(math.isqrt(length), _LEAST - 1, -1)
                 if length % part == 0), 0)


class FewRowsRewriter:
    """Puts others in the place of these ops.

    Args:
      devices: types of devices whose ops are rewritten.
    """

    def __init__(self, graph: fx.Graph, devices: tuple[str, ...] = ("cuda",)):
        self._graph, self._devices = graph, devices

    def run(self) -> None:
        for node in list(self._graph.nodes):
            if node.target is _ATEN.slice.Tensor:
                self._drop_whole_slice(node)
                continue
            value = node.meta.get("val")
            if not isinstance(value, torch.Tensor) or value.device.type not in self._devices:
                continue
            made = (self._rewrite_argmax(node) if node.target is _ATEN.argmax.default else
                    self._rewrite_product(node) if node.target in _PRODUCTS else None)
            if made is not None:
                node.replace_all_uses_with(made)
                self._graph.erase_node(node)

    def _drop_whole_slice(self, node: fx.Node) -> None:
        x: Any = node.args[0]
        shape = tuple(x.meta["val"].shape)
        # A result of the graph stays a tensor of its own.
        if (x.op == "call_function" and all(isinstance(size, int) for size in shape)
                and tuple(node.meta["val"].shape) == shape
                and all(user.op != "output" for user in node.users)):
            node.replace_all_uses_with(x)
            self._graph.erase_node(node)

    def _emit(self, target: Any, *args: Any) -> fx.Node:
        return emit(self._graph, target, *args)

    def _rewrite_argmax(self, node: fx.Node) -> fx.Node | None:
        given: list[Any] = [*node.args, *(None, False)[len(node.args) - 1:]]
        x, dim, keeps = given
        shape = tuple(x.meta["val"].shape)
        if (node.kwargs or dim not in (-1, len(shape) - 1) or not shape
                or not all(isinstance(size, int) for size in shape)):
            return None
        *lead, length = shape
        part = _choose_part(length) if length >= _LONG else 0
        if not part or math.prod(lead) > _FEW:
            return None
        with self._graph.inserting_before(node):
            parts = self._emit(_ATEN.reshape.default, x, [*lead, length // part, part])
            # A NaN is the largest of a part, as it is of a row.
            largest = self._emit(_ATEN.amax.default, parts, [-1])
            places = self._emit(_ATEN.argmax.default, parts, -1)
            which = self._emit(_ATEN.argmax.default, largest, -1, True)
            place = self._emit(_ATEN.gather.default, places, -1, which)
            made = self._emit(_ATEN.add.Tensor, self._emit(_ATEN.mul.Tensor, which, part), place)
            return made if keeps else self._emit(_ATEN.squeeze.dim, made, -1)

    def _rewrite_product(self, node: fx.Node) -> fx.Node | None:
        operands: tuple[Any, ...] = node.args
        a, b = operands
        value = node.meta["val"]
        sizes = (a.meta["val"].shape[-1], *value.shape)
        if (node.kwargs or not all(isinstance(size, int) for size in sizes) or sizes[0] != 1
                or value.numel() > _MOST_RESULTS or not value.is_floating_point()):
            return None
        with self._graph.inserting_before(node):
            return self._emit(_ATEN.mul.Tensor, a, b)
