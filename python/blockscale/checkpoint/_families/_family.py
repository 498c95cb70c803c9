# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a family of checkpoints is: all that is known of files that one package writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from blockscale._native._checkpoint import Metadata
from blockscale.checkpoint._config import Group, Scheme
from blockscale.checkpoint._layouts import FP8_FORMATS, Layout, find_fp8_formats


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


def find_fp8_format(evidence: Evidence, data: str = ".weight",
                    scales: str = ".weight_scale") -> str:
    """The format that E4M3 speaks for: "mxfp8" where scales are bytes, one of FP8_FORMATS where
    they are numbers, what the configuration says where they are not there or fit nothing, ""
    where nothing tells."""
    if evidence.get_dtype(data) != "F8_E4M3":
        return ""
    said = evidence.format if evidence.format in ("mxfp8", *FP8_FORMATS) else ""
    found = evidence.parts.get(scales)
    if found is None:
        is_other = evidence.scheme.family not in ("", "modelopt", "compressed-tensors")
        return said or ("" if is_other or ".weight_scale_inv" in evidence.parts else "mxfp8")
    if found.dtype in ("U8", "F8_E8M0"):
        return "mxfp8"
    fitting = find_fp8_formats(evidence.parts[data].shape, found.shape)
    # Scales of one number fit all formats of a small weight.
    return said if said in fitting or not fitting else fitting[0]


@dataclasses.dataclass(frozen=True)
class Quantized:
    """How a layer of a result is quantized.

    Attributes:
      layout: of its weight.
      quantizes_activations: whether these are quantized, too.
      algorithm: what the configuration calls it, where tensors beside the weight need that name.
    """

    layout: Layout
    quantizes_activations: bool
    algorithm: str = ""


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
      methods: values of quant_method in config.json that mean it.
      keeps_stacks: whether a stack of experts stays one tensor. In other families each expert has
        layers of its own, since loaders take both forms of those.
      joins_experts: whether layers of experts become stacks.
      describes_itself: whether files say how they are quantized, without a configuration.
      says_activations: whether its configuration says which activations are quantized.
      needs_global: whether NVFP4 always has a global scale.
      is_fused: whether its loaders make one layer of several, which have one global scale then.
      may_lack_global: whether NVFP4 without a global scale has one of 1.
      caches: forms of the KV cache that its configuration is written with.
      leaves_heads: whether loaders leave the last projection plain without being told.
    """

    name = ""
    layouts: tuple[Layout, ...] = ()
    methods: tuple[str, ...] = ()
    keeps_stacks = False
    joins_experts = False
    describes_itself = False
    says_activations = True
    needs_global = True
    is_fused = True
    may_lack_global = False
    caches: tuple[str, ...] = ()
    leaves_heads = False

    def find_layout(self, format: str) -> Layout | None:
        """The layout in which it writes a format, if there is one."""
        return next((layout for layout in self.layouts
                     if layout.format == format and layout.is_written), None)

    def find_read(self, format: str, **members: Any) -> Layout | None:
        """The layout of a format that has these members, if there is one."""
        return next((layout for layout in self.layouts if layout.format == format
                     and all(getattr(layout, name) == value for name, value in members.items())),
                    None)

    @property
    def formats(self) -> tuple[str, ...]:
        """Those that it writes."""
        return tuple(dict.fromkeys(layout.format for layout in self.layouts if layout.is_written))

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

    def split_stack(self, name: str) -> tuple[str, str] | None:
        """The stack of experts that a tensor is of, and what would be behind the name of a layer,
        where names of stacks have their parts within them; None for other names."""
        return None

    def write(self, layers: Mapping[str, Quantized], left: Sequence[str],
              kv_cache: str) -> Written | None:
        """The configuration of layers by name; None where there is none.

        Args:
          left: names of layers that are not quantized.
          kv_cache: how the KV cache is quantized, "FP8" or "".
        """
        return None

    def take_over(self, original: Written, written: Written) -> Written:
        """A configuration with what another of this family says beside layers."""
        return written

    def keep(self, original: Written, written: Written | None, layers: Mapping[str, Quantized],
             kept: Sequence[str], decoded: Sequence[str]) -> Written | None:
        """A configuration that explains quantized weights which stay as they are; None where it
        cannot.

        Args:
          original: of the source, which is of this family.
          written: of the other layers, None where they became plain.
          layers: those others.
          kept: names of weights that stay.
          decoded: names of quantized weights of the source that do not.
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
