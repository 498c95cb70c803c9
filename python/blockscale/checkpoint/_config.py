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
#: ModelOpt's algorithms that have a layout here: format, and whether activations are quantized.
MODELOPT_ALGORITHMS = {
    "NVFP4": ("nvfp4", True), "W4A16_NVFP4": ("nvfp4", False), "NVFP4_AWQ": ("nvfp4", True),
    "NVFP4_SVD": ("nvfp4", True), "MXFP8": ("mxfp8", True), "FP8_PB_WO": ("fp8_blocks", True),
}
#: Formats of compressed-tensors that have a layout here.
PACKED_FORMATS = {"nvfp4-pack-quantized": "nvfp4", "mxfp4-pack-quantized": "mxfp4",
                  "mxfp8-quantized": "mxfp8"}
#: The key of torchao's metadata that names all tensors.
TORCHAO_NAMES = "tensor_names"
#: Types of torchao's configurations: format, and whether activations are quantized.
TORCHAO_TYPES = {
    "NVFP4WeightOnlyConfig": ("nvfp4", False),
    "NVFP4DynamicActivationNVFP4WeightConfig": ("nvfp4", True),
    "NVFP4InferenceConfig": ("nvfp4", True),
    "MXDynamicActivationMXWeightConfig": ("mxfp8", True),
    "MXFPInferenceConfig": ("mxfp8", True),
}
#: PyTorch's names of the elements of torchao's MX tensors.
TORCHAO_ELEMENTS = {"mxfp4": "float4_e2m1fn_x2", "mxfp8": "float8_e4m3fn",
                    "mxfp8_e5m2": "float8_e5m2"}


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


def _get_names(value: Any, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ArgumentError(f"{where}: expected a list of names, but got {value!r}")
    return tuple(value)


def _get_object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ArgumentError(f"{where}: expected an object of JSON, but got {value!r}")
    return value


def _make_modelopt_group(algorithm: Any, targets: Iterable[str] = ()) -> Group:
    format, is_quantized = MODELOPT_ALGORITHMS.get(str(algorithm), ("", True))
    return Group(str(algorithm), format, is_quantized, is_quantized and format == "nvfp4",
                 tuple(targets))


def _read_cache(members: Mapping[str, Any]) -> str:
    """How the KV cache is quantized, by any of the members that say it."""
    value = members.get("kv_cache_quant_algo") or members.get("kv_cache_scheme")
    if isinstance(value, dict):
        return "FP8" if value.get("num_bits") == 8 and value.get("type") == "float" else "other"
    return str(value) if value else ""


def _read_modelopt(members: Mapping[str, Any], where: str, ignored: str) -> Scheme:
    cache = _read_cache(members)
    names = _get_names(members.get(ignored), f"{where}: {ignored}")
    algorithm = members.get("quant_algo")
    if algorithm == "MIXED_PRECISION":
        by_algorithm: dict[str, list[str]] = {}
        layers = _get_object(members.get("quantized_layers", {}), f"{where}: quantized_layers")
        for name, each in layers.items():
            found = _get_object(each, f"{where}: quantized_layers: {name}").get("quant_algo")
            by_algorithm.setdefault(str(found), []).append(name)
        return Scheme("modelopt", tuple(_make_modelopt_group(each, targets)
                                        for each, targets in by_algorithm.items()), names, where,
                      cache)
    groups = () if algorithm is None else (_make_modelopt_group(algorithm),)
    return Scheme("modelopt", groups, names, where, cache)


def _read_compressed_tensors(members: Mapping[str, Any], where: str) -> Scheme:
    groups = []
    found = _get_object(members.get("config_groups") or {}, f"{where}: config_groups")
    for name, value in found.items():
        if name == value:  # The name of a preset stands for its groups.
            continue
        place = f"{where}: config_groups: {name}"
        each = _get_object(value, place)
        algorithm = each.get("format") or members.get("format") or ""
        activations = each.get("input_activations")
        is_static = isinstance(activations, dict) and activations.get("dynamic") in (False, "local")
        format = PACKED_FORMATS.get(str(algorithm), "")
        groups.append(Group(str(algorithm), format, activations is not None,
                            is_static and format == "nvfp4",
                            _get_names(each.get("targets"), f"{place}: targets")))
    return Scheme("compressed-tensors", tuple(groups),
                  _get_names(members.get("ignore"), f"{where}: ignore"), where,
                  _read_cache(members))


def _read_torchao(members: Mapping[str, Any], where: str) -> Scheme:
    types = members.get("quant_type")
    default = types.get("default") if isinstance(types, dict) else None
    name = default.get("_type") if isinstance(default, dict) else types
    format, is_quantized = TORCHAO_TYPES.get(str(name), ("", False))
    data = default.get("_data") if isinstance(default, dict) else None
    element = data.get("weight_dtype") if isinstance(data, dict) else None
    if format == "mxfp8" and isinstance(element, dict):
        format = next((each for each, dtype in TORCHAO_ELEMENTS.items()
                       if dtype == element.get("_data")), "")
    ignored = _get_names(members.get("modules_to_not_convert"), f"{where}: modules_to_not_convert")
    return Scheme("torchao", (Group(str(name), format, is_quantized),), ignored, where)


def read_scheme(config: Mapping[str, Any], quantization: Mapping[str, Any]) -> Scheme:
    """What configurations say; those of ModelOpt are in either file, and loaders read
    hf_quant_config.json only where config.json says nothing.

    Raises: ArgumentError for members of other types.
    """
    where = f"{CONFIG}: quantization_config"
    members = config.get("quantization_config")
    if members is None and isinstance(config.get("text_config"), dict):
        members = config["text_config"].get("quantization_config")
    if members is None:
        if not quantization:
            return Scheme()
        place = f"{MODELOPT_CONFIG}: quantization"
        inner = _get_object(quantization.get("quantization", {}), place)
        return _read_modelopt(inner, place, "exclude_modules")
    members = _get_object(members, where)
    method = members.get("quant_method")
    if method == "modelopt" or method is None and "quant_algo" in members:
        return _read_modelopt(members, where, "ignore" if "ignore" in members
                              else "exclude_modules")
    if method == "compressed-tensors":
        return _read_compressed_tensors(members, where)
    ignored = _get_names(members.get("modules_to_not_convert"), f"{where}: modules_to_not_convert")
    if method == "mxfp4":
        return Scheme("gpt-oss", (Group("mxfp4", "mxfp4", False),), ignored, where)
    if method == "fp8" and members.get("weight_block_size"):
        return Scheme("fp8-blocks", (Group("fp8", "fp8_blocks", True),), ignored, where)
    if method == "torchao":
        return _read_torchao(members, where)
    return Scheme(str(method), (), ignored, where)


def read_config(folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """config.json and hf_quant_config.json of a folder, {} where one is not there."""
    found = []
    for name in (CONFIG, MODELOPT_CONFIG):
        path = os.path.join(folder, name)
        found.append(read_json(path) if folder and os.path.exists(path) else {})
    return found[0], found[1]
