# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which E2M1 code each magnitude rounds to."""

import itertools

from canvas import FAINT, INK, PARTS, Canvas

VALUES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
UNIT, LEFT, AXIS, END = 126, 40, 118, 6.6


def ties():
    """(boundary, code that owns it): half way between codes, to the even one."""
    for code in range(7):
        middle = (VALUES[code] + VALUES[code + 1]) / 2
        yield middle, code if code % 2 == 0 else code + 1


def draw():
    canvas = Canvas(920, 184, "Rounding to E2M1")
    canvas.text(LEFT, 30, "A scaled magnitude rounds to the nearest code; a tie (dot) goes "
                "to the even code, whose colour the dot has.", 13)
    edges = [0, *(boundary for boundary, _ in ties()), END]
    for code, (low, high) in enumerate(itertools.pairwise(edges)):
        x, width = LEFT + low * UNIT, (high - low) * UNIT
        canvas.rect(x, AXIS - 15, width, 30, PARTS[code % 4], stroke="#ffffff", line=0)
        label = LEFT + VALUES[code] * UNIT
        canvas.line(label, AXIS - 24, label, AXIS + 15, INK, 2)
        canvas.text(label, AXIS - 48, f"code {code}" if code in (0, 7) else str(code), 13,
                    "middle", bold=True)
        canvas.text(label, AXIS - 31, f"{VALUES[code]:g}", 13, "middle", mono=True)
    canvas.line(LEFT, AXIS, LEFT + END * UNIT, AXIS, FAINT, 1, arrow=True)
    for boundary, owner in ties():
        x = LEFT + boundary * UNIT
        canvas.line(x, AXIS - 15, x, AXIS + 22, FAINT)
        canvas.circle(x, AXIS, 5, PARTS[owner % 4])
        canvas.text(x, AXIS + 37, f"{boundary:g}", 12, "middle", mono=True, fill=FAINT)
    canvas.text(LEFT + END * UNIT, AXIS + 54, "above 5, infinity too: 6", 12, "end",
                fill=FAINT)
    return canvas.render()
