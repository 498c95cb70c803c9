# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configurations of quantized checkpoints, as they are written."""

from __future__ import annotations

import collections
import copy
import dataclasses
import json
import os
import re
from typing import Any, Iterable, Mapping, Sequence

from blockscale import _native
from blockscale._native._checkpoint import Metadata
from blockscale.checkpoint._checkpoint import GGUF_CONFIG
from blockscale.checkpoint._config import CONFIG, MODELOPT_CONFIG, TORCHAO_ELEMENTS, TORCHAO_NAMES
from blockscale.checkpoint._jobs._plan import write_json
from blockscale.checkpoint._layouts import Layout


@dataclasses.dataclass(frozen=True)
class Quantized:
    """How a layer is quantized: its layout, and whether its activations are, too."""

    layout: Layout
    quantizes_activations: bool

    @property
    def modelopt_algorithm(self) -> str:
        name = self.layout.format.upper()
        return name if self.quantizes_activations or name != "NVFP4" else "W4A16_NVFP4"

    @property
    def packed_format(self) -> str:
        return self.layout.name.removeprefix("compressed-tensors ")


#: What loaders look for: they take a configuration of ModelOpt from this producer alone.
_PRODUCER = {"name": "modelopt", "version": f"blockscale-{_native.version}"}


def _make_modelopt_group(algorithm: str, group_size: int) -> dict[str, Any]:
    bits = 8 if algorithm == "MXFP8" else 4
    operand = {"dynamic": False, "num_bits": bits, "type": "float", "group_size": group_size}
    if algorithm == "W4A16_NVFP4":
        return {"weights": operand}
    return {"input_activations": dict(operand), "weights": operand}


def _write_modelopt(layers: Mapping[str, Quantized], left: Sequence[str]) -> tuple[dict[str, Any],
                                                                                    dict[str, Any]]:
    """The members of config.json and hf_quant_config.json."""
    by_algorithm: dict[tuple[str, int], list[str]] = collections.defaultdict(list)
    for name, layer in layers.items():
        by_algorithm[layer.modelopt_algorithm, layer.layout.block].append(name)
    inner: dict[str, Any] = {"quant_algo": None, "kv_cache_quant_algo": None,
                             "exclude_modules": list(left)}
    outer: dict[str, Any] = {}
    if len(by_algorithm) == 1:
        (algorithm, size), = by_algorithm
        inner = {"quant_algo": algorithm, "kv_cache_quant_algo": None, "group_size": size,
                 "exclude_modules": list(left)}
        if algorithm != "MXFP8":
            group = {**_make_modelopt_group(algorithm, size), "targets": ["Linear"]}
            outer["config_groups"] = {"group_0": group}
    elif by_algorithm:
        each = {name: {"quant_algo": algorithm, "group_size": size}
                for (algorithm, size), names in by_algorithm.items() for name in names}
        inner = {"quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": None,
                 "quantized_layers": each, "exclude_modules": list(left)}
        outer["config_groups"] = {
            f"group_{number}": {**_make_modelopt_group(algorithm, size), "targets": sorted(names)}
            for number, ((algorithm, size), names) in enumerate(by_algorithm.items())}
        outer["quantized_layers"] = each
    outer.update({"ignore": list(left), "quant_algo": inner["quant_algo"], "producer": _PRODUCER,
                  "quant_method": "modelopt"})
    return outer, {"producer": _PRODUCER, "quantization": inner}


def _make_packed_operand(layer: Quantized, is_activation: bool) -> dict[str, Any]:
    is_nvfp4 = layer.layout.format == "nvfp4"
    dtype = "torch.float8_e4m3fn" if is_nvfp4 else "torch.uint8"
    dynamic: Any = ("local" if is_nvfp4 else True) if is_activation else False
    observer = None if is_activation and not is_nvfp4 else (
        "static_minmax" if is_activation else "memoryless_minmax")
    return {"actorder": None, "block_structure": None, "dynamic": dynamic,
            "group_size": layer.layout.block, "num_bits": 4 if layer.layout.is_fp4 else 8,
            "observer": observer, "observer_kwargs": {}, "scale_dtype": dtype,
            "strategy": "tensor_group" if is_nvfp4 else "group", "symmetric": True,
            "type": "float", "zp_dtype": dtype}


def _write_packed(layers: Mapping[str, Quantized], left: Sequence[str]) -> dict[str, Any]:
    by_form: dict[Quantized, list[str]] = collections.defaultdict(list)
    for name, layer in layers.items():
        by_form[layer].append(name)
    groups = {}
    for number, (layer, names) in enumerate(by_form.items()):
        targets = ["Linear"] if len(by_form) == 1 else [f"re:{re.escape(name)}$" for name in names]
        activations = (_make_packed_operand(layer, True) if layer.quantizes_activations else None)
        groups[f"group_{number}"] = {
            "format": layer.packed_format, "input_activations": activations,
            "output_activations": None, "targets": targets,
            "weights": _make_packed_operand(layer, False)}
    formats = {layer.packed_format for layer in by_form}
    return {"config_groups": groups,
            "format": formats.pop() if len(formats) == 1 else "mixed-precision",
            "global_compression_ratio": None, "ignore": list(left), "kv_cache_scheme": None,
            "quant_method": "compressed-tensors", "quantization_status": "compressed",
            "sparsity_config": {}, "transform_config": {}, "version": "0.18.0"}


