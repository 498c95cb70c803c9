# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the layers of models are, by the names of their classes.

model_names.json has the model classes of transformers and was written by scripts/model_names.py;
fused_groups.json has the layers that vLLM makes one layer of, and was written by
scripts/fused_groups.py. Both say of which version they are.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
from collections.abc import Mapping
from typing import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


@functools.cache
def _read(name: str) -> Mapping[str, Any]:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        found: Mapping[str, Any] = json.load(file)
    return found


def get_version() -> str:
    """The version of transformers that the table is of."""
    return str(_read("model_names.json")["transformers"])


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A model class of transformers.

    Attributes:
      name: of the class.
      base: the path of the model without its head. Files have names with it or without it.
      kinds: by names of layers, with "*" for numbers, but for the last where that is a place among
        layers of other kinds: "embedding", "router", "norm",
        "convolution", "transposed" for a linear layer with a weight [K, N], "linear", "head",
        "stack" for a stack of experts, and "other".
      renamed: beginnings of names of files that are others in modules, with "*" for numbers.
    """

    name: str
    base: str
    kinds: Mapping[str, str]
    renamed: Mapping[str, str]

    @functools.cached_property
    def _ends(self) -> Mapping[str, str]:
        """Kinds by what is behind the last number of names, where that has one kind alone."""
        found: dict[str, set[str]] = {}
        for name, kind in self.kinds.items():
            _, star, end = name.rpartition("*.")
            if star:
                found.setdefault(end, set()).add(kind)
        return {end: kinds.pop() for end, kinds in found.items() if len(kinds) == 1}

    def find(self, name: str) -> str:
        """The kind of a layer, "" where the class has none of that name. Layers of another list,
        such as those that predict further tokens, are what layers with the same end are."""
        pattern = _NUMBER.sub("*", name)
        patterns = [pattern]
        if numbers := list(_NUMBER.finditer(name)):
            last = numbers[-1].start()
            patterns.append(_NUMBER.sub("*", name[:last]) + name[last:])
        for each in patterns:
            for whole in (each, f"{self.base}.{each}", each.removeprefix(self.base + ".")):
                if whole in self.kinds:
                    return self.kinds[whole]
        path, expert, _ = pattern.rpartition("experts.*.")
        if expert and "stack" in (self.find(f"{path}experts.{each}") for each in ("gate_up_proj",
                                                                                 "down_proj")):
            return "linear"  # Of a stack that became layers of each expert.
        _, star, end = pattern.rpartition("*.")
        return self._ends.get(end, "") if star else ""

    @functools.cached_property
    def heads(self) -> tuple[str, ...]:
        """The names of heads, without those that are copies in a list."""
        return tuple(name for name, kind in self.kinds.items()
                     if kind == "head" and "*" not in name)

    def get_module(self, name: str) -> str:
        """The name that the module of a layer has in transformers."""
        pattern = _NUMBER.sub("*", name)
        words = pattern.split(".")
        for count in range(len(words), -1, -1):
            begin = ".".join(words[:count])
            if begin in self.renamed:
                found = ".".join(filter(None, [self.renamed[begin], *words[count:]]))
                numbers = iter(_NUMBER.findall(name))
                *parts, end = found.split("*")
                return "".join(part + next(numbers) for part in parts) + end
        return name


@functools.lru_cache(maxsize=16)
def find_architecture(name: str) -> Architecture | None:
    """What is known of a class, None for a class that the table does not have."""
    table = _read("model_names.json")
    entry = table["architectures"].get(name)
    if entry is None:
        return None
    kinds: dict[str, str] = {}
    for path, number in entry["parts"]:
        for kind, by_parent in table["parts"][number].items():
            for parent, names in by_parent.items():
                prefix = "".join(f"{each}." for each in (path, parent) if each)
                kinds.update((prefix + each, kind) for each in names.split())
    renamed = table["renamed"][entry["renamed"]] if "renamed" in entry else {}
    return Architecture(name, entry["base"], kinds, renamed)


@functools.lru_cache(maxsize=16)
def get_groups(architecture: str) -> Mapping[str, str]:
    """The groups of layers that loaders make one layer of: by the last words of a layer's name,
    what they have in common."""
    table = _read("fused_groups.json")
    groups = [set(group) for group in table["everywhere"]]
    order = {name: number for number, name in enumerate(
        name for group in table["everywhere"] for name in group)}
    for group in table["architectures"].get(architecture, ()):
        joined = set(group)
        for other in [each for each in groups if each & joined]:
            joined |= other
            groups.remove(other)
        groups.append(joined)
        for name in group:
            order.setdefault(name, len(order))
    return {name: ",".join(sorted(group, key=order.__getitem__)) for group in groups
            for name in group}
