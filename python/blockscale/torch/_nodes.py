# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ops of PyTorch's graphs do to their arguments, and new nodes of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx


def is_mutable(target: Any) -> bool:
    """Whether an op writes into a tensor that it is given."""
    return isinstance(target, torch._ops.OpOverload) and bool(target._schema.is_mutable)


def is_pure(target: Any) -> bool:
    """Whether an op writes into no tensor, and draws no random numbers."""
    return (isinstance(target, torch._ops.OpOverload) and not is_mutable(target)
            and torch.Tag.nondeterministic_seeded not in target.tags)


def emit(graph: fx.Graph, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
    """A new node, where the graph inserts, with the value that the op makes of those of its
    arguments."""
    made = graph.call_function(target, args, kwargs)
    known = fx.node.map_arg((args, kwargs), lambda each: each.meta["val"])
    made.meta["val"] = target(*known[0], **known[1])
    return made
