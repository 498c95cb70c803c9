# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How checkpoints store a weight: which elements are in a byte, and which numbers are scales."""

from canvas import EXPONENT, FAINT, MANTISSA, PARTS, SIGN, Canvas

_WIDTH, _HALF = 50, 25


def _draw_bytes(canvas, x, y, pairs, limit):
    """Bytes with the elements of their low and high nibbles; the colour is the half of the block
    that an element is in."""
    for number, (low, high) in enumerate(pairs):
        left = x + number * _WIDTH
        for at, element in ((0, low), (1, high)):
            canvas.rect(left + at * _HALF, y, _HALF, 34, PARTS[int(element >= limit)], line=0.6)
            canvas.text(left + at * _HALF + _HALF / 2, y + 22, str(element), 12, "middle",
                        mono=True)
        canvas.rect(left, y, _WIDTH, 34, "none", line=1.6)


def draw_codes():
    canvas = Canvas(960, 330, "Which elements of a row are in which byte")
    canvas.text(24, 30, "Bytes of a row, each with its low nibble first", 14, bold=True)
    canvas.text(24, 64, "ModelOpt, compressed-tensors, gpt-oss, torchao: 32 elements in 16 bytes, "
                "scales elsewhere", 13)
    _draw_bytes(canvas, 120, 74, [(2 * j, 2 * j + 1) for j in range(16)], 16)
    canvas.text(24, 144, "GGUF MXFP4: 32 elements in 17 bytes, the scale first", 13)
    canvas.cell(24, 154, 90, 34, "E8M0", EXPONENT, 12)
    _draw_bytes(canvas, 120, 154, [(j, j + 16) for j in range(16)], 16)
    canvas.text(24, 224, "GGUF NVFP4: 64 elements in 36 bytes, four scales first; here the bytes "
                         "of the first two", 13)
    for number in range(4):
        canvas.cell(24 + number * 22.5, 234, 22.5, 34, f"s{number}", MANTISSA, 11)
    _draw_bytes(canvas, 120, 234, [(j, j + 8) for j in range(8)], 8)
    _draw_bytes(canvas, 520, 234, [(j + 16, j + 24) for j in range(8)], 24)
    canvas.text(120, 300, "colour: first and second half of what shares a scale", 12, fill=FAINT)
    return canvas.render()


def _draw_row(canvas, y, title, scale, scale_text, block, last, formula):
    canvas.text(24, y, title, 13, bold=True)
    for number in range(4):
        left = 24 + number * 112
        canvas.cell(left, y + 12, 108, 28, block, PARTS[number], 12)
        canvas.cell(left + 24, y + 48, 60, 26, scale_text, scale, 12)
        canvas.line(left + 54, y + 48, left + 54, y + 41, arrow=True)
    if last:
        canvas.cell(490, y + 28, 190, 30, last, SIGN, 12)
    canvas.text(700, y + 48, formula, 12, mono=True)


def draw_scales():
    canvas = Canvas(1080, 330, "Which numbers a code is multiplied by")
    _draw_row(canvas, 30, "ModelOpt NVFP4", MANTISSA, "E4M3", "16 codes",
              "weight_scale_2 = amax/2688",
              "code * scale * weight_scale_2")
    _draw_row(canvas, 132, "compressed-tensors NVFP4", MANTISSA, "E4M3", "16 codes",
              "global_scale = 2688/amax", "code * scale / global_scale")
    _draw_row(canvas, 234, "MXFP4 and MXFP8 of all families", EXPONENT, "E8M0", "32 codes", "",
              "code * 2^(scale - 127)")
    return canvas.render()
