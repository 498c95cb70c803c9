# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FP8 of DeepSeek's and Qwen's models: E4M3 with a scale for each 128 x 128."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from blockscale.checkpoint._config import Group, Scheme, get_names
from blockscale.checkpoint._families._family import Evidence, Family, Quantized, Written
from blockscale.checkpoint._layouts import FP8_BLOCK, Layout


class Fp8Blocks(Family):
    """Scales are called inverse, and numbers are multiplied by them nevertheless."""

    name = "fp8-blocks"
    layouts = (Layout("FP8 in blocks of 128 x 128", "fp8-blocks", "fp8_blocks", "", "",
                      (".weight", "F8_E4M3"), (".weight_scale_inv", "F32")),)
    loaders = {
        "vLLM": "weight_block_size in the configuration",
        "TensorRT-LLM": "weight_block_size in the configuration",
        "SGLang": "weight_block_size in the configuration",
        "transformers": "weight_block_size in the configuration, and kernels of FP8",
    }

    def recognizes(self, members: Mapping[str, Any]) -> bool:
        return members.get("quant_method") == "fp8" and bool(members.get("weight_block_size"))

    def read(self, members: Mapping[str, Any], where: str) -> Scheme:
        ignored = get_names(members.get("modules_to_not_convert"),
                            f"{where}: modules_to_not_convert")
        return Scheme(self.name, (Group("fp8", "fp8_blocks", True),), ignored, where)

    def guess(self, evidence: Evidence) -> Layout | None:
        if evidence.get_dtype(".weight") != "F8_E4M3":
            return None
        is_one = ".weight_scale_inv" in evidence.parts or evidence.format == "fp8_blocks"
        return self.layouts[0] if is_one else None

    def write(self, layers: Mapping[str, Quantized], left: Sequence[str],
              kv_cache: str) -> Written:
        return Written({
            "activation_scheme": "dynamic", "fmt": "e4m3", "modules_to_not_convert": list(left),
            "quant_method": "fp8", "weight_block_size": [FP8_BLOCK, FP8_BLOCK]})
