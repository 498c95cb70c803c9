# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configurations of quantized checkpoints, as they are written."""

from __future__ import annotations

import copy
from typing import Any, Mapping, Sequence

from blockscale.checkpoint._config import CONFIG
from blockscale.checkpoint._families import Family, Quantized
from blockscale.checkpoint._jobs._plan import write_json


def write_configs(config: Mapping[str, Any], family: Family, layers: Mapping[str, Quantized],
                  left: Sequence[str], kv_cache: str = "") -> dict[str, bytes]:
    """The configurations of a result, by name.

    Args:
      config: config.json of the source, {} where there is none.
      family: of the layouts of the result.
      layers: that are quantized, by name.
      left: names of layers that are not.
      kv_cache: how the KV cache is quantized, "FP8" or "".
    """
    members = copy.deepcopy(dict(config))
    members.pop("quantization_config", None)
    if isinstance(members.get("text_config"), dict):
        members["text_config"].pop("quantization_config", None)
    files: dict[str, bytes] = {}
    written = family.write(layers, left, kv_cache) if layers else None
    if written is not None:
        members["quantization_config"] = written.members
        files.update((name, write_json(each)) for name, each in written.files.items())
    if members:
        files[CONFIG] = write_json(members)
    return files
