# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stochastic rounding is for: an element becomes one of its two neighbours, the
upper one as often as it is near to it. Seeds are fixed, so the counts are too.

Usage: stochastic.py FOLDER
"""

import sys

import numpy as np

from expect import Expectations
from module import Module
from reference import unpack

MAGNITUDES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
ROWS, COLS = 64, 4096
TYPES = f"tensor<{ROWS}x{COLS}xf32> -> tensor<{ROWS}x{COLS}xf4E2M1FN>"
MODULE = f"""
func.func @nvfp4(%x: tensor<{ROWS}x{COLS}xf32>, %r: tensor<2xi64>)
    -> (tensor<{ROWS}x{COLS}xf4E2M1FN>, tensor<{ROWS}x{COLS // 16}xf8E4M3FN>) {{
  %q, %s = blockscale.quantize %x block [1, 16] rng(%r : tensor<2xi64>)
      : {TYPES}, tensor<{ROWS}x{COLS // 16}xf8E4M3FN>
  return %q, %s : tensor<{ROWS}x{COLS}xf4E2M1FN>, tensor<{ROWS}x{COLS // 16}xf8E4M3FN>
}}
func.func @mxfp4(%x: tensor<{ROWS}x{COLS}xf32>, %r: tensor<2xi64>)
    -> (tensor<{ROWS}x{COLS}xf4E2M1FN>, tensor<{ROWS}x{COLS // 32}xf8E8M0FNU>) {{
  %q, %s = blockscale.quantize %x block [1, 32] recipe floor rng(%r : tensor<2xi64>)
      : {TYPES}, tensor<{ROWS}x{COLS // 32}xf8E8M0FNU>
  return %q, %s : tensor<{ROWS}x{COLS}xf4E2M1FN>, tensor<{ROWS}x{COLS // 32}xf8E8M0FNU>
}}
"""

expect = Expectations()
module = Module(MODULE, sys.argv[1])

# Each row has one value and, in each block, a 6, which makes the scale 1.
index = np.linspace(0, 7, ROWS, endpoint=False)
lower = index.astype(int)
step = MAGNITUDES[lower + 1] - MAGNITUDES[lower]
chance = np.floor((index - lower) * 256) / 256
signs = np.where(np.arange(ROWS) % 2, -1.0, 1.0)
x = np.repeat((signs * (MAGNITUDES[lower] + chance * step))[:, None], COLS, axis=1)
x[:, ::16] = 6
x = x.astype(np.float32)
drawn = np.arange(COLS) % 16 != 0
count = drawn.sum()


def check(name, rng):
    data, scale = module.call(name, x, np.array(rng))
    codes = unpack(data)[:, drawn]
    expect.record(f"@{name}: scales are 1", None if (scale == scale[0, 0]).all() else scale)
    for row, p in enumerate(chance):
        what = f"@{name}: {x[row, 1]} under {rng}"
        sign = 8 if signs[row] < 0 else 0
        found = set(np.unique(codes[row]).tolist())
        allowed = {lower[row] | sign} | ({(lower[row] + 1) | sign} if p else set())
        expect.record(what, None if found <= allowed else f"expected {allowed}, but got {found}")
        upper = (codes[row] == ((lower[row] + 1) | sign)).sum()
        limit = 4.5 * np.sqrt(count * p * (1 - p))
        expect.record(what, None if abs(upper - p * count) <= limit else
                      f"expected the upper neighbour about {p * count} times, but got {upper}")
    return data


for name in ("nvfp4", "mxfp4"):
    first = check(name, (1, 0))
    again = check(name, (1, 0))
    expect.equal(f"@{name}: the same bits again", [again], [first])
    for rng in ((2, 0), (1, 1), (1 << 40, 0), (1, 1 << 40)):
        other = (check(name, rng) != first).mean()
        expect.record(f"@{name}: other bits under {rng}", None if other > 0.3 else other)
    # The error of the mean goes to zero with the number of draws.
    values = np.zeros_like(x[:, drawn], np.float64)
    for offset in range(16):
        codes = unpack(module.call(name, x, np.array((7, offset)))[0])[:, drawn]
        values += MAGNITUDES[codes & 7] * np.where(codes & 8, -1, 1)
    error = np.abs((values / 16).mean(axis=1) - x[:, 1])
    limit = 4.5 * step * np.sqrt(chance * (1 - chance) / (16 * count))
    expect.record(f"@{name}: the mean", None if (error <= limit + 1e-9).all() else error.max())
expect.finish()
