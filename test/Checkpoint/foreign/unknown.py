# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of formats that have no layout in BlockScale, with the tensors and marks by which
their packages know them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

import decoders
from foreign.sources import Source, is_linear

F16 = np.float16
Parts = dict[str, Any]


def _integers(seed: int, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    limits = np.iinfo(dtype)
    return np.random.RandomState(seed).randint(limits.min, limits.max, shape, np.int64).astype(
        dtype)


def gptq(n: int, k: int) -> Parts:
    return {".qweight": _integers(1, (k // 8, n), np.int32),
            ".qzeros": _integers(2, (k // 32, n // 8), np.int32),
            ".scales": np.full((k // 32, n), 0.01, F16),
            ".g_idx": (np.arange(k) // 32).astype(np.int32)}


def awq(n: int, k: int) -> Parts:
    return {".qweight": _integers(1, (k, n // 8), np.int32),
            ".qzeros": _integers(2, (k // 32, n // 8), np.int32),
            ".scales": np.full((k // 32, n), 0.01, F16)}


def nf4(n: int, k: int) -> Parts:
    state = json.dumps({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16",
                        "shape": [n, k]}).encode()
    return {".weight": _integers(1, (n * k // 2, 1), np.uint8),
            ".weight.absmax": np.full(n * k // 64, 0.1, np.float32),
            ".weight.quant_map": np.linspace(-1, 1, 16, dtype=np.float32),
            ".weight.quant_state.bitsandbytes__nf4": np.frombuffer(state, np.uint8)}


def int8_bnb(n: int, k: int) -> Parts:
    return {".weight": _integers(1, (n, k), np.int8), ".SCB": np.full(n, 0.5, np.float32),
            ".weight_format": np.array(0, np.uint8)}


def hqq(n: int, k: int) -> Parts:
    return {".W_q": _integers(1, (n * k // 128, 64), np.uint8),
            ".scale": np.full((n * k // 64, 1), 0.01, F16),
            ".zero": np.full((n * k // 64, 1), 8, F16),
            ".nbits": np.array(4, np.int64), ".group_size": np.array(64, np.int64),
            ".shape": np.array([n, k], np.int64)}


def mlx(n: int, k: int) -> Parts:
    return {".weight": _integers(1, (n, k // 8), np.uint32),
            ".scales": np.full((n, k // 32), 0.01, F16),
            ".biases": np.full((n, k // 32), -0.08, F16)}


def quark(n: int, k: int) -> Parts:
    return {".weight": _integers(1, (n, k // 8), np.int32),
            ".weight_scale": np.full((n, k // 32), 0.01, np.float32),
            ".weight_zero_point": _integers(2, (n, k // 256 + 1), np.int32)}


def int8(n: int, k: int) -> Parts:
    return {".weight": _integers(1, (n, k), np.int8),
            ".weight_scale": np.full((n, 1), 0.01, np.float32)}


def smooth(n: int, k: int) -> Parts:
    return {".weight": _integers(1, (n, k), np.int8), ".weight_scale": np.full(n, 0.01, np.float32),
            ".input_scale": np.array(0.02, np.float32),
            ".pre_quant_scale": decoders.bf16(np.ones(k))}


def packed_int4(n: int, k: int) -> Parts:
    return {".weight_packed": _integers(1, (n, k // 8), np.int32),
            ".weight_scale": decoders.bf16(np.full((n, k // 32), 0.01)),
            ".weight_shape": np.array([n, k], np.int64)}


def aqlm(n: int, k: int) -> Parts:
    return {".codes": _integers(1, (n, k // 8, 1), np.int16),
            ".codebooks": np.random.RandomState(2).standard_normal((1, 256, 1, 8)).astype(F16),
            ".scales": np.full((n, 1, 1, 1), 0.1, F16)}


def _packed_groups(kind: str, bits: int, strategy: str, format: str) -> dict[str, Any]:
    weights = {"num_bits": bits, "type": kind, "symmetric": True, "strategy": strategy,
               "group_size": 32 if strategy == "group" else None, "dynamic": False}
    return {"quant_method": "compressed-tensors", "format": format,
            "quantization_status": "compressed", "ignore": ["lm_head"],
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights,
                                          "input_activations": None}}}


_MODELOPT = {"quant_method": "modelopt", "ignore": ["lm_head"],
             "producer": {"name": "modelopt", "version": "0.47.0"}}
#: By name: the tensors of a layer, quantization_config, and what messages call the format.
CASES: dict[str, tuple[Callable[[int, int], Parts], dict[str, Any] | None, str]] = {
    "gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False,
                    "sym": True}, "GPTQ"),
    "gptq_alone": (gptq, None, "GPTQ"),
    "awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True,
                  "version": "gemm"}, "AWQ"),
    "nf4": (nf4, {"quant_method": "bitsandbytes", "load_in_4bit": True,
                  "bnb_4bit_quant_type": "nf4"}, "bitsandbytes"),
    "nf4_alone": (nf4, None, "bitsandbytes"),
    "int8_bnb": (int8_bnb, {"quant_method": "bitsandbytes", "load_in_8bit": True}, "bitsandbytes"),
    "hqq": (hqq, {"quant_method": "hqq", "quant_config": {"weight_quant_params": {
        "nbits": 4, "group_size": 64}}}, "HQQ"),
    "mlx": (mlx, None, "MLX"),
    "quark": (quark, {"quant_method": "quark", "global_quant_config": {"weight": {
        "dtype": "int4"}}}, "Quark"),
    "int8": (int8, _packed_groups("int", 8, "channel", "int-quantized"), "INT8"),
    "int4": (packed_int4, _packed_groups("int", 4, "group", "pack-quantized"),
             "pack-quantized|INT4"),
    "smooth": (smooth, {**_MODELOPT, "quant_algo": "W8A8_SQ_PER_CHANNEL"},
               "INT8|W8A8_SQ_PER_CHANNEL"),
    "aqlm": (aqlm, {"quant_method": "aqlm", "nbits_per_codebook": 8}, "AQLM"),
}


def make_unknown(name: str) -> Source:
    """A dense decoder whose layers are of a format that is not known."""
    encode, quantization, title = CASES[name]
    tensors: dict[str, Any] = {}
    layers = []
    for key, value in decoders.make_tensors("dense").items():
        if not is_linear(key, value):
            tensors[key] = value
            continue
        layer = key.removesuffix(".weight")
        tensors |= {layer + ending: part for ending, part in encode(*value.shape).items()}
        layers.append(layer)
    config = dict(decoders.CONFIGS["dense"])
    if quantization is not None:
        config["quantization_config"] = quantization
    if name == "mlx":
        config["quantization"] = {"group_size": 32, "bits": 4}
    return Source(name, "hand", tensors, config, {}, tuple(layers), title)
