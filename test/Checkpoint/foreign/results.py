# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of a checkpoint that a command wrote, by decoders of their own: what a loader of its
layout would compute with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from foreign import encodings
from foreign.files import Stored, describe, read_gguf, read_safetensors
from foreign.sources import find_model_type, split_biases, split_matrices, split_stack

FLOATS = ("F32", "F16", "BF16")


class Result:
    """Tensors, metadata and configurations of a folder or file.

    Attributes:
      used: the names of tensors that the numbers are made of.
      layers: the names of the tensors of codes, by layer.
    """

    def __init__(self, path: Path):
        self.tensors: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.config: dict[str, Any] = {}
        self.is_gguf = path.suffix == ".gguf"
        for file in [path] if path.is_file() else sorted(path.glob("*.safetensors")):
            tensors, metadata = (read_gguf if self.is_gguf else read_safetensors)(file)
            self.tensors |= tensors
            self.metadata |= metadata
        if path.is_dir() and (path / "config.json").exists():
            self.config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        elif self.is_gguf and "blockscale.config" in self.metadata:
            self.config = json.loads(self.metadata["blockscale.config"])
        self.used: set[str] = set()
        self.layers: dict[str, str] = {}

    def take(self, name: str) -> Any:
        self.used.add(name)
        return self.tensors[name]

    def number(self, name: str) -> np.ndarray:
        return self.take(name).astype(np.float64)


def _decode_nvfp4(codes: np.ndarray, scales: np.ndarray, factor: Any) -> np.ndarray:
    values = encodings.decode_fp4(encodings.unpack_pairs(codes))
    return values * encodings.spread(scales.astype(np.float64), 16, values.shape[-1]) * factor


