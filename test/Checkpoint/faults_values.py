# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of numbers."""

import numpy as np

from fault_files import DOWN, EXPERT, F8, LAYER, OUT, SECOND, STACK, UP, K, Q, fault


@fault("modelopt-nvfp4", "scales-are-numbers")
def block_scale_is_nan(files):
    files.tensors[f"{UP}.weight_scale"].view(np.uint8)[7, 3] = 0x7F


@fault("gpt-oss-mxfp4", "scales-are-numbers")
def exponent_is_nan(files):
    files.tensors[f"{STACK}_scales"][1, 2, 3] = 0xFF


@fault("torchao-nvfp4", "scales-are-numbers")
def block_scale_in_tiles_is_nan(files):
    files.tensors[f"{UP}._weight_scale"].view(np.uint8).reshape(-1)[5] = 0x7F


@fault("compressed-tensors-nvfp4", "scales-are-positive")
def block_scale_is_negative(files):
    scales = files.tensors[f"{UP}.weight_scale"].view(np.uint8)
    scales[7, 3] |= 0x80


@fault("modelopt-nvfp4", "no-lost-blocks")
def block_scale_is_zero(files):
    codes = files.tensors[f"{UP}.weight"].reshape(192, 8, 8)
    row = np.argmax((codes[:, 3] & 0x77).any(-1))
    files.tensors[f"{UP}.weight_scale"].view(np.uint8)[row, 3] = 0


@fault("modelopt-nvfp4", "global-scale-is-positive")
def global_scale_is_negative(files):
    files.scale([f"{OUT}.weight_scale_2"], -1)


@fault("compressed-tensors-nvfp4", "global-scale-is-positive")
def global_scale_is_infinite(files):
    files.tensors[f"{OUT}.weight_global_scale"][:] = np.inf


@fault("modelopt-nvfp4", "input-scale-is-positive")
def input_scale_is_zero(files):
    files.scale([f"{OUT}.input_scale"], 0)


@fault("modelopt-nvfp4", "direction-of-global-scale")
def global_scale_is_an_encode_scale(files):
    name = f"{DOWN}.weight_scale_2"
    files.tensors[name] = np.array(1 / files.tensors[name], np.float32)


@fault("compressed-tensors-nvfp4", "direction-of-global-scale")
def global_scales_are_decode_scales(files):
    """All of them, as a converter leaves them that renames tensors alone."""
    for name in files.tensors:
        if name.endswith(".weight_global_scale"):
            files.tensors[name] = (1 / files.tensors[name]).astype(np.float32)


@fault("modelopt-nvfp4", "direction-of-input-scale")
def input_scale_is_an_encode_scale(files):
    name = f"{OUT}.input_scale"
    files.tensors[name] = np.array(1 / files.tensors[name], np.float32)


@fault("modelopt-nvfp4", "equal-global-scales")
def fused_group_has_two_global_scales(files):
    files.scale([f"{K}.weight_scale_2"], 0.75)


@fault("compressed-tensors-nvfp4", "equal-global-scales")
def gate_and_up_of_an_expert_differ(files):
    files.scale([f"{EXPERT}up_proj.weight_global_scale"], 1.25)


@fault("modelopt-nvfp4", "equal-input-scales")
def fused_group_has_two_input_scales(files):
    files.scale([f"{UP}.input_scale"], 0.5)


@fault("modelopt-nvfp4", "scales-in-range")
def global_scale_is_far_too_large(files):
    """What becomes of a weight quantized with the amax of another one: few scales are left."""
    scales = files.tensors[f"{DOWN}.weight_scale"]
    scales[:] = (scales.astype(np.float32) / 128).clip(2.0 ** -9).astype(F8)
    files.scale([f"{DOWN}.weight_scale_2"], 128)


@fault("gpt-oss-mxfp4", "exponents-in-range")
def exponents_with_another_bias(files):
    """That of f16."""
    name = f"{STACK}_scales"
    files.tensors[name] = files.tensors[name].clip(112) - np.uint8(112)


@fault("modelopt-mxfp8", "codes-are-there")
def codes_were_never_written(files):
    files.tensors[f"{DOWN}.weight"].view(np.uint8)[:] = 0


@fault("modelopt-nvfp4", "order-of-nibbles")
def nibbles_are_swapped(files):
    for name, array in files.tensors.items():
        if array.dtype == np.uint8 and array.ndim == 2:
            files.tensors[name] = array << 4 | array >> 4


@fault("modelopt-nvfp4", "plain-numbers")
def norm_is_nan(files):
    files.tensors["model.norm.weight"][3] = np.nan


@fault("modelopt-mxfp8", "cache-scales")
def scale_of_the_cache_is_zero(files):
    for layer in (0, 1):
        for name in "kv":
            files.tensors[f"model.layers.{layer}.self_attn.{name}_proj.{name}_scale"] = np.array(
                layer, np.float32)
    files.modelopt["quantization"]["kv_cache_quant_algo"] = "FP8"
    files.quantization["kv_cache_scheme"] = {"dynamic": False, "num_bits": 8, "type": "float"}


