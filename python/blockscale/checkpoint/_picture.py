# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of numbers of layers, in SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from blockscale._text import escape

_ROW, _NAMES, _BARS, _MARGIN = 16, 420, 380, 40
_FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"


def draw_bars(title: str, values: Sequence[tuple[str, float]]) -> str:
    """A bar for each name; the longest is the largest finite value. The three least are marked."""
    finite = [value for _, value in values if math.isfinite(value)]
    most = max([*finite, 1e-30])
    least = sorted(finite)[:3]
    width, height = _NAMES + _BARS + 2 * _MARGIN, _ROW * len(values) + 2 * _MARGIN
    items = [(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" role="img">'), f"<title>{html.escape(title)}</title>",
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             (f'<text x="{_NAMES}" y="24" font-family="{_FONT}" font-size="13" '
              f'font-weight="bold">{html.escape(title)}</text>')]
    for number, (name, value) in enumerate(values):
        top = _MARGIN + number * _ROW
        size = max(min(value, most), 0) / most * _BARS if not math.isnan(value) else 0.0
        fill = "#f6c99f" if value in least else "#b5d3ee"
        told = escape(name)
        shown = told if len(told) <= 52 else "..." + told[-49:]
        items.append(f'<text x="{_NAMES - 8}" y="{top + 12}" text-anchor="end" '
                     f'font-family="{_FONT}" font-size="11">{html.escape(shown)}</text>')
        items.append(f'<rect x="{_NAMES}" y="{top + 2}" width="{size:.1f}" height="{_ROW - 4}" '
                     f'fill="{fill}" stroke="#1f2430" stroke-width="0.5"/>')
        items.append(f'<text x="{_NAMES + size + 5:.1f}" y="{top + 12}" font-family="{_FONT}" '
                     f'font-size="11">{value:.2f}</text>')
    return "\n".join([*items, "</svg>", ""])
