# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a family of checkpoints is: all that is known of files that one package writes."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Protocol, Sequence

from blockscale._native._checkpoint import Metadata
from blockscale.checkpoint._config import Group, Scheme
from blockscale.checkpoint._layouts import Layout


class Stored(Protocol):
    """What is told of a tensor without reading it."""

    @property
    def dtype(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What speaks for the layout of a layer.

    Attributes:
      parts: tensors by what is behind the name of the layer.
      scheme: what the configuration says of all layers.
      group: what it says of this one, if anything.
      described: what the metadata of the file say of it, as torchao's do.
    """

    parts: Mapping[str, Stored]
    scheme: Scheme
    group: Group | None
    described: Mapping[str, Any]

    @property
    def format(self) -> str:
        return self.group.format if self.group is not None else ""

    def get_dtype(self, ending: str) -> str:
        """The type of a tensor, "" where there is none."""
        part = self.parts.get(ending)
        return part.dtype if part is not None else ""


def is_mxfp8(evidence: Evidence) -> bool:
    """Whether tensors speak for MXFP8, whose names say nothing: E4M3 whose scales are bytes, or of
    a wrong type, or not there."""
    if evidence.get_dtype(".weight") != "F8_E4M3" or ".weight_scale_inv" in evidence.parts or (
            evidence.format == "fp8_blocks"):
        return False
    scales = evidence.parts.get(".weight_scale")
    if scales is None or scales.dtype in ("U8", "F8_E8M0"):
        return True
    # Scales of tensors or channels have other shapes.
    data = evidence.parts[".weight"]
    return evidence.format == "mxfp8" and (
        scales.shape == (*data.shape[:-1], -(-data.shape[-1] // 32)))


@dataclasses.dataclass(frozen=True)
class Quantized:
    """How a layer of a result is quantized: its layout, and whether its activations are, too."""

    layout: Layout
    quantizes_activations: bool


@dataclasses.dataclass(frozen=True)
class Written:
    """A configuration as it is written: quantization_config of config.json, and other files of JSON
    by name."""

    members: Mapping[str, Any]
    files: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)


class Family:
    """The layouts and the configuration of one kind of checkpoints.

    Attributes:
      name: by which --layout and --to know it, and reports call it.
      layouts: of its weights.
      loaders: those that read it, each with what it needs.
      methods: values of quant_method in config.json that mean it.
      keeps_stacks: whether a stack of experts stays one tensor. In other families each expert has
        layers of its own, since loaders take both forms of those.
      joins_experts: whether layers of experts become stacks.
      describes_itself: whether files say how they are quantized, without a configuration.
      says_activations: whether its configuration says which activations are quantized.
      needs_global: whether NVFP4 always has a global scale.
    """

    name = ""
    layouts: tuple[Layout, ...] = ()
    loaders: Mapping[str, str] = {}
    methods: tuple[str, ...] = ()
    keeps_stacks = False
    joins_experts = False
    describes_itself = False
    says_activations = True
    needs_global = True

    def find_layout(self, format: str) -> Layout | None:
        """The layout that it has for a format, if there is one."""
        return next((layout for layout in self.layouts if layout.format == format), None)

    @property
    def formats(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(layout.format for layout in self.layouts))

    def recognizes(self, members: Mapping[str, Any]) -> bool:
        """Whether quantization_config is one of it."""
        return members.get("quant_method") in self.methods

    def read(self, members: Mapping[str, Any], where: str) -> Scheme:
        """What quantization_config says.

        Raises: ArgumentError for members of other types.
        """
        raise NotImplementedError(self.name)

    def guess(self, evidence: Evidence) -> Layout | None:
        """The layout that types and names of tensors, and then the configuration, speak for; None
        where they do not speak for one of these. The tensors need not all be there, nor right."""
        return None

    def write(self, layers: Mapping[str, Quantized], left: Sequence[str],
              kv_cache: str) -> Written | None:
        """The configuration of layers by name; None where there is none.

        Args:
          left: names of layers that are not quantized.
          kv_cache: how the KV cache is quantized, "FP8" or "".
        """
        return None

    def describe(self, name: str, layer: Quantized, dtype: str, has_global: bool,
                 has_input: bool) -> dict[str, str]:
        """What the metadata of files say of a layer whose numbers were of a dtype."""
        return {}

    def make_metadata(self, described: Mapping[str, Mapping[str, str]],
                      names: Sequence[str]) -> dict[str, str]:
        """The metadata of each file of safetensors.

        Args:
          described: what is said of the tensors that layers consist of, by their names.
          names: of all tensors of the result, in order.
        """
        return {}

    def make_gguf(self, config: Mapping[str, Any], path: str) -> list[Metadata] | None:
        """The metadata of a result that is one file of GGUF; None where it is safetensors."""
        return None

    def find_obstacle(self, name: str, rank: int) -> str:
        """Why a weight cannot be one of it, "" where it can."""
        return ""
