# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of tensors that are missing, or are no part of a model."""

import json

import numpy as np

import decoders
from fault_files import BF16, DOWN, LAYER, OUT, SECOND, STACK, K, Q, V, fault


@fault("modelopt-nvfp4", "has-scales")
def no_block_scales(files):
    del files.tensors[f"{DOWN}.weight_scale"]


@fault("gpt-oss-mxfp4", "has-scales")
def no_block_scales_of_a_stack(files):
    del files.tensors[f"{STACK}_scales"]


@fault("compressed-tensors-nvfp4", "has-global-scale")
def no_global_scale_in_a_fused_group(files):
    del files.tensors[f"{K}.weight_global_scale"]


@fault("modelopt-nvfp4", "has-input-scale")
def no_input_scale(files):
    del files.tensors[f"{OUT}.input_scale"]


@fault("modelopt-w4a16", "needs-input-scale")
def input_scale_without_need(files):
    files.tensors[f"{OUT}.input_scale"] = np.array(0.01, np.float32)


@fault("modelopt-nvfp4", "has-codes")
def no_codes(files):
    del files.tensors[f"{DOWN}.weight"]


@fault("modelopt-nvfp4", "types-of-parts")
def scales_of_bf16(files):
    files.tensors[f"{DOWN}.weight_scale"] = files.tensors[f"{DOWN}.weight_scale"].astype(BF16)


@fault("modelopt-nvfp4", "whole-fused-groups")
def one_of_a_fused_group_is_plain(files):
    files.make_plain(Q, (128, 128))
    files.ignore(Q)


@fault("modelopt-mxfp8", "all-experts")
def no_expert_in_the_middle(files):
    for name in [name for name in files.tensors if ".mlp.experts.1." in name]:
        del files.tensors[name]


@fault("modelopt-nvfp4", "all-layers")
def no_last_layer(files):
    for name in [name for name in files.tensors if name.startswith("model.layers.1.")]:
        del files.tensors[name]


@fault("modelopt-nvfp4", "has-index")
def no_index(files):
    files.shards, files.has_index = 2, False


@fault("modelopt-nvfp4", "has-transform")
def scale_of_awq(files):
    files.tensors[f"{DOWN}.pre_quant_scale"] = np.ones(192, BF16)


@fault("torchao-nvfp4", "described-tensors")
def layer_without_metadata(files):
    del files.metadata[f"{OUT}.weight"]


@fault("torchao-nvfp4", "described-tensors")
def layer_that_no_list_names(files):
    names = json.loads(files.metadata["tensor_names"])
    names.remove(f"{OUT}.weight")
    files.metadata["tensor_names"] = json.dumps(names)


@fault("modelopt-nvfp4", "whole-model")
def no_last_norm(files):
    del files.tensors["model.norm.weight"]


@fault("modelopt-mxfp8", "whole-model")
def no_head(files):
    del files.tensors["lm_head.weight"]


@fault("modelopt-nvfp4", "whole-model")
def no_embeddings(files):
    del files.tensors["model.embed_tokens.weight"]


@fault("modelopt-nvfp4", "alike-layers")
def no_norm_of_a_layer(files):
    del files.tensors[f"{SECOND}input_layernorm.weight"]


@fault("modelopt-nvfp4", "alike-layers")
def no_norm_of_the_first_layer(files):
    del files.tensors[f"{LAYER}post_attention_layernorm.weight"]


@fault("gpt-oss-mxfp4", "alike-layers")
def no_bias_of_a_layer(files):
    """While the configuration says that there is one."""
    del files.tensors[f"{SECOND}self_attn.k_proj.bias"]


@fault("gpt-oss-mxfp4", "alike-layers")
def no_biases_of_all_layers(files):
    for layer in (LAYER, SECOND):
        del files.tensors[f"{layer}self_attn.v_proj.bias"]


@fault("gpt-oss-mxfp4", "alike-layers")
def no_bias_of_experts(files):
    del files.tensors[f"{SECOND}mlp.experts.down_proj_bias"]


@fault("gpt-oss-mxfp4", "alike-layers")
def no_sinks_of_a_layer(files):
    del files.tensors[f"{SECOND}self_attn.sinks"]


