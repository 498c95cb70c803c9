# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of layouts that are known, made tensor by tensor as their packages publish them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from foreign import encodings, stacks
from foreign.encodings import E8M0
from foreign.files import Stored
from foreign.layers import Maker, Parts, describe_modelopt, group_of, scalar
from foreign.sources import Source


def modelopt_fp8_cache() -> Source:
    """FP8 of one scale a tensor, and scales of the KV cache."""
    maker = Maker("dense")
    outer, files = describe_modelopt(maker, "FP8", kv_cache_quant_algo="FP8")
    outer["kv_cache_scheme"] = {"dynamic": False, "num_bits": 8, "type": "float"}
    for layer in range(2):
        for name, value in (("k", 0.0125), ("v", 0.03125)):
            prefix = f"model.layers.{layer}.self_attn.{name}_proj."
            maker.tensors[f"{prefix}{name}_scale"] = scalar(value)
    return maker.make("modelopt FP8 with scales of the cache", maker.fp8, outer, files)


def modelopt_mixed() -> Source:
    """MIXED_PRECISION: FP8 in attention, NVFP4 in the rest."""
    maker = Maker("moe")

    def encode(layer: str, values: np.ndarray) -> Parts:
        return (maker.fp8 if "self_attn" in layer else maker.nvfp4)(layer, values)
    source = maker.make("modelopt MIXED_PRECISION of FP8 and NVFP4", encode, None)
    layers = {layer: {"quant_algo": "FP8"} if "self_attn" in layer else
              {"quant_algo": "NVFP4", "group_size": 16} for layer in source.quantized}
    outer, files = describe_modelopt(maker, "MIXED_PRECISION", quantized_layers=layers)
    source.config = dict(maker.config) | {"quantization_config": outer}
    source.files = files
    return source


def modelopt_channel() -> Source:
    maker = Maker("dense")

    def encode(_: str, values: np.ndarray) -> Parts:
        found = encodings.encode_fp8(values, axis=1)
        return {".weight": found.codes, ".weight_scale": found.scales[:, 0]}, found.values
    return maker.make("modelopt FP8 of channels", encode,
                      *describe_modelopt(maker, "FP8_PER_CHANNEL_PER_TOKEN"))


def fp8_blocks(name: str, dtype: type, family: str = "moe", **more: Any) -> Source:
    maker = Maker(family)

    def encode(_: str, values: np.ndarray) -> Parts:
        found = encodings.encode_fp8_blocks(values, dtype)
        return {".weight": found.codes, ".weight_scale_inv": found.scales}, found.values
    return maker.make(name, encode, {
        "quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
        "weight_block_size": [128, 128], **more})


def fp8_tensor() -> Source:
    """FP8 as AutoFP8 wrote it, before compressed-tensors."""
    maker = Maker("dense")
    return maker.make("fp8 of one scale a tensor", maker.fp8, {
        "quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["lm_head"]})


def fbgemm() -> Source:
    maker = Maker("dense")

    def encode(_: str, values: np.ndarray) -> Parts:
        found = encodings.encode_fp8(values, axis=1)
        return {".weight": found.codes, ".weight_scale": found.scales}, found.values
    return maker.make("fbgemm_fp8", encode, {
        "quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0,
        "modules_to_not_convert": ["lm_head"]})


def f4(name: str, is_nvfp4: bool) -> Source:
    """safetensors' own F4, with two elements in a byte and the shape of elements."""
    maker = Maker("dense")

    def encode_layer(layer: str, values: np.ndarray) -> Parts:
        found = (encodings.encode_nvfp4(values, maker.amaxes[group_of(layer)]) if is_nvfp4
                 else encodings.encode_mxfp4(values))
        parts = {".weight": Stored("F4", values.shape, found.codes),
                 ".weight_scale": found.scales.view(E8M0) if found.global_scale is None else
                 found.scales}
        if found.global_scale is not None:
            parts[".weight_scale_2"] = scalar(found.global_scale)
        return parts, found.values
    return maker.make(name, encode_layer, None)


def packed(name: str, format: str, **more: Any) -> Source:
    """NVFP4 and MXFP4 of compressed-tensors."""
    maker = Maker("dense")
    is_nvfp4 = format == "nvfp4-pack-quantized"

    def encode(layer: str, values: np.ndarray) -> Parts:
        if not is_nvfp4:
            found = encodings.encode_mxfp4(values)
            return {".weight_packed": found.codes, ".weight_scale": found.scales}, found.values
        found = encodings.encode_nvfp4(values, maker.amaxes[group_of(layer)])
        # The encode scale is what the file has: numbers are those of its reciprocal.
        turned = np.float32(1) / np.float32(found.global_scale)
        numbers = (encodings.decode_fp4(encodings.unpack_pairs(found.codes)) * encodings.spread(
            found.scales.astype(np.float64), 16, values.shape[-1]) / float(turned))
        return {".weight_packed": found.codes, ".weight_scale": found.scales,
                ".weight_global_scale": np.array([turned], np.float32)}, numbers.astype(np.float32)
    weights = {"num_bits": 4, "type": "float", "symmetric": True, "dynamic": False,
               "strategy": "tensor_group" if is_nvfp4 else "group",
               "group_size": 16 if is_nvfp4 else 32}
    return maker.make(name, encode, {
        "quant_method": "compressed-tensors", "format": format,
        "quantization_status": "compressed", "ignore": ["lm_head"], "kv_cache_scheme": None,
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights,
                                      "input_activations": None}}, **more})


