# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints with stacks of experts: gpt-oss, Llama-4, torchao's, and plain ones of layers of
multi-token prediction beside experts one by one."""

from __future__ import annotations

import json

import numpy as np

import decoders
from foreign import encodings
from foreign.layers import Maker, describe_modelopt, find_amaxes, scalar
from foreign.sources import Source, split_biases, split_matrices, split_stack


def gpt_oss() -> Source:
    tensors, truth, layers = {}, {}, []
    for name, value in decoders.make_tensors("gptoss").items():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            tensors[name] = value
            truth |= split_biases(name, value.astype(np.float32))
            continue
        found = encodings.encode_mxfp4(value.astype(np.float32).swapaxes(1, 2))
        *batch, k = found.codes.shape
        tensors[f"{name}_blocks"] = found.codes.reshape(*batch, k // 16, 16)
        tensors[f"{name}_scales"] = found.scales
        path, _, stack = name.rpartition(".")
        truth |= split_matrices(path, stack, found.values, True)
        layers.append(name)
    config = decoders.CONFIGS["gptoss"] | {"quantization_config": {
        "quant_method": "mxfp4", "modules_to_not_convert": [
            "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
            "lm_head"]}}
    return Source("gpt-oss MXFP4", "hand", tensors, config, truth, tuple(layers))


LLAMA4 = {
    "architectures": ["Llama4ForCausalLM"], "model_type": "llama4_text", "hidden_size": 128,
    "intermediate_size": 64, "intermediate_size_mlp": 192, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 160,
    "num_local_experts": 4, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2,
    "moe_layers": [1], "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "hidden_act": "silu",
    "dtype": "bfloat16", "max_position_embeddings": 64, "bos_token_id": 0, "eos_token_id": 1,
    "pad_token_id": 1}


def make_llama4() -> dict[str, np.ndarray]:
    """A Llama-4 with a dense layer and a layer of experts [E, K, N], beside a shared expert."""
    moe = decoders.make_tensors("moe")
    tensors = {name: value for name, value in moe.items()
               if ".mlp." not in name and "q_norm" not in name and "k_norm" not in name}
    for number, (name, shape) in enumerate({"gate_proj": (192, 128), "up_proj": (192, 128),
                                            "down_proj": (128, 192)}.items()):
        tensors[f"model.layers.0.feed_forward.{name}.weight"] = decoders.make_weight(
            4100 + number, shape)
    prefix = "model.layers.1.feed_forward."
    for number, (name, shape) in enumerate({"gate_proj": (64, 128), "up_proj": (64, 128),
                                            "down_proj": (128, 64)}.items()):
        tensors[f"{prefix}shared_expert.{name}.weight"] = decoders.make_weight(4110 + number, shape)
    tensors[f"{prefix}router.weight"] = decoders.make_weight(4120, (4, 128))
    for number, (name, n, k) in enumerate([("gate_up_proj", 128, 128), ("down_proj", 128, 64)]):
        tensors[f"{prefix}experts.{name}"] = np.ascontiguousarray(
            decoders.make_weight(4130 + number, (4, n, k)).swapaxes(1, 2))
    return tensors


def llama4(name: str, algorithm: str) -> Source:
    """Llama-4 as ModelOpt exports it: stacks of experts stay [E, K, N], with codes along K."""
    maker = Maker("moe")
    maker.tensors = make_llama4()
    maker.amaxes = find_amaxes(maker.tensors)
    maker.config = LLAMA4
    encode = maker.nvfp4 if algorithm == "NVFP4" else maker.fp8
    plain = {name: value for name, value in maker.tensors.items() if value.ndim == 3}
    maker.tensors = {name: value for name, value in maker.tensors.items() if value.ndim != 3}
    outer, files = describe_modelopt(maker, algorithm, **(
        {"group_size": 16} if algorithm == "NVFP4" else {}))
    left = ["lm_head", "model.layers.1.feed_forward.router"]
    outer["ignore"] = files["hf_quant_config.json"]["quantization"]["exclude_modules"] = left
    source = maker.make(name, encode, outer, files)
    tensors, layers = dict(source.tensors), list(source.quantized)
    for stack, value in plain.items():
        numbers = value.astype(np.float32)
        if algorithm == "NVFP4":
            found = encodings.encode_nvfp4(numbers.swapaxes(1, 2))
            codes, scales = (np.ascontiguousarray(each.swapaxes(1, 2))
                             for each in (found.codes, found.scales))
            tensors[f"{stack}_weight_scale_2"] = scalar(found.global_scale)
            tensors[f"{stack}_input_scale"] = scalar(6 / 2688)
            numbers = found.values.swapaxes(1, 2)
        else:
            found = encodings.encode_fp8(numbers)
            codes, scales, numbers = found.codes, found.scales, found.values
            tensors[f"{stack}_input_scale"] = scalar(6 / 448)
        tensors[stack], tensors[f"{stack}_weight_scale"] = codes, scales
        source.truth |= split_stack(stack, numbers, "llama4_text")
        layers.append(stack)
    source.tensors, source.quantized = tensors, tuple(layers)
    return source


def mtp() -> Source:
    """NVFP4 with a layer of multi-token prediction that stays plain, its experts in stacks
    [E, N, K]."""
    maker = Maker("moe")
    source = maker.make("modelopt NVFP4 with plain MTP stacks", maker.nvfp4,
                        *describe_modelopt(maker, "NVFP4", group_size=16))
    tensors = dict(source.tensors)
    extra = {"mtp.fc.weight": decoders.make_weight(5000, (128, 256)),
             "mtp.norm.weight": decoders.bf16(np.ones(128)),
             "mtp.layers.0.self_attn.o_proj.weight": decoders.make_weight(5001, (128, 128)),
             "mtp.layers.0.mlp.experts.gate_up_proj": decoders.make_weight(5002, (4, 128, 128)),
             "mtp.layers.0.mlp.experts.down_proj": decoders.make_weight(5003, (4, 128, 64))}
    for name, value in extra.items():
        tensors[name] = value
        source.truth |= split_stack(name, value.astype(np.float32), "qwen3_moe")
    config = dict(source.config)
    for members in (config["quantization_config"]["ignore"],
                    source.files["hf_quant_config.json"]["quantization"]["exclude_modules"]):
        members.append("mtp*")
    source.tensors, source.config = tensors, config
    return source


def torchao_stacks() -> Source:
    """torchao's NVFP4 of stacks of experts alone, which are parameters that are no module's weight.
    Scales are in rows."""
    tensors, truth, layers, metadata = {}, {}, [], {}
    described = json.dumps({"_type": "NVFP4Tensor", "_data": {
        "is_swizzled_scales": False, "use_triton_kernel": False, "act_quant_kwargs": None,
        "block_size": 16, "orig_dtype": {"_type": "torch.dtype", "_data": "bfloat16"}},
        "_tensor_data_names": ["per_tensor_scale", "qdata", "scale"]})
    for name, value in decoders.make_tensors("gptoss").items():
        metadata[name] = json.dumps({"_type": "Tensor"})
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            tensors[name] = value
            truth |= split_biases(name, value.astype(np.float32))
            continue
        found = encodings.encode_nvfp4(value.astype(np.float32).swapaxes(1, 2))
        path, _, stack = name.rpartition(".")
        tensors |= {f"{path}._{stack}_qdata": found.codes, f"{path}._{stack}_scale": found.scales,
                    f"{path}._{stack}_per_tensor_scale": scalar(found.global_scale)}
        metadata[name] = described
        truth |= split_matrices(path, stack, found.values, True)
        layers.append(name)
    left = [name.removesuffix(".weight") for name in tensors
            if name.endswith(".weight") and "norm" not in name]
    config = decoders.CONFIGS["gptoss"] | {"quantization_config": {
        "quant_method": "torchao", "modules_to_not_convert": left,
        "quant_type": {"default": {"_type": "NVFP4WeightOnlyConfig", "_version": 1, "_data": {
            "use_dynamic_per_tensor_scale": True}}}}}
    return Source("torchao NVFP4 of stacks", "hand", tensors, config, truth, tuple(layers),
                  metadata={**metadata, "tensor_names": json.dumps(list(metadata))})
