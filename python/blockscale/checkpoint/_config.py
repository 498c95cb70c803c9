# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What configurations say of quantization: config.json and hf_quant_config.json, as they are
read."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any

from blockscale._errors import ArgumentError
from blockscale._text import shorten
from blockscale.checkpoint._files import read_json
from blockscale.checkpoint._patterns import Budget, Patterns

CONFIG, MODELOPT_CONFIG = "config.json", "hf_quant_config.json"
#: The key of torchao's metadata that names all tensors.
TORCHAO_NAMES = "tensor_names"
#: The key of GGUF files that has the text of config.json.
GGUF_CONFIG = "blockscale.config"


#: Classes of modules that are no linear layers.
_TABLES = ("Embedding", "VocabParallelEmbedding")


def is_class(pattern: str) -> bool:
    """Whether a target is a class of modules, as "Linear"."""
    return "." not in pattern and pattern[:1].isupper() and "*" not in pattern


@dataclasses.dataclass(frozen=True)
class Group:
    """Layers that are quantized alike: patterns of their names, or of classes of modules.

    Attributes:
      algorithm: as the configuration has it.
      format: ours, "" for one that has no layout here.
      quantizes_activations: whether activations are quantized when the model runs.
      has_static_scale: whether they have a scale in the checkpoint.
      targets: patterns; empty for all layers.
      other_activations: what activations are, where they are in another format than weights.
    """

    algorithm: str
    format: str
    quantizes_activations: bool
    has_static_scale: bool = False
    targets: tuple[str, ...] = ()
    other_activations: str = ""

    @property
    def is_general(self) -> bool:
        """Whether all linear layers are of it that no other group names."""
        return not self.targets or any(is_class(target) and target not in _TABLES
                                       for target in self.targets)

    def make_patterns(self, budget: Budget, is_exact: bool) -> Patterns:
        """What the names of layers match that it names."""
        return Patterns((target for target in self.targets if not is_class(target)), budget,
                        is_exact)


@dataclasses.dataclass(frozen=True)
class Scheme:
    """What the configuration of a checkpoint says.

    Attributes:
      family: a family of layouts, "" of a plain checkpoint, or one that is not known.
      groups: the first that names a layer says how it is quantized, or else the first of its class.
      ignored: patterns of the names of layers that are not quantized.
      origin: the file and the member that say so.
      kv_cache: how the KV cache is quantized, as "FP8"; "" where it is not.
      is_exact: whether names mean layers alone, and not what is in a module of that name.
      transforms: the member that says how weights and activations are transformed, "" for none.
    """

    family: str = ""
    groups: tuple[Group, ...] = ()
    ignored: tuple[str, ...] = ()
    origin: str = ""
    kv_cache: str = ""
    is_exact: bool = False
    transforms: str = ""

    @functools.cached_property
    def _budget(self) -> Budget:
        return Budget(self.origin)

    @functools.cached_property
    def _ignored(self) -> Patterns:
        return Patterns(self.ignored, self._budget, self.is_exact)

    @functools.cached_property
    def _targets(self) -> tuple[Patterns, ...]:
        return tuple(group.make_patterns(self._budget, self.is_exact) for group in self.groups)

    def ignores(self, name: str) -> bool:
        """Raises: ArgumentError for a regular expression that is none, or takes too long."""
        return self._match(self._ignored, name)

    def _match(self, patterns: Patterns, name: str) -> bool:
        """Whether patterns mean a layer. A stack is a parameter of the module of the experts."""
        path = name.rpartition(".")[0]
        return patterns.match(name) or (self.is_exact and path.endswith("experts") and (
            patterns.match(path)))

    def find(self, name: str) -> Group | None:
        """How a layer is quantized, if it is.

        Raises: ArgumentError for a regular expression that is none, or takes too long.
        """
        if self.ignores(name):
            return None
        for group, targets in zip(self.groups, self._targets):
            if self._match(targets, name):
                return group
        return next((group for group in self.groups if group.is_general), None)

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
        raise ArgumentError(f"{where}: expected a list of names, but got {shorten(value)}")
    return tuple(value)


def get_object(value: Any, where: str) -> Mapping[str, Any]:
    """An object of JSON.

    Raises: ArgumentError for another.
    """
    if not isinstance(value, dict):
        raise ArgumentError(f"{where}: expected an object of JSON, but got {shorten(value)}")
    return value


#: No size of a model is larger.
_MOST_SIZE = 2**31 - 1


def get_text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members that describe the language model: those of text_config in a model of several
    kinds of input, else all."""
    text = config.get("text_config")
    return text if isinstance(text, dict) else config


def get_size(config: Mapping[str, Any], *names: str) -> int | None:
    """A size or a number of layers that config.json says of the language model: the first of these
    members that is positive. None where it says nothing, or something for each layer or
    part of a model.

    Raises: ArgumentError for what is no size.
    """
    members = get_text_config(config)
    for name in names:
        value = members.get(name)
        if value is None or isinstance(value, list) or (isinstance(value, dict) and value):
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_SIZE:
            raise ArgumentError(f"{CONFIG}: expected {name} to be an integer from 0 to "
                                f"{_MOST_SIZE}, but got {shorten(value)}")
        if value:
            return value
    return None


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
