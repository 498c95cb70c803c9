# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention and rotary embeddings in graphs whose layers have sums of order chain, as ops whose
rows have the same bits in any company (_rows.py):

    attention(q [B, H, T, D], repeat(k [B, G, L, D]), repeat(v [B, G, L, D]), bias)
    ->
    blockscale.attention(q, k, v, bias)

In a step of decoding, a rotary embedding makes the one query, and k and v are a static cache into
which the step puts one row, whose key has the same embedding. The op has these in it:

    q' = rotary(q), k = index_put(cache, [None, None, place], rotary(new)), v alike without rotary
    attention(q', repeat(k), repeat(v), bias)
    ->
    blockscale.decode_attention(q, new, .., cache, .., cos, sin, place, bias), which writes to cache

Elsewhere a rotary embedding is an op by itself, so that prefill and decoding round it alike. Beside
layers of free order a step with few keys is this op, too, as it takes less time than others.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch import fx
from torch._higher_order_ops.auto_functionalize import auto_functionalized

from blockscale.torch._attention import (
    AttentionRewriter,
    Kept,
    bind,
    find_shared,
    get_shape,
    is_attention,
)
from blockscale.torch._plain_rows import make_result
from blockscale.torch._rows import has_triton
from blockscale.torch._small_nodes import find_number

_ATEN = torch.ops.aten
_OF_CPU = _ATEN._scaled_dot_product_flash_attention_for_cpu.default
_OPS = torch.ops.blockscale


def is_any_attention(node: fx.Node) -> bool:
    return is_attention(node) or _is(node, _OF_CPU)


def _is(node: Any, target: Any) -> bool:
    return isinstance(node, fx.Node) and node.target is target


def _find_rotated(node: Any) -> tuple[fx.Node, fx.Node, fx.Node] | None:
    """x, cos and sin of `x * cos + cat([-second half of x, first half]) * sin`."""
    if not _is(node, _ATEN.add.Tensor) or node.kwargs:
        return None
    for one, other in (node.args, node.args[::-1]):
        if not (_is(one, _ATEN.mul.Tensor) and _is(other, _ATEN.mul.Tensor)):
            return None
        for cat, sin in (other.args, other.args[::-1]):
            x = _find_turned(cat)
            if x is not None and x in one.args and isinstance(sin, fx.Node):
                cos = one.args[1 - one.args.index(x)]
                if isinstance(cos, fx.Node):
                    return x, cos, sin
    return None


def _find_turned(cat: Any) -> fx.Node | None:
    """x of `cat([-second half of x, first half])`."""
    if not _is(cat, _ATEN.cat.default) or len(cat.args[0]) != 2:
        return None
    rank = cat.meta["val"].dim()
    neg, first = cat.args[0]
    if (len(cat.args) < 2 or cat.args[1] % rank != rank - 1 or not _is(neg, _ATEN.neg.default)
            or not _is(first, _ATEN.slice.Tensor) or not _is(neg.args[0], _ATEN.slice.Tensor)):
        return None
    second = neg.args[0]
    x: fx.Node = first.args[0]
    half, rest = divmod(get_shape(x)[-1], 2)
    sizes = (*get_shape(x)[:-1], half)
    if (rest or second.args[0] is not x or any(
            each.args[1] % rank != rank - 1 or len(each.args) > 4 or each.kwargs
            or get_shape(each) != sizes for each in (first, second))
            or first.args[2] not in (None, 0) or second.args[2] not in (half, -half)):
        return None
    return x


def is_fast_step(query: fx.Node, keys: fx.Node) -> bool:
    """Whether the kernel of a step takes less time than products with a softmax between them."""
    shapes = get_shape(query), get_shape(keys)
    if any(not isinstance(size, int) for shape in shapes for size in shape):
        return False
    from blockscale.torch import _triton_rows
    return _triton_rows.has_program_for_chunk(*shapes, query.meta["val"].device)


def _find_readers(put: fx.Node, attention: fx.Node) -> set[fx.Node]:
    """The users of a node but for those that only an attention needs."""
    def serves(each: fx.Node) -> bool:
        return each is attention or (bool(each.users) and all(map(serves, each.users)))
    return {user for user in put.users if not serves(user)}


class OrderedRewriter(AttentionRewriter):
    """Puts ops of ours in the place of attentions and of rotary embeddings."""

    def rewrite_step(self, node: fx.Node) -> bool:
        """Whether `node` was the attention of a step with a cache, for which an op of ours takes
        less time than others, whatever the order of sums, and is that op now."""
        try:
            self._rewrite(node, is_step=True)
        except Kept:
            return False
        return True

    def rewrite_rotary(self, node: fx.Node) -> bool:
        """Whether `node` was the sum that makes a rotary embedding, and is an op now."""
        found = _find_rotated(node)
        if found is None:
            return False
        x, *tables = found
        shape, value = get_shape(x), node.meta["val"]
        if (len(shape) > 4 or value.device.type not in self._devices
                or get_shape(node) != shape or value.dtype != x.meta["val"].dtype
                or any(get_shape(each)[-1:] != shape[-1:] for each in tables)):
            return False
        with self._graph.inserting_before(node):
            made = self._graph.call_function(_OPS.rotary_embedding.default, found)
        made.meta = dict(node.meta, val=value.new_empty(shape))
        node.replace_all_uses_with(made)
        self._graph.erase_node(node)
        return True

    def _rewrite(self, node: fx.Node, is_step: bool = False) -> None:
        given = bind(node)
        query: fx.Node = given["query"]
        value = query.meta["val"]
        self._check_device(value)
        if value.device.type == "cuda" and not has_triton():
            raise Kept("expected the package triton, but it is not installed")
        if given["dropout_p"] or any(user.target is not operator.getitem
                                     or (user.args[1] and user.users) for user in node.users):
            raise Kept("expected no dropout and one result")
        _, heads, count, width = value.shape
        try:
            keys, values = (find_shared(given[name], heads) for name in ("key", "value"))
            if get_shape(keys)[1] != get_shape(values)[1]:
                raise Kept("")
        except Kept:
            keys, values = given["key"], given["value"]
        scale = given.get("scale")
        scale = 1 / math.sqrt(width) if scale is None else scale
        mask: Any = given.get("attn_bias") or given.get("attn_mask")
        if _is(mask, _ATEN.expand.default):
            mask = mask.args[0]
        cached = (self._find_cached(node, query, keys, values)
                  if not given["is_causal"] and count == 1 else None)
        if is_step and (cached is None or not is_fast_step(query, keys)):
            raise Kept("expected a step with a cache of few keys")
        with self._graph.inserting_before(node):
            if cached is None:
                result = self._graph.call_function(
                    _OPS.attention.default, (query, keys, values, mask),
                    {"causal": given["is_causal"], "scale": scale})
                result.meta["val"] = make_result(value, values.meta["val"])
            else:
                result = self._emit_cached(node, cached, keys, values, mask, scale)
        self._replace(node, result)

    def _find_cached(self, node: fx.Node, query: fx.Node, keys: fx.Node, values: fx.Node
                     ) -> dict[str, fx.Node] | None:
        """The arguments of a step with a cache; None if it is no such step."""
        rotated = _find_rotated(query)
        if rotated is None:
            return None
        found = dict(zip(("q", "cos", "sin"), rotated))
        for name, put in (("keys", keys), ("values", values)):
            if not _is(put, _ATEN.index_put.default) or len(put.args) > 3 or put.kwargs:
                return None
            cache, indices, new = put.args
            if (len(indices) != 3 or indices[:2] != [None, None]
                    or found.setdefault("position", indices[2]) is not indices[2]
                    or cache.meta["val"].stride(-1) != 1
                    or get_shape(new) != (*get_shape(put)[:2], 1, get_shape(put)[3])):
                return None
            if name == "keys":
                rotated = _find_rotated(new)
                if rotated is None or rotated[1:] != (found["cos"], found["sin"]):
                    return None
                found["k"] = rotated[0]
            else:
                found["v"] = new
            found[name] = cache
        position, table = found["position"].meta["val"], found["cos"].meta["val"]
        shape = get_shape(found["q"])
        if (position.numel() != 1 or position.dtype not in (torch.int32, torch.int64)
                or any(found[name].meta["val"].dtype != query.meta["val"].dtype
                       for name in ("q", "k", "v", "keys", "values"))
                or table.dim() != 4 or get_shape(found["sin"]) != tuple(table.shape)
                or table.shape[0] not in (1, shape[0]) or tuple(table.shape[1:3]) != (1, 1)
                or table.shape[3] != shape[3] or get_shape(found["k"])[3] != shape[3]):
            return None
        # What else reads the caches has to come after this.
        order = {each: number for number, each in enumerate(self._graph.nodes)}
        is_last = all(order[each] > order[node]
                      for put in (keys, values) for each in _find_readers(put, node))
        found["position"] = find_number(found["position"])
        return found if is_last else None

    def _emit_cached(self, node: fx.Node, found: dict[str, fx.Node], keys: fx.Node,
                     values: fx.Node, bias: fx.Node | None, scale: float) -> fx.Node:
        """The op as graphs without writes have it, which Inductor lets write into the caches."""
        made = self._graph.call_function(
            auto_functionalized, (_OPS.decode_attention.default,),
            {**found, "mask": bias, "scale": scale})
        vals = [found["q"].meta["val"], keys.meta["val"], values.meta["val"]]
        out = make_result(vals[0], vals[2])
        made.meta["val"] = (out, *(torch.empty_like(each) for each in vals[1:]))
        results = []
        for number in range(3):
            item = self._graph.call_function(operator.getitem, (made, number))
            item.meta["val"] = made.meta["val"][number]
            results.append(item)
        for put, result in ((keys, results[1]), (values, results[2])):
            readers = _find_readers(put, node)
            put.replace_all_uses_with(result, delete_user_cb=readers.__contains__)
        return results[0]
