# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the sizes of parameters by those that the configuration says, and by each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from blockscale.checkpoint._check._layers import find_text_layers
from blockscale.checkpoint._check._members import Members
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._config import CONFIG, get_size, get_text_config

#: Parameters of the model of text whose sizes the configuration says, behind the path of the
#: model, with the members of the configuration that are their sizes.
_NORM = re.compile(r"layers\.\d+\.(?:input_layernorm|post_attention_layernorm|"
                   r"pre_feedforward_layernorm|post_feedforward_layernorm)\.(?:weight|bias)|"
                   r"norm\.(?:weight|bias)")
_ATTENTION = re.compile(r"layers\.\d+\.self_attn\.([qkvo])_proj\.weight")
_HEAD_NORM = re.compile(r"layers\.\d+\.self_attn\.([qk])_norm\.(?:weight|bias)")
_SINKS = re.compile(r"layers\.\d+\.self_attn\.sinks")
_EXPERT = re.compile(r"layers\.\d+\.mlp\.experts\.(?:\d+\.)?(gate_up|gate|up|down)_proj"
                     r"(?:\.weight)?")
_MLP = re.compile(r"layers\.\d+\.mlp\.(gate|up|down)_proj\.weight")
_HEADS = ("lm_head.weight", "language_model.lm_head.weight")
#: Model types whose queries, keys and values have biases, though no member says so.
_BIASED = ("qwen2", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "phi")
#: Model types with rows of embeddings, or of the head, beyond the words that the configuration
#: counts, or with fewer.
_OTHER_TABLES = ("mllama", "molmo2", "moshi", "inkling2")
#: What behind "num_attention_heads", "num_key_value_heads" and "head_dim" says that not all layers
#: have the same: attention whose values have heads of their own size, or other heads in windows.
_OTHER_HEADS = re.compile(r"(?!num_attention_heads$|num_key_value_heads$|head_dim$|linear_)"
                          r".*(?:heads$|head_dim$)|kv_lora_rank|.*per_layer.*|linear_attn_config|"
                          r"layer_group_size")


def _tell(name: str, wanted: Any, member: str, found: Any) -> Finding:
    return find("sizes-of-configuration", name, f"expected {wanted}, as {CONFIG} says by {member}, "
                f"but got {found}")


def _is_encoder(text: Mapping[str, Any]) -> bool:
    """Whether it is an encoder of sound, which has members of these names with other meanings."""
    return str(text.get("model_type")).endswith("encoder")


def check_sizes(members: Members, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Sizes of embeddings, heads, norms, attention and MLPs."""
    hidden, vocabulary = get_size(config, "hidden_size"), get_size(config, "vocab_size")
    path, _ = find_text_layers(members)
    parent = path.removesuffix("layers")
    heads, head = get_size(config, "num_attention_heads"), get_size(config, "head_dim")
    if heads and hidden and not head and hidden % heads == 0:
        head = hidden // heads
    pairs = get_size(config, "num_key_value_heads") or heads
    text = get_text_config(config)
    if _is_encoder(text):
        return
    if any(map(_OTHER_HEADS.fullmatch, text)):
        heads = None
    has_other_tables = str(text.get("model_type")).startswith(_OTHER_TABLES)
    inner = get_size(config, "intermediate_size")
    for name, shape in members.items():
        if shape is None:
            continue
        if name in (f"{parent}embed_tokens.weight", *_HEADS) and len(shape) == 2:
            if vocabulary and shape[0] != vocabulary and not has_other_tables:
                yield _tell(name, f"{vocabulary} rows", "vocab_size", shape[0])
            if hidden and shape[1] != hidden:
                yield _tell(name, f"rows of {hidden}", "hidden_size", shape[1])
        if not path or not name.startswith(parent):
            continue
        rest = name[len(parent):]
        if _NORM.fullmatch(rest):
            if hidden and shape != (hidden,):
                yield _tell(name, [hidden], "hidden_size", list(shape))
        elif (match := _ATTENTION.fullmatch(rest)) and heads and head and len(shape) == 2:
            queries, keys = heads * head, (pairs or 0) * head
            # A gate of each head doubles the rows of q.
            sizes = {"q": (queries, 2 * queries), "o": (queries,)}.get(match[1], (keys,))
            member = "num_key_value_heads" if match[1] in "kv" else "num_attention_heads"
            yield from _check_matrix(name, shape, sizes, hidden, match[1] == "o", member)
        elif (match := _HEAD_NORM.fullmatch(rest)) and heads and head and len(shape) == 1:
            count = heads if match[1] == "q" else pairs or 0
            if shape[0] not in (head, count * head):
                yield _tell(name, [head], "head_dim", list(shape))
        elif _SINKS.fullmatch(rest) and heads and shape != (heads,):
            yield _tell(name, [heads], "num_attention_heads", list(shape))
        elif (match := _EXPERT.fullmatch(rest)) and (
                moe_inner := get_size(config, "moe_intermediate_size")):
            size = 2 * moe_inner if match[1] == "gate_up" else moe_inner
            if size not in shape[-2:]:
                yield _tell(name, size, "moe_intermediate_size", list(shape))
        elif (match := _MLP.fullmatch(rest)) and inner and len(shape) == 2:
            yield from _check_matrix(name, shape, (inner,), hidden, match[1] == "down",
                                     "intermediate_size")


def _check_matrix(name: str, shape: tuple[int, ...], sizes: tuple[int, ...], hidden: int | None,
                  is_writer: bool, member: str) -> Iterator[Finding]:
    """The rows of a weight that reads the hidden state, or the columns of one that writes it. That
    a weight is transposed is for another rule to say."""
    inner, outer = shape[::-1] if is_writer else shape
    if inner in sizes or (outer in sizes and inner == hidden):
        return
    wanted = f"rows of {sizes[0]}" if is_writer else f"{sizes[0]} rows"
    yield _tell(name, wanted, member, list(shape))


def check_biases(members: Members, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether a bias has a number for each row of its weight, and is there where the
    configuration says so."""
    for name, shape in members.items():
        weight = members.get(f"{name.removesuffix('.bias')}.weight") if name.endswith(
            ".bias") else None
        if weight is None or shape is None or len(shape) != 1 or len(weight) > 2:
            continue
        if shape[0] not in weight:
            yield find("shape-of-biases", name, f"expected {weight[0]} numbers, one for each row "
                       f"of its weight, but got {shape[0]}")
    path, layers = find_text_layers(members)
    text = get_text_config(config)
    if (text.get("attention_bias") is True or text.get("model_type") in _BIASED) and (
            not _is_encoder(text)):
        for number, names in layers.items():
            for letter in "qkv":
                layer = f"self_attn.{letter}_proj"
                if f"{layer}.weight" in names and f"{layer}.bias" not in names:
                    yield find("alike-layers", f"{path}.{number}", f"expected '{layer}.bias', as "
                               "the configuration or the model type says, but got none")
