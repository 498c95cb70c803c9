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

import accuracy_plot
import bit_formats
import checkpoint_layouts
import fusion
import groups
import hopper_products
import linear_layer
import loss_curves
import pipeline
import rounding
import scaled_tensor
import swizzle

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
    "loss_curves.svg": loss_curves.draw,
    "pipeline.svg": pipeline.draw,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (HERE / name).write_text(draw(), encoding="utf-8")
