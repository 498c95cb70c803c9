# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parameters of a model that files have, whichever way they are stored.

A rule about the parts of a model asks whether there is a weight of that name and shape. Whether the
weight is plain, or codes with scales beside them, is nothing to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from blockscale.checkpoint._candidates import Candidate
from blockscale.checkpoint._check._parts import has_type
from blockscale.checkpoint._check._strangers import find_wrapper
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._config import get_size
from blockscale.checkpoint._layouts import DATA

#: Shapes by the names of parameters, as models have them: "model.norm.weight", and
#: "model.layers.0.mlp.experts.down_proj" of a stack. None where codes are not there or not whole.
Members = Mapping[str, tuple[int, ...] | None]

_FIRST_NUMBER = re.compile(r"(?P<path>(?:[^.]*\.)*?)(?P<number>\d{1,9})\.(?P<rest>.+)")
#: Members of configurations that say how many experts a layer chooses from.
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts",
            "num_moe_experts")


def list_members(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]) -> Members:
    """The parameters of a checkpoint, in the order of its files."""
    found: dict[str, tuple[int, ...] | None] = {}
    owner = {tensor.name: candidate for candidate in candidates.values()
             for tensor in candidate.parts.values()}
    unknown = {name for each in checkpoint.unknown for name in each.tensors}
    for name, tensor in checkpoint.tensors.items():
        if find_wrapper(name):
            continue
        if name in unknown:
            found[name] = None
            continue
        candidate = owner.get(name)
        if candidate is None:
            found[name] = tensor.shape
            continue
        is_stack = candidate.layout is not None and candidate.layout.is_stack
        member = candidate.name if is_stack else f"{candidate.name}.weight"
        if candidate.layout is None and name == member:
            found[name] = tensor.shape
        else:
            found.setdefault(member, candidate.shape if has_type(candidate, DATA) else None)
    return found


def get_experts(config: Mapping[str, Any]) -> int | None:
    """How many experts a layer chooses from."""
    return get_size(config, *_EXPERTS)


def split_layer(name: str) -> tuple[str, int, str] | None:
    """The path of layers, the number of one and the rest of a name: "model.layers", 3 and
    "mlp.up_proj.weight"."""
    match = _FIRST_NUMBER.fullmatch(name)
    return (match["path"].rstrip("."), int(match["number"]), match["rest"]) if match else None
