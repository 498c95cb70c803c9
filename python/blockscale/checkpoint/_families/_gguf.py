# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF, llama.cpp's files: codes and scales of a block are in one tensor."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from blockscale._native._checkpoint import Metadata
from blockscale.checkpoint._config import GGUF_CONFIG
from blockscale.checkpoint._families._family import Evidence, Family
from blockscale.checkpoint._layouts import GGML, Layout


class Gguf(Family):
    """One file has all, its configuration too."""

    name = "gguf"
    layouts = (
        Layout("GGUF NVFP4", "gguf", "nvfp4", "modelopt", "", (".weight", "NVFP4"),
               global_scale=".scale", input_scale=".input_scale", scalar_shape=(1,),
               shares_global=True, holds_scales=True),
        Layout("GGUF MXFP4", "gguf", "mxfp4", GGML, "", (".weight", "MXFP4"),
               activations="plain", holds_scales=True),
    )
    keeps_stacks = True
    describes_itself = True
    is_fused = False
    may_lack_global = True

    def guess(self, evidence: Evidence) -> Layout | None:
        dtype = evidence.get_dtype(".weight")
        return self.find_layout(dtype.lower()) if dtype in ("MXFP4", "NVFP4") else None

    def make_gguf(self, config: Mapping[str, Any], path: str) -> list[Metadata]:
        """What every reader looks for, and the configuration."""
        members = {name: value for name, value in config.items() if name != "quantization_config"}
        name = os.path.basename(os.path.normpath(path)).removesuffix(".gguf")
        return [Metadata("general.architecture", "string",
                         str(config.get("model_type", "unknown"))),
                Metadata("general.type", "string", "model"),
                Metadata("general.name", "string", name),
                Metadata("general.quantization_version", "u32", 2),
                Metadata(GGUF_CONFIG, "string", json.dumps(members))]
