# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Horizontal bars, rates by rows of activations, and curves of losses, as SVG."""

import math
from xml.sax.saxutils import escape

ROW, LABEL, BAR, MARGIN = 22, 380, 420, 16
# The plot of rates: where it begins, its size, and room for names of lines to the right of it.
LEFT, TOP, WIDTH, HEIGHT, NAMES = 64, 56, 620, 360, 190
INK, GRID = "#1f2430", "#d5d8dd"
# What BlockScale computes is drawn in the first colours, peers dashed in the second.
OURS, PEERS = ["#1f6fb4", "#c05f00", "#2e8b57"], ["#1f2430", "#8a8f98", "#8e44ad", "#a14d5e",
                                                  "#4b8f8c", "#b58900"]


def write_chart(path, title, rows):
    """A bar of `share` for each row, with a line where its `bar` is."""
    width, height = LABEL + BAR + 5 * MARGIN, ROW * (len(rows) + 2) + MARGIN
    scale = BAR / max(1.0, *(row["share"] for row in rows)) if rows else BAR
    parts = [(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
              'font-family="sans-serif" font-size="12">'),
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{MARGIN}" y="{ROW}" font-size="14">{escape(title)}</text>']
    for i, row in enumerate(rows):
        y = ROW * (i + 1) + MARGIN
        length = row["share"] * scale
        parts += [(f'<text x="{LABEL - 8}" y="{y + 14}" text-anchor="end">'
                   f'{escape(row["label"])}</text>'),
                  (f'<rect x="{LABEL}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}" '
                   'fill="#4878a8"/>'),
                  f'<text x="{LABEL + length + 5:.1f}" y="{y + 14}">{row["share"]:.2f}</text>']
        if row["bar"]:
            x = LABEL + row["bar"] * scale
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + ROW}" '
                         'stroke="#b03030" stroke-width="2"/>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")


def begin_plot(title):
    width, height = LEFT + WIDTH + NAMES + MARGIN, TOP + HEIGHT + 3 * ROW
    return [(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="12" '
             f'fill="{INK}">'), f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<text x="{MARGIN}" y="{ROW + 6}" font-size="14">{escape(title)}</text>']


def draw_curves(title, points, span):
    """An SVG of losses by steps, from the points of each curve, which are `span` steps apart. The
    first half of the range of losses, which all curves pass in a few steps, is cut off."""
    every = [loss for line in points.values() for loss in line] or [0, 1]
    low = math.floor(min(every) * 10) / 10
    high = max(low + 0.1, math.ceil((min(every) + max(every)) * 5) / 10)
    longest = max(map(len, points.values()), default=1)

    def at(i, loss):
        return (LEFT + WIDTH * i / max(1, longest - 1),
                TOP + HEIGHT * (high - min(loss, high)) / (high - low))
    parts = begin_plot(title)
    for i in range(6):
        x, y = at(0, low + (high - low) * i / 5)
        parts += [(f'<line x1="{x:.1f}" x2="{x + WIDTH:.1f}" y1="{y:.1f}" y2="{y:.1f}" '
                   f'stroke="{GRID}"/>'),
                  (f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">'
                   f'{low + (high - low) * i / 5:.2f}</text>')]
        x, _ = at((longest - 1) * i / 5, low)
        parts.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">'
                     f'{round((longest - 1) * i / 5) * span}</text>')
    parts.append(f'<text x="{LEFT + WIDTH / 2:.1f}" y="{TOP + HEIGHT + 40}" text-anchor="middle">'
                 'steps</text>')
    for i, (name, line) in enumerate(points.items()):
        style = (f'stroke="{PEERS[i % len(PEERS)]}" fill="none" stroke-width="1.5"'
                 + ("" if i else ' stroke-dasharray="5 3"'))
        shown = [(j, loss) for j, loss in enumerate(line) if loss <= high]
        places = " ".join("{:.1f},{:.1f}".format(*at(j, loss)) for j, loss in shown)
        x, y = LEFT + WIDTH + MARGIN, TOP + 10 + ROW * i
        parts += [f'<polyline points="{places}" {style}/>',
                  f'<line x1="{x}" x2="{x + 26}" y1="{y}" y2="{y}" {style}/>',
                  f'<text x="{x + 34}" y="{y + 4}">{escape(name)}</text>']
    return "\n".join([*parts, "</svg>", ""])


def draw_rates(title, lines):
    """An SVG of lines over a logarithmic scale of rows, with TFLOP/s on another one. A line has
    rates by rows; one whose name ends in `ours` is BlockScale's."""
    rows = sorted({m for line in lines.values() for m in line}) or [1]
    rates = [rate for line in lines.values() for rate in line.values()] or [1]
    low, high = 2.0 ** math.floor(math.log2(min(rates))), 2.0 ** math.ceil(math.log2(max(rates)))

    def place(value, first, last, size):
        return size * math.log2(value / first) / max(math.log2(last / first), 1)

    def at(m, rate):
        return (LEFT + place(m, rows[0], rows[-1], WIDTH),
                TOP + HEIGHT - place(rate, low, high, HEIGHT))

    parts = begin_plot(title)
    for i in range(round(math.log2(high / low)) + 1):
        x, y = at(rows[0], low * 2**i)
        parts += [(f'<line x1="{x:.1f}" x2="{x + WIDTH:.1f}" y1="{y:.1f}" y2="{y:.1f}" '
                   f'stroke="{GRID}"/>'),
                  f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{low * 2**i:g}</text>']
    for m in rows:
        x, y = at(m, low)
        parts.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{m}</text>')
    parts.append(f'<text x="{LEFT + WIDTH / 2:.1f}" y="{TOP + HEIGHT + 40}" text-anchor="middle">'
                 'rows of activations</text>')
    ours, peers = iter(OURS * len(lines)), iter(PEERS * len(lines))
    # Ours first; otherwise as they are given.
    names = sorted(lines, key=lambda name: not name.endswith("ours"))
    for i, name in enumerate(names):
        line, is_ours = lines[name], name.endswith("ours")
        style = (f'stroke="{next(ours if is_ours else peers)}" fill="none" '
                 f'stroke-width="{2.5 if is_ours else 1.5}"' +
                 ("" if is_ours else ' stroke-dasharray="5 3"'))
        points = " ".join("{:.1f},{:.1f}".format(*at(m, line[m])) for m in sorted(line))
        x, y = LEFT + WIDTH + MARGIN, TOP + 10 + ROW * i
        parts += [f'<polyline points="{points}" {style}/>',
                  f'<line x1="{x}" x2="{x + 26}" y1="{y}" y2="{y}" {style}/>',
                  f'<text x="{x + 34}" y="{y + 4}">{escape(name)}</text>']
    return "\n".join([*parts, "</svg>", ""])
