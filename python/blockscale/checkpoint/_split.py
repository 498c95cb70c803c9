# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which layers a result has for the weights of a source, under which names."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from blockscale.checkpoint import _names
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._families import Family
from blockscale.checkpoint._layouts import EXPERTS
from blockscale.checkpoint._tensors import Weight


@dataclasses.dataclass(frozen=True)
class Part:
    """A matrix of the result: rows of a matrix of a weight.

    Attributes:
      name: of the layer of the result.
      matrix: of the weight, None where that has two dimensions.
      first, step, count: its rows of that matrix.
      target_matrix: which matrix of the layer it is.
    """

    name: str
    weight: str
    matrix: int | None
    first: int
    step: int
    count: int
    cols: int
    target_matrix: int = 0


def is_interleaved(config: Mapping[str, object], weight: Weight) -> bool:
    """Whether rows of gate and up alternate in a stack of a model."""
    if weight.layout.is_interleaved:
        return True
    text = config.get("text_config")
    inner = text if isinstance(text, dict) else {}
    return (config.get("model_type") in _names.INTERLEAVED
            or inner.get("model_type") in _names.INTERLEAVED)


def split_weight(checkpoint: Checkpoint, weight: Weight, family: Family) -> Iterator[list[Part]]:
    """The matrices that a weight becomes; those of one list share an amax."""
    *batch, n, k = weight.shape
    if not batch:
        yield [Part(weight.name, weight.name, None, 0, 1, n, k)]
        return
    path, _, member = weight.name.rpartition(".")
    if family.keeps_stacks:
        for number in range(batch[0]):
            yield [Part(weight.name, weight.name, number, 0, 1, n, k, number)]
        return
    names = EXPERTS.get(member, ((member,),))[0]
    count = n // len(names)
    interleaved = len(names) > 1 and is_interleaved(checkpoint.config, weight)
    for number in range(batch[0]):
        yield [Part(f"{path}.{number}.{name}", weight.name, number,
                    at if interleaved else at * count, len(names) if interleaved else 1, count, k)
               for at, name in enumerate(names)]


def split_bias(checkpoint: Checkpoint, stack: str, family: Family) -> dict[str, tuple[str, int, int,
                                                                                   int, int]]:
    """The biases of layers that a stack becomes: by name, those of the source with the matrix, the
    first row, the step and the count of rows."""
    bias = checkpoint.tensors.get(f"{stack}_bias")
    if bias is None or len(bias.shape) != 2 or family.keeps_stacks:
        return {}
    weight = checkpoint.weights[stack]
    return {f"{part.name}.bias": (bias.name, part.matrix or 0, part.first, part.step, part.count)
            for parts in split_weight(checkpoint, weight, family) for part in parts}