def _write_torchao(layers: Mapping[str, Quantized], left: Sequence[str]) -> dict[str, Any]:
    first = next(iter(layers.values()))
    if first.layout.format == "nvfp4" and not first.quantizes_activations:
        each = {"_type": "NVFP4WeightOnlyConfig", "_version": 1,
                "_data": {"use_dynamic_per_tensor_scale": True}}
    elif first.layout.format == "nvfp4":
        each = {"_type": "NVFP4DynamicActivationNVFP4WeightConfig", "_version": 1,
                "_data": {"use_triton_kernel": False, "use_dynamic_per_tensor_scale": True,
                          "step": None}}
    else:
        element = {"_type": "torch.dtype", "_data": TORCHAO_ELEMENTS[first.layout.format]}
        each = {"_type": "MXDynamicActivationMXWeightConfig", "_version": 1,
                "_data": {"block_size": 32, "activation_dtype": element, "weight_dtype": element,
                          "kernel_preference": {"_type": "KernelPreference", "_data": "AUTO"},
                          "scaling_mode": {"_type": "ScaleCalculationMode", "_data": "RCEIL"}}}
    return {"quant_method": "torchao", "quant_type": {"default": each},
            "modules_to_not_convert": list(left) or None, "include_input_output_embeddings": False,
            "untie_embedding_weights": False}


_TORCH_DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


def describe_torchao(layer: Quantized, dtype: str, has_global: bool,
                     has_input: bool) -> dict[str, Any]:
    """What the metadata of a file say of a tensor of torchao that was of a dtype."""
    original = {"_type": "torch.dtype", "_data": _TORCH_DTYPES[dtype]}
    if layer.layout.format == "nvfp4":
        activation = {"_type": "QuantizeTensorToNVFP4Kwargs", "_data": {
            "block_size": 16, "is_swizzled_scales": True, "use_triton_kernel": False,
            "use_dynamic_per_tensor_scale": not has_input}}
        names = ["per_tensor_scale"] * has_global + ["act_per_tensor_scale"] * has_input
        return {"_type": "NVFP4Tensor", "_data": {
            "is_swizzled_scales": True, "use_triton_kernel": False,
            "act_quant_kwargs": activation if layer.quantizes_activations else None,
            "block_size": 16, "orig_dtype": original},
            "_tensor_data_names": [*names, "qdata", "scale"]}
    element = {"_type": "torch.dtype", "_data": TORCHAO_ELEMENTS[layer.layout.format]}
    preference = {"_type": "KernelPreference", "_data": "AUTO"}
    activation = {"_type": "QuantizeTensorToMXKwargs", "_data": {
        "elem_dtype": element, "block_size": 32,
        "scaling_mode": {"_type": "ScaleCalculationMode", "_data": "RCEIL"},
        "kernel_preference": preference, "is_swizzled_scales": True}}
    return {"_type": "MXTensor", "_data": {
        "elem_dtype": element, "block_size": 32, "orig_dtype": original,
        "kernel_preference": preference,
        "act_quant_kwargs": activation if layer.quantizes_activations else None,
        "is_swizzled_scales": True}, "_tensor_data_names": ["qdata", "scale"]}


def make_torchao_metadata(described: Mapping[str, Mapping[str, str]],
                          names: Iterable[str]) -> dict[str, str]:
    """What every file says of the tensors of all files, by which torchao's loaders find those that
    they make of several.

    Args:
      described: what is said of the tensors that weights consist of, by their names.
      names: of all tensors of the result, in order.
    """
    found: dict[str, str] = {}
    for name in names:
        found.update(described.get(name, {name: json.dumps({"_type": "Tensor"})}))
    return {**found, TORCHAO_NAMES: json.dumps(list(found))}


def write_configs(config: Mapping[str, Any], family: str, layers: Mapping[str, Quantized],
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
    if layers and family == "modelopt":
        members["quantization_config"], other = _write_modelopt(layers, left)
        if kv_cache == "FP8":
            other["quantization"]["kv_cache_quant_algo"] = kv_cache
            members["quantization_config"]["kv_cache_scheme"] = {
                "dynamic": False, "num_bits": 8, "type": "float"}
        files[MODELOPT_CONFIG] = write_json(other)
    elif layers and family == "compressed-tensors":
        members["quantization_config"] = _write_packed(layers, left)
        if kv_cache == "FP8":
            members["quantization_config"]["kv_cache_scheme"] = {
                "dynamic": False, "num_bits": 8, "strategy": "tensor", "symmetric": True,
                "type": "float"}
    elif layers and family == "gpt-oss":
        members["quantization_config"] = {"quant_method": "mxfp4",
                                          "modules_to_not_convert": list(left)}
    elif layers and family == "fp8-blocks":
        members["quantization_config"] = {
            "activation_scheme": "dynamic", "fmt": "e4m3", "modules_to_not_convert": list(left),
            "quant_method": "fp8", "weight_block_size": [128, 128]}
    elif layers and family == "torchao":
        members["quantization_config"] = _write_torchao(layers, left)
    if members:
        files[CONFIG] = write_json(members)
    return files


def make_gguf_metadata(config: Mapping[str, Any], path: str) -> list[Metadata]:
    """The metadata of a file of GGUF: what every reader looks for, and the configuration."""
    members = {name: value for name, value in config.items() if name != "quantization_config"}
    name = os.path.basename(os.path.normpath(path)).removesuffix(".gguf")
    return [Metadata("general.architecture", "string", str(config.get("model_type", "unknown"))),
            Metadata("general.type", "string", "model"),
            Metadata("general.name", "string", name),
            Metadata("general.quantization_version", "u32", 2),
            Metadata(GGUF_CONFIG, "string", json.dumps(members))]
