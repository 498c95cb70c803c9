# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A product of two block-scaled matrices by Triton's tl.dot_scaled, a peer of both_scaled.py."""

import triton
import triton.language as tl

# Rows, columns and elements of K of a tile, and elements of a block.
ROWS, COLS, DEPTH = 128, 128, 128
BLOCK = 32


@triton.jit
def _multiply(a, sa, b, sb, y, N, K, FORMAT: tl.constexpr, PACK: tl.constexpr,
              ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)
    at, block = tl.arange(0, DEPTH // PACK), tl.arange(0, DEPTH // BLOCK)
    sums = tl.zeros((ROWS, COLS), dtype=tl.float32)
    for k in range(0, K, DEPTH):
        left = tl.load(a + rows[:, None] * (K // PACK) + (k // PACK + at)[None, :])
        right = tl.load(b + cols[None, :] * (K // PACK) + (k // PACK + at)[:, None])
        left_scale = tl.load(sa + rows[:, None] * (K // BLOCK) + (k // BLOCK + block)[None, :])
        right_scale = tl.load(sb + cols[:, None] * (K // BLOCK) + (k // BLOCK + block)[None, :])
        sums = tl.dot_scaled(left, left_scale, FORMAT, right, right_scale, FORMAT, sums)
    tl.store(y + rows[:, None] * N + cols[None, :], sums.to(tl.bfloat16))


def multiply(left, right, y, depth, is_packed):
    """Stores the product of `left` and `right`, codes and scale bytes of rows along K, to `y`.
    Codes are E2M1, two in a byte, if `is_packed`, else E4M3. Sizes are multiples of a tile."""
    rows, cols = y.shape
    _multiply[rows // ROWS, cols // COLS](
        *left, *right, y, cols, depth, "e2m1" if is_packed else "e4m3", 2 if is_packed else 1,
        ROWS, COLS, DEPTH, BLOCK, num_warps=8, num_stages=3)
