#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures of the documentation: writes docs/images/*.svg.

The committed files are this script's output; test/Python/test_docs_images.py
compares them.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import accuracy_plot  # noqa: E402
import bit_formats  # noqa: E402
import checkpoint_layouts  # noqa: E402
import fusion  # noqa: E402
import groups  # noqa: E402
import hopper_products  # noqa: E402
import linear_layer  # noqa: E402
import pipeline  # noqa: E402
import rounding  # noqa: E402
import scaled_tensor  # noqa: E402
import swizzle  # noqa: E402

PICTURES = {
    "accuracy.svg": accuracy_plot.draw_page,
    "formats.svg": bit_formats.draw,
    "rounding.svg": rounding.draw,
    "tensor.svg": scaled_tensor.draw,
    "tiles.svg": swizzle.draw_tiles,
    "swizzle.svg": swizzle.draw_tile,
    "checkpoint_codes.svg": checkpoint_layouts.draw_codes,
    "checkpoint_scales.svg": checkpoint_layouts.draw_scales,
    "fusion.svg": fusion.draw,
    "groups.svg": groups.draw,
    "hopper_products.svg": hopper_products.draw,
    "linear.svg": linear_layer.draw,
    "pipeline.svg": pipeline.draw,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw(), encoding="utf-8")
