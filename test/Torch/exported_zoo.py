# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of transformers (model_zoo.py) that are quantized, exported, imported whole and compared
with what PyTorch computes. Needs transformers."""

from __future__ import annotations

from typing import Any

import torch

import blockscale.torch
import hugging_face as hf
import model_zoo as zoo

#: Models whose layers have experts.
EXPERTS = ("deepseek_v3", "granitemoe", "olmoe", "phimoe", "qwen3_moe", "qwen3_next")
TYPES = (
    *EXPERTS,
    "albert", "bart", "bert", "bloom", "clip_vision_model", "codegen", "cohere", "convnext",
    "deberta-v2", "deit", "dinov2", "distilbert", "electra", "falcon", "falcon_mamba", "gemma",
    "gemma2", "gemma3_text", "gpt2", "gpt_neo", "gpt_neox", "gpt_oss", "gptj", "granite", "llama",
    "llama4_text", "mamba", "mamba2", "mistral", "mixtral", "modernbert", "mpt", "olmo2", "opt",
    "phi", "phi3", "qwen2", "resnet", "roberta", "segformer", "stablelm", "starcoder2", "swin",
    "t5", "vit", "wav2vec2",
)
_STAGES = {"hidden_sizes": [16, 32, 32, 64], "depths": [1, 1, 1, 1]}
#: What a configuration has in the place of what model_zoo.shrink makes of it.
_CHANGES: dict[str, dict[str, Any]] = {
    "convnext": _STAGES,
    "deepseek_v3": {"num_key_value_heads": 4, "head_dim": 8, "first_k_dense_replace": 1},
    "mamba2": {"hidden_size": 64, "num_heads": 8, "head_dim": 16, "n_groups": 2},
    "resnet": {**_STAGES, "embedding_size": 16, "num_labels": 32},
    "segformer": {**_STAGES, "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 32},
    "swin": {"depths": [1, 1], "num_heads": [2, 4], "patch_size": 4, "window_size": 4},
    "wav2vec2": {"conv_dim": [32] * 7, "num_conv_pos_embeddings": 16,
                 "num_conv_pos_embedding_groups": 4},
}
#: Weights alone are quantized, so that a small difference of a sum is a small one of a result.
_POLICY = {"version": 1, "leave_last_projection": False, "rules": [
    {"format": "nvfp4", "weight_only": True, "cast": "bf16"}]}
#: Of results, relative to the largest value. Products of layers are rounded to bf16: a sum that is
#: rounded to the other side differs by that.
BOUND = 2.0 ** -5


def make_quantized(name: str) -> torch.nn.Module:
    """A small model of a type, with quantized weights."""
    config, model = zoo.find_type(name)
    made = zoo.make_model(config, model, torch.float32, **_CHANGES.get(name, {}))
    made.config.use_cache = False
    if not blockscale.torch.quantize_(made, _POLICY).quantized:
        raise ValueError(f"expected layers of {name} that are quantized, but got none")
    return made


def find_error(name: str, **options: Any) -> float:
    """The largest difference of the imported program, relative to the largest value."""
    model = make_quantized(name)
    given = zoo.find_inputs(model, torch.float32)
    with torch.no_grad():
        wanted = model(**given)
    imported = blockscale.torch.from_export(torch.export.export(model, (), given))
    return hf.get_error(imported.compile(**options)(**given), wanted)
