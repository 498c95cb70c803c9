# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The families of checkpoints that are known here, and which of them a checkpoint is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockscale.checkpoint._config import CONFIG, MODELOPT_CONFIG, Scheme, get_names, get_object
from blockscale.checkpoint._families._compressed_tensors import CompressedTensors
from blockscale.checkpoint._families._family import Evidence, Family, Quantized, Written
from blockscale.checkpoint._families._float4 import Float4
from blockscale.checkpoint._families._fp8 import Fp8, Fp8Blocks
from blockscale.checkpoint._families._gguf import Gguf
from blockscale.checkpoint._families._gpt_oss import GptOss
from blockscale.checkpoint._families._modelopt import ModelOpt, read_members
from blockscale.checkpoint._families._plain import Plain
from blockscale.checkpoint._families._torchao import TorchAo
from blockscale.checkpoint._families._unknown import NOT_KNOWN, Unknown, find_unknown
from blockscale.checkpoint._layouts import Layout

__all__ = ["ALL", "FAMILIES", "LAYOUTS", "NOT_KNOWN", "TARGETS", "Evidence", "Family", "Quantized",
           "Unknown", "Written", "find_family", "find_layout", "find_unknown",
           "get_family", "get_layout", "guess", "read_scheme"]

#: All families.
ALL: tuple[Family, ...] = (ModelOpt(), CompressedTensors(), GptOss(), TorchAo(), Gguf(),
                           Fp8Blocks(), Fp8(), Float4(), Plain())
_BY_NAME = {family.name: family for family in ALL}
#: Those that weights can be quantized to, and plain numbers, by the names that --layout takes.
FAMILIES = ("modelopt", "compressed-tensors", "gpt-oss", "torchao", "gguf", "plain")
#: What checkpoints can be converted to.
TARGETS = (*FAMILIES, "fp8-blocks")
LAYOUTS: tuple[Layout, ...] = tuple(layout for family in ALL for layout in family.layouts)
_WRITTEN = {layout.name: layout for layout in LAYOUTS if layout.is_written}
#: The order in which families are asked: those whose names of tensors are their own come first.
_ASKED = ("torchao", "gpt-oss", "gguf", "f4", "fp8-blocks", "compressed-tensors", "fp8", "modelopt")


def get_family(name: str) -> Family:
    return _BY_NAME[name]


def find_family(name: str) -> Family | None:
    """The family of a name, None for one that is not known here."""
    return _BY_NAME.get(name)


def find_layout(family: str, format: str) -> Layout | None:
    """The layout that a family has for a format, if there is one."""
    return _BY_NAME[family].find_layout(format)


def get_layout(name: str) -> Layout:
    """The layout of a name, of those that results have."""
    return _WRITTEN[name]


def guess(evidence: Evidence) -> Layout | None:
    """The layout that tensors of a layer speak for, None for plain ones and unknown ones."""
    return next((layout for name in _ASKED
                 if (layout := _BY_NAME[name].guess(evidence)) is not None), None)


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
        inner = get_object(quantization.get("quantization", {}), place)
        return read_members(inner, place, "exclude_modules")
    members = get_object(members, where)
    for family in ALL:
        if family.recognizes(members):
            return family.read(members, where)
    ignored = get_names(members.get("modules_to_not_convert"), f"{where}: modules_to_not_convert")
    return Scheme(str(members.get("quant_method")), (), ignored, where)
