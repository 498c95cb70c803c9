# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints that compressed-tensors and torchao write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import decoders
import make_checkpoint_vectors as vectors
from foreign.packages_read import read_source
from foreign.sources import Source, is_linear, make_tensors


def _compress(weight: Any, scheme: Any, format: str) -> dict[str, Any]:
    """The tensors of a layer that compressed-tensors makes."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
    arguments, state = scheme.weights, {"weight": weight}
    strategy, more = str(getattr(arguments.strategy, "value", arguments.strategy)), {}
    if strategy == "tensor":
        low, high = weight.amin().reshape(1), weight.amax().reshape(1)
    elif strategy == "channel":
        low, high = weight.amin(1, keepdim=True), weight.amax(1, keepdim=True)
    elif strategy == "block":
        rows, columns = arguments.block_structure
        pads = (0, -weight.shape[1] % columns, 0, -weight.shape[0] % rows)
        parts = torch.nn.functional.pad(weight, pads).unfold(0, rows, rows).unfold(
            1, columns, columns)
        low, high = parts.amin((-1, -2)), parts.amax((-1, -2))
    else:
        parts = weight.unflatten(-1, (-1, arguments.group_size))
        low, high = parts.amin(-1), parts.amax(-1)
        if strategy == "tensor_group":
            more = {"global_scale": generate_gparam(weight.amin().reshape(1),
                                                    weight.amax().reshape(1))}
            state["weight_global_scale"] = more["global_scale"]
    state["weight_scale"], _ = calculate_qparams(low, high, arguments, **more)
    return BaseCompressor.get_value_from_registry(format).compress(state, scheme)


def compressed(groups: dict[str, tuple[str, str, str]], family: str, unknown: str = "",
               **more: Any) -> Callable[[str, Path], Source]:
    """What its compressors make of a decoder: by pattern of names, the preset, the format and the
    target of a group."""
    def make(name: str, folder: Path) -> Source:
        from compressed_tensors.quantization import QuantizationConfig, preset_name_to_scheme
        arrays = make_tensors(family)
        tensors, schemes, shared = dict(arrays), {}, {}
        for pattern, (preset, format, target) in groups.items():
            scheme = preset_name_to_scheme(preset, [target])
            scheme.format = format
            schemes[f"group_{len(schemes)}"] = scheme
            chosen = [key for key, value in arrays.items() if is_linear(key, value)
                      and pattern in key and key in tensors]
            if format == "nvfp4-pack-quantized":
                shared = vectors.find_global_scales({
                    key.removesuffix(".weight"): vectors.to_torch(arrays[key]) for key in chosen})
            for key in chosen:
                layer = key.removesuffix(".weight")
                weight = vectors.to_torch(tensors.pop(key))
                state = (vectors.compress_weight(weight, scheme, format, shared[layer])
                         if layer in shared and format == "nvfp4-pack-quantized"
                         else _compress(weight, scheme, format))
                if scheme.input_activations and scheme.input_activations.dynamic in (
                        False, "local"):
                    role = "input_global_scale" if shared else "input_scale"
                    state[role] = torch.tensor([448.0 if shared else 0.0125])
                tensors |= {f"{layer}.{part}": vectors.to_numpy(each)
                            for part, each in state.items()}
        ignored = ["lm_head", "re:.*mlp.gate$"]
        formats = {format for _, format, _ in groups.values()}
        made = QuantizationConfig(
            config_groups=schemes, ignore=ignored, quantization_status="compressed",
            format=formats.pop() if len(formats) == 1 else "mixed-precision", **more)
        config = dict(decoders.CONFIGS[family]) | {
            "quantization_config": json.loads(made.model_dump_json(exclude_none=False))}
        if more:
            for layer in range(2):
                for each, value in (("k", 0.0125), ("v", 0.03125)):
                    tensors[f"model.layers.{layer}.self_attn.{each}_scale"] = np.array(
                        [value], np.float32)
        target = folder / name
        Source(name, "compressed-tensors", tensors, config).write(target)
        return read_source(name, "compressed-tensors", target, unknown)
    return make


CACHE = {"kv_cache_scheme": {"num_bits": 8, "type": "float", "strategy": "tensor",
                             "dynamic": False, "symmetric": True}}


def torchao(scheme: str, family: str, unknown: str = "", has_config: bool = True
            ) -> Callable[[str, Path], Source]:
    """quantize_ and flatten_tensor_state_dict of torchao, with the configuration that transformers
    writes of it, or without."""
    def make(name: str, folder: Path) -> Source:
        plain, target = folder / f"{family}-{scheme}", folder / name
        decoders.write_folder(plain, make_tensors(family), decoders.CONFIGS[family])
        if scheme in ("float8", "int8"):
            _write_torchao(scheme, plain, target)
        else:
            case = vectors.torchao_case(scheme, family, plain)
            if has_config:
                case.config = {"quantization_config": _describe_torchao(_find_settings(scheme))}
            vectors.write_checkpoint(case, plain, target)
        return read_source(name, "torchao", target, unknown)
    return make


def _find_settings(scheme: str) -> Any:
    from torchao.prototype.mx_formats.inference_workflow import (
        MXDynamicActivationMXWeightConfig,
        NVFP4WeightOnlyConfig,
    )
    from torchao.quantization import Float8WeightOnlyConfig, Int8WeightOnlyConfig
    if scheme.startswith("mxfp"):
        dtype = torch.float8_e4m3fn if scheme == "mxfp8" else torch.float4_e2m1fn_x2
        return MXDynamicActivationMXWeightConfig(activation_dtype=dtype, weight_dtype=dtype)
    return {"nvfp4": NVFP4WeightOnlyConfig, "float8": Float8WeightOnlyConfig,
            "int8": Int8WeightOnlyConfig}[scheme]()


def _describe_torchao(settings: Any) -> Any:
    from transformers import TorchAoConfig
    return json.loads(json.dumps(TorchAoConfig(settings, modules_to_not_convert=[
        "lm_head", "model.layers.1.mlp.gate"]).to_dict(), default=str))


def _write_torchao(scheme: str, plain: Path, target: Path) -> None:
    """Formats that are no MX and no NVFP4."""
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
    from torchao.quantization import quantize_
    settings, state = _find_settings(scheme), {}
    for key, array in decoders.read_folder(plain).items():
        weight = vectors.to_torch(array)
        if is_linear(key, array):
            # Of rows of zeros, and of scales without a reciprocal, torchao makes NaN codes.
            weight = torch.where(weight.abs().amax(1, True) < 2.0 ** -90, 2.0 ** -10, weight)
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
            layer.weight = torch.nn.Parameter(weight, requires_grad=False)
            quantize_(layer, settings)
            weight = layer.weight.data
        state[key] = weight
    flat, metadata = flatten_tensor_state_dict(state)
    tensors = {key: vectors.to_numpy(value) for key, value in flat.items()}
    config = decoders.CONFIGS["dense"] | {"quantization_config": _describe_torchao(settings)}
    Source("", "torchao", tensors, config, metadata=metadata).write(target)
