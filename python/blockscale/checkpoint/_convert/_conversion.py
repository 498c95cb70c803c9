# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What became of the weights of a checkpoint that was converted."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from blockscale._tables import make_table
from blockscale._text import escape
from blockscale.checkpoint._summary import describe_passed, to_json


@dataclasses.dataclass(frozen=True)
class ConvertedLayer:
    """A layer of the result.

    Attributes:
      name: of the layer.
      before, after: the layouts.
      way: how it was converted.
      blocks: that it has.
      lost: blocks of which numbers change.
      comes_back: whether the way back gives the bits of its scalars.
      sqnr: of numbers that were quantized again, in decibels.
    """

    name: str
    before: str
    after: str
    way: str
    blocks: int
    lost: int
    comes_back: bool
    sqnr: float | None = None


@dataclasses.dataclass(frozen=True)
class Conversion:
    """What became of the weights of a checkpoint.

    Attributes:
      layers: of the result.
      dropped: names of scalars that the layout has no place for.
      other_activations: weights whose activations were quantized and are not, or the reverse,
        since the layout has no other way.
      allowed: what breaks rules that were allowed, in the source or in the result.
      kept: quantized weights that no layout explains, which stay as they are.
    """

    layers: tuple[ConvertedLayer, ...]
    dropped: tuple[str, ...]
    other_activations: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether all numbers are the same, but for an ulp where a reciprocal is stored."""
        return all(layer.lost == 0 for layer in self.layers)

    @property
    def comes_back(self) -> bool:
        """Whether converting back gives the same bits."""
        return self.is_exact and all(layer.comes_back for layer in self.layers)

    def __str__(self) -> str:
        ways: dict[tuple[str, str, str], list[ConvertedLayer]] = {}
        for layer in self.layers:
            ways.setdefault((layer.before, layer.after, layer.way), []).append(layer)
        rows = [("from", "to", "layers", "blocks", "changed", "")]
        for (before, after, way), layers in ways.items():
            ulps = sum(not layer.comes_back for layer in layers)
            note = way if not ulps else (f"{way}; the reciprocals of {ulps} scalars have other "
                                         "reciprocals")
            rows.append((before, after, str(len(layers)), str(sum(layer.blocks
                                                                  for layer in layers)),
                         str(sum(layer.lost for layer in layers)), note))
        lines = [make_table(rows, (2, 3, 4))]
        changed = [layer for layer in self.layers if layer.lost]
        lines += [f"'{escape(layer.name)}': {layer.lost} of {layer.blocks} blocks change"
                  for layer in changed[:8]]
        if len(changed) > 8:
            lines.append(f"and {len(changed) - 8} more")
        if self.dropped:
            shown = ", ".join(map(escape, self.dropped[:8]))
            more = f" and {len(self.dropped) - 8} more" if len(self.dropped) > 8 else ""
            lines.append(f"the layout has no place for {shown}{more}")
        if self.other_activations:
            names = tuple(dict.fromkeys(self.other_activations))
            lines.append("activations are quantized where they were not, or the reverse, as the "
                         "layout has no other way: " + ", ".join(map(repr, names[:8])) + (
                             f" and {len(names) - 8} more" if len(names) > 8 else ""))
        lines += describe_passed(self.allowed, self.kept)
        return "\n".join(lines)

    def to_dict(self) -> Mapping[str, Any]:
        """What --json writes."""
        return {"layers": [{**dataclasses.asdict(layer),
                            "sqnr": None if layer.sqnr is None else to_json(layer.sqnr)}
                           for layer in self.layers],
                "dropped": list(self.dropped),
                "other_activations": list(self.other_activations),
                "allowed": list(self.allowed), "kept": list(self.kept), "is_exact": self.is_exact,
                "comes_back": self.comes_back}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)
