# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The 128x4 scale layout: a matrix in tiles, and the bytes of one tile."""

from canvas import FAINT, PADDING, PARTS, Canvas


def byte_of(row, column):
    """Offset in its tile of scale (row, column), 0 <= row < 128."""
    return row % 32 * 16 + row // 32 * 4 + column


def scale_at(byte):
    """The inverse: (row, column) of a tile's byte."""
    return byte // 16 + byte % 16 // 4 * 32, byte % 4


def draw_tile():
    canvas = Canvas(1030, 474, "One 128x4 tile of scales")
    assert all(byte_of(*scale_at(byte)) == byte for byte in range(512))
    width, height = 38, 21
    canvas.text(24, 28, "One tile: 128 rows x 4", 14, bold=True)
    canvas.text(24, 46, "numbers: bytes of the tile", 12, fill=FAINT)
    left, y = 84, 82
    for column in range(4):
        canvas.text(left + (column + 0.5) * width, y - 8, f"c={column}", 12, "middle",
                    mono=True)
    for quarter in range(4):
        for inner in (0, 1, None, 31):
            if inner is None:
                canvas.text(left + 2 * width, y + 15, "...", 13, "middle")
                y += height
                continue
            row = quarter * 32 + inner
            canvas.text(left - 10, y + 15, f"r={row}", 12, "end", mono=True)
            for column in range(4):
                canvas.cell(left + column * width, y, width, height,
                            str(byte_of(row, column)), PARTS[quarter], 12)
            y += height
        y += 12
    x = 300
    canvas.text(x, 28, "In memory: 32 lines of 16 bytes", 14, bold=True)
    canvas.text(x, 46, "numbers are (row, column) of the tile: four rows, 32 apart, share a "
                "line", 12, fill=FAINT)
    left, y, width = x + 64, 82, 41
    for byte in range(16):
        canvas.text(left + (byte + 0.5) * width, y - 8, f"+{byte}", 12, "middle", mono=True)
    for line in (0, 1, 2, 3, None, 30, 31):
        if line is None:
            canvas.text(left + 8 * width, y + 15, "...", 13, "middle")
            y += height
            continue
        canvas.text(left - 10, y + 15, str(line * 16), 12, "end", mono=True)
        for byte in range(16):
            row, column = scale_at(line * 16 + byte)
            canvas.cell(left + byte * width, y, width, height, f"{row},{column}",
                        PARTS[row // 32], 11)
        y += height
    y += 34
    for text in ("byte = (r mod 32) * 16 + (r div 32) * 4 + c",
                 "storage index of the tile = [r mod 32, r div 32, c]"):
        canvas.text(left, y, text, 14, mono=True)
        y += 24
    return canvas.render()


def draw_tiles():
    canvas = Canvas(920, 330, "A 200x5 scale matrix in 128x4 tiles")
    canvas.text(24, 28, "A 200 x 5 matrix of scales", 14, bold=True)
    canvas.text(24, 46, "200 rows of data, 80 = 5 * 16 columns; padded to 256 x 8", 12,
                fill=FAINT)
    unit, wide, left, top = 0.9, 44, 70, 70
    canvas.rect(left, top, 8 * wide, 256 * unit, PADDING)
    for tile in range(4):
        row, column = divmod(tile, 2)
        rows, columns = (128, 72)[row], (4, 1)[column]
        canvas.rect(left + column * 4 * wide, top + row * 128 * unit, columns * wide,
                    rows * unit, PARTS[tile], line=0.5)
        canvas.rect(left + column * 4 * wide, top + row * 128 * unit, 4 * wide,
                    128 * unit, "none", line=1.8)
        canvas.text(left + (column * 4 + columns / 2) * wide, top + (row * 128 + 40) * unit,
                    f"tile {tile}" if columns > 1 else str(tile), 14, "middle", bold=True)
    for row in (0, 128, 200, 256):
        canvas.text(left - 8, top + row * unit + 4, str(row), 12, "end", mono=True)
    for column in (0, 4, 5, 8):
        canvas.text(left + column * wide, top - 6, str(column), 12, "middle", mono=True)
    canvas.text(left + 6.5 * wide, top + 64 * unit, "padding: 0x00", 12, "middle",
                fill=FAINT)
    canvas.text(left + 2 * wide, top + 232 * unit, "padding: 0x00", 12, "middle", fill=FAINT)
    x, y = 500, 110
    canvas.text(x, 28, "In memory: 2 x 2 tiles of 512 bytes, row-major", 14, bold=True)
    canvas.text(x, 46, "storage shape [2, 2, 32, 4, 4]", 12, fill=FAINT)
    for tile in range(4):
        canvas.cell(x + tile * 98, y, 98, 40, f"tile {tile}", PARTS[tile])
        canvas.text(x + tile * 98, y + 58, str(tile * 512), 12, "middle", mono=True)
    canvas.text(x + 4 * 98, y + 58, "2048", 12, "middle", mono=True)
    canvas.text(x, y + 108, "tile of (r, c)  = [r div 128, c div 4]", 14, mono=True)
    canvas.text(x, y + 132, "tiles           = ceil(R/128) * ceil(C/4)", 14, mono=True)
    return canvas.render()
