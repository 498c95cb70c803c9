# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What became of the layers of a checkpoint: as a table, as JSON and as a picture."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from blockscale._tables import make_table
from blockscale.checkpoint._measure import get_sqnr
from blockscale.checkpoint._picture import draw_bars


@dataclasses.dataclass(frozen=True)
class LayerSummary:
    """A layer or a stack of experts.

    Attributes:
      name, shape: of its weight.
      form: how it is quantized, "" where it is left.
      reason: why it is left.
      before, after: bytes of its tensors.
      signal, noise: sums of squares of numbers that were measured, and of their errors.
      largest: of these errors.
      count: of these numbers.
      amax: the largest absolute value of the weights that share a global scale with it, None
        where none is computed of it.
    """

    name: str
    shape: tuple[int, ...]
    form: str
    reason: str
    before: int
    after: int
    signal: float = 0.0
    noise: float = 0.0
    largest: float = 0.0
    count: int = 0
    amax: float | None = None

    @property
    def sqnr(self) -> float:
        """The ratio of signal to quantization noise in decibels."""
        return get_sqnr(self.signal, self.noise)


def format_bytes(count: float) -> str:
    """A number of bytes that is easily read."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def describe_passed(allowed: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Lines that say what was let through: errors of rules that were allowed, and weights that no
    layout explains."""
    lines = [f"allowed: {each}" for each in allowed[:8]]
    if len(allowed) > 8:
        lines.append(f"and {len(allowed) - 8} more errors that were allowed")
    if kept:
        lines.append("stay as they are, with their configuration: " + ", ".join(
            map(repr, kept[:8])) + (f" and {len(kept) - 8} more" if len(kept) > 8 else ""))
    return lines


def to_json(value: float) -> float | None:
    """A number of JSON, which has no infinity."""
    return value if math.isfinite(value) else None


@dataclasses.dataclass(frozen=True)
class Summary:
    """What became of each layer.

    Attributes:
      layers: in the order of the source.
      before, after: bytes of all tensors of the source and of the files of the result.
      unused: names of amaxes that no layer took.
      names: which layers patterns of names alone tell what they are, "" for none.
      allowed: what breaks rules that were allowed, in the source or in the result.
      kept: quantized weights that no layout explains, which stay as they are.
      dropped: what the layout has no place for.
    """

    layers: tuple[LayerSummary, ...]
    before: int
    after: int
    unused: tuple[str, ...] = ()
    names: str = ""
    allowed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def quantized(self) -> tuple[LayerSummary, ...]:
        return tuple(layer for layer in self.layers if layer.form)

    @property
    def left(self) -> tuple[LayerSummary, ...]:
        return tuple(layer for layer in self.layers if not layer.form)

    @property
    def sqnr(self) -> float:
        """Of all layers together."""
        return get_sqnr(sum(layer.signal for layer in self.quantized),
                        sum(layer.noise for layer in self.quantized))

    def list_worst(self, count: int) -> list[LayerSummary]:
        """The layers with the least ratio of signal to noise."""
        return sorted(self.quantized, key=lambda layer: layer.sqnr)[:count]

    def __str__(self) -> str:
        rows = [("layer", "shape", "bytes", "after", "SQNR dB", "largest error", "")]
        for layer in self.layers:
            measured = layer.form and layer.count
            rows.append((layer.name, "x".join(map(str, layer.shape)), str(layer.before),
                         str(layer.after), f"{layer.sqnr:.2f}" if measured else "",
                         f"{layer.largest:.3g}" if measured else "",
                         layer.form or f"left: {layer.reason}"))
        saved = 1 - self.after / self.before if self.before else 0.0
        rows.append(("sum", "", str(self.before), str(self.after), f"{self.sqnr:.2f}", "",
                     (f"{len(self.quantized)} quantized, {len(self.left)} left, "
                      f"{100 * saved:.1f} % of the bytes saved")))
        lines = [make_table(rows, (2, 3, 4, 5))]
        if self.unused:
            lines.append("no layer took the amaxes of " + ", ".join(map(repr, self.unused)))
        if self.names:
            lines.append(self.names)
        if self.dropped:
            lines.append("the layout has no place for " + ", ".join(self.dropped))
        lines += describe_passed(self.allowed, self.kept)
        return "\n".join(lines)

    def to_dict(self) -> Mapping[str, Any]:
        """What --json writes."""
        layers = [{**dataclasses.asdict(layer), "shape": list(layer.shape),
                   "sqnr_db": to_json(layer.sqnr) if layer.form and layer.count else None}
                  for layer in self.layers]
        return {"layers": layers, "before": self.before, "after": self.after,
                "sqnr_db": to_json(self.sqnr), "unused_amaxes": list(self.unused),
                "names": self.names,
                "allowed": list(self.allowed), "kept": list(self.kept),
                "dropped": list(self.dropped),
                "worst": [layer.name for layer in self.list_worst(10)]}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    def to_svg(self) -> str:
        """A picture of the ratios of signal to noise, in the order of the source."""
        return draw_bars("Signal to quantization noise in dB",
                         [(layer.name, layer.sqnr) for layer in self.quantized])
