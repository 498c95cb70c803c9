# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of what a model of text must have: its layers and what is in them, and its ends."""

from __future__ import annotations

import collections
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from blockscale.checkpoint._check._members import Members, split_layer
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._config import CONFIG, get_size, get_text_config
from blockscale.checkpoint._names import Names, is_norm

_NUMBERS = re.compile(r"\.\d+\.")
#: Layers by llama.cpp's names.
_BLOCK = re.compile(r"blk\.(\d{1,9})\.")
#: What is in the name of a router, behind the module that experts are in.
_ROUTER = re.compile(r"\.(?:gate\b|wg\b|gating\b|[^.]*router)")
_SHOWN = 8
#: So many kinds of layers are held against each other. Models have fewer.
_MOST_FORMS = 64
#: What every layer has that has it at all: no model leaves it out of its first layer, or of a kind
#: of layers.
_COMMON = re.compile(
    r"(?:input_layernorm|post_attention_layernorm|self_attn\.[qkvo]_proj|self_attn\.[qk]_norm|"
    r"mlp\.(?:gate|up|down)_proj|mlp\.gate|mlp\.router|mlp\.experts\.[^.]+(?:\.[^.]+)?)"
    r"(?:\.weight|\.bias|_bias)?|self_attn\.sinks")
#: What the layers of a model of text are in; other towers of a model are in modules of other names.
_PARENTS = ("", "model", "language_model", "text_model", "backbone")
_OTHER_TOWERS = ("visual", "vision", "audio", "encoder", "qformer", "codec", "depth_decoder")
#: Members that say how many layers follow the others: those that predict further tokens.
_FURTHER = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "mtp_num_layers",
            "num_mtp_modules")
#: Models whose last layers take the keys and values of others.
_SHARED = "num_kv_shared_layers"
#: Model types that pass some layers several times: num_hidden_layers counts each pass, or layers
#: differ by the passes that they are in.
_LOOPED = ("dory", "hrm_text", "inkling2_loop", "inkling2_loop_text")


def find_text_layers(members: Members) -> tuple[str, dict[int, set[str]]]:
    """The path of the layers of the model of text, and what is in each of them; experts are one
    for all. ("", {}) where there are none."""
    towers: dict[str, dict[int, set[str]]] = {}
    for name in members:
        split = split_layer(name)
        if split is None:
            continue
        path, number, rest = split
        parent, _, last = path.rpartition(".")
        if last == "layers" and parent.rpartition(".")[2] in _PARENTS and not any(
                tower in path for tower in _OTHER_TOWERS):
            towers.setdefault(path, {}).setdefault(number, set()).add(_NUMBERS.sub(".*.", rest))
    return max(towers.items(), key=lambda item: len(item[1]), default=("", {}))


def _is_looped(config: Mapping[str, Any]) -> bool:
    return get_text_config(config).get("model_type") in _LOOPED


