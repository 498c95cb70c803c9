# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A linear layer in NVFP4: what is quantized when, and what the product reads."""

from canvas import FAINT, PARTS, Canvas

TENSOR, STEP, CODES = PARTS[0], PARTS[1], PARTS[2]
HIGH, GAP = 44, 34


def _box(canvas, x, y, width, lines, fill, radius=0):
    canvas.rect(x, y, width, HIGH, fill, radius=radius)
    for i, line in enumerate(lines):
        canvas.text(x + width / 2, y + (27 if len(lines) == 1 else 19 + 17 * i), line,
                    13 if i == 0 else 12, "middle", mono=not radius and i == 0)


def _column(canvas, x, name, note, when, scales):
    """One operand, from bf16 to codes and scales in tiles."""
    canvas.text(x + 160, 24, when, 13, "middle", fill=FAINT)
    y = 36
    _box(canvas, x + 60, y, 200, (name, note), TENSOR)
    canvas.line(x + 160, y + HIGH, x + 160, y + HIGH + GAP, arrow=True)
    y += HIGH + GAP
    _box(canvas, x + 60, y, 200, ("quantize",), STEP, radius=8)
    for to in (x + 75, x + 245):
        canvas.line(x + 160, y + HIGH, to, y + HIGH + GAP, arrow=True)
    y += HIGH + GAP
    _box(canvas, x, y, 150, ("codes", "4 bits each"), CODES)
    _box(canvas, x + 170, y, 150, ("scales", scales), CODES)
    return y + HIGH


def draw():
    canvas = Canvas(740, 414, "A linear layer in NVFP4")
    end = _column(canvas, 30, "W [N, K]", "weights, bf16", "once, when the model is prepared",
                  "one for 16, in tiles")
    _column(canvas, 390, "x [M, K]", "activations, bf16", "in each call",
            "one for 16, in tiles")
    for x in (105, 275, 465, 635):
        canvas.line(x, end, 370 + (x - 370) * 0.4, end + GAP + 10, arrow=True)
    y = end + GAP + 10
    _box(canvas, 220, y, 300, ("scaled_mm",), STEP, radius=8)
    canvas.text(536, y + 19, "codes and scales multiply", 12, fill=FAINT)
    canvas.text(536, y + 36, "on tensor cores", 12, fill=FAINT)
    canvas.line(370, y + HIGH, 370, y + HIGH + GAP, arrow=True)
    y += HIGH + GAP
    _box(canvas, 220, y, 300, ("y [M, N]", "bf16, scaled and with the bias"), TENSOR)
    return canvas.render()
