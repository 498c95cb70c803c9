# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formats that have no layout here, by the marks that they have: they are named, and never taken
for something else."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from blockscale.checkpoint._config import Scheme
from blockscale.checkpoint._families._family import Stored
from blockscale.checkpoint._families._torchao import FLAT
from blockscale.checkpoint._layouts import PLAIN_DTYPES

#: What is said of such a format, behind its name.
NOT_KNOWN = "not known here"
#: What is said of a layer that has not all parts of its layout.
LACKS = "without all its parts"
#: Values of quant_method, and what the format is called.
_METHODS = {
    "gptq": "GPTQ", "gptqmodel": "GPTQ", "awq": "AWQ", "bitsandbytes": "bitsandbytes",
    "hqq": "HQQ", "quark": "Quark", "aqlm": "AQLM", "quanto": "Quanto", "eetq": "EETQ",
    "spqr": "SpQR", "vptq": "VPTQ", "higgs": "HIGGS", "bitnet": "BitNet", "fp_quant": "FP-Quant",
    "auto-round": "AutoRound", "intel/auto-round": "AutoRound", "marlin": "Marlin",
    "mlx": "MLX", "quip": "QuIP", "torchao": "torchao", "sinq": "SINQ",
}
#: Endings of names that one format alone has; a layer's name is in front of them. The first that
#: fits counts.
_ENDINGS = (
    (".g_idx", "GPTQ"), (".qweight", "AWQ"), (".qzeros", "AWQ"), (".weight.absmax", "bitsandbytes"),
    (".weight.nested_absmax", "bitsandbytes"), (".SCB", "bitsandbytes"),
    (".weight.quant_map", "bitsandbytes"), (".W_q", "HQQ"), (".codebooks", "AQLM"),
    (".Qidxs", "QuIP"), (".centroids.weight", "VPTQ"), (".dense_weights", "SpQR"),
    (".weight_shape", "pack-quantized"), (".weight._data", "Quanto"),
    (".weight_zero_point", "a format with zero points"),
)
#: Endings that such a layer has beside these.
_BESIDE = (".scales", ".biases", ".zeros", ".meta", ".codes", ".weight_format", ".scale", ".zero",
           ".nbits", ".group_size", ".shape", ".weight_scale", ".input_scale", ".weight_packed",
           ".weight.nested_quant_map", ".weight._scale", ".weight")
_STATE = ".weight.quant_state."
_MARKS = tuple(ending for ending, _ in _ENDINGS)
_ALL = tuple(dict.fromkeys((*_MARKS, *_BESIDE)))
#: Types of elements that are numbers as they are, or indices, masks and positions.
_NUMBERS = (*PLAIN_DTYPES, "F64", "C64", "BOOL", "I64", "U64")


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A quantized layer whose numbers are not known.

    Attributes:
      name: of the layer, or of the tensor.
      title: what the format is called.
      tensors: the names of its tensors.
      is_broken: whether the format is known, and the layer lacks a part.
    """

    name: str
    title: str
    tensors: tuple[str, ...]
    is_broken: bool = False

    def __str__(self) -> str:
        return f"{self.title} {LACKS}" if self.is_broken else f"{self.title}, {NOT_KNOWN}"


def _find_marks(tensors: Mapping[str, Stored]) -> dict[str, str]:
    """Layers with endings that one format alone has, and what that is called."""
    found: dict[str, str] = {}
    for name, tensor in tensors.items():
        if _STATE in name:
            found.setdefault(name.partition(_STATE)[0], "bitsandbytes")
        elif tensor.dtype == "U32" and name.endswith(".weight"):
            layer = name.removesuffix(".weight")
            if f"{layer}.scales" in tensors:
                found.setdefault(layer, "MLX")
        elif name.endswith(_MARKS):
            ending, title = next(each for each in _ENDINGS if name.endswith(each[0]))
            layer = name.removesuffix(ending)
            if title == "GPTQ" or layer not in found:
                found[layer] = title
    return found


def _list_tensors(layer: str, tensors: Mapping[str, Stored]) -> list[str]:
    """The tensors that a layer of a format without a layout may have."""
    return [layer + ending for ending in _ALL if layer + ending in tensors]


def _get_title(name: str, tensor: Stored, scheme: Scheme, described: Mapping[str, Any]) -> str:
    """What the configuration calls the format of a tensor, or its type."""
    kind = str(described.get("_type", ""))
    if kind and kind != "Tensor":
        return f"torchao's {kind}"
    group = scheme.find(name)
    if group is not None and not group.format:
        return f"{group.algorithm} of {tensor.dtype}".replace("I8", "INT8")
    if scheme.family in _METHODS and not scheme.groups:
        return _METHODS[scheme.family]
    return {"I8": "INT8", "I4": "INT4"}.get(tensor.dtype, tensor.dtype)


def _get_layer(name: str) -> str:
    """The layer or parameter that a tensor is of."""
    for ending in (".weight", ".weight_packed"):
        if name.endswith(ending):
            return name.removesuffix(ending)
    match = FLAT.fullmatch(name)
    return f"{match[1]}.{match[2]}".removesuffix(".weight") if match else name


def find_unknown(tensors: Mapping[str, Stored], used: set[str], scheme: Scheme,
                 torchao: Mapping[str, Mapping[str, Any]]) -> list[Unknown]:
    """The quantized layers that no layout explains, in the order of the files.

    Args:
      used: names of tensors that layouts explain.
      scheme: what the configuration says.
      torchao: what the metadata of files say, by the names of layers.
    """
    titles = {layer: _METHODS.get(scheme.family, title)
              for layer, title in _find_marks(tensors).items()}
    found = {layer: names for layer in titles
             if not used & set(names := _list_tensors(layer, tensors))}
    told = {name for names in found.values() for name in names}
    for name, tensor in tensors.items():
        if name in used or name in told:
            continue
        layer = name.partition(_STATE)[0]
        if layer in found:
            found[layer].append(name)
        elif tensor.dtype not in _NUMBERS and len(tensor.shape) > 1:
            layer = _get_layer(name)
            if layer not in found:
                found[layer] = []
                titles[layer] = _get_title(layer, tensor, scheme, torchao.get(layer, {}))
            beside = (each for each in _list_tensors(layer, tensors) if each not in used)
            found[layer] = list(dict.fromkeys((*found[layer], name, *beside)))
            told.update(found[layer])
    places = {name: number for number, name in enumerate(tensors)}
    return sorted((Unknown(layer, titles[layer], tuple(names)) for layer, names in found.items()),
                  key=lambda each: min(places[name] for name in each.tensors))
