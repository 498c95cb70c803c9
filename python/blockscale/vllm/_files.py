# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the files of a checkpoint have of the layers that a model has in vLLM."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from blockscale._errors import ArgumentError
from blockscale._ops import FORMATS
from blockscale.checkpoint._config import Group, Scheme
from blockscale.checkpoint._families import Evidence, guess
from blockscale.checkpoint._layouts import (
    DATA,
    EXPERTS,
    FP8_BLOCK,
    FP8_BLOCKS,
    FP8_CHANNEL,
    GLOBAL,
    INPUT,
    PLAIN_DTYPES,
    SCALES,
    Layout,
)
from blockscale.torch._checkpoint import SCHEMES
from blockscale.torch._state import MARK, MARK_BYTES

#: The layout of the family that has the tensors of modules of this package. Which format it is, a
#: mark among the tensors says.
OWN = Layout("BlockScale's own layout", "blockscale", "", data=(".data", "U8"),
             scales=(".scales", "U8"), global_scale=".global_scale", input_scale=".input_global")
#: The role of that mark.
FORM = "form"
_DTYPES = {"U8": torch.uint8, "F8_E4M3": torch.float8_e4m3fn, "F8_E8M0": torch.float8_e8m0fnu,
           "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


#: Of the environment, which processes of a server inherit: the values of Options.
VARIABLES = WEIGHT_ONLY, ORDER = "BLOCKSCALE_VLLM_WEIGHT_ONLY", "BLOCKSCALE_VLLM_ORDER"


@dataclasses.dataclass(frozen=True)
class Options:
    """What a user says beside the checkpoint by VARIABLES, as of load_quantized_()."""

    weight_only: bool | None = None
    order: str | None = None


@dataclasses.dataclass(frozen=True)
class Stored:
    """What the head of a file says of a tensor."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Slot:
    """A tensor that a layer has for one of the files.

    Attributes:
      ending: what is behind the name of the layer in the files.
      role: of the tensor.
      dtype: that it has in the files.
      rows, cols: of the weight, that share an element of it; 0 for all of them.
      rank: 0 for one number, 1 for a vector.
    """

    ending: str
    role: str
    dtype: torch.dtype
    rows: int = 0
    cols: int = 0
    rank: int = 2

    @property
    def is_scalar(self) -> bool:
        """Whether a weight has one, not one for each of its rows or blocks."""
        return not self.rows

    @property
    def member(self) -> str:
        """The name of the parameter, which is that of the tensors of the files: vLLM puts only
        names of layers in the place of others."""
        return self.ending.removeprefix(".")

    def count_rows(self, rows: int) -> int:
        """Of the tensor, for rows of a weight."""
        return -(-rows // self.rows)

    def get_shape(self, rows: int, cols: int) -> list[int]:
        """Of a weight [rows, cols]."""
        if self.role == FORM:
            return [MARK_BYTES]
        if self.is_scalar:
            return []
        shape = [self.count_rows(rows), -(-cols // self.cols) if self.cols else 1]
        return shape[:self.rank]

    def check(self, name: str, tensor: Tensor, rows: int | None, cols: int) -> None:
        """Raises ArgumentError for a tensor of a weight [rows, cols] with another dtype or shape,
        which `rows` None leaves open. vLLM alone converts numbers where dtypes differ."""
        if tensor.dtype != self.dtype:
            raise ArgumentError(f"'{name}': expected {self.dtype}, but got {tensor.dtype}")
        if rows is None:
            return
        wanted = self.get_shape(rows, cols)
        if list(tensor.shape) != wanted and (wanted or tensor.numel() != 1):
            raise ArgumentError(f"'{name}': expected shape {wanted}, but got {list(tensor.shape)}")


@dataclasses.dataclass(frozen=True)
class Part:
    """A layer of the files that a layer in vLLM is, or is a part of. `has_bias` says whether there
    is a bias beside its weight."""

    name: str
    layout: Layout
    group: Group | None
    slots: tuple[Slot, ...]
    has_bias: bool = False


def _make_slots(layout: Layout, tensors: Mapping[str, Stored], name: str, cols: int
                ) -> tuple[Slot, ...]:
    """The tensors of a weight of that many columns, of which the files have these."""
    made = []
    for role, ending in layout.endings.items():
        stored = tensors.get(ending)
        if stored is None:
            if role == INPUT or (role == GLOBAL and layout is OWN):
                continue
            raise ArgumentError(f"expected a tensor '{name}{ending}', as {layout.name} has it, but "
                                "got none")
        made.append(_make_slot(layout, role, stored, cols))
    if layout is OWN:
        made.append(Slot(f".{MARK}", FORM, torch.uint8))
    return tuple(made)


def _make_slot(layout: Layout, role: str, stored: Stored, cols: int) -> Slot:
    ending, dtype = layout.endings[role], _DTYPES.get(stored.dtype)
    is_right = (layout.accepts(role, stored.dtype) if role in (DATA, SCALES)
                else stored.dtype in PLAIN_DTYPES)
    if dtype is None or not is_right:
        raise ArgumentError(f"'{stored.name}': expected {layout.get_dtype(role)}, as {layout.name} "
                            f"has it, but got {stored.dtype}")
    if role in (GLOBAL, INPUT):
        return Slot(ending, role, dtype)
    if layout is OWN:
        columns = stored.shape[-1] if stored.shape else 0
        if not columns or cols % columns:
            raise ArgumentError(f"'{stored.name}': expected columns that divide the {cols} of the "
                                f"layer, but got shape {list(stored.shape)}")
        return Slot(ending, role, dtype, 1, cols // columns)
    if role == DATA:
        return Slot(ending, role, dtype, 1, 2 if layout.is_packed else 1)
    if layout.format == FP8_BLOCKS:
        return Slot(ending, role, dtype, FP8_BLOCK, FP8_BLOCK)
    if layout.format == FP8_CHANNEL:
        return Slot(ending, role, dtype, 1, 0, len(stored.shape))
    if layout.is_fp8:
        return Slot(ending, role, dtype)
    return Slot(ending, role, dtype, 1, FORMATS[layout.format][2])


class Files:
    """The tensors of a checkpoint by the names that a model in vLLM has for them."""

    def __init__(self, stored: Mapping[str, Mapping[str, Any]], scheme: Scheme):
        self.scheme = scheme
        # Among them may be what a file says of itself, which has no type.
        self._stored = {name: Stored(name, str(each["dtype"]), tuple(each["shape"]))
                        for name, each in stored.items() if "dtype" in each}
        self.rename(lambda name: name)

    def rename(self, rename: Callable[[str], str | None]) -> None:
        """Gives tensors other names; None is for those that the model does not have."""
        self._layers: dict[str, dict[str, Stored]] = {}
        for stored in self._stored.values():
            name = rename(stored.name)
            if name is not None:
                path, _, ending = name.rpartition(".")
                self._layers.setdefault(path, {})[f".{ending}"] = stored

    def find(self, prefix: str, names: Sequence[str], cols: int) -> list[Part] | None:
        """The quantized layers that a layer of that many columns stands for; None where it has
        plain weights.

        Raises: ArgumentError for a layout that is not taken, or layers in several.
        """
        if prefix in self._layers:
            names = [prefix]
        found = {name: self._read(self._layers.get(name, {}), cols) for name in names}
        made = [each for each in found.values() if each is not None]
        if not made:
            return None
        for name, part in found.items():
            if part is None or part.layout is not made[0].layout or part.slots != made[0].slots:
                got = "a plain weight" if part is None else part.layout.name
                raise ArgumentError(
                    f"'{name}': expected {made[0].layout.name} with the tensors of "
                    f"'{made[0].name}', with which vLLM makes one layer of it, but got {got}"
                    + ("" if part is None or part.layout is not made[0].layout else
                       " with others"))
        return made

    def _read(self, tensors: Mapping[str, Stored], cols: int) -> Part | None:
        """The weight of a layer, None for a plain one.

        Raises: ArgumentError for one of a layout that is not taken.
        """
        numbers = {ending for ending in (".weight", ".bias") if ending in tensors
                   and tensors[ending].dtype in PLAIN_DTYPES}
        if not tensors.keys() - numbers:
            return None
        first = next(iter(tensors.values()))
        name = first.name.rpartition(".")[0]
        has_bias = ".bias" in tensors
        if f".{MARK}" in tensors:
            return Part(name, OWN, None, _make_slots(OWN, tensors, name, cols), has_bias)
        group = self.scheme.find(name)
        layout = guess(Evidence(tensors, self.scheme, group, {}))
        if layout is None or layout.is_stack or not (layout in SCHEMES or layout.is_fp8):
            if ".weight" in numbers and layout is None:
                return None  # Beside it are scales of the KV cache, and other models' own.
            listed = ", ".join(f"'{each.name}'" for each in tensors.values())
            raise ArgumentError(
                f"'{name}': expected NVFP4 or MXFP8 of ModelOpt, NVFP4, MXFP4 or MXFP8 of "
                "compressed-tensors, FP8, or what this package saves, but got "
                f"{listed}{'' if layout is None else f' of {layout.name}'}")
        return Part(name, layout, group, _make_slots(layout, tensors, name, cols), has_bias)

    def has_bias(self, prefix: str) -> bool:
        """Whether experts have a bias, in one tensor of all or in those of each."""
        return any(ending.endswith("bias") for path, tensors in self._layers.items()
                   if f"{path}.".startswith(f"{prefix}.") for ending in tensors)

    def find_experts(self, prefix: str, experts: int, names: Mapping[str, int]
                     ) -> dict[str, Part] | None:
        """How experts are quantized, by the name of a layer in each; None where they have plain
        weights.

        Args:
          names: of the layers of an expert, with their columns.

        Raises: ArgumentError for experts that are not alike, or of a layout that is not taken.
        """
        stacks = [each for path in (prefix, *(f"{prefix}.{name}" for name in EXPERTS))
                  for each in self._layers.get(path, {}).values()
                  if each.dtype not in PLAIN_DTYPES]
        if stacks:
            raise ArgumentError(f"'{prefix}': expected experts with tensors of their own, as "
                                f"'{prefix}.0.{next(iter(names))}.weight', but got stacks of all, "
                                f"as '{stacks[0].name}'; blockscale.transformers.set_family saves "
                                "a model so in the family modelopt or compressed-tensors")
        found = {name: self.find(f"{prefix}.{name}", [f"{prefix}.{number}.{name}"
                                                      for number in range(experts)], cols)
                 for name, cols in names.items()}
        made = {name: parts[0] for name, parts in found.items() if parts is not None}
        if not made:
            return None
        first = next(iter(made.values()))
        for name in names:
            part = made.get(name)
            if part is None or part.layout is not first.layout:
                got = "a plain weight" if part is None else part.layout.name
                raise ArgumentError(f"'{prefix}.0.{name}': expected {first.layout.name}, as "
                                    f"'{first.name}' has it, but got {got}")
        return made