@fault("modelopt-nvfp4", "alike-layers")
def layer_without_a_weight(files):
    """Codes, scales and all."""
    files.drop(f"{SECOND}mlp.down_proj.")


@fault("compressed-tensors-nvfp4", "plain-tables")
def embeddings_are_quantized(files):
    files.quantize_like("model.embed_tokens", f"{LAYER}mlp.gate_proj")
    for part, array in list(files.tensors.items()):
        if part.startswith("model.embed_tokens.") and array.ndim == 2:
            files.tensors[part] = np.ascontiguousarray(array[:160])


@fault("modelopt-mxfp8", "plain-tables")
def router_is_quantized(files):
    gate = f"{SECOND}mlp.gate"
    for member in (files.quantization, files.modelopt["quantization"]):
        for names in ("ignore", "exclude_modules"):
            if names in member:
                member[names] = [each for each in member[names] if not each.endswith("mlp.gate")]
    files.quantize_like(gate, f"{LAYER}mlp.gate_proj")
    for name in (f"{gate}.weight", f"{gate}.weight_scale"):
        files.tensors[name] = np.ascontiguousarray(files.tensors[name][:4])


@fault("modelopt-mxfp8", "cache-scales")
def no_cache_scale_of_a_layer(files):
    files.add_cache_scales()
    for name in "kv":
        del files.tensors[f"{SECOND}self_attn.{name}_proj.{name}_scale"]


@fault("modelopt-nvfp4", "cache-scales")
def no_cache_scale_of_values(files):
    files.add_cache_scales()
    del files.tensors[f"{V}.v_scale"]


@fault("modelopt-nvfp4", "names-of-wrappers")
def names_of_a_compiled_module(files):
    files.tensors = {f"_orig_mod.{name}": array for name, array in files.tensors.items()}


@fault("modelopt-mxfp8", "names-of-wrappers")
def adapters_that_are_not_merged(files):
    files.tensors[f"{OUT}.lora_A.weight"] = decoders.make_weight(3, (16, 128))
    files.tensors[f"{OUT}.lora_B.weight"] = decoders.make_weight(4, (128, 16))


@fault("modelopt-nvfp4", "names-of-wrappers")
def quantizers_before_their_export(files):
    files.tensors[f"{OUT}.weight_quantizer._amax"] = np.array(2.0, np.float32)


@fault("compressed-tensors-nvfp4", "one-weight")
def plain_weight_beside_codes(files):
    files.tensors[f"{OUT}.weight"] = decoders.make_weight(5, (128, 128))


@fault("compressed-tensors-nvfp4", "has-scales")
def no_block_scales_of_an_expert(files):
    """Of all experts, so that none has what others have not."""
    for name in [name for name in files.tensors
                 if ".experts." in name and name.endswith("up_proj.weight_scale")]:
        del files.tensors[name]


@fault("fp8-blocks", "has-scales")
def no_scales_of_blocks(files):
    del files.tensors[f"{DOWN}.weight_scale_inv"]


@fault("modelopt-fp8", "has-scales")
def no_scale_of_fp8(files):
    del files.tensors[f"{OUT}.weight_scale"]


@fault("modelopt-mxfp8", "alike-layers")
def no_norm_of_a_layer_of_another_kind(files):
    """Of the layer with experts."""
    del files.tensors[f"{SECOND}post_attention_layernorm.weight"]


@fault("modelopt-mxfp8", "alike-layers")
def layer_of_another_kind_without_a_weight(files):
    files.drop(f"{SECOND}self_attn.o_proj.")


@fault("torchao-nvfp4", "described-tensors")
def described_layer_without_tensors(files):
    files.drop(f"{OUT}.")
    files.tensors[f"{OUT}.weight"] = decoders.make_weight(5, (128, 128))
    del files.config["quantization_config"]


@fault("modelopt-nvfp4", "alike-layers")
def no_keys_in_all_layers(files):
    files.drop(f"{K}.", f"{SECOND}self_attn.k_proj.")


@fault("compressed-tensors-nvfp4", "alike-layers")
def no_down_projection_of_all_experts(files):
    files.drop(*(f"{SECOND}mlp.experts.{number}.down_proj." for number in range(4)))


@fault("modelopt-mxfp8", "alike-layers")
def no_router_beside_experts(files):
    files.drop(f"{SECOND}mlp.gate.")
