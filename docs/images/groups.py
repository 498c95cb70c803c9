# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped scale layouts: each group padded and tiled alone."""

from canvas import FAINT, PADDING, PARTS, Canvas


def tiles_of(sizes, step):
    """Tiles along the grouped dimension, group by group."""
    return [-(-size // step) for size in sizes]


def _buffer(canvas, x, y, width, sizes, step, count):
    """`count` tiles; group g fills the part of its tiles that it has scales for."""
    at = 0
    for group, (size, tiles) in enumerate(zip(sizes, tiles_of(sizes, step))):
        for tile in range(tiles):
            filled = min(step, size - tile * step) / step
            canvas.rect(x + at * width, y, width, 44, PADDING, line=0)
            canvas.rect(x + at * width, y, width * filled, 44, PARTS[group], line=0)
            canvas.rect(x + at * width, y, width, 44, "none", line=1.6)
            canvas.text(x + (at + 0.5) * width, y + 27, f"group {group}", 12, "middle")
            at += 1
    for tile in range(at, count):
        canvas.rect(x + tile * width, y, width, 44, PADDING, line=1.6)
        canvas.text(x + (tile + 0.5) * width, y + 27, "unused", 12, "middle", fill=FAINT)
    for tile in range(count + 1):
        canvas.text(x + tile * width, y + 62, str(tile * 512), 12, "middle", mono=True)


def draw():
    canvas = Canvas(920, 420, "Grouped scale layouts")
    left = 70
    canvas.text(24, 28, "groups = 3, dim = 0: 200 rows of scales, ends 70, 70, 200", 14,
                bold=True)
    sizes, unit, start = (70, 0, 130), 0.7, 0
    for group, size in enumerate(sizes):
        canvas.rect(left, 50 + start * unit, 110, size * unit, PARTS[group])
        if size:
            canvas.text(left + 55, 50 + (start + size / 2) * unit + 4, f"group {group}", 12,
                        "middle")
        canvas.text(left - 8, 54 + start * unit, str(start), 12, "end", mono=True)
        start += size
    canvas.text(left - 8, 54 + start * unit, str(start), 12, "end", mono=True)
    canvas.text(left + 118, 54 + 70 * unit, "group 1 is empty", 12, fill=FAINT)
    canvas.text(left, 208, "4 columns or fewer: one column of tiles", 12, fill=FAINT)
    _buffer(canvas, 400, 70, 118, sizes, 128, (200 + 127 * 3) // 128)
    canvas.text(400, 166, "T = (200 + 127 * 3) div 128 * 1 = 4 tiles suffice for any ends",
                12, mono=True)
    canvas.text(400, 186, "colour: the share of a tile that holds scales; the rest is 0x00", 12,
                fill=FAINT)

    canvas.line(24, 226, 896, 226, FAINT)
    canvas.text(24, 254, "groups = 2, dim = 1: 10 columns of scales, ends 3, 10", 14,
                bold=True)
    sizes, unit, start = (3, 7), 24, 0
    for group, size in enumerate(sizes):
        canvas.rect(left + start * unit, 284, size * unit, 90, PARTS[group])
        canvas.text(left + (start + size / 2) * unit, 333, f"group {group}", 12, "middle")
        canvas.text(left + start * unit, 278, str(start), 12, "middle", mono=True)
        start += size
    canvas.text(left + start * unit, 278, str(start), 12, "middle", mono=True)
    canvas.text(left, 394, "128 rows or fewer: one row of tiles", 12, fill=FAINT)
    _buffer(canvas, 400, 290, 118, sizes, 4, (10 + 3 * 2) // 4)
    canvas.text(400, 386, "T = 1 * (10 + 3 * 2) div 4 = 4 tiles suffice for any ends", 12,
                mono=True)
    return canvas.render()
