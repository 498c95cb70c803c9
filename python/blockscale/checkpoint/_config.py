# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What configurations say of quantization: config.json and hf_quant_config.json, as they are
read."""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import os
import re
from typing import Any, Iterable, Mapping

from blockscale._errors import ArgumentError
from blockscale.checkpoint._files import read_json

CONFIG, MODELOPT_CONFIG = "config.json", "hf_quant_config.json"
#: The key of torchao's metadata that names all tensors.
TORCHAO_NAMES = "tensor_names"
#: The key of GGUF files that has the text of config.json.
GGUF_CONFIG = "blockscale.config"


def is_class(pattern: str) -> bool:
    """Whether a target is a class of modules, as "Linear"."""
    return "." not in pattern and pattern[:1].isupper() and "*" not in pattern


def _compile(pattern: str) -> re.Pattern[str] | None:
    """A regular expression behind "re:", or of a wildcard for layers and the modules that they are
    in; None for one that is none."""
    inside = fnmatch.translate(f"{pattern}.*")
    try:
        return re.compile(pattern[3:] if pattern.startswith("re:") else
                          f"(?:{fnmatch.translate(pattern)})|(?:{inside})")
    except re.error:
        return None


class Patterns:
    """Patterns of the names of layers: a name is that of a layer or of a module that it is in, or
    ends a name; others are wildcards, and regular expressions behind "re:". There may be as many as
    layers."""

    def __init__(self, patterns: Iterable[str]):
        names = [pattern.removesuffix(".weight") for pattern in patterns]
        special = [name for name in names if name.startswith("re:") or set(name) & set("*?[")]
        self._names = frozenset(names) - set(special)
        self._compiled = [found for name in special if (found := _compile(name)) is not None]

    def match(self, name: str) -> bool:
        parts = name.split(".")
        return (any(".".join(parts[:end]) in self._names for end in range(1, len(parts) + 1))
                or any(".".join(parts[begin:]) in self._names for begin in range(1, len(parts)))
                or any(pattern.match(name) for pattern in self._compiled))


@dataclasses.dataclass(frozen=True)
class Group:
    """Layers that are quantized alike: patterns of their names, or of classes of modules.

    Attributes:
      algorithm: as the configuration has it.
      format: ours, "" for one that has no layout here.
      quantizes_activations: whether activations are quantized when the model runs.
      has_static_scale: whether they have a scale in the checkpoint.
      targets: patterns; empty for all layers.
    """

    algorithm: str
    format: str
    quantizes_activations: bool
    has_static_scale: bool = False
    targets: tuple[str, ...] = ()

    @functools.cached_property
    def _patterns(self) -> Patterns:
        return Patterns(target for target in self.targets if not is_class(target))

    @functools.cached_property
    def _has_class(self) -> bool:
        return any(map(is_class, self.targets))

    def match(self, name: str) -> bool:
        """Whether a layer is of the group, if it is of no other class than linear layers."""
        return not self.targets or self._has_class or self._patterns.match(name)


@dataclasses.dataclass(frozen=True)
class Scheme:
    """What the configuration of a checkpoint says.

    Attributes:
      family: a family of layouts, "" of a plain checkpoint, or one that is not known.
      groups: the first that matches a layer says how it is quantized.
      ignored: patterns of the names of layers that are not quantized.
      origin: the file and the member that say so.
      kv_cache: how the KV cache is quantized, as "FP8"; "" where it is not.
    """

    family: str = ""
    groups: tuple[Group, ...] = ()
    ignored: tuple[str, ...] = ()
    origin: str = ""
    kv_cache: str = ""

    @functools.cached_property
    def _ignored(self) -> Patterns:
        return Patterns(self.ignored)

    def ignores(self, name: str) -> bool:
        return self._ignored.match(name)

    def find(self, name: str) -> Group | None:
        """How a layer is quantized, if it is."""
        if self.ignores(name):
            return None
        return next((group for group in self.groups if group.match(name)), None)

    def describe(self) -> str:
        if not self.family:
            return "plain"
        algorithms = ", ".join(dict.fromkeys(group.algorithm for group in self.groups))
        return f"{self.family} ({algorithms})" if algorithms else self.family


def get_names(value: Any, where: str) -> tuple[str, ...]:
    """A list of names, or one.

    Raises: ArgumentError for another.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ArgumentError(f"{where}: expected a list of names, but got {value!r}")
    return tuple(value)


def get_object(value: Any, where: str) -> Mapping[str, Any]:
    """An object of JSON.

    Raises: ArgumentError for another.
    """
    if not isinstance(value, dict):
        raise ArgumentError(f"{where}: expected an object of JSON, but got {value!r}")
    return value


def read_cache(members: Mapping[str, Any]) -> str:
    """How the KV cache is quantized, by any of the members that say it."""
    value = members.get("kv_cache_quant_algo") or members.get("kv_cache_scheme")
    if isinstance(value, dict):
        return "FP8" if value.get("num_bits") == 8 and value.get("type") == "float" else "other"
    return str(value) if value else ""


def read_config(folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """config.json and hf_quant_config.json of a folder, {} where one is not there."""
    found = []
    for name in (CONFIG, MODELOPT_CONFIG):
        path = os.path.join(folder, name)
        found.append(read_json(path) if folder and os.path.exists(path) else {})
    return found[0], found[1]
