# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of text."""

from __future__ import annotations

from collections.abc import Sequence

from blockscale._text import escape


def make_table(rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> str:
    """Rows of text in columns; those of `numbers` end at the same place. Cells may be names of a
    file."""
    rows = [[escape(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [f"{cell:>{width}}" if number in numbers else f"{cell:<{width}}"
                 for number, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
