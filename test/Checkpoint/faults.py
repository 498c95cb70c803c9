# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that are planted into checkpoints without faults: each is a function that changes one,
with the one rule that it breaks."""

import copy
import dataclasses
import json
from typing import Any, Callable

import decoders
import numpy as np

F8, BF16 = decoders.DTYPES["F8_E4M3"], decoders.DTYPES["BF16"]


@dataclasses.dataclass
class Files:
    """A checkpoint that can be changed: tensors by name, and what is beside them."""

    tensors: dict[str, np.ndarray]
    config: dict[str, Any]
    modelopt: dict[str, Any] | None = None
    metadata: dict[str, str] = dataclasses.field(default_factory=dict)
    shards: int = 1
    has_index: bool = True

    @classmethod
    def read(cls, folder):
        tensors, metadata = {}, {}
        for path in sorted(folder.glob("*.safetensors")):
            found, said = decoders.read_file(path)
            tensors |= {name: array.copy() for name, array in found.items()}
            metadata |= said
        beside = folder / "hf_quant_config.json"
        return cls(tensors, json.loads((folder / "config.json").read_text()),
                   json.loads(beside.read_text()) if beside.exists() else None, metadata)

    def copy(self):
        return copy.deepcopy(self)

    def write(self, folder):
        decoders.write_folder(folder, self.tensors, self.config, self.shards, self.metadata)
        if self.modelopt is not None:
            (folder / "hf_quant_config.json").write_text(json.dumps(self.modelopt))
        if not self.has_index:
            (folder / "model.safetensors.index.json").unlink()

    # What several faults change.

    @property
    def quantization(self):
        return self.config["quantization_config"]

    def set_algorithm(self, member, value):
        """In both configurations of ModelOpt."""
        self.quantization[member] = value
        self.modelopt["quantization"][member] = value

    def ignore(self, *names):
        self.quantization.setdefault("ignore", []).extend(names)
        if self.modelopt is not None:
            self.modelopt["quantization"].setdefault("exclude_modules", []).extend(names)

    def make_plain(self, layer, shape):
        """Gives a layer a plain weight instead of its codes and scales."""
        for name in [name for name in self.tensors if name.startswith(f"{layer}.")]:
            del self.tensors[name]
        self.tensors[f"{layer}.weight"] = decoders.make_weight(5, shape)

    def scale(self, names, factor):
        for name in names:
            self.tensors[name] = (self.tensors[name] * np.float32(factor)).astype(np.float32)


#: (name, the file that it is planted in, the rule that it breaks, the function)
FAULTS: list[tuple[str, str, str, Callable[[Files], Any]]] = []
LAYER = "model.layers.0."
DOWN, GATE, UP = (f"{LAYER}mlp.{name}_proj" for name in ("down", "gate", "up"))
Q, K, V, O = (f"{LAYER}self_attn.{name}_proj" for name in "qkvo")
EXPERT = "model.layers.1.mlp.experts.2."
STACK = "model.layers.0.mlp.experts.gate_up_proj"


def fault(file, rule, **options):
    """Registers a function as a fault. `options` are those of check()."""
    def register(function):
        FAULTS.append((function.__name__, file, rule, function, options))
        return function
    return register


# ---------------------------------------------------------- configurations


@fault("modelopt-nvfp4", "has-configuration")
def no_configuration(files):
    del files.config["quantization_config"]
    files.modelopt = None


@fault("modelopt-nvfp4", "configured-weights")
def layer_is_plain(files):
    files.make_plain(DOWN, (128, 192))


@fault("compressed-tensors-nvfp4", "ignored-weights")
def quantized_layer_is_ignored(files):
    files.ignore(O)


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
        files.tensors[f"lm_head.{part}"] = files.tensors[f"{O}.{part}"].copy()
    for names in (files.quantization["ignore"],
                  files.modelopt["quantization"]["exclude_modules"]):
        names.remove("lm_head")


# ----------------------------------------------------------------- tensors


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
    del files.tensors[f"{O}.input_scale"]


@fault("modelopt-w4a16", "needs-input-scale")
def input_scale_without_need(files):
    files.tensors[f"{O}.input_scale"] = np.array(0.01, np.float32)


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
    del files.metadata[f"{O}.weight"]


@fault("torchao-nvfp4", "described-tensors")
def layer_that_no_list_names(files):
    names = json.loads(files.metadata["tensor_names"])
    names.remove(f"{O}.weight")
    files.metadata["tensor_names"] = json.dumps(names)


# ------------------------------------------------------------------ shapes


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
    files.tensors[f"{O}.weight"] = np.pad(files.tensors[f"{O}.weight"], [(0, 0), (0, 4)])
    scales = files.tensors[f"{O}.weight_scale"].view(np.uint8)
    files.tensors[f"{O}.weight_scale"] = np.pad(scales, [(0, 0), (0, 1)], mode="edge").view(F8)
    files.config["head_dim"] = 34


@fault("modelopt-nvfp4", "tensor-parallel-blocks", tensor_parallel=[8])
def block_is_cut_between_devices(_):
    """K = 192 of eight parts."""


@fault("gpt-oss-mxfp4", "tensor-parallel-blocks", tensor_parallel=[4])
def block_of_experts_is_cut(_):
    """K = 64 of four parts."""


@fault("modelopt-nvfp4", "tensor-parallel-rows", tensor_parallel=[4])
def rows_are_cut_unequally(files):
    """190 rows of four parts."""
    for layer in (GATE, UP):
        for part in ("weight", "weight_scale"):
            files.tensors[f"{layer}.{part}"] = files.tensors[f"{layer}.{part}"][:190]


# ------------------------------------------------------------------ values


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
    files.scale([f"{O}.weight_scale_2"], -1)


@fault("compressed-tensors-nvfp4", "global-scale-is-positive")
def global_scale_is_infinite(files):
    files.tensors[f"{O}.weight_global_scale"][:] = np.inf


@fault("modelopt-nvfp4", "input-scale-is-positive")
def input_scale_is_zero(files):
    files.scale([f"{O}.input_scale"], 0)


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
    name = f"{O}.input_scale"
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
