# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules that `check` checks, and what loaders do with checkpoints that break them.

docs/CheckpointFaults.md lists them; tests keep both equal.
"""

from __future__ import annotations

import dataclasses
from typing import Mapping

from blockscale.checkpoint._families import ALL

LOADERS = ("vLLM", "TensorRT-LLM", "SGLang", "transformers", "llama.cpp")
#: How sure a finding is that the checkpoint is wrong, and what to do with it: an "error" breaks
#: the layout; a "suspicion" is what statistics say; a "warning" is what some loaders stumble over.
SEVERITIES = ("error", "suspicion", "warning")


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule of checkpoints.

    Attributes:
      number, name: by which findings are known, as "C12 equal-global-scales".
      severity: of what breaks it.
      text: what holds, as a sentence.
      silent: whether some loader gives wrong numbers without an error.
      loaders: what loaders do with what breaks it; those that are not named refuse it, or do not
        read the layout.
    """

    number: int
    name: str
    severity: str
    text: str
    silent: bool = False
    loaders: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"C{self.number:02} {self.name}"


_MAXIMUM = "takes the largest of the group for all of it, with a warning"
_ASSERTS = "stops: it asserts that they are equal"
_GARBAGE = "computes with what the file has"
_MEMORY = "computes with whatever is in its memory there"
_PAIR = {"vLLM": _GARBAGE, "TensorRT-LLM": _GARBAGE, "SGLang": _GARBAGE}
_RANDOM = "initialises what is missing at random, with a warning"
_STAYS = "leaves what is missing uninitialised"
_ALL = {**_PAIR, "transformers": _GARBAGE, "llama.cpp": _GARBAGE}

