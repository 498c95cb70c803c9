# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of configurations, which say another thing than the files are."""

import json

import numpy as np

import decoders
from fault_files import DOWN, F8, GATE, LAYER, OUT, SECOND, STACK, fault


@fault("modelopt-nvfp4", "has-configuration")
def no_configuration(files):
    del files.config["quantization_config"]
    files.modelopt = None


@fault("modelopt-nvfp4", "configured-weights")
def layer_is_plain(files):
    files.make_plain(DOWN, (128, 192))


@fault("compressed-tensors-nvfp4", "ignored-weights")
def quantized_layer_is_ignored(files):
    files.ignore(OUT)


@fault("modelopt-nvfp4", "configured-format")
def configuration_names_mxfp8(files):
    files.set_algorithm("quant_algo", "MXFP8")
    files.modelopt["quantization"]["group_size"] = 32
    files.quantization.pop("config_groups")


@fault("modelopt-mxfp8", "known-algorithm")
def algorithm_that_is_unknown(files):
    files.set_algorithm("quant_algo", "MXFP9")


@fault("modelopt-nvfp4", "complete-configuration")
def no_member_of_cache(files):
    del files.modelopt["quantization"]["kv_cache_quant_algo"]


@fault("modelopt-nvfp4", "group-size")
def group_size_of_mx(files):
    files.modelopt["quantization"]["group_size"] = 32


@fault("modelopt-nvfp4", "one-configuration")
def configurations_differ(files):
    files.modelopt["quantization"]["quant_algo"] = "W4A16_NVFP4"


@fault("modelopt-nvfp4", "ties")
def quantized_head_of_tied_embeddings(files):
    for part in ("weight", "weight_scale", "weight_scale_2", "input_scale"):
        array = files.tensors[f"{GATE}.{part}"]
        files.tensors[f"lm_head.{part}"] = array[:160].copy() if array.ndim else array.copy()
    for names in (files.quantization["ignore"],
                  files.modelopt["quantization"]["exclude_modules"]):
        names.remove("lm_head")


@fault("modelopt-nvfp4", "configured-format")
def fp8_layer_under_nvfp4(files):
    """Codes of eight bits with one scale."""
    weight = decoders.make_weight(5, (128, 192)).astype(np.float32)
    files.drop(f"{DOWN}.")
    files.tensors[f"{DOWN}.weight"] = (weight * 100).astype(F8)
    files.tensors[f"{DOWN}.weight_scale"] = np.array(0.01, np.float32)
    files.tensors[f"{DOWN}.input_scale"] = np.array(0.02, np.float32)


@fault("gpt-oss-mxfp4", "configured-weights")
def stack_is_plain(files):
    experts = files.tensors[f"{STACK}_blocks"].shape[0]
    files.drop(f"{STACK}_blocks", f"{STACK}_scales")
    files.tensors[STACK] = decoders.make_weight(5, (experts, 128, 128))


@fault("modelopt-mxfp8", "configured-weights")
def experts_are_a_plain_stack(files):
    """As transformers has them, which is no class of layers that a configuration names."""
    path = f"{SECOND}mlp.experts"
    files.drop(f"{path}.")
    files.tensors[f"{path}.gate_up_proj"] = decoders.make_weight(5, (4, 128, 128))
    files.tensors[f"{path}.down_proj"] = decoders.make_weight(6, (4, 128, 64))


@fault("modelopt-nvfp4", "configured-weights")
def head_that_no_list_leaves(files):
    """A plain head of its own that the configuration does not leave."""
    files.config["tie_word_embeddings"] = False
    files.tensors["lm_head.weight"] = decoders.make_weight(8, (160, 128))
    for names in (files.quantization["ignore"],
                  files.modelopt["quantization"]["exclude_modules"]):
        names.remove("lm_head")


@fault("modelopt-mxfp8", "all-experts")
def more_experts_in_the_configuration(files):
    files.config["num_experts"] = 8


@fault("gpt-oss-mxfp4", "all-experts")
def fewer_experts_in_the_configuration(files):
    files.config["num_local_experts"] = 3


@fault("modelopt-nvfp4", "all-layers")
def fewer_layers_in_the_configuration(files):
    files.config["num_hidden_layers"] = 1


@fault("modelopt-nvfp4", "sizes-of-configuration")
def more_words_in_the_configuration(files):
    files.config["vocab_size"] = 192


@fault("modelopt-nvfp4", "sizes-of-configuration")
def more_heads_in_the_configuration(files):
    files.config["num_attention_heads"] = 8


@fault("compressed-tensors-nvfp4", "sizes-of-configuration")
def fewer_pairs_of_heads_in_the_configuration(files):
    files.config["num_key_value_heads"] = 1


@fault("modelopt-nvfp4", "sizes-of-configuration")
def wider_layers_in_the_configuration(files):
    files.config["intermediate_size"] = 256


@fault("modelopt-nvfp4", "ties")
def tied_head_that_differs(files):
    files.tensors["lm_head.weight"] = decoders.make_weight(8, (160, 128))


@fault("compressed-tensors-nvfp4", "configured-format")
def group_that_names_other_layers(files):
    """Targets that match some layers alone."""
    for group in files.quantization["config_groups"].values():
        group["targets"] = ["re:.*self_attn.*"]


@fault("modelopt-mxfp8", "one-configuration")
def second_configuration_ignores_more(files):
    files.modelopt["quantization"]["exclude_modules"].append(f"{LAYER}mlp*")


@fault("compressed-tensors-nvfp4", "packed-status")
def status_before_packing(files):
    files.quantization["quantization_status"] = "frozen"


@fault("modelopt-mxfp8", "sizes-of-configuration")
def wider_experts_in_the_configuration(files):
    files.config["moe_intermediate_size"] = 96


@fault("modelopt-nvfp4", "alike-layers")
def model_type_with_biases(files):
    """Of Qwen2, whose queries, keys and values have them always."""
    files.config["model_type"] = "qwen2"


@fault("torchao-nvfp4", "described-tensors")
def block_size_of_mx(files):
    described = json.loads(files.metadata[f"{OUT}.weight"])
    described["_data"]["block_size"] = 32
    files.metadata[f"{OUT}.weight"] = json.dumps(described)


@fault("modelopt-nvfp4", "sizes-of-configuration")
def heads_of_another_size(files):
    """Where no member says how large a head is, they share the hidden size."""
    del files.config["head_dim"]
    files.config["num_key_value_heads"] = 4
