# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the scales of the KV cache."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from blockscale._text import shorten
from blockscale.checkpoint._check._numbers import find_no_scale
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._layouts import IGNORED, PLAIN_DTYPES

_LETTERS = re.compile(r"\b([kv])(?=_scale$|_proj\.)")
_SHOWN = 8
_NUMBER = re.compile(r"\.(\d{1,9})\.")


def _swap(name: str) -> str:
    """The name of a scale of values for one of keys, and the reverse."""
    return _LETTERS.sub(lambda match: "kv"["kv".index(match[1]) ^ 1], name)


def check_cache(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Scales of the KV cache: their numbers, and whether keys and values of all layers have one."""
    names = [name for name in checkpoint.tensors if name.endswith(IGNORED)]
    for name in names:
        tensor = checkpoint.tensors[name]
        if tensor.dtype in PLAIN_DTYPES and tensor.nbytes:
            bad = find_no_scale(tensor)
            if bad is not None:
                yield find("cache-scales", name, "expected numbers above 0 that are finite, but "
                           f"got {bad}")
    if names:
        yield from _check_all(checkpoint, names)
        return
    inner: Any = checkpoint.quantization.get("quantization")
    outer: Any = checkpoint.config.get("quantization_config")
    algorithm = (inner.get("kv_cache_quant_algo") if isinstance(inner, dict) else None) or (
        outer.get("kv_cache_scheme") if isinstance(outer, dict) else None)
    # A scale that is computed while the model runs is in no file.
    if algorithm and not (isinstance(algorithm, dict) and algorithm.get("dynamic") is True):
        yield find("cache-scales", checkpoint.path, "expected scales of keys and values, since the "
                   f"configuration says {shorten(algorithm)}, but got none")


def _check_all(checkpoint: Checkpoint, names: list[str]) -> Iterator[Finding]:
    """Whether the other of keys and values has a scale, and other layers with attention."""
    told: set[str] = set()
    layers: dict[tuple[str, str], set[str]] = {}
    for name in names:
        other = _swap(name)
        if other != name and other not in checkpoint.tensors:
            told.add(other)
            yield find("cache-scales", other, f"expected a scale as '{name}' is one, but got none")
        match = _NUMBER.search(name)
        if match is not None:
            layers.setdefault((name[:match.start()], name[match.end():]), set()).add(match[1])
    attention = {(path, rest.partition(".")[0]) for path, rest in layers}
    every: dict[tuple[str, str], set[str]] = {}
    for name in checkpoint.tensors:
        match = _NUMBER.search(name)
        if match is not None:
            key = name[:match.start()], name[match.end():].partition(".")[0]
            if key in attention:
                every.setdefault(key, set()).add(match[1])
    # Where few layers of many have scales, some of those that have none stand for all.
    first = {key: set(sorted(numbers, key=int)[:_SHOWN]) for key, numbers in every.items()}
    for (path, rest), numbers in layers.items():
        key = path, rest.partition(".")[0]
        others = every.get(key, set())
        others = first[key] if 2 * len(numbers) < len(others) else others
        for number in sorted(others - numbers, key=int):
            name = f"{path}.{number}.{rest}"
            if name not in told:
                yield find("cache-scales", name, "expected a scale as other layers have one, but "
                           "got none")
