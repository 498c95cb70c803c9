# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Horizontal bars as an SVG."""

from xml.sax.saxutils import escape

ROW, LABEL, BAR, MARGIN = 22, 380, 420, 16


def write_chart(path, title, rows):
    """A bar of `share` for each row, with a line where its `bar` is."""
    width, height = LABEL + BAR + 5 * MARGIN, ROW * (len(rows) + 2) + MARGIN
    scale = BAR / max(1.0, *(row["share"] for row in rows)) if rows else BAR
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{MARGIN}" y="{ROW}" font-size="14">{escape(title)}</text>']
    for i, row in enumerate(rows):
        y = ROW * (i + 1) + MARGIN
        length = row["share"] * scale
        parts += [f'<text x="{LABEL - 8}" y="{y + 14}" text-anchor="end">'
                  f'{escape(row["label"])}</text>',
                  f'<rect x="{LABEL}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}" '
                  'fill="#4878a8"/>',
                  f'<text x="{LABEL + length + 5:.1f}" y="{y + 14}">{row["share"]:.2f}</text>']
        if row["bar"]:
            x = LABEL + row["bar"] * scale
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + ROW}" '
                         'stroke="#b03030" stroke-width="2"/>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")