def modelopt_mx(name: str, algorithm: str) -> Source:
    maker = Maker("dense")
    encode_all = encodings.encode_mxfp8 if algorithm == "MXFP8" else encodings.encode_mxfp4

    def encode(_: str, values: np.ndarray) -> Parts:
        found = encode_all(values)
        return {".weight": found.codes, ".weight_scale": found.scales}, found.values
    return maker.make(name, encode, *describe_modelopt(maker, algorithm, group_size=32))


def list_known() -> dict[str, Callable[[], Source]]:
    """The makers of all sources whose layouts are known, by name."""
    bf16, f32 = ml_dtypes.bfloat16, np.float32

    def nvfp4(algorithm: str) -> Source:
        maker = Maker("moe")
        is_plain = algorithm.startswith("W4A16")
        return maker.make(f"modelopt {algorithm}", lambda layer, values: maker.nvfp4(
            layer, values, not is_plain), *describe_modelopt(maker, algorithm, group_size=16))
    return {
        "nvfp4": lambda: nvfp4("NVFP4"),
        "w4a16_nvfp4": lambda: nvfp4("W4A16_NVFP4"),
        "modelopt_fp8_cache": modelopt_fp8_cache,
        "modelopt_channel": modelopt_channel,
        "modelopt_mixed": modelopt_mixed,
        "modelopt_mxfp8": lambda: modelopt_mx("modelopt MXFP8", "MXFP8"),
        "modelopt_mxfp4": lambda: modelopt_mx("modelopt MXFP4", "mxfp4"),
        "packed_nvfp4": lambda: packed("nvfp4-pack-quantized", "nvfp4-pack-quantized"),
        "packed_mxfp4": lambda: packed("mxfp4-pack-quantized", "mxfp4-pack-quantized"),
        "deepseek": lambda: fp8_blocks("fp8 in blocks with f32 scales", f32),
        "qwen": lambda: fp8_blocks("fp8 in blocks with bf16 scales", bf16,
                                   modules_to_not_convert=["lm_head", "model.layers.1.mlp.gate"]),
        "ue8m0": lambda: fp8_blocks("fp8 in blocks with E8M0 scales", E8M0, scale_fmt="ue8m0"),
        "fp8_tensor": fp8_tensor,
        "fbgemm": fbgemm,
        "f4_e8m0": lambda: f4("F4 with F8_E8M0 scales", False),
        "f4_e4m3": lambda: f4("F4 with F8_E4M3 scales", True),
        "gpt_oss": stacks.gpt_oss,
        "llama4_nvfp4": lambda: stacks.llama4("Llama-4 NVFP4 stacks", "NVFP4"),
        "llama4_fp8": lambda: stacks.llama4("Llama-4 FP8 stacks", "FP8"),
        "mtp": stacks.mtp,
        "torchao_stacks": stacks.torchao_stacks,
    }
