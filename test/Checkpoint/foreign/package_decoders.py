# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of checkpoints by the decoders of the packages that they are for: ModelOpt's
quantized tensors, compressed-tensors' compressors, torchao's tensors, gguf's blocks, and what
transformers makes of gpt-oss and of FP8 in blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

import make_checkpoint_vectors as vectors
from foreign import encodings
from foreign.files import Stored
from foreign.results import Result
from foreign.sources import find_model_type, split_matrices

Decoded = tuple[dict[str, np.ndarray], set[str]]
_VIEWS = {"F8_E4M3": torch.float8_e4m3fn, "F8_E8M0": torch.float8_e8m0fnu,
          "F8_E5M2": torch.float8_e5m2}


def to_torch(array: np.ndarray) -> torch.Tensor:
    """A tensor of the same elements, f8 too."""
    name = vectors.decoders.NAMES.get(array.dtype)
    if name in _VIEWS:
        return torch.from_numpy(array.view(np.uint8).copy()).view(_VIEWS[name])
    return vectors.to_torch(array)


def to_f32(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().to(torch.float32).numpy()


def _take(tensors: Mapping[str, Any], layer: str, endings: tuple[str, ...]
          ) -> tuple[dict[str, torch.Tensor], set[str]]:
    found = {ending: layer + ending for ending in endings if layer + ending in tensors}
    return {ending: to_torch(tensors[name]) for ending, name in found.items()}, set(found.values())


def decode_modelopt(tensors: Mapping[str, Any], config: Mapping[str, Any],
                    metadata: Mapping[str, str]) -> Decoded:
    """By the classes of modelopt.torch.quantization.qtensor; stacks [E, K, N] have codes along
    K."""
    decoded: dict[str, np.ndarray] = {}
    used: set[str] = set()
    for name, value in tensors.items():
        if isinstance(value, Stored) or value.dtype not in (np.uint8, encodings.E4M3):
            continue
        is_stack = value.ndim == 3
        layer, dot = (name, "_weight") if is_stack else (name.removesuffix(".weight"), ".weight")
        if not is_stack and layer == name:
            continue
        parts, names = _take(tensors, layer + dot, ("_scale", "_scale_2"))
        if not parts:
            continue
        used |= {name, *names, f"{layer}{'_' if is_stack else '.'}input_scale"}
        codes, scale = to_torch(value), parts["_scale"]
        if is_stack:
            codes = codes.mT.contiguous()
            scale = scale.mT.contiguous() if scale.ndim == 3 else scale
        values = _decode_modelopt(codes, scale, parts.get("_scale_2"))
        decoded[layer] = to_f32(values.mT if is_stack else values)
    return decoded, used


def _decode_modelopt(codes: torch.Tensor, scale: torch.Tensor, second: torch.Tensor | None
                     ) -> torch.Tensor:
    from modelopt.torch.quantization import qtensor
    if codes.dtype == torch.uint8:
        shape = torch.Size((*codes.shape[:-1], 2 * codes.shape[-1]))
        if second is not None:
            tensor = qtensor.NVFP4QTensor(shape, torch.float32, codes)
            return tensor.dequantize(torch.float32, scale=scale, double_scale=second,
                                     block_sizes={-1: 16})
        tensor = qtensor.MXFP4QTensor(shape, torch.float32, codes)
        return tensor.dequantize(torch.float32, scale=scale, block_sizes={-1: 32}).reshape(shape)
    if scale.dtype == torch.uint8:
        from modelopt.torch.quantization.qtensor.mxfp8_tensor import MXFP8QTensor
        return MXFP8QTensor(codes.shape, torch.float32, codes).dequantize(
            torch.float32, scale=scale)
    tensor = qtensor.FP8QTensor(codes.shape, torch.float32, codes)
    if scale.ndim == 4:  # Of blocks, with sizes of 1 between them.
        scale = scale[:, 0, :, 0]
        return tensor.dequantize(torch.float32, scale=scale, block_sizes={-2: 128, -1: 128})
    return tensor.dequantize(torch.float32, scale=scale[:, None] if scale.ndim == 1 else scale)


def decode_compressed(tensors: Mapping[str, Any], config: Mapping[str, Any],
                      metadata: Mapping[str, str]) -> Decoded:
    """By the compressor that the configuration names for each layer."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationConfig
    from compressed_tensors.utils import match_name
    members = config["quantization_config"]
    settings = QuantizationConfig.model_validate(
        {name: value for name, value in members.items()
         if name not in ("quant_method", "sparsity_config", "transform_config")})
    decoded: dict[str, np.ndarray] = {}
    used: set[str] = set()
    layers = sorted({name.rpartition(".")[0] for name in tensors
                     if name.endswith(".weight_scale")})
    for layer in layers:
        parts, names = _take(tensors, layer, (
            ".weight", ".weight_packed", ".weight_scale", ".weight_global_scale"))
        scheme = next(group for group in settings.config_groups.values()
                      if any(target == "Linear" or match_name(layer, target)
                             for target in group.targets))
        format = str(getattr(scheme.format, "value", scheme.format) or members["format"])
        state = {name[1:]: tensor for name, tensor in parts.items()}
        state["weight_scale"] = (state["weight_scale"].float()
                                 if state["weight_scale"].dtype == torch.bfloat16
                                 else state["weight_scale"])
        values = BaseCompressor.get_value_from_registry(format).decompress(state, scheme)
        decoded[layer] = to_f32(values["weight"])
        used |= names | {f"{layer}.input_scale", f"{layer}.input_global_scale"}
    return decoded, used


def decode_torchao(tensors: Mapping[str, Any], config: Mapping[str, Any],
                   metadata: Mapping[str, str]) -> Decoded:
    """By unflatten_tensor_state_dict and the tensors' own dequantize."""
    from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict
    state = {name: to_torch(value) for name, value in tensors.items()}
    found, _ = unflatten_tensor_state_dict(state, dict(metadata))
    decoded = {}
    for name, tensor in found.items():
        if type(tensor) is torch.Tensor:
            continue
        try:
            values = tensor.dequantize(torch.float32)
        except TypeError:  # Float8Tensor gives the type that it was made of.
            values = tensor.dequantize()
        decoded[name.removesuffix(".weight")] = to_f32(values)
    return decoded, {name for name in tensors
                     if re.search(r"\._\w+_(qdata|scale|zero_point)$", name)}


def decode_transformers(tensors: Mapping[str, Any], config: Mapping[str, Any],
                        metadata: Mapping[str, str]) -> Decoded:
    """gpt-oss and FP8 in blocks, as transformers dequantizes them."""
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    decoded: dict[str, np.ndarray] = {}
    used: set[str] = set()
    for name, value in tensors.items():
        if name.endswith("_blocks"):
            stack = name.removesuffix("_blocks")
            scales = f"{stack}_scales"
            found = convert_moe_packed_tensors(to_torch(value), to_torch(tensors[scales]),
                                               dtype=torch.float32)
            decoded[stack] = to_f32(found)
            used |= {name, scales}
        inverse = f"{name}_scale_inv"
        if inverse in tensors:
            found = Fp8Dequantize(None)._dequantize_one(to_torch(value), to_torch(
                tensors[inverse]), torch.float32)
            decoded[name.removesuffix(".weight")] = to_f32(found)
            used |= {name, inverse}
    return decoded, used


def decode_gguf(tensors: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """By the package gguf; the scale of a tensor is llama.cpp's, which multiplies by it."""
    import gguf
    decoded = {}
    for name, value in tensors.items():
        if not isinstance(value, Stored):
            continue
        kind = gguf.GGMLQuantizationType[value.dtype]
        rows = value.data.reshape(int(np.prod(value.shape[:-1])), -1)
        values = gguf.quants.dequantize(rows, kind).reshape(value.shape)
        scale = tensors.get(f"{name.removesuffix('.weight')}.scale")
        if scale is not None:
            values = values * (scale.reshape(-1, 1, 1) if values.ndim == 3 else scale)
        decoded[name.removesuffix(".weight")] = values.astype(np.float32)
    return decoded


_BY = {"modelopt": decode_modelopt, "compressed-tensors": decode_compressed,
       "torchao": decode_torchao, "transformers": decode_transformers}


def decode_by(package: str, tensors: Mapping[str, Any], config: Mapping[str, Any],
              metadata: Mapping[str, str]) -> Decoded:
    """The numbers of layers with codes, and the names of all tensors that these are made of."""
    return _BY[package](tensors, config, metadata)


#: Whose decoder reads the results of a family.
READERS = {"modelopt": "modelopt", "compressed-tensors": "compressed-tensors",
           "torchao": "torchao", "gpt-oss": "transformers"}


def decode_result(family: str, found: Result) -> tuple[dict[str, np.ndarray], str]:
    """The numbers of the quantized layers of a result, and the package that read them."""
    if not found.layers:
        return {}, ""
    if family == "gguf":
        package, decoded = "gguf", decode_gguf(found.tensors)
    elif family in READERS:
        package = READERS[family]
        decoded, _ = decode_by(package, found.tensors, found.config, found.metadata)
    else:
        return {}, ""
    model_type, numbers = find_model_type(found.config), {}
    for layer, values in decoded.items():
        if values.ndim == 2:
            numbers[f"{layer}.weight"] = values
            continue
        path, _, stack = layer.rpartition(".")
        rows = values.swapaxes(1, 2) if family == "gpt-oss" else values
        numbers |= split_matrices(path, stack, rows, model_type == "gpt_oss")
    return numbers, package
