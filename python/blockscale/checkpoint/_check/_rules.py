# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules that `check` checks, and what loaders do with checkpoints that break them.

docs/CheckpointFaults.md lists them; tests keep both equal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from blockscale.checkpoint._check._claims import (
    COMPUTES,
    CONVERTS,
    DROPS_SIGN,
    IGNORES_NAMES,
    LARGEST,
    MISSING,
    RANDOM,
    READS_NAN,
    READS_OTHERS,
    REFUSES_SHAPES,
    STOPS_WITHOUT,
    UNINITIALISED,
    Claim,
    tell,
)

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
      loaders: what loaders do with what breaks it; of those that are not named it is not known
        here.
    """

    number: int
    name: str
    severity: str
    text: str
    silent: bool = False
    loaders: Mapping[str, Claim] = dataclasses.field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"C{self.number:02} {self.name}"


RULES = (
    # What the configuration says.
    Rule(1, "has-configuration", "error",
         "a checkpoint with quantized weights has a configuration that says so", True,
         CONVERTS |
         tell("takes codes for a plain weight: refuses their shape, or takes them for its numbers",
              transformers="transformers-report")),
    Rule(2, "configured-weights", "error",
         "a layer that the configuration says is quantized has codes", True,
         CONVERTS),
    Rule(3, "ignored-weights", "error",
         "a layer that the configuration ignores has a plain weight", False,
         CONVERTS |
         tell("refuses the shape, or initialises the weight at random, with a warning",
              transformers="transformers-model")),
    Rule(4, "configured-format", "error",
         "a weight has the format that the configuration says", True,
         tell("reads codes of one format as those of another where shapes agree",
              vllm="vllm-parameter", sglang="sglang-parameter")),
    Rule(5, "known-algorithm", "warning",
         "the configuration names an algorithm that is known here", False,
         tell("refuses algorithms that it does not list",
              vllm="vllm-modelopt", sglang="sglang-modelopt")),
    Rule(6, "complete-configuration", "error",
         "hf_quant_config.json has group_size, kv_cache_quant_algo and exclude_modules", False,
         tell("stops, where config.json says nothing: it requires them", vllm="vllm-modelopt") |
         tell("stops, where config.json says nothing: it requires two of them",
              sglang="sglang-modelopt")),
    Rule(7, "group-size", "error",
         "the group size of the configuration is that of the format", True,
         tell("makes room for scales of that size, and refuses the shape of others",
              vllm="vllm-modelopt", sglang="sglang-modelopt") |
         tell("refuses another size of groups of compressed-tensors", tensorrt="tensorrt-packed")),
    Rule(8, "one-configuration", "error",
         "config.json and hf_quant_config.json say the same", True,
         tell("goes by config.json", sglang="sglang-weights")),
    Rule(9, "ties", "error",
         "embeddings that are tied have no quantized head beside them, and no other one", True,
         tell("skips the head of the file", sglang="sglang-llama") |
         tell("leaves a plain head that differs untied, with a warning; has no place for "
              "codes",
              transformers="transformers-model")),
    # Which tensors there are.
    Rule(10, "has-scales", "error",
         "codes have block scales beside them", True,
         UNINITIALISED),
    Rule(11, "has-global-scale", "error",
         "NVFP4 weights have a global scale", True,
         UNINITIALISED |
         STOPS_WITHOUT),
    Rule(12, "has-input-scale", "error",
         "layers have an input scale where the configuration quantizes activations with one", True,
         UNINITIALISED |
         STOPS_WITHOUT),
    Rule(13, "needs-input-scale", "warning",
         "an input scale is there only where the configuration quantizes activations", False,
         tell("drops it", vllm="vllm-modelopt", sglang="sglang-modelopt")),
    Rule(14, "has-codes", "error",
         "scales have codes that they belong to", True,
         UNINITIALISED),
    Rule(15, "types-of-parts", "error",
         "codes and scales have the types of their layout", True,
         tell("converts the values, which are other bits then",
              vllm="vllm-parameter", sglang="sglang-parameter") |
         tell("stops: it asserts E4M3 for scales of NVFP4", tensorrt="tensorrt-linear")),
    Rule(16, "whole-fused-groups", "error",
         "layers that loaders fuse are all quantized, or all plain", True,
         tell("stops: shards of a layer must have one scheme",
              vllm="vllm-packed-utils", sglang="sglang-modelopt")),
    Rule(17, "all-experts", "error",
         "experts of a layer have all numbers from 0 on, and are as many as the configuration "
         "says", True,
         MISSING),
    Rule(18, "all-layers", "error",
         "there are as many layers as num_hidden_layers says, and no more", True,
         MISSING),
    Rule(19, "has-index", "warning",
         "several shards have an index", False,
         tell("does not find the tensors", transformers="transformers-model") |
         tell("reads all files of the folder", vllm="vllm-loader")),
    Rule(20, "has-transform", "error",
         "a pre_quant_scale is there only where the configuration says AWQ or SVD", True,
         IGNORES_NAMES),
    # Shapes.
    Rule(21, "shape-of-scales", "error",
         "scales have a row for each row of codes and a column for each block; a global scale is "
         "one number", False,
         REFUSES_SHAPES),
    Rule(22, "order-of-scales", "error",
         "scales are row-major [N, K / block], not transposed and not in tiles", True,
         READS_OTHERS),
    Rule(23, "orientation", "error",
         "weights are [N, K]: rows of outputs, as the sizes of the configuration say", True,
         READS_OTHERS |
         tell("refuses the shape, or where sizes agree multiplies by the transpose",
              transformers="transformers-report")),
    Rule(24, "whole-blocks", "error",
         "K is a whole number of blocks", False,
         tell("refuses K that is no multiple of 16 in NVFP4",
              vllm="vllm-modelopt", sglang="sglang-modelopt") |
         tell("has types of whole blocks of 64 (NVFP4) or 32 (MXFP4)", llama="gguf-constants")),
    Rule(25, "tensor-parallel-blocks", "error",
         "a weight that is cut along K is cut between blocks, for the degrees that are asked for",
         True,
         tell("refuses parts that are no multiples of 16 in NVFP4",
              vllm="vllm-modelopt", sglang="sglang-modelopt")),
    Rule(26, "tensor-parallel-rows", "error",
         "rows of outputs are a multiple of the degrees that are asked for", False,
         tell("stops: it asserts that parts are equal", sglang="sglang-linear")),
    # Values.
    Rule(27, "scales-are-numbers", "error",
         "no block scale is NaN", True,
         COMPUTES |
         READS_NAN),
    Rule(28, "scales-are-positive", "error",
         "no block scale is negative", True,
         COMPUTES |
         DROPS_SIGN),
    Rule(29, "no-lost-blocks", "error",
         "a block with a scale of zero has codes of zero only", True,
         COMPUTES),
    Rule(30, "global-scale-is-positive", "error",
         "global scales are positive, finite numbers", True,
         COMPUTES),
    Rule(31, "input-scale-is-positive", "error",
         "input scales are positive, finite numbers", True,
         COMPUTES),
    Rule(32, "direction-of-global-scale", "suspicion",
         "a global scale has the direction of its layout: amax / 2688 in ModelOpt's, 2688 / amax "
         "in compressed-tensors'", True,
         COMPUTES),
    Rule(33, "direction-of-input-scale", "suspicion",
         "an input scale has the direction of its layout", True,
         COMPUTES),
    Rule(34, "equal-global-scales", "error",
         "layers that loaders fuse have the same global scale", True,
         LARGEST),
    Rule(35, "equal-input-scales", "error",
         "layers that loaders fuse have the same input scale", False,
         tell("takes the largest, which is right",
              vllm="vllm-modelopt", sglang="sglang-modelopt") |
         tell("stops: it asserts that they are equal", tensorrt="tensorrt-linear")),
    Rule(36, "scales-in-range", "suspicion",
         "the largest block scale of a global scale is near 448, and few are 448 itself", True,
         COMPUTES),
    Rule(37, "exponents-in-range", "suspicion",
         "E8M0 scales have their bias of 127, and are not 0 or 127 for all blocks", True,
         COMPUTES),
    Rule(38, "codes-are-there", "suspicion",
         "codes of a weight are not all zero where its scales differ", True,
         COMPUTES),
    Rule(39, "order-of-nibbles", "suspicion",
         "the even element of a pair is in the low nibble: columns of weights that read the same "
         "tensor have alike sizes", True,
         COMPUTES),
    Rule(40, "plain-numbers", "error",
         "plain tensors are finite", True,
         COMPUTES),
    Rule(41, "cache-scales", "error",
         "scales of the KV cache are positive, finite numbers, and there for keys and values of "
         "all layers where one has them, or where the configuration names a format of the cache",
         True,
         tell("takes 1.0 where both are missing, and the scale of keys where that of values "
              "is",
              vllm="vllm-cache", sglang="sglang-cache")),
    Rule(42, "has-tensor-scale", "warning",
         "NVFP4 of GGUF has a scale of the tensor beside it", True,
         {}),
    Rule(43, "described-tensors", "error",
         "the metadata of a file describe torchao's tensors, and say how their scales lie", True,
         tell("stops: it makes no tensors of what the metadata do not describe",
              transformers="transformers-torchao")),
    Rule(44, "place-of-scales", "suspicion",
         "scales are in rows, or in torchao's tiles, as the layout says: those of one row or "
         "column of a weight are alike", True,
         COMPUTES),
    # What a model must have.
    Rule(45, "whole-model", "error",
         "a model of text has embeddings, a last norm, and a head where none is tied", True,
         MISSING),
    Rule(46, "alike-layers", "error",
         "a layer has all weights, norms and biases that other layers of its kind have", True,
         MISSING),
    Rule(47, "sizes-of-configuration", "error",
         "embeddings, heads, norms, attention and MLPs have the sizes that the configuration says",
         False,
         REFUSES_SHAPES),
    Rule(48, "shape-of-biases", "error",
         "a bias has a number for each row of its weight", False,
         REFUSES_SHAPES),
    Rule(49, "plain-tables", "error",
         "embeddings, routers and norms are plain", True,
         tell("refuses the shape of codes, or ignores those of another name, with a warning",
              sglang="sglang-llama") |
         RANDOM),
    Rule(50, "names-of-wrappers", "error",
         "tensors have the names that a model has for them, without those of wrappers", True,
         IGNORES_NAMES |
         RANDOM),
    Rule(51, "one-weight", "error",
         "a layer has one weight, plain or quantized", True,
         IGNORES_NAMES),
    Rule(52, "codes-are-numbers", "error",
         "no code of a weight is NaN or infinite", True,
         COMPUTES),
    Rule(53, "rows-are-there", "suspicion",
         "most rows and columns of a weight have a number that is not zero", True,
         COMPUTES),
    Rule(54, "own-weights", "suspicion",
         "no two layers have the same weight", True,
         COMPUTES),
    # What is not known.
    Rule(55, "known-layout", "error",
         "a quantized weight has a layout that is known here"),
    Rule(56, "packed-status", "error",
         "compressed-tensors' configuration says that tensors are compressed", True,
         tell("makes no packed layers: initialises weights at random, with a warning",
              transformers="transformers-packed")),
)
BY_NAME = {rule.name: rule for rule in RULES}
