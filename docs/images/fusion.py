# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step's two quantizations of x, with one kernel for each op and with one kernel."""

from canvas import FAINT, PARTS, Canvas

MEMORY, KERNEL, INSIDE = PARTS[0], PARTS[1], PARTS[2]


def _memory(canvas, x, y, width, text):
    canvas.rect(x, y, width, 34, MEMORY)
    canvas.text(x + width / 2, y + 22, text, 13, "middle", mono=True)


def _kernel(canvas, x, y, width, text):
    canvas.rect(x, y, width, 34, KERNEL, radius=8)
    canvas.text(x + width / 2, y + 22, text, 13, "middle")


def _down(canvas, x, y, length=26):
    canvas.line(x, y, x, y + length, arrow=True)


def _kernel_each(canvas, left):
    canvas.text(left, 54, "one kernel for each op: x is read twice, y written and read", 14,
                bold=True)
    _memory(canvas, left, 72, 400, "x")
    for x in (left + 90, left + 310):
        _down(canvas, x, 106)
    _kernel(canvas, left, 132, 180, "quantize rows")
    _kernel(canvas, left + 220, 132, 180, "hadamard, columns")
    _down(canvas, left + 310, 166)
    _memory(canvas, left + 220, 192, 180, "y")
    _down(canvas, left + 310, 226)
    _kernel(canvas, left + 220, 252, 180, "quantize columns")
    _down(canvas, left + 90, 166, 146)
    _down(canvas, left + 310, 286)
    _outputs(canvas, left)


def _outputs(canvas, left):
    _memory(canvas, left, 312, 180, "codes, scales")
    _memory(canvas, left + 220, 312, 180, "codes^T, scales^T")


def _one_kernel(canvas, left):
    canvas.text(left, 54, "one kernel: x is read once, y stays in registers", 14,
                bold=True)
    _memory(canvas, left, 72, 400, "x")
    _down(canvas, left + 200, 106)
    canvas.rect(left, 132, 400, 154, KERNEL, radius=8)
    canvas.text(left + 200, 152, "16 rows of 16 bytes in the registers of a thread", 13, "middle")
    for x, lines in ((left + 14, ("amax of blocks", "scale bytes", "codes")),
                     (left + 234, ("Hadamard, bf16", "amax, scale bytes", "codes"))):
        canvas.rect(x, 186, 152, 84, INSIDE)
        _down(canvas, x + 76, 160)
        for i, line in enumerate(lines):
            canvas.text(x + 76, 208 + 24 * i, line, 13, "middle")
    for x in (left + 90, left + 310):
        _down(canvas, x, 270, 42)
    _outputs(canvas, left)


def draw():
    canvas = Canvas(920, 392, "Two quantizations of one tensor, unfused and fused")
    _kernel_each(canvas, 30)
    _one_kernel(canvas, 490)
    for x, fill, text in ((30, MEMORY, "in memory"), (150, KERNEL, "a kernel"),
                          (270, INSIDE, "in registers")):
        canvas.rect(x, 364, 16, 16, fill)
        canvas.text(x + 24, 377, text, 12, fill=FAINT)
    canvas.text(30, 26, "rows of x for the forward pass, transformed columns for the gradient "
                "of a weight", 13, fill=FAINT)
    return canvas.render()
