# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages of the two pipelines and what a scale tensor looks like in each."""

from canvas import FAINT, PARTS, Canvas

COMMON = [
    ("verify-layout", "refuses what other dialects accept", "tensor<200x5xf8E4M3FN, #swizzled>"),
    ("canonicalize", "folds global scales of 1.0 and swizzles", ""),
    ("form-kernels", "groups ops into blockscale.kernel ops", ""),
    ("materialize-storage", "packed and tiled shapes, out-parameters",
     "tensor<2x2x32x4x4xf8E4M3FN>"),
    ("bufferize", "one-shot-bufferize, in place", "memref<2x2x32x4x4xf8E4M3FN>"),
]
CPU = [("lower-kernels", "vector loops over rows"), ("llvm", "LLVM dialect"),
       (None, "JIT or object file")]
SM100 = [("lower-kernels", "gpu.func with nvvm ops"),
         (None, "PTX by LLVM's NVPTX backend"), (None, "cubin by ptxas")]

BOX, STEP, LEFT, WIDE = 40, 60, 24, 330


def _box(canvas, x, y, name, what, fill, width=WIDE):
    canvas.rect(x, y, width, BOX, fill, radius=5)
    if name:
        canvas.text(x + 12, y + 17, name, 13, mono=True, bold=True)
        canvas.text(x + 12, y + 33, what, 12)
    else:
        canvas.text(x + 12, y + 25, what, 13)


def draw():
    canvas = Canvas(740, 568, "Pipelines")
    canvas.text(LEFT, 28, "stages of both pipelines", 13, bold=True)
    canvas.text(LEFT + WIDE + 30, 28, "the type of a swizzled scale tensor", 13, bold=True)
    for i, (name, what, kind) in enumerate(COMMON):
        y = 44 + i * STEP
        _box(canvas, LEFT, y, name, what, PARTS[0])
        canvas.text(LEFT + WIDE + 30, y + 25, kind or "the same", 12, mono=True,
                    fill=FAINT if not kind else "#1f2430")
        if i + 1 < len(COMMON):
            canvas.line(LEFT + WIDE / 2, y + BOX, LEFT + WIDE / 2, y + STEP, arrow=True)
    end = 44 + (len(COMMON) - 1) * STEP + BOX
    for title, x, stages, fill in (("blockscale-to-cpu", LEFT, CPU, PARTS[2]),
                                   ("blockscale-to-sm100", LEFT + WIDE + 30, SM100, PARTS[1])):
        top = end + 66
        canvas.line(LEFT + WIDE / 2, end, x + WIDE / 2, top, arrow=True)
        # Beside the arrow's head, on the side that the arrow does not come from.
        canvas.text(x + WIDE / 2 + 14, top - 8, title, 13, mono=True, bold=True)
        for i, (name, what) in enumerate(stages):
            y = top + i * STEP
            _box(canvas, x, y, name, what, fill if name else "#ffffff")
            if i + 1 < len(stages):
                canvas.line(x + WIDE / 2, y + BOX, x + WIDE / 2, y + STEP, arrow=True)
    return canvas.render()
