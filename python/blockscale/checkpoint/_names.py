# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the names of layers say of them: which ones loaders fuse, and which are no products."""

from __future__ import annotations

import re
from typing import Iterable, Mapping

#: Layers that loaders make one layer of, by the last parts of their names. The weights of each
#: group share an amax, and their activations, which are the same tensor, another one.
FUSED = (
    ("q_proj", "k_proj", "v_proj"), ("query", "key", "value"), ("gate_proj", "up_proj"),
    ("w1", "w3"), ("gate", "up"), ("q_a_proj", "kv_a_proj_with_mqa"),
)
_FUSED = {name: number for number, names in enumerate(FUSED) for name in names}
#: Names of stacks of experts in three dimensions; in gate_up_proj rows of both are behind one
#: another, or alternate.
STACKS = ("gate_up_proj", "gate_proj", "up_proj", "down_proj", "w1", "w2", "w3")
_HEAD = re.compile(r"(?:.*\.)?(?:lm_head|output_layer|embed_out|output)")
#: Tables that are looked up, with no product.
_EMBEDDING = re.compile(
    r"(?:.*\.)?(?:[a-z_]*embed(?:ding)?s?(?:_[a-z]+)?|wte|wpe|shared|token_embd|"
    r"relative_attention_bias|tok_embeddings|rotary_emb)")
#: Layers that choose experts: small, and exact in every published checkpoint.
_ROUTER = re.compile(r"(?:.*\.)?(?:router|(?:mlp|block_sparse_moe|feed_forward|moe|ffn)\.gate|"
                     r"shared_expert_gate|ffn_gate_inp|router\.classifier|wg)")
#: The names that llama.cpp's converter gives tensors.
_GGML = re.compile(r"(?:(?:enc\.|dec\.|v\.)?blk\.\d+|token_embd|output)\..+")
_NORM = re.compile(r"(?:.*\.)?[a-z0-9_]*(?:norm|ln_[a-z0-9]+|layernorm)[a-z0-9_]*", re.IGNORECASE)
#: Model types whose layers have weights [K, N], and how these are named.
_TRANSPOSED = {"gpt2": re.compile(r".*\.(?:c_attn|c_proj|c_fc|q_attn)"),
               "openai-gpt": re.compile(r".*\.(?:c_attn|c_proj|c_fc)")}
#: Model types in whose stacks rows of gate and up alternate.
INTERLEAVED = ("gpt_oss",)
#: Part of a name that is a number of an expert.
_EXPERT = re.compile(r"(?P<path>.*\bexperts)\.(?P<number>[0-9]{1,18})\.(?P<layer>[^.]+)")


def get_group(name: str) -> str:
    """What the names of layers have in common that are fused; the name itself of others."""
    path, _, last = name.rpartition(".")
    number = _FUSED.get(last)
    # A gate without up is a router.
    return name if number is None else f"{path}.<{','.join(FUSED[number])}>"


def find_groups(names: Iterable[str]) -> list[list[str]]:
    """Names by group, in the order of the first of each."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(get_group(name), []).append(name)
    return list(groups.values())


def is_embedding(name: str) -> bool:
    """Whether a weight is a table that is looked up."""
    return _EMBEDDING.fullmatch(name) is not None


def is_norm(name: str) -> bool:
    """Whether a layer is a norm."""
    return _NORM.fullmatch(name) is not None


def is_head(name: str) -> bool:
    """Whether a layer is the last projection of a model."""
    return _HEAD.fullmatch(name) is not None


def split_expert(name: str) -> tuple[str, int, str] | None:
    """Path of experts, number and layer of a name of an expert's layer."""
    match = _EXPERT.fullmatch(name)
    return (match["path"], int(match["number"]), match["layer"]) if match else None


def is_stack(name: str) -> bool:
    """Whether a tensor in three dimensions is a stack of experts' weights [E, .., ..]."""
    path, _, last = name.rpartition(".")
    return last in STACKS and path.rpartition(".")[2].endswith("experts")


def find_obstacle(name: str, config: Mapping[str, object]) -> str:
    """Why a weight of two dimensions is no product with rows of outputs, "" where it is one."""
    if is_embedding(name):
        return "expected a layer, but its name says that it is a table of embeddings"
    if _ROUTER.fullmatch(name):
        return "expected a layer of many rows, but its name says that it is a router"
    if _NORM.fullmatch(name):
        return "expected a layer, but its name says that it is a norm"
    if is_head(name) and config.get("tie_word_embeddings") is True:
        return "expected a head of its own, but tie_word_embeddings makes it the embeddings'"
    pattern = _TRANSPOSED.get(str(config.get("model_type")))
    if pattern and pattern.fullmatch(name):
        return f"expected a weight [N, K], but {config['model_type']} has [K, N]"
    return ""


def is_ggml_name(name: str) -> bool:
    """Whether a tensor has one of llama.cpp's names."""
    return _GGML.fullmatch(name) is not None
