# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of configurations against files, and of files against configurations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from blockscale.checkpoint._candidates import Candidate
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._check._strangers import find_wrapper
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._config import CONFIG, MODELOPT_CONFIG, Group
from blockscale.checkpoint._families import find_family, get_family, read_scheme
from blockscale.checkpoint._layouts import DATA, PLAIN_DTYPES


def check_presence(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]
                   ) -> Iterator[Finding]:
    """Whether there is a configuration at all, and an index."""
    quantized = [each for each in candidates.values() if each.get(DATA) is not None]
    says_itself = all(each.layout is not None and get_family(each.layout.family).describes_itself
                      for each in quantized)
    if os.path.isdir(checkpoint.path):
        if quantized and not says_itself and not checkpoint.scheme.family:
            yield find("has-configuration", CONFIG, "expected quantization_config, since "
                       f"'{quantized[0].name}' is quantized, but got none")
        if len(checkpoint.files) > 1 and not checkpoint.index:
            yield find("has-index", checkpoint.path,
                       f"expected an index of {len(checkpoint.files)} files, but got none")
    for unknown in checkpoint.unknown:
        yield find("known-layout", unknown.name, f"expected a layout that is known here, but got "
                   f"{unknown}")
    for candidate in candidates.values():
        data = candidate.get(DATA)
        if data is not None and len(data.shape) < 2:
            yield find("known-layout", candidate.name, "expected codes in two dimensions or more, "
                       f"but got shape {list(data.shape)}")
    for group in checkpoint.scheme.groups:
        if not group.format:
            yield find("known-algorithm", checkpoint.scheme.origin,
                       "expected an algorithm that has a layout here, but got "
                       f"'{group.algorithm}'")
    if checkpoint.scheme.family and not checkpoint.scheme.groups:
        yield find("known-algorithm", checkpoint.scheme.origin,
                   "expected a configuration that says how layers are quantized, but got "
                   f"quant_method '{checkpoint.scheme.family}' without that")


def _can_be_quantized(checkpoint: Checkpoint, name: str, rank: int) -> bool:
    """Whether a configuration that names classes of modules means a plain weight."""
    family = find_family(checkpoint.scheme.family)
    if family is not None and family.joins_experts:
        return rank == 3
    if family is not None and family.leaves_heads and checkpoint.names.is_head(name):
        return False
    if find_wrapper(name):
        return False
    # Experts in a stack are of no class, but loaders make layers of experts of them.
    return rank == 3 or (rank == 2 and not checkpoint.names.find_other_kind(name))


def _list_plain(checkpoint: Checkpoint) -> Iterator[tuple[str, int, str]]:
    """Name, rank and type of plain weights, and of stacks whose order is not known."""
    for name, weight in checkpoint.weights.items():
        if weight.layout.is_plain:
            yield name, len(weight.shape), weight.dtype
    for name, tensor in checkpoint.tensors.items():
        stack = name.removesuffix(".weight")
        if (stack not in checkpoint.weights and len(tensor.shape) == 3
                and checkpoint.names.is_stack(stack) and tensor.dtype in PLAIN_DTYPES):
            yield stack, 3, PLAIN_DTYPES[tensor.dtype]


def _check_unknown(candidate: Candidate, group: Group | None, origin: str) -> Iterator[Finding]:
    """Codes of a layout that is not known here, where the configuration says one that is."""
    data = candidate.parts.get(".weight")
    if data is not None and data.dtype not in PLAIN_DTYPES and group is not None and group.format:
        yield find("configured-format", candidate.name, f"expected {group.algorithm}, as {origin} "
                   f"says, but got codes of {data.dtype} whose scales are of another layout")


def check_layers(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]) -> Iterator[Finding]:
    """Each layer against what the configuration says of it."""
    scheme = checkpoint.scheme
    if not scheme.groups:
        return
    for name, rank, dtype in _list_plain(checkpoint):
        group = None if name in candidates else scheme.find(name)
        if group is not None and _can_be_quantized(checkpoint, name, rank):
            yield find("configured-weights", name, f"expected {group.algorithm}, as "
                       f"{scheme.origin} says, but got a plain weight of {dtype}")
    for name, candidate in candidates.items():
        group = scheme.find(name)
        if candidate.layout is None:
            yield from _check_unknown(candidate, group, scheme.origin)
            continue
        if candidate.get(DATA) is None:
            continue
        layout = candidate.layout
        if scheme.ignores(name):
            yield find("ignored-weights", name, f"expected a plain weight, since {scheme.origin} "
                       f"ignores it, but got {layout.name}")
        elif group is None:
            yield find("configured-format", name, f"expected a group of {scheme.origin} for it, "
                       f"but got {layout.name} without one")
        elif group.format and (group.format != layout.format or scheme.family != layout.family):
            yield find("configured-format", name, f"expected {scheme.family} {group.algorithm}, as "
                       f"{scheme.origin} says, but got {layout.name}")
    named = {target for group in scheme.groups for target in group.targets}
    for target in sorted(named):
        if "." in target and not target.startswith("re:") and "*" not in target and (
                target not in candidates and target not in checkpoint.weights):
            yield find("configured-weights", target, f"expected a layer that {scheme.origin} "
                       "names, but the files have no tensors of it")


