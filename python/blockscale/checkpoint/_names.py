# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the names of layers say of them: which ones loaders fuse, and which are no products.

The class that a configuration names tells it (_model_table.py). Patterns stand in for it where no
class is known, and for names that a class does not have.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from typing import Any

from blockscale.checkpoint import _model_table

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
_PATTERNS = {"embedding": _EMBEDDING, "router": _ROUTER, "norm": _NORM, "head": _HEAD}
#: Model types whose layers have weights [K, N], and how these are named.
_TRANSPOSED = {"gpt2": re.compile(r".*\.(?:c_attn|c_proj|c_fc|q_attn)"),
               "openai-gpt": re.compile(r".*\.(?:c_attn|c_proj|c_fc)")}
#: Model types in whose stacks rows of gate and up alternate.
INTERLEAVED = ("gpt_oss",)
#: Part of a name that is a number of an expert.
_EXPERT = re.compile(r"(?P<path>.*\bexperts)\.(?P<number>[0-9]{1,18})\.(?P<layer>[^.]+)")
_WORDS = {"embedding": "a table of embeddings", "router": "a router", "norm": "a norm",
          "convolution": "a convolution", "other": "a parameter of its own",
          "stack": "a stack of experts"}
_EXPECTED = {"router": "expected a layer of many rows", "other": "expected a linear layer",
             "convolution": "expected a linear layer", "stack": "expected a linear layer"}
#: So many names that a class does not have are told.
_SHOWN = 3


def split_expert(name: str) -> tuple[str, int, str] | None:
    """Path of experts, number and layer of a name of an expert's layer."""
    match = _EXPERT.fullmatch(name)
    return (match["path"], int(match["number"]), match["layer"]) if match else None


def is_ggml_name(name: str) -> bool:
    """Whether a tensor has one of llama.cpp's names."""
    return _GGML.fullmatch(name) is not None


def is_norm(name: str) -> bool:
    """Whether a layer is called a norm."""
    return _NORM.fullmatch(name) is not None


class Names:
    """What the names of a checkpoint's layers mean.

    Attributes:
      architecture: the class that the configuration names, None where it is not known.
    """

    def __init__(self, config: Mapping[str, Any]):
        self._config = config
        named = config.get("architectures")
        self._named = [str(each) for each in named] if isinstance(named, list) else []
        self.architecture = next(filter(None, map(_model_table.find_architecture, self._named)),
                                 None)
        # Loaders know classes that transformers does not have.
        self._groups: dict[str, str] = {}
        for each in self._named[:1] or [""]:
            self._groups.update(_model_table.get_groups(each))
        self._kinds: dict[str, str] = {}

    def find_kind(self, name: str) -> str:
        """What a layer is, as Architecture.kinds has it; "" for one that no rule knows, which is
        a linear layer then."""
        if name not in self._kinds:
            self._kinds[name] = self._find_in_class(name) or next(
                (kind for kind, pattern in _PATTERNS.items() if pattern.fullmatch(name)), "")
        return self._kinds[name]

    def _find_in_class(self, name: str) -> str:
        return self.architecture.find(name) if self.architecture else ""

    def get_group(self, name: str) -> str:
        """What the names of layers have in common that are fused; the name itself of others."""
        words = name.split(".")
        for count in (1, 2):
            members = self._groups.get(".".join(words[-count:]))
            if members is not None and count < len(words):
                return ".".join((*words[:-count], f"<{members}>"))
        return name

    def find_groups(self, names: Iterable[str]) -> list[list[str]]:
        """Names by group, in the order of the first of each."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self.get_group(name), []).append(name)
        return list(groups.values())

    def is_embedding(self, name: str) -> bool:
        """Whether a weight is a table that is looked up."""
        return self.find_kind(name) == "embedding"

    def is_head(self, name: str) -> bool:
        """Whether a layer is the last projection of a model."""
        kind = self._find_in_class(name)
        return kind == "head" if kind else _HEAD.fullmatch(name) is not None

    def is_stack(self, name: str) -> bool:
        """Whether a tensor in three dimensions is a stack of experts' weights [E, .., ..]."""
        path, _, last = name.rpartition(".")
        is_called = last in STACKS and path.rpartition(".")[2].endswith("experts")
        return is_called and self._find_in_class(name) in ("", "stack")

    def find_other_kind(self, name: str) -> str:
        """Why a weight of two dimensions is no layer that multiplies, "" where it is one."""
        kind = self.find_kind(name)
        if kind not in _WORDS:
            return ""
        expected = _EXPECTED.get(kind, "expected a layer")
        if self.architecture is not None and self._find_in_class(name):
            return f"{expected}, but it is {_WORDS[kind]} of {self.architecture.name}"
        return f"{expected}, but its name says that it is {_WORDS[kind]}"

    def find_obstacle(self, name: str) -> str:
        """Why a weight of two dimensions is no product with rows of outputs, "" where it is one."""
        if reason := self.find_other_kind(name):
            return reason
        if self.is_head(name) and self._config.get("tie_word_embeddings") is True:
            return "expected a head of its own, but tie_word_embeddings makes it the embeddings'"
        model = str(self._config.get("model_type"))
        if self._find_in_class(name):
            assert self.architecture is not None
            is_transposed, model = self.find_kind(name) == "transposed", self.architecture.name
        else:
            pattern = _TRANSPOSED.get(model)
            is_transposed = pattern is not None and pattern.fullmatch(name) is not None
        return f"expected a weight [N, K], but {model} has [K, N]" if is_transposed else ""

    def list_left(self, plain: Iterable[str], quantized: Container[str]) -> list[str]:
        """Names by which a configuration says that layers stay plain: of those that are no tables,
        of heads that are tied and have no tensors, and of modules that have other names than
        files."""
        left = [name for name in plain if not self.is_embedding(name)]
        if self.architecture is not None:
            get_module = self.architecture.get_module
            done = {get_module(name) for name in self.architecture.heads if name in quantized}
            left += [name for name in self.architecture.heads if get_module(name) not in done]
            left += map(get_module, tuple(left))
        elif self._config.get("tie_word_embeddings") is True:
            left.append("lm_head")
        return list(dict.fromkeys(left))

    def describe(self, names: Iterable[str]) -> str:
        """Which names patterns alone tell what they are, "" where a class tells all."""
        version = f"transformers {_model_table.get_version()}"
        listed = list(names)
        if not listed:
            return ""
        if self.architecture is None:
            what = (f"names {' and '.join(map(repr, self._named))}, which {version} does not have"
                    if self._named else f"names no class of {version}")
            return f"layers are told by patterns of names: the configuration {what}"
        unknown = [name for name in listed if not self._find_in_class(name)]
        if not unknown:
            return ""
        shown = ", ".join(map(repr, unknown[:_SHOWN]))
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        return (f"{shown}{more} {'is' if len(unknown) == 1 else 'are'} told by patterns of names: "
                f"{self.architecture.name} of {version} has no such layers")
