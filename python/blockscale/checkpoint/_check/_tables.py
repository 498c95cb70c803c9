# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of what is no product: tables of embeddings, routers, and heads that are tied to
tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blockscale.checkpoint._candidates import Candidate
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._layouts import DATA
from blockscale.checkpoint._tensors import Tensor

_CHUNK = 4 << 20
_KINDS = {"embedding": "embeddings", "norm": "a norm", "router": "a router"}


def check_tables(checkpoint: Checkpoint, candidates: Mapping[str, Candidate]) -> Iterator[Finding]:
    """Whether embeddings, routers and norms are plain. llama.cpp reads quantized tables, and
    compressed-tensors has them where a group names their class."""
    for name, candidate in candidates.items():
        layout = candidate.layout
        if layout is None or layout.holds_scales or candidate.get(DATA) is None:
            continue
        kind = checkpoint.names.find_kind(name)
        if kind not in _KINDS:
            continue
        group = checkpoint.scheme.find(name)
        if group is not None and "Embedding" in group.targets and kind == "embedding":
            continue
        yield find("plain-tables", name, f"expected a plain weight, since its name says that it is "
                   f"{_KINDS[kind]}, but got {layout.name}")


def _is_same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same bytes."""
    if (one.dtype, one.shape, one.nbytes) != (other.dtype, other.shape, other.nbytes):
        return False
    for begin in range(0, one.nbytes, _CHUNK):
        end = min(begin + _CHUNK, one.nbytes)
        same = bool((one.bytes(begin, end) == other.bytes(begin, end)).all())
        one.release(begin, end)
        other.release(begin, end)
        if not same:
            return False
    return True


def check_tied_head(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Whether a plain head of tied embeddings has the numbers of these."""
    if checkpoint.config.get("tie_word_embeddings") is not True:
        return
    tables = [tensor for name, tensor in checkpoint.tensors.items()
              if name.endswith("embed_tokens.weight") and len(tensor.shape) == 2]
    for name, head in checkpoint.tensors.items():
        if (name.endswith(".weight") and checkpoint.names.is_head(name.removesuffix(".weight"))
                and len(head.shape) == 2 and len(tables) == 1
                and head.shape == tables[0].shape and head.dtype == tables[0].dtype
                and not _is_same(head, tables[0])):
            yield find("ties", name, f"expected the numbers of '{tables[0].name}', since "
                       "tie_word_embeddings is true, but got others")
