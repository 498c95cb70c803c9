# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares absent, given and materialized global scales of 1.0.

Usage: run_global_scale.py MODULE EXPLICIT_MODULE FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from execute import check, run

module, explicit, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
random = np.random.default_rng(11)


def values():
    """Normal rows of many magnitudes, and the values that recipes have rules for."""
    x = random.standard_normal((64, 64), dtype=np.float32)
    x *= np.exp2(random.integers(-20, 12, (64, 1))).astype(np.float32)
    special = [0.0, -0.0, 1e-40, 6.0, 448.0, 2688.0, 1e30, np.inf, -np.inf, np.nan]
    for row, value in enumerate(special):
        x[row, :16] = 0
        x[row, 3] = value
    return x


x, one = values(), np.float32(1).reshape(())
for recipe in ("torchao", "mslk", "te", "modelopt"):
    absent = run(folder, module, f"absent_{recipe}", [x], 3)
    given = run(folder, module, f"given_{recipe}", [x, one], 3)
    materialized = run(folder, explicit, f"absent_{recipe}", [x], 3)
    for name, a, g, m in zip(("data", "scale", "values"), absent, given, materialized):
        check(f"{recipe} {name}, given", g, a)
        check(f"{recipe} {name}, materialized", m, a)

data = random.integers(0, 256, (64, 32), dtype=np.uint8)
scale = random.integers(0, 0x7F, (64, 4), dtype=np.uint8)
[absent] = run(folder, module, "absent_mm", [data, scale], 1)
check("scaled_mm, given", run(folder, module, "given_mm", [data, scale, one], 1)[0],
      absent)
check("scaled_mm, materialized",
      run(folder, explicit, "absent_mm", [data, scale], 1)[0], absent)
