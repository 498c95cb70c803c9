# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of types, shapes and orders."""

import numpy as np

from fault_files import DOWN, F8, GATE, LAYER, OUT, SECOND, STACK, UP, Q, fault


@fault("modelopt-nvfp4", "shape-of-scales")
def scales_of_half_the_blocks(files):
    name = f"{DOWN}.weight_scale"
    files.tensors[name] = np.ascontiguousarray(files.tensors[name][:, ::2])


@fault("modelopt-mxfp8", "order-of-scales")
def scales_are_transposed(files):
    name = f"{LAYER}mlp.down_proj.weight_scale"
    files.tensors[name] = np.ascontiguousarray(files.tensors[name].T)


@fault("modelopt-nvfp4", "order-of-scales")
def scales_in_tiles(files):
    """The order of tensor cores, with rows of padding."""
    name = f"{DOWN}.weight_scale".replace("down", "up")
    padded = np.pad(files.tensors[name].view(np.uint8), [(0, 64), (0, 0)])
    tiles = padded.reshape(2, 4, 32, 2, 4).transpose(0, 3, 2, 1, 4)
    files.tensors[name] = np.ascontiguousarray(tiles).reshape(256, 8).view(F8)


def to_tiles(scales):
    """A matrix of scales of whole tiles, in their order and in the shape that it had."""
    rows, columns = scales.shape
    tiles = scales.reshape(rows // 128, 4, 32, columns // 4, 4).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(tiles).reshape(rows, columns)


@fault("modelopt-nvfp4", "place-of-scales")
def scales_in_full_tiles(files):
    """Of the shape that rows have."""
    name = f"{Q}.weight_scale"
    files.tensors[name] = to_tiles(files.tensors[name])


@fault("torchao-nvfp4", "place-of-scales")
def scales_in_rows_that_tiles_are_expected_of(files):
    """128 x 8 scales whose tiles were undone, while the metadata say that they are swizzled."""
    name = f"{Q}._weight_scale"
    tiles = files.tensors[name].reshape(1, 2, 32, 4, 4).transpose(0, 3, 2, 1, 4)
    files.tensors[name] = np.ascontiguousarray(tiles).reshape(files.tensors[name].shape)


@fault("modelopt-mxfp8", "orientation")
def weight_is_transposed(files):
    """Columns for rows, with scales that fit."""
    codes = files.tensors[f"{DOWN}.weight"]
    files.tensors[f"{DOWN}.weight"] = np.ascontiguousarray(codes.T)
    files.tensors[f"{DOWN}.weight_scale"] = np.full((192, 4), 120, np.uint8)


@fault("modelopt-nvfp4", "whole-blocks")
def rows_end_within_a_block(files):
    """Half a block more in each row, and a scale for it."""
    files.tensors[f"{OUT}.weight"] = np.pad(files.tensors[f"{OUT}.weight"], [(0, 0), (0, 4)])
    scales = files.tensors[f"{OUT}.weight_scale"].view(np.uint8)
    files.tensors[f"{OUT}.weight_scale"] = np.pad(scales, [(0, 0), (0, 1)], mode="edge").view(F8)
    del files.config["num_attention_heads"]


@fault("modelopt-nvfp4", "tensor-parallel-blocks", tensor_parallel=[8])
def block_is_cut_between_devices(_):
    """K = 192 of eight parts."""


@fault("gpt-oss-mxfp4", "tensor-parallel-blocks", tensor_parallel=[4])
def block_of_experts_is_cut(_):
    """K = 64 of four parts."""


@fault("modelopt-nvfp4", "tensor-parallel-rows", tensor_parallel=[4])
def rows_are_cut_unequally(files):
    """190 rows of four parts."""
    del files.config["intermediate_size"]
    for layer in (GATE, UP):
        for part in ("weight", "weight_scale"):
            files.tensors[f"{layer}.{part}"] = files.tensors[f"{layer}.{part}"][:190]


@fault("modelopt-nvfp4", "sizes-of-configuration")
def last_norm_is_cut(files):
    files.tensors["model.norm.weight"] = files.tensors["model.norm.weight"][:64].copy()


@fault("modelopt-nvfp4", "sizes-of-configuration")
def norm_of_a_layer_is_longer(files):
    name = f"{SECOND}input_layernorm.weight"
    files.tensors[name] = np.tile(files.tensors[name], 2)


@fault("modelopt-nvfp4", "sizes-of-configuration")
def embeddings_have_fewer_rows(files):
    name = "model.embed_tokens.weight"
    files.tensors[name] = files.tensors[name][:152].copy()


@fault("modelopt-mxfp8", "sizes-of-configuration")
def head_has_more_rows(files):
    name = "lm_head.weight"
    files.tensors[name] = np.concatenate([files.tensors[name], files.tensors[name][:8]])


@fault("gpt-oss-mxfp4", "shape-of-biases")
def bias_is_cut(files):
    name = f"{Q}.bias"
    files.tensors[name] = files.tensors[name][:100].copy()


@fault("gpt-oss-mxfp4", "all-experts")
def router_has_fewer_rows(files):
    name = f"{LAYER}mlp.router."
    for part in ("weight", "bias"):
        files.tensors[name + part] = files.tensors[name + part][:3].copy()


@fault("modelopt-nvfp4", "shape-of-scales")
def global_scale_for_each_row(files):
    name = f"{OUT}.weight_scale_2"
    files.tensors[name] = np.full(128, files.tensors[name])


@fault("gpt-oss-mxfp4", "shape-of-scales")
def scales_of_fewer_experts(files):
    name = f"{STACK}_scales"
    files.tensors[name] = files.tensors[name][:3].copy()


@fault("compressed-tensors-nvfp4", "types-of-parts")
def codes_of_signed_words(files):
    """As packers of integers write them: eight codes in 32 bits."""
    name = f"{DOWN}.weight_packed"
    files.tensors[name] = files.tensors[name].view(np.int64)


@fault("modelopt-mxfp8", "sizes-of-configuration")
def norm_of_heads_is_longer(files):
    name = f"{LAYER}self_attn.q_norm.weight"
    files.tensors[name] = np.tile(files.tensors[name], 3)


@fault("gpt-oss-mxfp4", "sizes-of-configuration")
def sinks_of_fewer_heads(files):
    name = f"{LAYER}self_attn.sinks"
    files.tensors[name] = files.tensors[name][:2].copy()


@fault("gpt-oss-mxfp4", "shape-of-biases")
def router_bias_is_cut(files):
    name = f"{LAYER}mlp.router.bias"
    files.tensors[name] = files.tensors[name][:3].copy()



@fault("modelopt-fp8", "shape-of-scales")
def fp8_scales_of_three_parts(files):
    name = f"{OUT}.weight_scale"
    files.tensors[name] = np.full(3, files.tensors[name])


@fault("torchao-nvfp4", "order-of-scales")
def tiles_are_transposed(files):
    name = f"{DOWN}._weight_scale"
    files.tensors[name] = np.ascontiguousarray(files.tensors[name].T)
