# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs each function of storage.mlir and compares with numpy on logical arrays.

Usage: run_storage.py MODULE FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from execute import check, run as run_entry
from blockscale_reference.layout import swizzle
from blockscale_reference.packing import pack

module, folder = sys.argv[1], Path(sys.argv[2])
random = np.random.default_rng(7)


def run(entry, inputs, results):
    return run_entry(folder, module, entry, inputs, results)


def scales(*shape):
    return random.integers(1, 127, shape, dtype=np.uint8)


def codes(*shape):
    return random.integers(0, 16, shape, dtype=np.uint8)


def slices():
    s = scales(2, 300, 9)
    check("swizzled_slice", run("swizzled_slice", [swizzle(s)], 1)[0],
          swizzle(s[1, 128:, 4:]))
    for rows in (256, 300):
        s, t = scales(rows, 9), scales(128, 4)
        want = s.copy()
        want[128:256, 4:8] = t
        check(f"swizzled_insert of {rows}",
              run("swizzled_insert", [swizzle(s), swizzle(t)], 1)[0], swizzle(want))
    for rows in (1, 2, 7):
        q = codes(rows, 9)
        check(f"packed_slice of {rows}", run("packed_slice", [pack(q)], 1)[0],
              pack(q[1:, 4:]))


def control_flow():
    q = codes(6, 8)
    want = q.copy()
    want[1::2] = q[0]
    check("odd_rows", run("odd_rows", [pack(q)], 1)[0], pack(want))


def constants():
    packed, swizzled, resource = run("constants", [], 3)
    check("packed", packed, pack(np.arange(1, 16, dtype=np.uint8).reshape(3, 5)))
    check("swizzled", swizzled,
          swizzle(np.arange(1, 31, dtype=np.uint8).reshape(2, 3, 5)))
    up = np.arange(1, 16, dtype=np.uint8)
    check("resource", resource,
          pack(np.concatenate([[0], up, up[:6:-1]]).astype(np.uint8).reshape(4, 6)))


def tiles():
    for rows in (0, 1, 128, 300):
        x = random.standard_normal((rows, 96), dtype=np.float32)
        for got, want in zip(run("tiled", [x], 2), run("whole", [x], 2)):
            check(f"tiled of {rows}", got, want)


slices()
control_flow()
constants()
tiles()
