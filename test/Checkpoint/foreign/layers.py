# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders whose layers are encoded one by one, and the configurations that ModelOpt writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import decoders
from foreign import encodings
from foreign.sources import Source, make_tensors, quantize

MODELOPT = {"name": "modelopt", "version": "0.47.0"}
Parts = tuple[dict[str, Any], np.ndarray]


def scalar(value: Any) -> np.ndarray:
    return np.array(value, np.float32)


def group_of(layer: str) -> str:
    """What layers have in common that loaders fuse."""
    path, _, last = layer.rpartition(".")
    return path if last in ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj") else layer


def find_amaxes(tensors: dict[str, np.ndarray]) -> dict[str, float]:
    """The largest number of the weights of each group that loaders fuse."""
    found: dict[str, float] = {}
    for name, value in tensors.items():
        if name.endswith(".weight"):
            key = group_of(name.removesuffix(".weight"))
            found[key] = max(found.get(key, 0.0), float(np.abs(value.astype(np.float32)).max()))
    return found


class Maker:
    """A decoder of test/Checkpoint/decoders.py and the encoders of its layers."""

    def __init__(self, family: str):
        self.config = decoders.CONFIGS[family]
        self.tensors = make_tensors(family)
        self.amaxes = find_amaxes(self.tensors)

    def nvfp4(self, layer: str, values: np.ndarray, has_input: bool = True) -> Parts:
        found = encodings.encode_nvfp4(values, self.amaxes[group_of(layer)])
        parts = {".weight": found.codes, ".weight_scale": found.scales,
                 ".weight_scale_2": scalar(found.global_scale)}
        return (parts | {".input_scale": scalar(6 / 2688)} if has_input else parts), found.values

    def fp8(self, layer: str, values: np.ndarray) -> Parts:
        found = encodings.encode_fp8(values)
        return {".weight": found.codes, ".weight_scale": found.scales,
                ".input_scale": scalar(6 / 448)}, found.values

    def make(self, name: str, encode: Callable[..., Parts], quantization: Any,
             files: Any = None, **more: Any) -> Source:
        tensors, truth, layers = quantize(self.tensors, encode)
        config = dict(self.config)
        if quantization is not None:
            config["quantization_config"] = quantization
        return Source(name, "hand", tensors, config, truth, layers, files=files or {}, **more)


def list_left(maker: Maker) -> list[str]:
    """The layers that are not quantized, as configurations name them."""
    return ["lm_head"] + [name.removesuffix(".weight") for name in maker.tensors
                          if name.endswith(".mlp.gate.weight")]


def describe_modelopt(maker: Maker, algorithm: str, **more: Any) -> tuple[dict[str, Any],
                                                                           dict[str, Any]]:
    """quantization_config, and the file hf_quant_config.json."""
    inner = {"quant_algo": algorithm, "kv_cache_quant_algo": None,
             "exclude_modules": list_left(maker), **more}
    outer = {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": list_left(maker),
             "producer": MODELOPT,
             **({"quantized_layers": more["quantized_layers"]} if "quantized_layers" in more
                else {})}
    return outer, {"hf_quant_config.json": {"producer": MODELOPT, "quantization": inner}}
