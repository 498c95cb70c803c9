# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An NVFP4 tensor: data, one scale a block, one global scale."""

from canvas import FAINT, PARTS, Canvas

ROWS, BLOCKS, BLOCK, CELL = 4, 3, 16, 11


def _matrix(canvas, x, y, block_columns, width, height):
    """ROWS x BLOCKS blocks of `block_columns` cells, coloured by block."""
    for row in range(ROWS):
        for block in range(BLOCKS):
            fill = PARTS[(row + block) % len(PARTS)]
            left = x + block * block_columns * width
            for column in range(block_columns):
                canvas.rect(left + column * width, y + row * height, width, height, fill,
                            stroke="#ffffff", line=0.7)
            canvas.rect(left, y + row * height, block_columns * width, height, "none",
                        line=1.4)


def draw():
    canvas = Canvas(920, 400, "An NVFP4 tensor")
    wide, tall, top = BLOCKS * BLOCK * CELL, 22, 46
    canvas.text(24, 28, "x", 15, bold=True)
    canvas.text(42, 28, "M x K values, bf16 or f32; a block is 16 neighbours of a row", 13)
    _matrix(canvas, 24, top, BLOCK, CELL, tall)
    canvas.line(24, top + ROWS * tall + 12, 24 + BLOCK * CELL, top + ROWS * tall + 12, FAINT)
    canvas.text(24 + BLOCK * CELL / 2, top + ROWS * tall + 27, "block", 11, "middle",
                fill=FAINT)
    canvas.text(590, 92, "x[m, k]  ~", 15, mono=True)
    canvas.text(600, 116, "data[m, k]", 15, mono=True)
    canvas.text(600, 138, "* scale[m, k / 16]", 15, mono=True)
    canvas.text(600, 160, "* global", 15, mono=True)
    canvas.line(24 + wide / 2, 176, 24 + wide / 2, 212, arrow=True, width=1.5)
    canvas.text(24 + wide / 2 + 12, 199, "blockscale.quantize", 13, mono=True)

    top = 262
    canvas.text(24, top - 28, "data", 15, bold=True)
    canvas.text(24, top - 10, "M x K codes of 4 bits: tensor<MxKxf4E2M1FN>", 12)
    _matrix(canvas, 24, top, BLOCK, CELL, tall)
    canvas.text(24, top + ROWS * tall + 20, "memory: two codes a byte, [M, K/2]", 12,
                fill=FAINT)
    x = 24 + wide + 44
    canvas.text(x, top - 28, "scale", 15, bold=True)
    canvas.text(x, top - 10, "M x K/16, E4M3", 12)
    _matrix(canvas, x, top, 1, 40, tall)
    canvas.text(x, top + ROWS * tall + 20, "memory: one byte each,", 12, fill=FAINT)
    canvas.text(x, top + ROWS * tall + 36, "row-major or 128x4 tiles", 12, fill=FAINT)
    x += 196
    canvas.text(x, top - 28, "global", 15, bold=True)
    canvas.text(x, top - 10, "1 x f32, optional", 12)
    canvas.rect(x, top, 40, tall, "#ffffff", line=1.4)
    canvas.text(24, 394, "4 + 8/16 = 4.5 bits an element, against 16 of bf16", 13)
    return canvas.render()
