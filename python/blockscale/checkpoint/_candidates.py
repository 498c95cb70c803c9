# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights as they may be meant, whole or not: tensors by the layer that their names are of."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from blockscale.checkpoint import _families
from blockscale.checkpoint._layouts import DATA, GLOBAL, INPUT, PLAIN_DTYPES, Layout

if TYPE_CHECKING:
    from blockscale.checkpoint._checkpoint import Checkpoint
    from blockscale.checkpoint._tensors import Tensor

#: Ends of names of what is beside a weight in no layout's table.
TRANSFORM = ".pre_quant_scale"
_STACK_LAYOUTS = [layout for layout in _families.LAYOUTS if not layout.data[0]]
#: Those behind the name of a stack, whose data have its name alone.
_OF_STACKS = {ending for layout in _STACK_LAYOUTS for ending in layout.endings.values()} - {""}
_ENDINGS = sorted({ending for layout in _families.LAYOUTS for ending in layout.endings.values()}
                  - {""} | {TRANSFORM}, key=lambda ending: (-len(ending), ending))
#: Ends that are codes, or plain weights.
_CODES = {layout.data[0] for layout in _families.LAYOUTS}
#: Ends that are scales, so that there is a weight even where there are no codes.
_SCALES = (".weight_scale", ".weight_scale_2", ".weight_global_scale", "._weight_scale",
           "._weight_per_tensor_scale", ".weight_scale_inv", "_weight_scale", "_scale_inv")


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """Tensors of a layer.

    Attributes:
      name: of the layer or stack.
      layout: that is meant; None where the weight is plain or of a layout that is not known here.
      parts: tensors by the ends of their names.
    """

    name: str
    layout: Layout | None
    parts: Mapping[str, Tensor]

    def get(self, role: str) -> Tensor | None:
        """The tensor of a role, of whatever type."""
        if self.layout is None:
            return None
        ending = self.layout.endings.get(role)
        return self.parts.get(ending) if ending is not None else None

    @property
    def has_codes(self) -> bool:
        """Whether there is more than scales."""
        return any(ending in self.parts for ending in _CODES)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Of the weight [.., N, K], as its codes say."""
        data = self.get(DATA)
        if data is None or self.layout is None or len(data.shape) < 2:
            return None
        return self.layout.get_weight_shape(data.shape)


def _split(checkpoint: Checkpoint, tensor: Tensor, is_gguf: bool) -> tuple[str, str] | None:
    """The layer or stack that a tensor is of, and what is behind its name."""
    name = tensor.name
    for family in _families.ALL:
        split = family.split_stack(name)
        if split is not None and checkpoint.names.is_stack(split[0]):
            return split
    for ending in _ENDINGS:
        if name.endswith(ending) and len(name) > len(ending):
            layer = name[:-len(ending)]
            if ending == ".scale" and not is_gguf and tensor.dtype not in ("F8_E8M0", "F8_E4M3"):
                continue
            if ending in _OF_STACKS and not checkpoint.names.is_stack(layer):
                continue
            return layer, ending
    if (len(tensor.shape) == 3 and tensor.dtype not in PLAIN_DTYPES
            and checkpoint.names.is_stack(name)):
        return name, ""
    return None


def _guess(checkpoint: Checkpoint, name: str, parts: Mapping[str, Tensor]) -> Layout | None:
    scheme = checkpoint.scheme
    if f"{name}.weight.absmax" in checkpoint.tensors:
        return None  # Codes of bitsandbytes are bytes, too.
    return _families.guess(_families.Evidence(parts, scheme, scheme.find(name),
                                              checkpoint.torchao.get(name, {})))


def find_candidates(checkpoint: Checkpoint) -> dict[str, Candidate]:
    """What may be a quantized weight, by name, in the order of the files."""
    is_gguf = any(path.endswith(".gguf") for path in checkpoint.files)
    by_name: dict[str, dict[str, Tensor]] = {}
    for tensor in checkpoint.tensors.values():
        found = _split(checkpoint, tensor, is_gguf)
        if found is not None:
            by_name.setdefault(found[0], {})[found[1]] = tensor
    candidates = {}
    for name, parts in by_name.items():
        layout = _guess(checkpoint, name, parts)
        if layout is not None or any(ending in parts for ending in _SCALES) or "_scales" in parts:
            candidates[name] = Candidate(name, layout, parts)
    return candidates


def list_scalars(candidate: Candidate) -> Iterator[tuple[str, Tensor]]:
    """The scalars of a weight by role."""
    for role in (GLOBAL, INPUT):
        tensor = candidate.get(role)
        if tensor is not None:
            yield role, tensor
