# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights as they may be meant, whole or not: tensors by the layer that their names are of."""

from __future__ import annotations

import dataclasses
from typing import Iterator, Mapping

from blockscale.checkpoint._checkpoint import Checkpoint, Tensor
from blockscale.checkpoint._layouts import DATA, GLOBAL, INPUT, LAYOUTS, Layout, find_layout

#: Ends of names of what is beside a weight in no layout's table.
TRANSFORM = ".pre_quant_scale"
_ENDINGS = sorted({ending for layout in LAYOUTS for ending in layout.endings.values()}
                  | {TRANSFORM}, key=len, reverse=True)
#: Ends that are scales, so that there is a weight even where there are no codes.
_SCALES = (".weight_scale", ".weight_scale_2", ".weight_global_scale", "._weight_scale",
           "._weight_per_tensor_scale", ".weight_scale_inv")


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
        return self.parts.get(ending) if ending else None

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Of the weight [.., N, K], as its codes say."""
        data = self.get(DATA)
        if data is None or self.layout is None or len(data.shape) < 2:
            return None
        return self.layout.get_weight_shape(data.shape)


def _split(name: str, is_gguf: bool) -> tuple[str, str] | None:
    for ending in _ENDINGS:
        if name.endswith(ending) and len(name) > len(ending):
            if ending == ".scale" and not is_gguf:
                continue
            return name[:-len(ending)], ending
    return None


def _guess_packed(parts: Mapping[str, Tensor], format: str) -> Layout | None:
    scales = parts.get(".weight_scale")
    if ".weight_global_scale" in parts or scales is not None and scales.dtype == "F8_E4M3":
        format = "nvfp4"
    elif scales is not None:
        format = "mxfp4"
    return find_layout("compressed-tensors", format or "nvfp4")


def _guess_fp8(parts: Mapping[str, Tensor], family: str, format: str) -> Layout | None:
    scales = parts.get(".weight_scale")
    if ".weight_scale_inv" in parts or format == "fp8_blocks":
        return find_layout("fp8-blocks", "fp8_blocks")
    if scales is not None and scales.dtype not in ("U8", "F8_E8M0"):
        # Scales of tensors or channels, or those of MXFP8 in a wrong type.
        data = parts[".weight"]
        if format != "mxfp8" or scales.shape != (*data.shape[:-1], -(-data.shape[-1] // 32)):
            return None
    return find_layout(family if family == "compressed-tensors" else "modelopt", "mxfp8")


def _guess(checkpoint: Checkpoint, name: str, parts: Mapping[str, Tensor]) -> Layout | None:
    """The layout that the types and names of tensors, and then the configuration, speak for."""
    family = checkpoint.scheme.family
    group = checkpoint.scheme.find(name)
    format = group.format if group is not None else ""
    if "._weight_qdata" in parts:
        data, scales = parts["._weight_qdata"], parts.get("._weight_scale")
        if data.dtype == "U8":
            is_mx = scales is not None and scales.dtype == "F8_E8M0" or str(
                checkpoint.torchao.get(name, {}).get("_type")) == "MXTensor"
            return find_layout("torchao", "mxfp4" if is_mx else "nvfp4")
        return find_layout("torchao", "mxfp8_e5m2" if data.dtype == "F8_E5M2" else "mxfp8")
    if ".weight_packed" in parts:
        return _guess_packed(parts, format)
    if "_blocks" in parts:
        return find_layout("gpt-oss", "mxfp4")
    weight = parts.get(".weight")
    if weight is None:
        return None
    if weight.dtype in ("MXFP4", "NVFP4"):
        return find_layout("gguf", weight.dtype.lower())
    if weight.dtype in ("U8", "I8"):
        return find_layout("modelopt", "nvfp4")
    if weight.dtype == "F8_E4M3":
        return _guess_fp8(parts, family, format)
    return None


def find_candidates(checkpoint: Checkpoint) -> dict[str, Candidate]:
    """What may be a quantized weight, by name, in the order of the files."""
    is_gguf = any(path.endswith(".gguf") for path in checkpoint.files)
    by_name: dict[str, dict[str, Tensor]] = {}
    for name, tensor in checkpoint.tensors.items():
        found = _split(name, is_gguf)
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
