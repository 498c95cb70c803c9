# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Noise of every linear layer of the example's model, a line for each format."""

import re
from pathlib import Path

from canvas import FAINT, INK, Canvas

PAGE = Path(__file__).resolve().parents[1] / "Accuracy.md"
TABLE = re.compile(r"^<!-- computed: linear_layers -->\n((?:\|.*\n)+)", re.M)
LINES = ["#1f6fb4", "#8a8f98", "#c05f00", "#2e8b57", "#8e44ad"]
NAMES = {"attention.self.": "", "attention.output.dense": "mix",
         "intermediate.dense": "up", "output.dense": "down"}
LEFT, TOP, WIDTH, HEIGHT = 64, 56, 820, 300


def draw_page():
    """The picture of the numbers that the page has."""
    return draw(TABLE.search(PAGE.read_text(encoding="utf-8"))[1])


def draw(table):
    """`table` is markdown: a layer a row, a format a column."""
    header, _, *rows = ([c.strip() for c in line.strip("|").split("|")]
                        for line in table.splitlines())
    layers = [row[0] for row in rows]
    columns = list(zip(*([float(cell) for cell in row[1:]] for row in rows)))
    low = int(min(map(min, columns)) // 5 * 5)
    high = int(-(-max(map(max, columns)) // 5) * 5)

    def x(i):
        return LEFT + (i + 0.5) * WIDTH / len(layers)

    def y(decibels):
        return TOP + HEIGHT * (high - decibels) / (high - low)

    canvas = Canvas(920, 470, "Noise of every linear layer, by format")
    canvas.text(24, 28, "Outputs of linear layers against bf16, errors of the layers before "
                "included: signal to noise in dB", 14, bold=True)
    for decibels in range(low, high + 1, 5):
        canvas.line(LEFT, y(decibels), LEFT + WIDTH, y(decibels), "#d5d8dd")
        canvas.text(LEFT - 8, y(decibels) + 4, str(decibels), 12, "end", mono=True)
    for i, layer in enumerate(layers):
        number, name = layer.split(" ", 1)
        if i and number != layers[i - 1].split(" ")[0]:
            canvas.line(x(i - 0.5), TOP, x(i - 0.5), TOP + HEIGHT, FAINT, dashed=True)
        for old, new in NAMES.items():
            name = name.replace(old, new)
        canvas.text(x(i), TOP + HEIGHT + 16 + 13 * (i % 2), name, 10, "middle", mono=True)
    for number in dict.fromkeys(layer.split(" ")[0] for layer in layers):
        own = [x(i) for i, layer in enumerate(layers) if layer.startswith(number + " ")]
        canvas.text(sum(own) / len(own), TOP + HEIGHT + 50, f"layer {number}", 12, "middle")
    for j, (name, values) in enumerate(zip(header[1:], columns)):
        colour = LINES[j % len(LINES)]
        for i in range(len(values) - 1):
            canvas.line(x(i), y(values[i]), x(i + 1), y(values[i + 1]), colour, 1.6)
        for i, value in enumerate(values):
            canvas.circle(x(i), y(value), 2.6, colour)
        at = LEFT + j * WIDTH / len(columns)
        canvas.line(at, 450, at + 22, 450, colour, 3)
        canvas.text(at + 28, 454, name, 12, fill=INK)
    return canvas.render()
