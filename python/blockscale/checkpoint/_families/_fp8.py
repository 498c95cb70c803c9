# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FP8 that transformers and vLLM call "fp8": E4M3 with a scale for each 128 x 128, as DeepSeek's
and Qwen's models have it, or for each tensor or row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blockscale.checkpoint._config import Group, Scheme, get_names
from blockscale.checkpoint._families._family import (
    Evidence,
    Family,
    Quantized,
    Written,
    find_fp8_format,
)
from blockscale.checkpoint._layouts import FP8_BLOCK, Layout

_METHOD, _FBGEMM = "fp8", "fbgemm_fp8"
#: Families whose own layouts FP8 with scales behind `.weight_scale` has.
_OTHERS = ("modelopt", "compressed-tensors")


def _read_ignored(members: Mapping[str, Any], where: str) -> tuple[str, ...]:
    return tuple(name for member in ("modules_to_not_convert", "ignored_layers")
                 for name in get_names(members.get(member), f"{where}: {member}"))


class Fp8Blocks(Family):
    """Scales are called inverse, and numbers are multiplied by them nevertheless."""

    name = "fp8-blocks"
    layouts = (
        Layout("FP8 in blocks of 128 x 128", "fp8-blocks", "fp8_blocks", "", "",
               (".weight", "F8_E4M3"), (".weight_scale_inv", "F32"),
               scale_types=("BF16", "F16", "F8_E8M0")),
        Layout("FP8 in blocks of 128 x 128, stack", "fp8-blocks", "fp8_blocks", "", "",
               ("", "F8_E4M3"), ("_scale_inv", "F32"), scale_types=("BF16", "F16", "F8_E8M0"),
               is_stack=True, is_written=False),
    )
    leaves_heads = True

    def recognizes(self, members: Mapping[str, Any]) -> bool:
        return members.get("quant_method") == _METHOD and bool(members.get("weight_block_size"))

    def read(self, members: Mapping[str, Any], where: str) -> Scheme:
        size = members.get("weight_block_size")
        group = Group("fp8", "fp8_blocks", True) if size == [FP8_BLOCK, FP8_BLOCK] else Group(
            f"fp8 in blocks of {size}", "", True)
        return Scheme(self.name, (group,), _read_ignored(members, where), where)

    def guess(self, evidence: Evidence) -> Layout | None:
        if evidence.scheme.family == self.name and evidence.group is not None and (
                not evidence.format):
            return None
        if "_scale_inv" in evidence.parts and evidence.get_dtype("") == "F8_E4M3":
            return self.layouts[1]
        is_one = ".weight_scale_inv" in evidence.parts or (
            evidence.scheme.family == self.name and evidence.format == "fp8_blocks"
            and ".weight_scale" not in evidence.parts)
        return self.layouts[0] if is_one and evidence.get_dtype(".weight") == "F8_E4M3" else None

    def write(self, layers: Mapping[str, Quantized], left: Sequence[str],
              kv_cache: str) -> Written:
        return Written({
            "activation_scheme": "dynamic", "fmt": "e4m3", "modules_to_not_convert": list(left),
            "quant_method": _METHOD, "weight_block_size": [FP8_BLOCK, FP8_BLOCK]})


class Fp8(Family):
    """FP8 of one scale a tensor, which AutoFP8 wrote, and of one a row, which FBGEMM reads."""

    name = "fp8"
    layouts = tuple(
        Layout(f"FP8 of one scale a {name}", "fp8", format, data=(".weight", "F8_E4M3"),
               scales=(".weight_scale", "F32"), scale_types=("BF16", "F16"),
               input_scale=".input_scale", is_written=False)
        for name, format in (("tensor", "fp8_tensor"), ("row", "fp8_channel")))
    leaves_heads = True
    methods = (_METHOD, _FBGEMM)

    def read(self, members: Mapping[str, Any], where: str) -> Scheme:
        method = str(members.get("quant_method"))
        is_static = members.get("activation_scheme") == "static"
        format = "fp8_channel" if method == _FBGEMM else "fp8_tensor"
        return Scheme(self.name, (Group(method, format, True, is_static),),
                      _read_ignored(members, where), where)

    def guess(self, evidence: Evidence) -> Layout | None:
        if evidence.scheme.family in _OTHERS or (".weight_scale" not in evidence.parts and (
                evidence.scheme.family != self.name)):
            return None
        return self.find_read(find_fp8_format(evidence))
