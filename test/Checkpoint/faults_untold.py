# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that no shape, name, configuration or statistic tells: check() finds nothing."""

import numpy as np

from fault_files import DOWN, EXPERT, LAYER, OUT, SECOND, UP, Q, untold


@untold("modelopt-nvfp4", "rows of other heads have the same sizes, and the same scales with them")
def rows_of_heads_in_another_order(files):
    """The order of rotary embeddings that llama.cpp has."""
    for part in ("weight", "weight_scale"):
        array = files.tensors[f"{Q}.{part}"]
        heads = array.reshape(4, 2, 16, -1).swapaxes(1, 2)
        files.tensors[f"{Q}.{part}"] = np.ascontiguousarray(heads).reshape(array.shape)


@untold("modelopt-nvfp4", "both have the same shape, and read the same tensor")
def gate_and_up_are_exchanged(files):
    for name in list(files.tensors):
        if name.startswith(f"{LAYER}mlp.gate_proj."):
            other = name.replace("gate", "up")
            files.tensors[name], files.tensors[other] = files.tensors[other], files.tensors[name]


@untold("modelopt-mxfp8", "experts are alike")
def experts_are_exchanged(files):
    for name in list(files.tensors):
        if name.startswith(EXPERT):
            other = name.replace(".experts.2.", ".experts.1.")
            files.tensors[name], files.tensors[other] = files.tensors[other], files.tensors[name]


@untold("modelopt-nvfp4", "layers are alike")
def layers_are_exchanged(files):
    for name in list(files.tensors):
        if name.startswith(LAYER):
            other = SECOND + name.removeprefix(LAYER)
            files.tensors[name], files.tensors[other] = files.tensors[other], files.tensors[name]


@untold("modelopt-nvfp4", "columns have the sizes that they had")
def signs_are_flipped(files):
    files.tensors[f"{UP}.weight"] ^= np.uint8(0x88)


@untold("modelopt-nvfp4", "no other layer shares the scale, and the weight may be that large")
def global_scale_is_doubled(files):
    files.scale([f"{OUT}.weight_scale_2"], 2)


@untold("modelopt-nvfp4", "other texts have other amaxes")
def input_scale_of_another_model(files):
    files.scale([f"{DOWN}.input_scale"], 3)


@untold("modelopt-nvfp4", "any code is one that a weight may have")
def some_codes_are_noise(files):
    codes = files.tensors[f"{UP}.weight"]
    codes[5] = np.random.default_rng(0).integers(0, 256, codes.shape[1], np.uint8)


@untold("modelopt-nvfp4", "what it reads is no tensor whose columns are known")
def nibbles_of_a_writer_are_swapped(files):
    """Of down_proj: its columns are rows of gate and up, of which signs and gates change sizes."""
    codes = files.tensors[f"{DOWN}.weight"]
    files.tensors[f"{DOWN}.weight"] = codes << 4 | codes >> 4


@untold("modelopt-nvfp4", "numbers of a norm may be any")
def norm_is_that_of_another_layer(files):
    name = f"{LAYER}input_layernorm.weight"
    files.tensors[name] = files.tensors[f"{SECOND}input_layernorm.weight"].copy()


@untold("modelopt-nvfp4", "no tensor depends on it")
def base_of_rotary_embeddings_is_wrong(files):
    files.config["rope_theta"] = 5.0e5


@untold("modelopt-nvfp4", "rows of a table are of words that the files do not know")
def embeddings_are_shifted(files):
    name = "model.embed_tokens.weight"
    files.tensors[name] = np.roll(files.tensors[name], 1, axis=0)
