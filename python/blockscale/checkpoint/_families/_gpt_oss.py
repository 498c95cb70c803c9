# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpt-oss: MXFP4 stacks of experts, in which rows of gate and up alternate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blockscale.checkpoint._config import Group, Scheme, get_names
from blockscale.checkpoint._families._family import Evidence, Family, Quantized, Written
from blockscale.checkpoint._layouts import Layout

#: The members of experts that are stacks here.
_STACKS = ("gate_up_proj", "down_proj")


class GptOss(Family):
    """Blocks are a dimension of their own, and nothing but experts is quantized."""

    name = "gpt-oss"
    layouts = (Layout("gpt-oss MXFP4", "gpt-oss", "mxfp4", "even", "even", ("_blocks", "U8"),
                      ("_scales", "U8"), is_stack=True, is_interleaved=True,
                      has_block_dimension=True),)
    methods = ("mxfp4",)
    keeps_stacks = True
    joins_experts = True
    says_activations = False

    def read(self, members: Mapping[str, Any], where: str) -> Scheme:
        ignored = get_names(members.get("modules_to_not_convert"),
                            f"{where}: modules_to_not_convert")
        return Scheme(self.name, (Group("mxfp4", "mxfp4", False),), ignored, where)

    def guess(self, evidence: Evidence) -> Layout | None:
        return self.layouts[0] if "_blocks" in evidence.parts else None

    def write(self, layers: Mapping[str, Quantized], left: Sequence[str],
              kv_cache: str) -> Written:
        return Written({"quant_method": "mxfp4", "modules_to_not_convert": list(left)})

    def find_obstacle(self, name: str, rank: int) -> str:
        if rank == 2:
            return "expected a stack of experts, as gpt-oss quantizes nothing else"
        if not name.endswith(_STACKS):
            return "expected a stack gate_up_proj or down_proj, as gpt-oss has"
        return ""
