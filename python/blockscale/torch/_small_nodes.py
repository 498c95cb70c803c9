# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small computations of a step of decoding, of which each would be a launch.

Every layer of a model computes the mask of its attention, the cosines and sines of its rotary
embedding and the place of its new key anew, and counts the tokens of its cache. What all layers
compute alike is computed once here, the counters become one update, and the place is read from the
counter.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Hashable
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from blockscale.torch._nodes import is_mutable, is_pure

_ATEN = torch.ops.aten
#: Of PyTorch; others may have effects that nothing tells of.
_NAMESPACES = ("aten", "prims")
#: Ops of ours that read what layers compute alike, by name or position.
_READERS = tuple(getattr(torch.ops.blockscale, name).default for name in (
    "attention", "decode_attention", "rotary_embedding"))


def _is_function(node: fx.Node) -> bool:
    """Whether a result follows from the arguments alone, which what is in new memory does not."""
    op: Any = node.target
    return (is_pure(op) and op.namespace in _NAMESPACES
            and isinstance(node.meta.get("val"), torch.Tensor)
            and not op._schema.name.startswith("aten::empty"))


def _find_firsts(graph: fx.Graph) -> dict[fx.Node, fx.Node]:
    """The first node that computes what a node computes, of those before anything is written."""
    firsts: dict[fx.Node, fx.Node] = {}
    known: dict[Hashable, fx.Node] = {}
    for node in graph.nodes:
        if is_mutable(node.target):
            break
        if not _is_function(node):
            continue
        leaves, form = pytree.tree_flatten((node.args, dict(node.kwargs)))
        # Numbers that are equal may be of different types, and zeros of different signs.
        key = (node.target, str(form), *(
            firsts.get(each, each) if isinstance(each, fx.Node) else (type(each), repr(each))
            for each in leaves))
        firsts[node] = known.setdefault(key, node)
    return firsts


def _get_reader(node: fx.Node) -> Any:
    """The op of ours that a node is, itself or as a function without writes."""
    named = node.args[0] if node.args else None
    return node.target if node.target in _READERS else named if named in _READERS else None


def share_arguments(graph: fx.Graph) -> None:
    """Has ops of ours read one node where others compute the same. Nothing else is changed: results
    of the graph stay tensors of their own."""
    readers = [node for node in graph.nodes if _get_reader(node) is not None]
    if len(readers) < 2:
        return
    firsts = _find_firsts(graph)
    read: collections.Counter[fx.Node] = collections.Counter()
    for node in readers:
        node.args, node.kwargs = fx.node.map_arg(
            (node.args, node.kwargs), lambda each: firsts.get(each, each))
        read.update(node.all_input_nodes)
    for node, count in read.items():
        if count > 1 and node in firsts:
            # Inductor would compute it anew for each reader.
            node.meta["inductor_realize_to_strides"] = True


def find_number(place: fx.Node) -> fx.Node:
    """The one number that `place` is, if it is that number and the only one of a range from 0."""
    if place.target is not _ATEN.add.Tensor or place.kwargs:
        return place
    for one, other in (place.args, place.args[::-1]):
        if not (isinstance(one, fx.Node) and isinstance(other, fx.Node)):
            return place
        value, wanted = other.meta["val"], place.meta["val"]
        if (one.target is torch.ops.prims.iota.default and one.args == (1,)
                and one.kwargs.get("start") == 0 and value.numel() == wanted.numel() == 1
                and (value.dtype, value.device) == (wanted.dtype, wanted.device)):
            return other
    return place


def join_counters(graph: fx.Graph) -> list[tuple[str, ...]]:
    """Makes one op of all that add one number to inputs of the graph of one element each, and do
    nothing else but store the sum there. Inductor makes one kernel of it."""
    groups: dict[Hashable, list[fx.Node]] = {}
    for copy in graph.nodes:
        if copy.target is not _ATEN.copy_.default or len(copy.args) != 2 or copy.kwargs:
            continue
        counter, made = copy.args
        if (counter.op != "placeholder" or made.target is not _ATEN.add.Tensor or made.kwargs
                or made.args[0] is not counter or type(made.args[1]) is not int
                or list(made.users) != [copy] or counter.meta["val"].numel() != 1
                or counter.meta["val"].shape != made.meta["val"].shape
                or counter.meta["val"].dtype != made.meta["val"].dtype):
            continue
        value = counter.meta["val"]
        groups.setdefault((value.dtype, value.device, made.args[1]), []).append(copy)
    joined = [copies for copies in groups.values() if len(copies) > 1]
    for copies in joined:
        counters = [copy.args[0] for copy in copies]
        added: list[Any] = [copy.args[1] for copy in copies]
        with graph.inserting_before(copies[0]):
            sums = graph.call_function(_ATEN._foreach_add.Scalar, (counters, added[0].args[1]))
            sums.meta["val"] = [each.meta["val"] for each in added]
            for number, copy in enumerate(copies):
                item = graph.call_function(operator.getitem, (sums, number))
                item.meta["val"] = sums.meta["val"][number]
                copy.args = (counters[number], item)
    return [tuple(copy.name for copy in copies) for copies in joined]
