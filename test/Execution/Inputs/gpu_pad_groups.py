# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of pad_groups in the emulator: types, units, and rows of every width of
accesses, of a static and a dynamic length.

Usage: gpu_pad_groups.py FOLDER [--pack DIR --target CHIP]
"""

import numpy as np

from gpu_calls import Calls

BITS = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32}
ROWS, GROUPS = 70, 4

random = np.random.default_rng(49)
calls = Calls()


def add(element, cols, unit, ends, rows=ROWS, is_dynamic=False):
    bits = np.uint32 if element == "f32" else np.uint16
    x = random.integers(0, np.iinfo(bits).max, (rows, cols), dtype=bits).view(BITS[element])
    sizes = [size if not is_dynamic else "?" for size in (rows, cols)]
    padded = (rows + GROUPS * (unit - 1)) // unit * unit
    result = [size if not is_dynamic else "?" for size in (padded, cols)]
    types = [f"tensor<{a}x{b}x{element}>" for a, b in (sizes, result)]
    of_ends = f"tensor<{GROUPS}xi32>"
    calls.add(f"pad_groups {{0}} offsets({{1}} : {of_ends}) unit {unit} : {types[0]} -> {types[1]}",
              [types[0], of_ends], [types[1], of_ends], x, np.array(ends, np.int32))


# Accesses of 16, 8, 4 and 2 bytes, and rows that are wider than a warp.
for cols in (8, 4, 2, 3, 600):
    add("bf16", cols, 16, (1, 1, 18, 69))
for element, cols in (("f32", 4), ("f32", 5), ("f16", 24)):
    add(element, cols, 32, (0, 33, 65, 70))
# Rows of a warp: 1, 2, 4 and 8; groups of whole units, none, and all in one.
for unit, ends in ((1, (3, 3, 9, 70)), (6, (6, 12, 30, 66)), (12, (0, 0, 0, 0)),
                   (128, (0, 0, 70, 70))):
    add("bf16", 40, unit, ends)
    add("bf16", 40, unit, ends, is_dynamic=True)
add("bf16", 40, 16, (0, 0, 0, 0), rows=0)
add("bf16", 0, 16, (1, 2, 3, 4))
calls.check()
