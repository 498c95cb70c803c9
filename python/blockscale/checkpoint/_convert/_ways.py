# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways in which weights of one layout become those of another."""

from __future__ import annotations

from blockscale._errors import ArgumentError
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._codes import read_global
from blockscale.checkpoint._families import FAMILIES, Family
from blockscale.checkpoint._layouts import Layout
from blockscale.checkpoint._tensors import Weight

#: How weights are converted, as it is told.
WAYS = {"same": "codes and scales stay", "stack": "codes and scales stay",
         "mxfp4_to_nvfp4": "MXFP4 to NVFP4 by powers of two", "mxfp4_to_fp8": "MXFP4 to FP8",
         "fp8_to_blocks": "codes stay, each block has the scale",
         "quantize": "quantized again", "decode": "plain numbers"}
#: The rule that layers which loaders fuse have one global scale.
UNEQUAL = "equal-global-scales"
#: Formats that become others by a closed form, and how it is called.
_CLOSED = {("mxfp4", "nvfp4"): "mxfp4_to_nvfp4", ("mxfp4", "fp8_blocks"): "mxfp4_to_fp8",
           ("fp8_tensor", "fp8_blocks"): "fp8_to_blocks"}


def choose_way(weight: Weight, family: Family, format: str | None) -> tuple[str, Layout]:
    """How a weight becomes one of a family.

    Raises: ArgumentError where the family has no such format and there is no closed form.
    """
    layout = family.find_layout(format or weight.format)
    if layout is None and format is None:
        layout = next((found for before, after in _CLOSED if before == weight.format
                       and (found := family.find_layout(after)) is not None), None)
    if layout is None and family.name in FAMILIES:
        raise ArgumentError(f"expected a format that {family.name} has "
                            f"({', '.join(family.formats)}), but '{weight.name}' is "
                            f"{weight.layout.name}; give format to quantize it again")
    if layout is None:
        raise ArgumentError("expected MXFP4 to make FP8 in blocks of, or FP8 with one scale, but "
                            f"'{weight.name}' is {weight.layout.name}; its scales have no such "
                            "form")
    if layout.format == weight.format:
        return "fp8_to_blocks" if layout.is_fp8 else "same", layout
    way = _CLOSED.get((weight.format, layout.format))
    return way or "quantize", layout


def find_unequal(checkpoint: Checkpoint) -> dict[str, str]:
    """Weights of NVFP4 with another global scale than one that loaders fuse with them, and both
    scales in words: families that fuse nothing have such."""
    names = [name for name, weight in checkpoint.weights.items()
             if weight.format == "nvfp4" and len(weight.shape) == 2
             and not weight.layout.shares_global]
    found = {}
    for group in checkpoint.names.find_groups(names):
        scales = {name: read_global(checkpoint.weights[name], 0) for name in group}
        first = scales[group[0]]
        other = next((name for name in group if scales[name] != first), None)
        if other is not None:
            found.update(dict.fromkeys(group, f"{first} of '{group[0]}' and {scales[other]} of "
                                              f"'{other}'"))
    return found