def check_numbers(members: Members, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether there are the layers that the configuration says, and no others."""
    wanted = get_size(config, "num_hidden_layers")
    path, layers = find_text_layers(members)
    if wanted is not None and layers and not _is_looped(config):
        further = sum(size for name in _FURTHER if (size := get_size(config, name)))
        yield from _compare_numbers(layers, wanted, further, "num_hidden_layers", path)


def check_blocks(checkpoint: Checkpoint) -> Iterator[Finding]:
    """The same of a file of GGUF with llama.cpp's names, whose metadata are its configuration."""
    blocks = {int(match[1]) for name in checkpoint.tensors if (match := _BLOCK.match(name))}
    counts = {(entry.key, entry.value) for mapped in checkpoint.files.values()
              for entry in mapped.metadata if entry.key.endswith(".block_count")
              and isinstance(entry.value, int) and entry.value > 0}
    if blocks and len(counts) == 1:
        (key, wanted), = counts
        yield from _compare_numbers(blocks, wanted, 0, key, "blk")


def _compare_numbers(found: Collection[int], wanted: int, further: int, member: str,
                     path: str) -> Iterator[Finding]:
    # A configuration that is far from the files is no reason to count to its number.
    missing = [number for number in range(min(wanted, max(found) + _SHOWN + 1))
               if number not in found]
    if missing:
        yield find("all-layers", CONFIG if path != "blk" else path,
                   f"expected {wanted} layers, as {member} says, but got none with number "
                   f"{', '.join(map(str, missing[:_SHOWN]))}")
    more = [number for number in sorted(found) if number >= wanted + further]
    if more:
        yield find("all-layers", path, f"expected {wanted} layers, as {member} says, but got one "
                   f"with number {', '.join(map(str, more[:_SHOWN]))}, too")


def _get_kinds(config: Mapping[str, Any], count: int) -> list[tuple[Any, ...]]:
    """What lists of the configuration say of each layer: layers may differ in their kind."""
    lists = [value for value in get_text_config(config).values()
             if isinstance(value, list) and len(value) == count]
    return [tuple(str(each[number]) for each in lists) for number in range(count)]


def check_alike(members: Members, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether a layer lacks what others of its kind have, while it has nothing of its own.

    Layers of several kinds have in each kind what the others have not."""
    path, layers = find_text_layers(members)
    count = get_size(config, "num_hidden_layers")
    if count is None or len(layers) < 2 or get_size(config, _SHARED) or _is_looped(config):
        return
    kinds = dict(enumerate(_get_kinds(config, count))) if count <= len(layers) else {}
    every = {number: frozenset(names) for number, names in layers.items()}
    by_kind: dict[Any, dict[int, frozenset[str]]] = {}
    for number, names in every.items():
        by_kind.setdefault(kinds.get(number), {})[number] = names
    usual = _list_usual(every)
    found: dict[int, set[str]] = {}
    for group in by_kind.values():
        for number, missing in _find_missing(group if len(group) > 1 else every, usual):
            if number in group:
                is_alone = number == 0 or len(group) == 1
                found.setdefault(number, set()).update(
                    name for name in missing if not is_alone or _COMMON.fullmatch(name))
    # Layers of different kinds have modules in common: norms, and attention or an MLP.
    by_module: dict[str, dict[int, set[str]]] = {}
    for number, names in every.items():
        for name in names:
            by_module.setdefault(_get_module(name), {}).setdefault(number, set()).add(name)
    for parts in by_module.values():
        if len(parts) > 1:
            frozen = {number: frozenset(names) for number, names in parts.items()}
            for number, missing in _find_missing(frozen, _list_usual(frozen)):
                found.setdefault(number, set()).update(
                    name for name in missing if _COMMON.fullmatch(name) and "sinks" not in name)
    for number, absent in sorted(found.items()):
        if absent:
            yield find("alike-layers", f"{path}.{number}", f"expected '{min(absent)}'"
                       + f" and {len(absent) - 1} more" * (len(absent) > 1)
                       + ", as other layers have, but got none")


def _get_module(name: str) -> str:
    """The module of a layer that a parameter is in, "" for norms, which are in the layer itself."""
    return name.partition(".")[0] if name.count(".") > 1 or "norm" not in name else ""


def _list_usual(layers: Mapping[int, frozenset[str]]) -> frozenset[str]:
    """What half of the layers have, or more."""
    counts = collections.Counter(name for names in layers.values() for name in names)
    return frozenset(name for name, count in counts.items() if 2 * count >= len(layers))


def _find_missing(layers: Mapping[int, frozenset[str]], usual: frozenset[str]
                  ) -> Iterator[tuple[int, frozenset[str]]]:
    """By the number of a layer: what it lacks of what is usual, and others have which have all the
    rest of it."""
    forms = collections.Counter(layers.values())
    if len(forms) > _MOST_FORMS:
        return  # No two layers are alike: there is nothing to hold one against.
    wholes: dict[frozenset[str], frozenset[str]] = {}
    for own, count in forms.items():
        whole = max((form for form in forms if own < form),
                    key=lambda form: (forms[form], sorted(form)), default=None)
        if whole is not None and forms[whole] >= count:
            wholes[own] = (whole - own) & usual
    for number, own in layers.items():
        if own in wholes:
            yield number, wholes[own]


#: Weights that are never without the third in a model of text.
_PARTNERS = (("q_proj", "v_proj", "k_proj"), ("gate_proj", "down_proj", "up_proj"),
             ("gate_proj", "up_proj", "down_proj"))


def check_partners(members: Members, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether a weight is there that others in its module are never without, and a router beside
    experts."""
    path, layers = find_text_layers(members)
    if get_size(config, "vocab_size") is None:
        return
    for number, names in layers.items():
        modules = {name.rpartition(".")[0] for name in names if name.endswith(".weight")}
        parents = {module.rpartition(".")[0] for module in modules}
        for parent in sorted(parents):
            for one, other, third in _PARTNERS:
                if {f"{parent}.{one}", f"{parent}.{other}"} <= modules and (
                        f"{parent}.{third}" not in modules):
                    yield find("alike-layers", f"{path}.{number}.{parent}", f"expected '{third}' "
                               f"beside '{one}' and '{other}', but got none")
        experts = {name.partition(".experts.")[0] for name in names if ".experts." in name}
        routed = {name[:match.start()] for name in names if (match := _ROUTER.search(name))}
        # Some models have the router in the module of the experts.
        routed |= {name.removesuffix(".experts") for name in routed}
        for parent in sorted(experts - routed):
            yield find("alike-layers", f"{path}.{number}.{parent}", "expected a router beside "
                       "experts, but got none")


def check_ends(members: Members, config: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether there are embeddings, a last norm and a head."""
    classes = config.get("architectures")
    is_causal = isinstance(classes, list) and any(
        str(each).endswith(("ForCausalLM", "LMHeadModel")) for each in classes)
    path, layers = find_text_layers(members)
    if not layers:
        return
    modules = [name.removesuffix(".weight") for name in members if name.endswith(".weight")]
    known = Names(config)
    ends = [name for name in modules if split_layer(f"{name}.weight") is None]
    has_embedding = any(map(known.is_embedding, ends))
    has_head = any(map(known.is_head, ends))
    if is_causal and not has_embedding:
        yield find("whole-model", path, "expected embeddings of tokens, but got none")
    is_untied = get_text_config(config).get("tie_word_embeddings", config.get(
        "tie_word_embeddings")) is False
    if is_untied and not has_head and (is_causal or (not classes and has_embedding)):
        yield find("whole-model", path, "expected a head, since tie_word_embeddings is false, but "
                   "got none")
    inside = any(is_norm(rest.removesuffix(".weight")) for names in layers.values()
                 for rest in names)
    parent = path.rpartition(".")[0]
    if inside and (is_causal or not classes) and not any(
            is_norm(name) and name.rpartition(".")[0] == parent for name in ends):
        yield find("whole-model", path, "expected a norm behind the last layer, but got none")