@fault("modelopt-nvfp4", "rows-are-there")
def half_of_the_rows_are_zero(files):
    """Codes of a part of the weight alone, in the file that another part belongs to."""
    codes = files.tensors[f"{DOWN}.weight"]
    codes[len(codes) // 2:] = 0


@fault("modelopt-nvfp4", "rows-are-there")
def every_second_row_is_zero(files):
    files.tensors[f"{UP}.weight"][1::2] = 0


@fault("modelopt-nvfp4", "rows-are-there")
def half_of_the_columns_are_zero(files):
    codes = files.tensors[f"{DOWN}.weight"]
    codes[:, codes.shape[1] // 2:] = 0


@fault("modelopt-mxfp8", "rows-are-there")
def half_of_a_plain_weight_is_zero(files):
    """A weight that the configuration leaves."""
    files.make_plain(OUT, (128, 128))
    files.ignore(OUT)
    files.tensors[f"{OUT}.weight"][:64] = 0


@fault("gpt-oss-mxfp4", "rows-are-there")
def half_of_an_expert_is_zero(files):
    files.tensors[f"{STACK}_blocks"][2, ::2] = 0


@fault("modelopt-mxfp8", "codes-are-numbers")
def code_is_nan(files):
    files.tensors[f"{DOWN}.weight"].view(np.uint8)[77, 33] = 0xFF


@fault("gpt-oss-mxfp4", "exponents-in-range")
def exponents_were_never_written(files):
    files.tensors[f"{STACK}_scales"][:] = 0


@fault("modelopt-mxfp8", "exponents-in-range")
def exponents_of_one(files):
    """The scale 1.0 for all blocks."""
    files.tensors[f"{DOWN}.weight_scale"][:] = 127


@fault("modelopt-nvfp4", "scales-in-range")
def block_scales_of_one(files):
    files.tensors[f"{DOWN}.weight_scale"][:] = 1


@fault("modelopt-nvfp4", "no-lost-blocks")
def block_scales_were_never_written(files):
    files.tensors[f"{DOWN}.weight_scale"].view(np.uint8)[:] = 0


@fault("modelopt-nvfp4", "scales-in-range")
def global_scale_is_far_too_small(files):
    """That of another weight: what is above it is clipped."""
    scales = files.tensors[f"{DOWN}.weight_scale"]
    scales[:] = (scales.astype(np.float32) * 256).clip(None, 448).astype(F8)
    files.scale([f"{DOWN}.weight_scale_2"], 1 / 256)


@fault("modelopt-nvfp4", "own-weights")
def layer_is_copied(files):
    """The MLP of the first layer is that of the second, too."""
    for name in [name for name in files.tensors if name.startswith(f"{LAYER}mlp.")]:
        files.tensors[SECOND + name.removeprefix(LAYER)] = files.tensors[name].copy()


@fault("modelopt-nvfp4", "plain-numbers")
def embedding_is_infinite(files):
    files.tensors["model.embed_tokens.weight"][17, 5] = np.inf


@fault("gpt-oss-mxfp4", "plain-numbers")
def bias_is_nan(files):
    files.tensors[f"{Q}.bias"][3] = np.nan


@fault("compressed-tensors-nvfp4", "input-scale-is-positive")
def input_scale_is_nan(files):
    files.tensors[f"{OUT}.input_global_scale"][:] = np.nan


@fault("modelopt-nvfp4", "cache-scales")
def cache_scale_is_nan(files):
    files.add_cache_scales()
    files.tensors[f"{K}.k_scale"] = np.array(np.nan, np.float32)


@fault("modelopt-fp8", "codes-are-numbers")
def fp8_code_is_nan(files):
    files.tensors[f"{UP}.weight"].view(np.uint8)[3, 3] = 0x7F


@fault("modelopt-fp8", "no-lost-blocks")
def fp8_scale_is_zero(files):
    files.scale([f"{OUT}.weight_scale"], 0)


@fault("modelopt-fp8", "scales-are-positive")
def fp8_scale_is_negative(files):
    files.scale([f"{OUT}.weight_scale"], -1)


@fault("modelopt-fp8", "direction-of-global-scale")
def fp8_scale_is_a_reciprocal(files):
    name = f"{DOWN}.weight_scale"
    files.tensors[name] = np.array(1 / files.tensors[name], np.float32)


@fault("modelopt-fp8", "codes-are-there")
def fp8_codes_were_never_written(files):
    files.tensors[f"{DOWN}.weight"].view(np.uint8)[:] = 0


@fault("fp8-blocks", "no-lost-blocks")
def scale_of_a_block_is_zero(files):
    files.tensors[f"{DOWN}.weight_scale_inv"][0, 1] = 0


@fault("fp8-blocks", "scales-are-numbers")
def scale_of_a_block_is_infinite(files):
    files.tensors[f"{UP}.weight_scale_inv"][1, 0] = np.inf


@fault("fp8-blocks", "rows-are-there")
def half_of_the_fp8_rows_are_zero(files):
    files.tensors[f"{UP}.weight"].view(np.uint8)[96:] = 0


@fault("gpt-oss-mxfp4", "rows-are-there")
def half_of_the_experts_are_zero(files):
    files.tensors[f"{STACK}_blocks"][2:] = 0
