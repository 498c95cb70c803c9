# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints that other packages write, and the numbers that their own decoders make of them.

It needs the packages of test/Data/requirements-checkpoints.txt and PyTorch, and imports
test/Data/make_checkpoint_vectors.py, which knows how to make ModelOpt and torchao write."""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import decoders
import make_checkpoint_vectors as vectors
from foreign import encodings
from foreign.layers import find_amaxes, group_of
from foreign.packages_read import read_source
from foreign.packages_tensors import CACHE, compressed, torchao
from foreign.sources import Source, is_linear, make_tensors
from foreign.stacks import LLAMA4, make_llama4

# ------------------------------------------------------------ ModelOpt


def _load(folder: Path, model: str) -> Any:
    """A model of transformers, of a decoder or a Llama-4, in bf16."""
    if model != "llama4":
        if not (folder / model).exists():
            decoders.write_folder(folder / model, decoders.make_tensors(model),
                                  decoders.CONFIGS[model])
        return vectors.load_decoder(folder / model)
    if not (folder / model).exists():
        decoders.write_folder(folder / model, make_llama4(), LLAMA4)
    return vectors.load_decoder(folder / model)


def modelopt(scheme: Any, model: str, unknown: str = "") -> Callable[[str, Path], Source]:
    """What export_hf_checkpoint writes after a configuration of ModelOpt, by its name or as it is
    made."""
    def make(name: str, folder: Path) -> Source:
        import modelopt.torch.quantization as mtq
        from modelopt.torch.export import export_hf_checkpoint
        settings = copy.deepcopy(getattr(mtq, scheme) if isinstance(scheme, str) else scheme(mtq))
        loaded, target = _load(folder, model), folder / name
        with torch.no_grad():
            found = mtq.quantize(loaded, settings, lambda model: model(vectors.make_sample()))
            vectors.set_input_amaxes(found)
            export_hf_checkpoint(found, dtype=torch.bfloat16, export_dir=target)
        return read_source(name, "modelopt", target, unknown)
    return make


def _mix_fp8(mtq: Any) -> Any:
    """FP8 in attention, NVFP4 in the rest, and FP8 of the KV cache."""
    mixed = copy.deepcopy(mtq.NVFP4_DEFAULT_CFG)
    rules = mixed["quant_cfg"]
    eight = {"num_bits": (4, 3), "axis": None}
    first = next(number for number, rule in enumerate(rules)
                 if rule["quantizer_name"] == "*input_quantizer") + 1
    rules[first:first] = [{"quantizer_name": f"*self_attn*{which}_quantizer", "cfg": eight}
                          for which in ("weight", "input")]
    return mixed


def _mix_mxfp8(_: Any) -> Any:
    return vectors.modelopt_presets()["mixed"]


def _with_cache(mtq: Any) -> Any:
    """NVFP4 with FP8 of the KV cache."""
    both = copy.deepcopy(mtq.NVFP4_DEFAULT_CFG)
    both["quant_cfg"] += [rule for rule in mtq.FP8_KV_CFG["quant_cfg"]
                          if "bmm" in rule["quantizer_name"]]
    return both


# -------------------------------------------------- transformers, gguf


def transformers(family: str, dtype: str) -> Callable[[str, Path], Source]:
    """What save_pretrained writes of a plain model."""
    def make(name: str, folder: Path) -> Source:
        loaded = _load(folder, family).to(getattr(torch, dtype))
        loaded.save_pretrained(folder / name)
        return read_source(name, "transformers", folder / name)
    return make


def transformers_fp8(name: str, folder: Path) -> Source:
    """Block FP8 by transformers' own operation on a plain model, with sizes of whole blocks."""
    from types import SimpleNamespace

    from transformers.integrations.finegrained_fp8 import Fp8Quantize
    settings = {"quant_method": "fp8", "activation_scheme": "dynamic",
                "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]}
    quantizer = SimpleNamespace(quantization_config=SimpleNamespace(
        weight_block_size=[128, 128], scale_fmt=None))
    operation = Fp8Quantize(quantizer)
    config = decoders.CONFIGS["dense"] | {"intermediate_size": 256, "num_key_value_heads": 4}
    tensors: dict[str, Any] = {}
    for key, value in make_tensors("dense").items():
        if not is_linear(key, value):
            tensors[key] = value
            continue
        shape = tuple(-(-size // 128) * 128 for size in value.shape)
        weight = vectors.to_torch(decoders.make_weight(len(tensors), shape))
        tensors |= {each: vectors.to_numpy(part)
                    for each, part in operation.convert({key: weight}).items()}
    Source(name, "transformers", tensors, config | {"quantization_config": settings}).write(
        folder / name)
    return read_source(name, "transformers", folder / name)


def _make_blocks(values: np.ndarray, scheme: str, amax: float
                 ) -> tuple[np.ndarray, np.float32 | None]:
    """Blocks of GGUF by the package's quantizer, or of NVFP4, for which it has none, by hand."""
    import gguf as package
    kind = package.GGMLQuantizationType[scheme]
    if scheme != "NVFP4":
        blocks = package.quants.quantize(values, kind)
        return (decoders.blank_tiny_blocks(blocks, values) if scheme == "MXFP4" else blocks), None
    found = encodings.encode_nvfp4(values, amax)
    codes = encodings.unpack_pairs(found.codes).reshape(len(values), -1, 4, 2, 8)
    pairs = codes[..., 0, :] | codes[..., 1, :] << 4
    scales = found.scales.view(np.uint8).reshape(len(values), -1, 4)
    blocks = np.concatenate([scales, pairs.reshape(*scales.shape[:2], 32)], 2)
    return np.ascontiguousarray(blocks.reshape(len(values), -1)), found.global_scale


def gguf(scheme: str, family: str, unknown: str = "") -> Callable[[str, Path], Source]:
    """A file that the package gguf writes."""
    def make(name: str, folder: Path) -> Source:
        import gguf as package
        kind = package.GGMLQuantizationType[scheme]
        path = folder / f"{name}.gguf"
        writer = package.GGUFWriter(path, "llama")
        truth, layers = {}, []
        source = make_tensors(family)
        amaxes = find_amaxes(source)
        for key, array in source.items():
            values = array.astype(np.float32)
            if not is_linear(key, array):
                writer.add_tensor(key, values)
                truth[key] = values
                continue
            layer = key.removesuffix(".weight")
            data, scale = _make_blocks(values, scheme, amaxes[group_of(layer)])
            writer.add_tensor(key, data, raw_dtype=kind)
            truth[key] = package.quants.dequantize(data, kind).reshape(values.shape)
            if scale is not None:
                writer.add_tensor(f"{layer}.scale", np.array([scale], np.float32))
                truth[key] = truth[key] * scale
            layers.append(layer)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return Source(name, "gguf", {}, decoders.CONFIGS[family], {} if unknown else truth,
                      () if scheme == "BF16" else tuple(layers), unknown, path=path)
    return make


#: The makers of sources by name, which is that of the folder, too.
CASES: dict[str, Callable[[str, Path], Source]] = {
    "modelopt-nvfp4": modelopt("NVFP4_DEFAULT_CFG", "dense"),
    "modelopt-nvfp4-gptoss": modelopt("NVFP4_DEFAULT_CFG", "gptoss"),
    "modelopt-w4a16": modelopt("W4A16_NVFP4_CFG", "dense"),
    "modelopt-mxfp8": modelopt("MXFP8_DEFAULT_CFG", "dense"),
    "modelopt-mxfp4": modelopt("MXFP4_DEFAULT_CFG", "dense"),
    "modelopt-fp8": modelopt("FP8_DEFAULT_CFG", "dense"),
    "modelopt-fp8-channel": modelopt("FP8_PER_CHANNEL_PER_TOKEN_CFG", "dense"),
    "modelopt-fp8-blocks": modelopt("FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG", "dense"),
    "modelopt-mixed-fp8": modelopt(_mix_fp8, "dense"),
    "modelopt-mixed-mxfp8": modelopt(_mix_mxfp8, "dense"),
    "modelopt-cache": modelopt(_with_cache, "dense"),
    "modelopt-llama4-nvfp4": modelopt("NVFP4_DEFAULT_CFG", "llama4"),
    "modelopt-llama4-fp8": modelopt("FP8_DEFAULT_CFG", "llama4"),
    "modelopt-int8": modelopt("INT8_SMOOTHQUANT_CFG", "dense", "INT8|W8A8_SQ_PER_CHANNEL"),
    "ct-fp8": compressed({"": ("FP8", "float-quantized", "Linear")}, "dense"),
    "ct-fp8-naive": compressed({"": ("FP8", "naive-quantized", "Linear")}, "dense"),
    "ct-fp8-channel": compressed({"": ("FP8_DYNAMIC", "float-quantized", "Linear")}, "moe"),
    "ct-fp8-blocks": compressed({"": ("FP8_BLOCK", "float-quantized", "Linear")}, "dense"),
    "ct-fp8-cache": compressed({"": ("FP8", "float-quantized", "Linear")}, "dense", **CACHE),
    "ct-nvfp4": compressed({"": ("NVFP4", "nvfp4-pack-quantized", "Linear")}, "dense"),
    "ct-nvfp4a16": compressed({"": ("NVFP4A16", "nvfp4-pack-quantized", "Linear")}, "moe"),
    "ct-mxfp4": compressed({"": ("MXFP4A16", "mxfp4-pack-quantized", "Linear")}, "dense"),
    "ct-mxfp8": compressed({"": ("MXFP8", "mxfp8-quantized", "Linear")}, "moe"),
    "ct-mixed": compressed({
        "self_attn": ("FP8_DYNAMIC", "float-quantized", "re:.*self_attn.*"),
        "mlp": ("NVFP4A16", "nvfp4-pack-quantized", "re:.*mlp.*")}, "dense"),
    "ct-int8": compressed({"": ("W8A8", "int-quantized", "Linear")}, "dense", "INT8"),
    "ct-int4": compressed({"": ("W4A16", "pack-quantized", "Linear")}, "gptoss",
                          "pack-quantized|INT4"),
    "torchao-nvfp4": torchao("nvfp4", "dense"),
    "torchao-nvfp4-no-global": torchao("nvfp4_no_global", "dense", has_config=False),
    "torchao-mxfp8": torchao("mxfp8", "moe"),
    "torchao-mxfp4": torchao("mxfp4", "dense"),
    "torchao-nvfp4-gptoss": torchao("nvfp4", "gptoss"),
    "torchao-float8": torchao("float8", "dense"),
    "torchao-int8": torchao("int8", "dense", "INT8|Int8Tensor"),
    "transformers-llama": transformers("dense", "float16"),
    "transformers-qwen3-moe": transformers("moe", "bfloat16"),
    "transformers-gpt-oss": transformers("gptoss", "bfloat16"),
    "transformers-llama4": transformers("llama4", "bfloat16"),
    "transformers-fp8": transformers_fp8,
    "gguf-mxfp4": gguf("MXFP4", "dense"),
    "gguf-nvfp4": gguf("NVFP4", "dense"),
    "gguf-bf16": gguf("BF16", "dense"),
    "gguf-q8": gguf("Q8_0", "dense", "Q8_0"),
}


def make_source(name: str, folder: Path) -> Source:
    """Makes a source in a folder. What packages print is shown where they fail."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return CASES[name](name, folder)
    except Exception:
        print(said.getvalue()[-3000:])
        raise