def check_configurations(checkpoint: Checkpoint) -> Iterator[Finding]:
    """The members of configurations, and both files against each other."""
    inner = checkpoint.quantization.get("quantization")
    outer = checkpoint.config.get("quantization_config")
    if isinstance(inner, dict):
        algorithm = inner.get("quant_algo")
        needed = {"NVFP4": ("group_size", "kv_cache_quant_algo", "exclude_modules"),
                  "W4A16_NVFP4": ("group_size", "kv_cache_quant_algo", "exclude_modules"),
                  "MXFP8": ("kv_cache_quant_algo", "exclude_modules")}.get(str(algorithm), ())
        for member in needed:
            if member not in inner:
                yield find("complete-configuration", MODELOPT_CONFIG,
                           f"expected the member '{member}' with {algorithm}, but got none")
        yield from _check_size(MODELOPT_CONFIG, str(algorithm), inner.get("group_size"))
    if isinstance(outer, dict):
        groups = outer.get("config_groups")
        for name, group in (groups.items() if isinstance(groups, dict) else ()):
            weights = group.get("weights") if isinstance(group, dict) else None
            if isinstance(weights, dict):
                algorithm = group.get("format") or outer.get("format") or outer.get("quant_algo")
                yield from _check_size(f"{CONFIG}: config_groups: {name}", str(algorithm),
                                       weights.get("group_size"))
    if isinstance(outer, dict) and isinstance(inner, dict):
        yield from _compare(checkpoint)


def check_status(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]) -> Iterator[Finding]:
    """Whether compressed-tensors' configuration says that tensors are packed, where they are."""
    members = checkpoint.config.get("quantization_config")
    status = members.get("quantization_status") if isinstance(members, dict) else None
    name = next((name for name, each in candidates.items() if each.get(DATA) is not None), None)
    if (checkpoint.scheme.family == "compressed-tensors" and status is not None and name
            and status != "compressed"):
        yield find("packed-status", CONFIG, "expected quantization_status 'compressed', since "
                   f"'{name}' is quantized, but got {status!r}")


def _check_size(where: str, algorithm: str, size: Any) -> Iterator[Finding]:
    wanted = 16 if "nvfp4" in algorithm.lower() else 32 if "mxfp" in algorithm.lower() else None
    if wanted and size is not None and size != wanted:
        yield find("group-size", where, f"expected a group size of {wanted} with {algorithm}, but "
                   f"got {size!r}")


def _compare(checkpoint: Checkpoint) -> Iterator[Finding]:
    one = read_scheme(checkpoint.config, {})
    other = read_scheme({}, checkpoint.quantization)
    if one.family != "modelopt":
        yield find("one-configuration", MODELOPT_CONFIG,
                   f"expected quant_method modelopt in {CONFIG}, but got '{one.family}'")
        return
    algorithms = [sorted({group.algorithm for group in scheme.groups}) for scheme in (one, other)]
    if algorithms[0] != algorithms[1]:
        yield find("one-configuration", MODELOPT_CONFIG, f"expected {algorithms[0]}, as {CONFIG} "
                   f"says, but got {algorithms[1]}")
    for name in sorted(set(one.ignored) ^ set(other.ignored))[:4]:
        where = (CONFIG, MODELOPT_CONFIG)[name in other.ignored]
        yield find("one-configuration", name, "expected both configurations to leave the same "
                   f"layers, but only {where} leaves it")


def check_ties(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]) -> Iterator[Finding]:
    """Heads of models whose embeddings are tied."""
    if checkpoint.config.get("tie_word_embeddings") is not True:
        return
    for name, candidate in candidates.items():
        if checkpoint.names.is_head(name) and candidate.get(DATA) is not None:
            yield find("ties", name, "expected no quantized head with tie_word_embeddings, but got "
                       + (candidate.layout.name if candidate.layout else "scales"))
