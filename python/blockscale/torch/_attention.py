# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of one query whose heads share keys, as two batched products.

A step of decoding has one query for each head. Kernels of attention then have little to do for each
head, and read keys and values that were copied for each head that shares them first. As a product
of all queries of a group with the keys of the group, nothing is copied, and the time is that of
reading keys and values once:

    attention(q [B, H, 1, D], repeat(k [B, G, L, D]), repeat(v [B, G, L, D]), bias)
    ->
    s = q [B*G, H/G, D] x k^T [B*G, D, L] in f32, * scale, + bias
    p = softmax(s) in f32, rounded to the dtype of v, and zeros where all of s is -inf
    o = p [B*G, H/G, L] x v [B*G, L, D]
"""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch import fx

from blockscale.torch._nodes import emit

_ATEN = torch.ops.aten
_KINDS = tuple(getattr(_ATEN, f"_scaled_dot_product_{kind}_attention").default
               for kind in ("cudnn", "efficient", "flash"))
#: What the kernels of attention take.
_DTYPES = (torch.bfloat16, torch.float16)
#: Ops that only move what is repeated.
_COPIES = (_ATEN.clone.default, _ATEN.reshape.default, _ATEN.view.default,
           _ATEN._unsafe_view.default)


class Kept(Exception):
    """Why an attention stays as it is."""


def is_attention(node: fx.Node) -> bool:
    return node.op == "call_function" and node.target in _KINDS


def bind(node: fx.Node) -> dict[str, Any]:
    """All arguments of an op by name."""
    schema = node.target._schema.arguments
    given = dict(zip((argument.name for argument in schema), node.args))
    return {**{argument.name: argument.default_value for argument in schema}, **given,
            **node.kwargs}


def get_shape(node: fx.Node) -> tuple[Any, ...]:
    return tuple(node.meta["val"].shape)


def find_shared(node: fx.Node, heads: int) -> fx.Node:
    """The [B, G, L, D] of which a [B, H, L, D] repeats each matrix for H / G heads."""
    batch, _, length, width = get_shape(node)
    while node.target in _COPIES:
        node = node.args[0]
    if node.target is _ATEN.expand.default:
        source: Any = node.args[0]
        if source.target is _ATEN.unsqueeze.default and source.args[1] == 2:
            base: fx.Node = source.args[0]
            groups = get_shape(base)[1]
            if (isinstance(groups, int) and groups and heads % groups == 0
                    and get_shape(base) == (batch, groups, length, width)
                    and get_shape(node) == (batch, groups, heads // groups, length, width)):
                return base
    raise Kept("expected keys and values that are repeated for heads in groups, but got others")


class AttentionRewriter:
    """What puts something else in the place of an attention, which `_rewrite` of a class does.

    Args:
      devices: types of devices whose attentions are rewritten.
    """

    def __init__(self, graph: fx.Graph, devices: tuple[str, ...] = ("cuda",)):
        self._graph, self._devices = graph, devices

    def rewrite(self, node: fx.Node) -> str:
        """Why `node` is left; "" if it is not."""
        try:
            self._rewrite(node)
        except Kept as reason:
            return str(reason)
        return ""

    def _rewrite(self, node: fx.Node) -> None:
        """Rewrites `node`, or raises Kept before anything changed."""
        raise NotImplementedError

    def _check_device(self, value: torch.Tensor) -> None:
        if value.device.type not in self._devices:
            raise Kept(f"expected tensors on {' or '.join(self._devices)}, but got "
                       f"{value.device.type}")

    def _replace(self, node: fx.Node, result: fx.Node) -> None:
        """Puts `result` in the place of the first result of `node`, whose others have no users."""
        for user in list(node.users):
            user.replace_all_uses_with(result)
            self._graph.erase_node(user)
        self._graph.erase_node(node)


class Rewriter(AttentionRewriter):
    """Puts two products in the place of an attention, if it is one of those above."""

    def _emit(self, target: Any, *args: Any) -> fx.Node:
        return emit(self._graph, target, *args)

    def _rewrite(self, node: fx.Node) -> None:
        given = bind(node)
        query: fx.Node = given["query"]
        value = query.meta["val"]
        self._check_device(value)
        batch, heads, count, width = value.shape
        if count != 1 or not all(isinstance(size, int) for size in (batch, heads, width)):
            raise Kept(f"expected one query for each head, but got {count}")
        if value.dtype not in _DTYPES:
            raise Kept(f"expected bfloat16 or float16, but got {value.dtype}")
        if given["is_causal"] or given["dropout_p"] or any(
                user.target is not operator.getitem or (user.args[1] and user.users)
                for user in node.users):
            raise Kept("expected no causal mask, no dropout and one result")
        keys, values = (find_shared(given[name], heads) for name in ("key", "value"))
        groups = get_shape(keys)[1]
        if get_shape(values)[1] != groups or groups == heads:
            raise Kept(f"expected keys and values of fewer heads than {heads}, but got {groups}")
        scale = given.get("scale")
        with self._graph.inserting_before(node):
            result = self._compute(query, keys, values, given.get("attn_bias"),
                                   1 / math.sqrt(width) if scale is None else scale)
        self._replace(node, result)

    def _multiply(self, a: fx.Node, b: fx.Node) -> fx.Node:
        """A batched product with results in f32, which only products on GPUs have."""
        if a.meta["val"].device.type == "cuda":
            return self._emit(_ATEN.bmm.dtype, a, b, torch.float32)
        return self._emit(_ATEN.bmm.default, *(self._convert(each, torch.float32)
                                               for each in (a, b)))

    def _convert(self, x: fx.Node, dtype: torch.dtype) -> fx.Node:
        return self._emit(torch.ops.prims.convert_element_type.default, x, dtype)

    def _compute(self, query: fx.Node, keys: fx.Node, values: fx.Node, bias: fx.Node | None,
                 scale: float) -> fx.Node:
        batch, groups, _, width = get_shape(keys)
        shape, heads = get_shape(query), get_shape(query)[1]
        rows = [batch * groups, heads // groups]
        matrices = [self._emit(_ATEN.reshape.default, each, [rows[0], -1, size])
                    for each, size in ((keys, width), (values, get_shape(values)[3]))]
        scores = self._multiply(self._emit(_ATEN.reshape.default, query, [*rows, width]),
                                self._emit(_ATEN.permute.default, matrices[0], [0, 2, 1]))
        scores = self._emit(_ATEN.mul.Tensor, scores, scale)
        if bias is not None:
            everywhere = self._emit(_ATEN.expand.default, bias, [batch, heads, -1, -1])
            bias = self._emit(_ATEN.reshape.default, everywhere, [*rows, -1])
            scores = self._emit(_ATEN.add.Tensor, scores, self._convert(bias, torch.float32))
        most = self._emit(_ATEN.amax.default, scores, [-1], True)
        # Where all scores are -inf, all of their exponentials are 0; elsewhere their sum is 1 or
        # more.
        most = self._emit(_ATEN.clamp_min.default, most, torch.finfo(torch.float32).min)
        powers = self._emit(_ATEN.exp.default, self._emit(_ATEN.sub.Tensor, scores, most))
        total = self._emit(_ATEN.sum.dim_IntList, powers, [-1], True)
        total = self._emit(_ATEN.clamp_min.default, total, 1.0)
        weights = self._convert(self._emit(_ATEN.div.Tensor, powers, total),
                                values.meta["val"].dtype)
        result = self._emit(_ATEN.bmm.default, weights, matrices[1])
        return self._emit(_ATEN.reshape.default, result, [*shape[:3], -1])
