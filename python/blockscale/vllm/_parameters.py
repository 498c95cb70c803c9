# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters that vLLM loads the tensors of files into, as they are."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from vllm.model_executor.layers.linear import MergedColumnParallelLinear, QKVParallelLinear
from vllm.model_executor.parameter import (
    BasevLLMParameter,
    BlockQuantScaleParameter,
    ChannelQuantScaleParameter,
    GroupQuantScaleParameter,
    ModelWeightParameter,
)

from blockscale._errors import ArgumentError
from blockscale.checkpoint._layouts import DATA, FP8_BLOCK
from blockscale.vllm._files import Slot

#: What vLLM calls the parts of a layer of attention.
_QKV = ("q", "k", "v")
#: The parts of a layer that is one.
_WHOLE = (None,)


def list_parts(layer: Any) -> Sequence[Hashable]:
    """What vLLM calls the layers of files that a layer consists of."""
    if isinstance(layer, QKVParallelLinear):
        return _QKV
    sizes = getattr(layer, "output_sizes", ())
    return range(len(sizes)) if len(sizes) > 1 else _WHOLE


def _count_rows(layer: Any, part: Hashable) -> int | None:
    """Rows that the files have for a part of a layer, None where a class of layers has parts of
    its own."""
    if isinstance(layer, QKVParallelLinear):
        if type(layer).weight_loader_v2 is not QKVParallelLinear.weight_loader_v2:
            return None
        sizes = {"q": layer.total_num_heads * layer.head_size,
                 "k": layer.total_num_kv_heads * layer.head_size,
                 "v": layer.total_num_kv_heads * layer.v_head_size}
        return sum(sizes.values()) if part is None else sizes.get(str(part))
    merged = getattr(layer, "output_sizes", None)
    if merged is None:
        # A head has rows of padding.
        return int(getattr(layer, "org_vocab_size", layer.output_size))
    if (not isinstance(layer, MergedColumnParallelLinear) or type(layer).weight_loader_v2
            is not MergedColumnParallelLinear.weight_loader_v2):
        return None
    chosen = range(len(merged)) if part is None else part if isinstance(part, tuple) else (part,)
    return int(sum(merged[each] for each in chosen))


class Loader:
    """Loads a tensor of the files by the loader of a layer in vLLM, which cuts it for tensor
    parallelism, when its dtype and its shape are right.

    Attributes:
      loaded: the parts that there were tensors for.
    """

    def __init__(self, layer: Any, name: str, slot: Slot, load: Callable[..., Any]):
        self._layer, self._name, self._slot, self._load = layer, name, slot, load
        self.loaded: set[Hashable] = set()

    def __call__(self, param: Tensor, loaded: Tensor, part: Any = None) -> None:
        slot, rows = self._slot, _count_rows(self._layer, part)
        slot.check(self._name if part is None else f"{self._name}' of part '{part}", loaded, rows,
                   self._layer.input_size)
        if (rows is not None and part is None and slot.rows > 1 and self._layer.tp_size == 1
                and len(param) != slot.count_rows(rows)):
            raise ArgumentError(f"'{self._name}': expected layers that lie in one tensor to have "
                                f"whole blocks of {slot.rows} rows, but got "
                                f"{self._layer.output_partition_sizes}")
        if slot.is_scalar:
            self._fill(param.data, loaded, part)
        elif part is None:
            self._load(param, loaded)
        else:
            self._load(param, loaded, part)
        self.loaded |= set(part) if isinstance(part, tuple) else {part}

    def _fill(self, data: Tensor, loaded: Tensor, part: Any) -> None:
        """Puts a scalar, or a mark, where that of a part is."""
        names = list(list_parts(self._layer))
        chosen = part if isinstance(part, tuple) else (part,)
        places = range(len(data)) if part is None else [
            names.index(each) for each in chosen if each in names]
        for place in places:
            data[place] = loaded.reshape(data.shape[1:]).to(data.dtype)

    def find_lost(self) -> list[Hashable]:
        """The parts that there was no tensor for."""
        if None in self.loaded:
            return []
        return [part for part in list_parts(self._layer) if part not in self.loaded]


def add_parameter(layer: Any, name: str, slot: Slot, rows: Sequence[int], cols: int,
                  load: Callable[..., Any]) -> Loader:
    """Gives a layer a parameter for a slot of its parts, which have these rows of that many
    columns on this rank."""
    loader = Loader(layer, name + slot.ending, slot, load)
    kind: Any = BasevLLMParameter
    options: dict[str, Any] = {}
    if slot.is_scalar:
        shape = [len(rows), *slot.get_shape(0, 0)]
    else:
        shape = slot.get_shape(sum(rows), cols)
        shape[0] = sum(map(slot.count_rows, rows))
        options["output_dim"] = 0
        if slot.role == DATA:
            kind = ModelWeightParameter
        elif slot.cols == FP8_BLOCK:
            kind, layer.weight_block_size = BlockQuantScaleParameter, [FP8_BLOCK, FP8_BLOCK]
        else:
            kind = GroupQuantScaleParameter if slot.cols else ChannelQuantScaleParameter
        if kind is not ChannelQuantScaleParameter:
            options["input_dim"] = 1
    data = torch.empty(shape, dtype=slot.dtype)
    layer.register_parameter(slot.member, kind(data=data, weight_loader=loader, **options))
    return loader


def take(layer: nn.Module, name: str) -> Tensor:
    """The tensor of a parameter, which the layer does not have any longer."""
    tensor: Tensor = getattr(layer, name).data
    delattr(layer, name)
    return tensor
