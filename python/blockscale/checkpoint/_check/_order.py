# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What columns of weights tell of the order of their codes.

Weights that read one tensor, the hidden state of a model, have large numbers in the same columns:
where channels of that tensor are large or small in general. A weight whose nibbles are swapped has
the sizes of each pair of columns exchanged. This is a statistic: it says nothing where columns are
alike, and where all weights are swapped and none is plain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from blockscale._native import _checkpoint as _bytes
from blockscale.checkpoint import _kernels
from blockscale.checkpoint._check._parts import _READERS
from blockscale.checkpoint._check._report import Finding, find
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._codes import read_codes
from blockscale.checkpoint._config import get_size
from blockscale.checkpoint._tensors import Weight
from blockscale.checkpoint._values import Rows

_ROWS, _LEAST_COLUMNS = 512, 64
#: No model has more, whose rows would take memory as the whole weight does.
_MOST_COLUMNS = 1 << 18
#: So many standard deviations of a correlation by chance.
_SIGNIFICANT = 6.0


def get_profile(weight: Weight) -> np.ndarray:
    """The sizes of columns, logarithms with mean 0 and variance 1; zeros where all are alike."""
    matrix = 0
    n, k = weight.shape[-2:]
    count = min(n, _ROWS)
    if weight.layout.is_plain:
        rows = Rows(weight, matrix)
        squares = _bytes.column_squares(_kernels.STORED[rows.dtype], count, k, rows.read(0, count))
    else:
        codes, scales = read_codes(weight, matrix, slice(0, count))
        kind = "F8_E4M3" if weight.format == "nvfp4" else "F8_E8M0"
        squares = _bytes.column_squares_of_codes(kind, count, k, weight.layout.block, codes, scales)
    if not np.isfinite(squares).all():
        return np.zeros(k)
    sizes = np.sqrt(squares)
    logarithms = np.log(np.maximum(sizes, 1e-30))
    spread = logarithms.std()
    if spread <= 1e-6:
        return np.zeros(k)
    shape: np.ndarray = (logarithms - logarithms.mean()) / spread
    return shape


def swap_pairs(profile: np.ndarray) -> np.ndarray:
    """As columns are where the nibbles of each byte are exchanged."""
    return profile.reshape(-1, 2)[:, ::-1].reshape(-1)


def _join_halves(block: int) -> Callable[[np.ndarray], np.ndarray]:
    """As columns are where a byte has an element of both halves of a block, as in GGUF."""
    return lambda profile: profile.reshape(-1, block // 2, 2).swapaxes(1, 2).reshape(-1)


def check_order(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Whether columns of weights are where those of others are."""
    hidden = get_size(checkpoint.config, "hidden_size")
    readers: dict[str, Weight] = {}
    plain: list[np.ndarray] = []
    for name, weight in checkpoint.weights.items():
        k = weight.shape[-1]
        if not _LEAST_COLUMNS <= k <= _MOST_COLUMNS or (hidden is not None and k != hidden) or (
                not math.prod(weight.shape)):
            continue
        if weight.layout.is_plain:
            if checkpoint.names.is_embedding(name) or checkpoint.names.is_head(name):
                plain.append(get_profile(weight))
        elif weight.layout.is_fp4 and name.rpartition(".")[2] in (*_READERS, "query", "key",
                                                                 "value"):
            readers[name] = weight
    by_columns: dict[int, list[str]] = {}
    for name, weight in readers.items():
        by_columns.setdefault(weight.shape[-1], []).append(name)
    for columns, names in by_columns.items():
        profiles = {name: get_profile(readers[name]) for name in names}
        references = [each for each in plain if each.size == columns]
        yield from _compare(readers, profiles, references, columns)


def _compare(weights: Mapping[str, Weight], profiles: Mapping[str, np.ndarray],
             references: list[np.ndarray], columns: int) -> Iterator[Finding]:
    least = _SIGNIFICANT / math.sqrt(columns)
    total = sum(profiles.values())
    for name, profile in profiles.items():
        if not profile.any():
            continue
        others = (total - profile) / max(len(profiles) - 1, 1)
        for reference in (*references, others):
            spread = reference.std()
            if spread < 1e-6:
                continue
            unit = (reference - reference.mean()) / spread
            straight = abs(float(profile @ unit)) / columns
            changes = {"the nibbles of each byte exchanged": swap_pairs,
                       "the order of GGUF": _join_halves(weights[name].layout.block)}
            best = max(changes, key=lambda each: abs(float(changes[each](profile) @ unit)))
            changed = abs(float(changes[best](profile) @ unit)) / columns
            if changed > least and changed > 2 * straight:
                yield find("order-of-nibbles", name, "expected large columns where weights have "
                           f"them that read the same tensor (correlation {straight:.2f}), but got "
                           f"them with {best} ({changed:.2f})")
                break