RULES = (
    # What the configuration says.
    Rule(1, "has-configuration", "error",
         "a checkpoint with quantized weights has a configuration that says so", True,
         {"vLLM": "takes the codes for a plain weight and refuses their shape or type",
          "transformers": "takes the codes for a plain weight; some versions only warn of shapes"}),
    Rule(2, "configured-weights", "error",
         "a layer that the configuration says is quantized has codes", True,
         {"vLLM": "leaves the codes of the layer uninitialised",
          "SGLang": "leaves the codes of the layer uninitialised",
          "TensorRT-LLM": "stops: a tensor is missing"}),
    Rule(3, "ignored-weights", "error",
         "a layer that the configuration ignores has a plain weight", False,
         {"vLLM": "refuses the shape of the codes", "transformers": "refuses the shape"}),
    Rule(4, "configured-format", "error",
         "a weight has the format that the configuration says", True,
         {"vLLM": "reads codes of one format as those of another where shapes agree",
          "SGLang": "reads codes of one format as those of another where shapes agree"}),
    Rule(5, "known-algorithm", "warning",
         "the configuration names an algorithm that is known here"),
    Rule(6, "complete-configuration", "error",
         "hf_quant_config.json has group_size, kv_cache_quant_algo and exclude_modules", False,
         {"vLLM": "stops: it requires them", "TensorRT-LLM": "takes defaults"}),
    Rule(7, "group-size", "error",
         "the group size of the configuration is that of the format", True,
         {"TensorRT-LLM": "takes the configuration's", "vLLM": "stops or takes 16"}),
    Rule(8, "one-configuration", "error",
         "config.json and hf_quant_config.json say the same", True,
         {"vLLM": "goes by config.json", "TensorRT-LLM": "goes by hf_quant_config.json"}),
    Rule(9, "ties", "error",
         "embeddings that are tied have no quantized head beside them, and no other one", True,
         {"transformers": "ties the head to the embeddings and drops its codes",
          "vLLM": "ignores the head of the file"}),
    # Which tensors there are.
    Rule(10, "has-scales", "error", "codes have block scales beside them", True,
         {"vLLM": _MEMORY, "SGLang": _MEMORY, "TensorRT-LLM": "stops: a tensor is missing"}),
    Rule(11, "has-global-scale", "error", "NVFP4 weights have a global scale", True,
         {"vLLM": _MEMORY, "SGLang": _MEMORY, "TensorRT-LLM": "stops: a tensor is missing"}),
    Rule(12, "has-input-scale", "error",
         "layers have an input scale where the configuration quantizes activations with one", True,
         {"vLLM": _MEMORY, "SGLang": _MEMORY, "TensorRT-LLM": "takes a dynamic scale"}),
    Rule(13, "needs-input-scale", "warning",
         "an input scale is there only where the configuration quantizes activations", False,
         {"vLLM": "ignores the tensor"}),
    Rule(14, "has-codes", "error", "scales have codes that they belong to", True,
         {"vLLM": "leaves the codes uninitialised, or ignores the scales"}),
    Rule(15, "types-of-parts", "error", "codes and scales have the types of their layout", True,
         {"vLLM": "converts the values, which are other bits then",
          "SGLang": "converts the values, which are other bits then"}),
    Rule(16, "whole-fused-groups", "error",
         "layers that loaders fuse are all quantized, or all plain", True,
         {"vLLM": "stops, or leaves a part of the layer uninitialised",
          "TensorRT-LLM": "stops"}),
    Rule(17, "all-experts", "error",
         "experts of a layer have all numbers from 0 on, and are as many as the configuration says",
         True,
         {"vLLM": _MEMORY, "SGLang": _MEMORY}),
    Rule(18, "all-layers", "error",
         "there are as many layers as num_hidden_layers says, and no more", True,
         {"vLLM": "leaves missing layers uninitialised",
          "transformers": "initialises missing layers at random, with a warning"}),
    Rule(19, "has-index", "warning", "several shards have an index", False,
         {"transformers": "does not find the tensors", "vLLM": "reads all files of the folder"}),
    Rule(20, "has-transform", "error",
         "a pre_quant_scale is there only where the configuration says AWQ or SVD", True,
         {"vLLM": "ignores it: activations are not scaled", "SGLang": "ignores it",
          "TensorRT-LLM": "multiplies activations by it"}),
    # Shapes.
    Rule(21, "shape-of-scales", "error",
         "scales have a row for each row of codes and a column for each block; a global scale is one "
         "number", False,
         {"vLLM": "stops: shapes differ", "SGLang": "stops: shapes differ"}),
    Rule(22, "order-of-scales", "error",
         "scales are row-major [N, K / block], not transposed and not in tiles", True,
         {"vLLM": "stops, or where sizes agree reads scales of other blocks",
          "SGLang": "stops, or where sizes agree reads scales of other blocks"}),
    Rule(23, "orientation", "error",
         "weights are [N, K]: rows of outputs, as the sizes of the configuration say", True,
         {"vLLM": "stops, or where sizes agree multiplies by the transpose",
          "transformers": "stops, or where sizes agree multiplies by the transpose"}),
    Rule(24, "whole-blocks", "error", "K is a whole number of blocks", False,
         {"llama.cpp": "needs K of whole 64 (NVFP4) or 32 (MXFP4)"}),
    Rule(25, "tensor-parallel-blocks", "error",
         "a weight that is cut along K is cut between blocks, for the degrees that are asked for",
         True,
         {"vLLM": "rounds sizes down: parts have scales of their neighbours, or it stops",
          "TensorRT-LLM": "stops", "SGLang": "stops, or pads"}),
    Rule(26, "tensor-parallel-rows", "error",
         "rows of outputs are a multiple of the degrees that are asked for", False,
         {"vLLM": "stops", "SGLang": "stops"}),
    # Values.
    Rule(27, "scales-are-numbers", "error", "no block scale is NaN", True, _ALL),
    Rule(28, "scales-are-positive", "error", "no block scale is negative", True,
         {**_PAIR, "llama.cpp": "drops the sign"}),
    Rule(29, "no-lost-blocks", "error",
         "a block with a scale of zero has codes of zero only", True, _ALL),
    Rule(30, "global-scale-is-positive", "error",
         "global scales are positive, finite numbers", True, _ALL),
    Rule(31, "input-scale-is-positive", "error",
         "input scales are positive, finite numbers", True, _PAIR),
    Rule(32, "direction-of-global-scale", "suspicion",
         "a global scale has the direction of its layout: amax / 2688 in ModelOpt's, 2688 / amax "
         "in compressed-tensors'", True, _PAIR),
    Rule(33, "direction-of-input-scale", "suspicion",
         "an input scale has the direction of its layout", True, _PAIR),
    Rule(34, "equal-global-scales", "error",
         "layers that loaders fuse have the same global scale", True,
         {"vLLM": _MAXIMUM, "SGLang": "takes the largest of the group for all of it",
          "TensorRT-LLM": _ASSERTS}),
    Rule(35, "equal-input-scales", "error",
         "layers that loaders fuse have the same input scale", False,
         {"vLLM": "takes the largest, which is right", "TensorRT-LLM": _ASSERTS}),
    Rule(36, "scales-in-range", "suspicion",
         "the largest block scale of a global scale is near 448, and few are 448 itself", True,
         _ALL),
    Rule(37, "exponents-in-range", "suspicion",
         "E8M0 scales have their bias of 127, and are not 0 or 127 for all blocks", True, _ALL),
    Rule(38, "codes-are-there", "suspicion",
         "codes of a weight are not all zero where its scales differ", True, _ALL),
    Rule(39, "order-of-nibbles", "suspicion",
         "the even element of a pair is in the low nibble: columns of weights that read the same "
         "tensor have alike sizes", True, _ALL),
    Rule(40, "plain-numbers", "error", "plain tensors are finite", True, _ALL),
    Rule(41, "cache-scales", "error",
         "scales of the KV cache are positive, finite numbers, and there for keys and values of all "
         "layers where one has them, or where the configuration names a format of the cache", True,
         {"vLLM": "takes 1.0 where one is missing", "SGLang": "takes 1.0 where one is missing",
          "TensorRT-LLM": "takes 1.0 where one is missing"}),
    Rule(42, "has-tensor-scale", "warning",
         "NVFP4 of GGUF has a scale of the tensor beside it", True,
         {"llama.cpp": "takes 1.0: block scales alone have the range, as llama-quantize writes"}),
    Rule(43, "described-tensors", "error",
         "the metadata of a file describe torchao's tensors, and say how their scales lie", True,
         {"transformers": "does not make quantized tensors of them",
          "vLLM": "does not make quantized tensors of them"}),
    Rule(44, "place-of-scales", "suspicion",
         "scales are in rows, or in torchao's tiles, as the layout says: those of one row or "
         "column of a weight are alike", True, _PAIR),
    # What a model must have.
    Rule(45, "whole-model", "error",
         "a model of text has embeddings, a last norm, and a head where none is tied", True,
         {"transformers": _RANDOM, "vLLM": _STAYS}),
    Rule(46, "alike-layers", "error",
         "a layer has all weights, norms and biases that other layers of its kind have", True,
         {"transformers": _RANDOM, "vLLM": _STAYS}),
    Rule(47, "sizes-of-configuration", "error",
         "embeddings, heads, norms, attention and MLPs have the sizes that the configuration says",
         False, {"transformers": "refuses the shape", "vLLM": "refuses the shape"}),
    Rule(48, "shape-of-biases", "error", "a bias has a number for each row of its weight", False,
         {"transformers": "refuses the shape", "vLLM": "refuses the shape"}),
    Rule(49, "plain-tables", "error", "embeddings, routers and norms are plain", True,
         {"transformers": _RANDOM}),
    Rule(50, "names-of-wrappers", "error",
         "tensors have the names that a model has for them, without those of wrappers", True,
         {"transformers": _RANDOM}),
    Rule(51, "one-weight", "error", "a layer has one weight, plain or quantized", True, {}),
    Rule(52, "codes-are-numbers", "error", "no code of a weight is NaN or infinite", True, _ALL),
    Rule(53, "rows-are-there", "suspicion",
         "most rows and columns of a weight have a number that is not zero", True, _ALL),
    Rule(54, "own-weights", "suspicion", "no two layers have the same weight", True, _ALL),
)
BY_NAME = {rule.name: rule for rule in RULES}
#: The families that a loader reads; llama.cpp reads them of GGUF files alone, the others of
#: safetensors.
READS = {loader: tuple(family.name for family in ALL if loader in family.loaders)
         for loader in LOADERS}
