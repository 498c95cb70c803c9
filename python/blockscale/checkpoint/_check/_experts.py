# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of experts: whether all are there, and as many as the configuration says."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator, Mapping
from typing import Any

from blockscale.checkpoint._check._layers import find_text_layers
from blockscale.checkpoint._check._members import Members, get_experts
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._config import CONFIG, get_size
from blockscale.checkpoint._names import Names, split_expert

_ROUTER = re.compile(r".*\.(?:mlp|block_sparse_moe)\.(?:gate|router)\."
                     r"(?:weight|e_score_correction_bias)")
#: What an expert may lack that others have: activations that it never saw have no scale.
_OPTIONAL = ("bias", "input_scale", "input_global_scale")
_SHOWN = 8


def check_numbered(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Experts that have tensors of their own: each number, and in each what others have."""
    experts: dict[str, dict[int, set[str]]] = {}
    for name in checkpoint.tensors:
        split = split_expert(name.rpartition(".")[0])
        if split:
            experts.setdefault(split[0], {}).setdefault(split[1], set()).add(
                f"{split[2]}.{name.rpartition('.')[2]}")
    wanted = get_experts(checkpoint.config)
    for path, numbers in experts.items():
        count = max(numbers) + 1
        # A number that is far from the others is no reason to count to it.
        holes = [number for number in range(min(count, len(numbers) + _SHOWN))
                 if number not in numbers]
        if holes:
            yield find("all-experts", path, f"expected experts 0 to {max(numbers)}, but got none "
                       f"with number {', '.join(map(str, holes[:_SHOWN]))}")
        elif wanted and count != wanted:
            yield find("all-experts", path, f"expected {wanted} experts, as {CONFIG} says, but got "
                       f"{count}")
        counts = collections.Counter(name for names in numbers.values() for name in names)
        usual = {name for name, count in counts.items()
                 if 2 * count >= len(numbers) and not name.endswith(_OPTIONAL)}
        for number, names in numbers.items():
            for name in sorted(usual - names):
                yield find("all-experts", f"{path}.{number}", f"expected a tensor '{name}', as "
                           "other experts have, but got none")


def check_stacks(members: Members, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Stacks of experts and routers: as many matrices, and as many rows."""
    wanted, (path, _) = get_experts(config), find_text_layers(members)
    if not wanted or not path:
        return
    known = Names(config)
    # Experts that compute nothing, or that all tokens pass, are routed to in some models.
    counts = {wanted, wanted + (get_size(config, "zero_expert_num") or 0),
              wanted + (get_size(config, "n_shared_experts") or 0)}
    for name, shape in members.items():
        if shape is None or not name.startswith(f"{path}.") or (shape[0:1] and shape[0] in counts):
            continue
        if len(shape) == 3 and "shared" not in name and known.is_stack(
                name.removesuffix(".weight")):
            yield find("all-experts", name, f"expected {wanted} experts, as {CONFIG} says, but got "
                       f"{shape[0]}")
        elif len(shape) in (1, 2) and _ROUTER.fullmatch(name):
            yield find("all-experts", name, f"expected a row for each of {wanted} experts, as "
                       f"{CONFIG} says, but got {shape[0]}")