def _decode_mxfp4(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    values = encodings.decode_fp4(encodings.unpack_pairs(codes))
    return values * encodings.spread(encodings.decode_e8m0(scales), 32, values.shape[-1])


def _untile(scales: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Scales in tiles of 128 x 4, as torchao has them, in rows."""
    high, wide = -(-rows // 128), -(-columns // 4)
    tiles = scales.reshape(*scales.shape[:-2], high, wide, 32, 4, 4)
    ordered = np.moveaxis(tiles, (-5, -2, -3, -4, -1), (-5, -4, -3, -2, -1))
    return ordered.reshape(*scales.shape[:-2], high * 128, wide * 4)[..., :rows, :columns]


def _decode_fp8(found: Result, layer: str, codes: np.ndarray) -> np.ndarray:
    values = codes.astype(np.float64)
    for ending in (".weight_scale_inv", ".weight_scale"):
        name = layer + ending
        if name not in found.tensors:
            continue
        scales = found.take(name)
        if scales.dtype == np.uint8 and scales.shape[-1] * 32 == values.shape[-1]:
            return values * encodings.spread(encodings.decode_e8m0(scales), 32, values.shape[-1])
        factors = scales.astype(np.float64)
        if factors.size == 1:
            return values * factors.reshape(())
        rows = values.shape[-2]
        if factors.size == rows and factors.shape in ((rows,), (rows, 1)):
            return values * factors.reshape(rows, 1)
        return values * encodings.spread_tiles(factors, values.shape)
    raise AssertionError(f"{layer}: F8 without scales")


def _decode_torchao(found: Result, layer: str) -> np.ndarray:
    described = json.loads(found.metadata[f"{layer}.weight"])
    codes, scales = (found.take(f"{layer}._weight_{part}") for part in ("qdata", "scale"))
    is_fp4 = codes.dtype == np.uint8
    block = described["_data"]["block_size"]
    rows, k = codes.shape[-2], codes.shape[-1] * (2 if is_fp4 else 1)
    if described["_data"]["is_swizzled_scales"]:
        scales = _untile(scales, rows, k // block)
    if described["_type"] == "NVFP4Tensor":
        name = f"{layer}._weight_per_tensor_scale"
        factor: Any = found.number(name) if name in found.tensors else 1.0
        if np.ndim(factor) and codes.ndim == 3:
            factor = factor.reshape(-1, 1, 1)
        return _decode_nvfp4(codes, scales, factor)
    if is_fp4:
        return _decode_mxfp4(codes, scales)
    return codes.astype(np.float64) * encodings.spread(encodings.decode_e8m0(scales), 32, k)


def _decode_gguf(found: Result, name: str, value: Stored) -> np.ndarray:
    layer = name.removesuffix(".weight")
    if value.dtype == "MXFP4":
        parts = value.data.reshape(-1, 17)
        codes = np.concatenate([parts[:, 1:] & 15, parts[:, 1:] >> 4], 1)
        return (encodings.decode_fp4(codes) * encodings.decode_e8m0(
            np.ascontiguousarray(parts[:, :1]))).reshape(value.shape)
    parts = value.data.reshape(-1, 36)
    scales = np.ascontiguousarray(parts[:, :4] & 0x7F).view(encodings.E4M3).astype(np.float64)
    scales = np.where(np.isnan(scales), 0, scales)
    halves = parts[:, 4:].reshape(-1, 4, 8)
    codes = np.concatenate([halves & 15, halves >> 4], 2)
    values = (encodings.decode_fp4(codes) * scales[..., None]).reshape(value.shape)
    if f"{layer}.scale" in found.tensors:
        factor = found.number(f"{layer}.scale")
        values = values * (factor.reshape(-1, 1, 1) if values.ndim == 3 else factor)
    return values


def _decode_layer(found: Result, name: str, value: Any) -> tuple[str, np.ndarray] | None:
    """The name and the numbers of the weight that a tensor has the codes of."""
    if isinstance(value, Stored):
        return (name, _decode_gguf(found, name, value)) if found.is_gguf else None
    if name.endswith("._weight_qdata"):
        layer = name.removesuffix("._weight_qdata")
        return f"{layer}.weight", _decode_torchao(found, layer)
    layer = name.removesuffix(".weight_packed")
    if layer != name:
        scales = found.take(f"{layer}.weight_scale")
        if f"{layer}.weight_global_scale" in found.tensors:
            factor = 1 / found.number(f"{layer}.weight_global_scale")
            return f"{layer}.weight", _decode_nvfp4(value, scales, factor)
        return f"{layer}.weight", _decode_mxfp4(value, scales)
    layer = name.removesuffix("_blocks")
    if layer != name:
        codes = value.reshape(*value.shape[:-2], -1)
        return layer, _decode_mxfp4(codes, found.take(f"{layer}_scales"))
    layer = name.removesuffix(".weight")
    dtype = describe(value)[0]
    if layer == name or dtype not in ("U8", "F8_E4M3"):
        return None
    if dtype == "F8_E4M3":
        return name, _decode_fp8(found, layer, value)
    scales = found.take(f"{layer}.weight_scale")
    if f"{layer}.weight_scale_2" in found.tensors:
        return name, _decode_nvfp4(value, scales, found.number(f"{layer}.weight_scale_2"))
    return name, _decode_mxfp4(value, scales)


def decode(found: Result) -> dict[str, np.ndarray]:
    """The numbers of all weights and plain tensors, those of experts one by one."""
    numbers: dict[str, np.ndarray] = {}
    model_type = find_model_type(found.config)
    for name, value in found.tensors.items():
        decoded = _decode_layer(found, name, value)
        if decoded is not None:
            found.used.add(name)
            layer, values = decoded[0], decoded[1].astype(np.float32)
            found.layers[layer.removesuffix(".weight")] = name
            path, _, stack = layer.removesuffix(".weight").rpartition(".")
            # Stacks of gpt-oss, and of what GGUF and torchao keep, have rows of outputs.
            if values.ndim == 3 and path.endswith("experts"):
                numbers |= split_matrices(path, stack, values, model_type == "gpt_oss")
            else:
                numbers[layer] = values
    for name, value in found.tensors.items():
        if name in found.used or isinstance(value, Stored) or describe(value)[0] not in FLOATS:
            continue
        for each, values in split_stack(name, value.astype(np.float32), model_type).items():
            numbers |= split_biases(each, values)
    return numbers


def _find_algorithm(found: Result, layer: str) -> str:
    """What the configuration says of a layer, "" where it says nothing."""
    members = found.config.get("quantization_config") or {}
    method = members.get("quant_method", "")
    if method == "modelopt":
        each = members.get("quantized_layers", {}).get(layer)
        return str(each["quant_algo"] if each else members.get("quant_algo"))
    if method == "compressed-tensors":
        for group in members["config_groups"].values():
            for target in group["targets"]:
                if target == "Linear" or re.match(target.removeprefix("re:"), layer):
                    return str(group.get("format") or members["format"])
    return "fp8 in blocks" if method == "fp8" and members.get("weight_block_size") else str(method)


def _name_form(found: Result, layer: str, name: str) -> str:
    """The words of which an algorithm of a layer must have one, by its tensors."""
    dtype = describe(found.tensors[name])[0]
    if name.endswith(("_blocks", "_qdata")):
        return "mxfp4" if name.endswith("_blocks") else "torchao"
    if name.endswith(".weight_packed"):
        return "nvfp4" if f"{layer}.weight_global_scale" in found.tensors else "mxfp4"
    if dtype == "U8":
        return "nvfp4" if f"{layer}.weight_scale_2" in found.tensors else "mxfp4"
    if f"{layer}.weight_scale_inv" in found.tensors:
        return "fp8 in blocks"
    return "mxfp8" if describe(found.tensors[f"{layer}.weight_scale"])[0] == "U8" else (
        "fp8|float-quantized")


def list_unexplained(found: Result) -> list[str]:
    """What loaders could not read, once the numbers are decoded: tensors with codes that are of no
    weight, and weights of another form than the configuration says."""
    left = [f"{name} of {describe(value)[0]}" for name, value in found.tensors.items()
            if name not in found.used and describe(value)[0] not in (*FLOATS, "I64")]
    if found.is_gguf:
        return left
    for layer, name in found.layers.items():
        form, said = _name_form(found, layer, name), _find_algorithm(found, layer)
        if not re.search(form, said.lower()):
            left.append(f"{layer} of {form}, since the configuration says '{said}'")
    return left
