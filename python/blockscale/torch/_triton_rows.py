# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, rotary embedding and attention on CUDA devices, in Triton: a row's bits depend on the
row alone. Only where triton is installed.

Nothing that an order of sums follows from depends on sizes of a call: blocks of a row of a softmax
and chunks of keys have one size and are combined in ascending order, a tile of queries always has
as many rows, and products and sums are never fused into one rounding. _plain_rows.py has the same
forms in ops of PyTorch, whose exponentials and products have other roundings.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from blockscale.torch._plain_rows import (
    CHUNK,
    SEGMENT,
    SUM_BLOCK,
    WEIGHT_UNIT,
    make_result,
)

#: Rows of queries that a program attends for, and values that it rotates.
_ROWS, _ROTATED = 16, 4096
#: Programs for each multiprocessor: up to so many, chunks of keys or segments are apart.
_FEW = 2
#: Chunks of keys of a program that attends to all of them.
_ALL = 1 << 20
_WARPS = 4
_OPTIONS: dict[str, Any] = {"num_warps": _WARPS, "enable_fp_fusion": False}


# Softmax.


@triton.jit
def _add_halves(x, SIZE: tl.constexpr, STEPS: tl.constexpr):
    """The sum of 2 ** STEPS numbers: halves are added until one is left. A sum of all at once would
    have an order that follows from how threads hold them."""
    for step in tl.static_range(1, STEPS + 1):
        x = tl.sum(tl.reshape(x, (2, SIZE >> step)), 0)
    return tl.max(x, 0)


@triton.jit
def _softmax_kernel(x, y, size, BLOCK: tl.constexpr, STEPS: tl.constexpr, IS_LOG: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * size
    places = tl.arange(0, BLOCK)
    most = tl.full((BLOCK,), float("-inf"), tl.float32)
    for first in range(0, size, BLOCK):
        each = tl.load(x + row + first + places, first + places < size, float("-inf"))
        # A NaN makes all of the row NaN, as infinity does.
        each = each.to(tl.float32)
        most = tl.maximum(most, tl.where(each == each, each, float("inf")))
    largest = tl.max(most, 0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, size, BLOCK):
        inside = first + places < size
        each = tl.load(x + row + first + places, inside, float("-inf")).to(tl.float32)
        sums += tl.where(inside, tl.exp(each - largest), 0.0)
    total = _add_halves(sums, BLOCK, STEPS)
    for first in range(0, size, BLOCK):
        inside = first + places < size
        distance = tl.load(x + row + first + places, inside, 0.0).to(tl.float32) - largest
        made = distance - tl.log(total) if IS_LOG else tl.exp(distance) / total
        tl.store(y + row + first + places, made.to(y.dtype.element_ty), inside)


def softmax(x: Tensor, is_log: bool) -> Tensor:
    """Along the rows of a row-major matrix."""
    y = torch.empty_like(x)
    if x.numel():
        with torch.cuda.device(x.device):
            _softmax_kernel[x.shape[0],](x, y, x.shape[1], BLOCK=SUM_BLOCK,
                                         STEPS=SUM_BLOCK.bit_length() - 1, IS_LOG=is_log,
                                         **_OPTIONS)
    return y


# Rotary embedding.


@triton.jit
def _rotary_kernel(x, cos, sin, y, count, size1, size2, x0, x1, x2, x3, c0, c1, c2, c3,
                   s0, s1, s2, s3, WIDTH: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    row0, row1, row2 = rows // size2 // size1, rows // size2 % size1, rows % size2
    inside = (rows < count)[:, None] & (column < WIDTH)[None, :]
    # The value beside the one in this column, of the other half.
    is_first = column < WIDTH // 2
    other = tl.where(is_first, column + WIDTH // 2, column - WIDTH // 2)
    at = x + (row0 * x0 + row1 * x1 + row2 * x2)[:, None]
    own = tl.load(at + (column * x3)[None, :], inside, 0.0).to(tl.float32)
    beside = tl.load(at + (other * x3)[None, :], inside, 0.0).to(tl.float32)
    beside = tl.where(is_first[None, :], -beside, beside)
    cosine = tl.load(cos + (row0 * c0 + row1 * c1 + row2 * c2)[:, None] + (column * c3)[None, :],
                     inside, 0.0).to(tl.float32)
    sine = tl.load(sin + (row0 * s0 + row1 * s1 + row2 * s2)[:, None] + (column * s3)[None, :],
                   inside, 0.0).to(tl.float32)
    made = own * cosine + beside * sine
    tl.store(y + rows[:, None] * WIDTH + column[None, :], made.to(y.dtype.element_ty), inside)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Tensors of one shape, of rank 4."""
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    *sizes, width = x.shape
    count, block = math.prod(sizes), triton.next_power_of_2(width)
    if y.numel():
        rows = max(1, _ROTATED // block)
        with torch.cuda.device(x.device):
            _rotary_kernel[triton.cdiv(count, rows),](
                x, cos, sin, y, count, sizes[1], sizes[2], *x.stride(), *cos.stride(),
                *sin.stride(), WIDTH=width, ROWS=rows, BLOCK=block, **_OPTIONS)
    return y


# Attention.


@triton.jit
def _merge(most, sums, values, other_most, other_sums, other_values):
    """What is known of the keys of both. A row that sees none of the other's is left as it is."""
    largest = tl.maximum(most, other_most)
    one, other = tl.exp(most - largest), tl.exp(other_most - largest)
    is_empty = other_most == float("-inf")
    sums = tl.where(is_empty, sums, sums * one + other_sums * other)
    values = tl.where(is_empty[:, None], values,
                      values * one[:, None] + other_values * other[:, None])
    return tl.where(is_empty, most, largest), sums, values


@triton.jit
def _weigh_special(weights, seen, v, first, count, stride, column, WIDTH: tl.constexpr,
                   CHUNK: tl.constexpr):
    """The sums of values by weights where some values are infinite or NaN, which change nothing for
    rows that do not see their keys: finite ones are summed as ever, and the others are added."""
    places = tl.arange(0, CHUNK)
    inside = (first + places < count)[:, None] & (column < WIDTH)[None, :]
    some_v = tl.load(v + (first + places).to(tl.int64)[:, None] * stride + column[None, :], inside,
                     0.0)
    made = tl.dot(weights, tl.where(some_v - some_v == 0.0, some_v, 0.0).to(v.dtype.element_ty),
                  input_precision="ieee")
    for place in range(CHUNK):
        row = tl.load(v + tl.cast(first + place, tl.int64) * stride + column,
                      (first + place < count) & (column < WIDTH), 0.0).to(tl.float32)
        is_here = (places == place)[None, :]
        weight = tl.sum(tl.where(is_here, weights.to(tl.float32), 0.0), 1)
        is_seen = tl.max((seen & is_here).to(tl.int32), 1) > 0
        made += tl.where(is_seen[:, None] & (row - row != 0.0)[None, :],
                         weight[:, None] * row[None, :], 0.0)
    return made


@triton.jit
def _is_left(found, AXIS: tl.constexpr):
    """Whether a mask of bytes leaves keys; `found` has AXIS dimensions.

    Triton takes the keys of a product in an order that follows from the narrowest elements loaded
    for its operands, as far as elementwise operations lead back to them. It does not look beyond a
    reduction, which this one of a single element is. So products have one order with and without a
    mask."""
    return tl.max(tl.expand_dims(found.to(tl.int32), AXIS), AXIS) != 0


@triton.jit
def _load_keys(k, v, mask, bound, chunk, k2, v2, m3, row_mask, WIDTH: tl.constexpr,
               OUT_WIDTH: tl.constexpr, BLOCK: tl.constexpr, OUT_BLOCK: tl.constexpr,
               ROWS: tl.constexpr, CHUNK: tl.constexpr, MASK: tl.constexpr,
               SHARES_MASK: tl.constexpr, keys, LOADS_ALL: tl.constexpr):
    """Keys and values of a chunk, which rows see them, and the bias of their scores.

    LOADS_ALL: those that no row sees are loaded, too, so that no load waits for the mask."""
    column, out_column = tl.arange(0, BLOCK), tl.arange(0, OUT_BLOCK)
    key = chunk * CHUNK + tl.arange(0, CHUNK)
    seen = key[None, :] < bound[:, None]
    bias = tl.zeros((ROWS, CHUNK), tl.float32)
    # Of keys that no row sees nothing is loaded.
    in_keys = key < tl.max(bound, 0)
    at = key.to(tl.int64)
    if MASK:
        if SHARES_MASK:
            found = tl.load(mask + at * m3, in_keys, 0)
            is_left = _is_left(found, 1) if MASK == 1 else found != float("-inf")
            in_keys = in_keys & is_left
            seen = seen & is_left[None, :]
            if MASK == 2:
                bias += found.to(tl.float32)[None, :]
        else:
            found = tl.load(mask + row_mask[:, None] + at[None, :] * m3, seen, 0)
            seen = seen & (_is_left(found, 2) if MASK == 1 else found != float("-inf"))
            in_keys = tl.max(seen.to(tl.int32), 0) > 0
            if MASK == 2:
                bias = found.to(tl.float32)
    if LOADS_ALL:
        in_keys = key < keys
    some_k = tl.load(k + at[:, None] * k2 + column[None, :],
                     in_keys[:, None] & (column < WIDTH)[None, :], 0.0)
    some_v = tl.load(v + at[:, None] * v2 + out_column[None, :],
                     in_keys[:, None] & (out_column < OUT_WIDTH)[None, :], 0.0)
    return some_k, some_v, seen, bias


@triton.jit
def _attend_chunk(some_q, some_k, some_v, seen, bias, v, fresh_k, fresh_v, fresh_place, chunk, keys,
                  v2, scale, OUT_WIDTH: tl.constexpr, OUT_BLOCK: tl.constexpr, CHUNK: tl.constexpr,
                  MASK: tl.constexpr, HAS_NEW: tl.constexpr, WEIGHT_UNIT: tl.constexpr,
                  IS_SPECIAL: tl.constexpr):
    """What is known of a chunk of keys: the largest score, and the sums of weights and values."""
    if HAS_NEW:
        is_new = (chunk * CHUNK + tl.arange(0, CHUNK) == fresh_place)[:, None]
        some_k = tl.where(is_new, fresh_k[None, :], some_k)
        some_v = tl.where(is_new, fresh_v[None, :], some_v)
    scores = tl.dot(some_q, tl.trans(some_k), input_precision="ieee") * scale
    if MASK == 2:
        scores += bias
    scores = tl.where(seen, scores, float("-inf"))
    # A score that is NaN makes the row NaN, as PyTorch's does.
    largest = tl.max(tl.where(scores == scores, scores, float("inf")), 1)
    weights = tl.exp(scores - tl.where(largest == float("-inf"), 0.0, largest)[:, None])
    weights = weights.to(v.dtype.element_ty)
    if IS_SPECIAL:
        made = _weigh_special(weights, seen, v, chunk * CHUNK, keys, v2, tl.arange(0, OUT_BLOCK),
                              OUT_WIDTH, CHUNK)
    else:
        made = tl.dot(weights, some_v, input_precision="ieee")
    # A sum of whole numbers has no order, which would follow from how threads hold them.
    whole = tl.sum((weights.to(tl.float32) * WEIGHT_UNIT).to(tl.int32), 1)
    return largest, whole.to(tl.float32) / WEIGHT_UNIT, made


@triton.jit
def _attend_keys(
        some_q, k, v, mask, bound, fresh_k, fresh_v, fresh_place, first, last, keys, k2, v2,
        m3, scale, row_mask, WIDTH: tl.constexpr, OUT_WIDTH: tl.constexpr, BLOCK: tl.constexpr,
        OUT_BLOCK: tl.constexpr, ROWS: tl.constexpr, CHUNK: tl.constexpr, SEGMENT: tl.constexpr,
        STAGES: tl.constexpr, MASK: tl.constexpr, SHARES_MASK: tl.constexpr, HAS_NEW: tl.constexpr,
        WEIGHT_UNIT: tl.constexpr, IS_SPECIAL: tl.constexpr):
    """What is known of the chunks of keys from `first` to `last`."""
    nothing = tl.full((ROWS,), float("-inf"), tl.float32)
    no_sums = tl.zeros((ROWS,), tl.float32)
    no_values = tl.zeros((ROWS, OUT_BLOCK), tl.float32)
    most, sums, values = nothing, no_sums, no_values
    for segment in range(first // SEGMENT, tl.cdiv(last, SEGMENT)):
        of_most, of_sums, of_values = nothing, no_sums, no_values
        for chunk in tl.range(tl.maximum(segment * SEGMENT, first),
                              tl.minimum(segment * SEGMENT + SEGMENT, last), num_stages=STAGES):
            some_k, some_v, seen, bias = _load_keys(
                k, v, mask, bound, chunk, k2, v2, m3, row_mask, WIDTH, OUT_WIDTH, BLOCK, OUT_BLOCK,
                ROWS, CHUNK, MASK, SHARES_MASK, keys, False)
            largest, weight, made = _attend_chunk(
                some_q, some_k, some_v, seen, bias, v, fresh_k, fresh_v, fresh_place, chunk, keys,
                v2, scale, OUT_WIDTH, OUT_BLOCK, CHUNK, MASK, HAS_NEW, WEIGHT_UNIT, IS_SPECIAL)
            of_most, of_sums, of_values = _merge(of_most, of_sums, of_values, largest, weight,
                                                 made)
        most, sums, values = _merge(most, sums, values, of_most, of_sums, of_values)
    return most, sums, values


@triton.jit
def _load_four(at_most, at_sums, at_values, left, in_rows, ROWS: tl.constexpr,
               BLOCK: tl.constexpr):
    """What four programs one after the other have left of their keys; there are `left` of them."""
    found = ()
    for i in tl.static_range(4):
        inside = in_rows & (i < left)
        found += ((  # type: ignore[assignment]
            tl.load(at_most + i * ROWS, inside, float("-inf"), cache_modifier=".cg"),
            tl.load(at_sums + i * ROWS, inside, 0.0, cache_modifier=".cg"),
            tl.load(at_values + i * ROWS * BLOCK, inside[:, None], 0.0, cache_modifier=".cg")),)
    return found


@triton.jit
def _merge_four(known, parts):
    """What is known of more keys with those of four parts, one after the other."""
    most, sums, values = known
    for i in tl.static_range(4):
        most, sums, values = _merge(most, sums, values, parts[i][0], parts[i][1], parts[i][2])
    return most, sums, values


@triton.jit
def _finish(out, most, sums, values, at, inside, column, WIDTH: tl.constexpr):
    """Divides by the sums and stores. Where nothing is seen there are zeros."""
    made = tl.where((most == float("-inf"))[:, None], 0.0, values / sums[:, None])
    tl.store(out + at[:, None] + column[None, :], made.to(out.dtype.element_ty),
             inside[:, None] & (column < WIDTH)[None, :])


@triton.jit
def _prefetch_chunk(x, chunk, keys, stride, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
                    CHUNK: tl.constexpr):
    """Asks the L2 cache for the lines of a chunk of keys or values. None of them is used yet, so
    that they may still be written."""
    key = tl.minimum(chunk * CHUNK + tl.arange(0, CHUNK), keys - 1).to(tl.int64)
    line = tl.minimum(tl.arange(0, BLOCK // 64) * 64, WIDTH - 1)
    tl.inline_asm_elementwise("prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l",
                              [x + key[:, None] * stride + line[None, :]], dtype=tl.int32,
                              is_pure=False, pack=1)


@triton.jit
def _attention_kernel(
        q, k, v, mask, lengths, positions, new_k, new_v, cos, sin, at_new, out, most_of, sums_of,
        values_of, tickets, q0, q1, q2, k0, k1, k2, v0, v1, v2, m0, m1, m2, m3, p0, p1,
        n0, n1, w0, w1, t0, t1,
        groups, shared, queries, keys, tiles, splits, scale,
        WIDTH: tl.constexpr, OUT_WIDTH: tl.constexpr, BLOCK: tl.constexpr,
        OUT_BLOCK: tl.constexpr, ROWS: tl.constexpr, CHUNK: tl.constexpr,
        SEGMENT: tl.constexpr, COUNT: tl.constexpr, FEW: tl.constexpr, STAGES: tl.constexpr,
        MASK: tl.constexpr, SHARES_MASK: tl.constexpr, HAS_LENGTHS: tl.constexpr,
        HAS_POSITIONS: tl.constexpr,
        IS_CAUSAL: tl.constexpr, HAS_NEW: tl.constexpr, WEIGHT_UNIT: tl.constexpr,
        OVERLAPS: tl.constexpr):
    """A program has 16 rows, which are queries of heads that share keys, and COUNT chunks of keys.
    If others have the rest, the last one to end merges what all have left of its FEW rows.

    HAS_NEW: queries are rotated, and so is a new key; it and its value are stored where `at_new`
    says, by the program that has this place."""
    split = tl.program_id(0) % splits
    tile = tl.program_id(0) // splits
    batch = (tile // tiles // groups).to(tl.int64)
    group = (tile // tiles % groups).to(tl.int64)
    if OVERLAPS:
        # What comes behind may begin, and waits for the end of this kernel in turn.
        tl.extra.cuda.gdc_launch_dependents()
        if COUNT == 1 and BLOCK >= 64 and OUT_BLOCK >= 64:
            _prefetch_chunk(k + batch * k0 + group * k1, split, keys, k2, WIDTH, BLOCK, CHUNK)
            _prefetch_chunk(v + batch * v0 + group * v1, split, keys, v2, OUT_WIDTH, OUT_BLOCK,
                            CHUNK)
        tl.extra.cuda.gdc_wait()
    rows = tl.arange(0, ROWS)
    number = tile % tiles * ROWS + rows
    query, head = number // shared, group * shared + number % shared
    in_rows = number < queries * shared
    column = tl.arange(0, BLOCK)
    out_column = tl.arange(0, OUT_BLOCK)
    # How many keys each row looks at, but for what the mask leaves out.
    bound = tl.where(in_rows, keys, 0)
    if HAS_LENGTHS:
        bound = tl.minimum(bound, tl.load(lengths + batch).to(tl.int32))
    if IS_CAUSAL:
        bound = tl.minimum(bound, query + 1)
    if HAS_POSITIONS:
        bound = tl.minimum(bound, tl.load(positions + batch * p0 + query * p1, in_rows, 0
                                          ).to(tl.int32) + 1)
    first = split * COUNT
    most_keys = tl.max(bound, 0)
    last = tl.minimum(first + COUNT, tl.cdiv(most_keys, CHUNK))
    at_q = q + batch * q0 + head * q1 + query.to(tl.int64) * q2
    some_q = tl.load(at_q[:, None] + column[None, :],
                     in_rows[:, None] & (column < WIDTH)[None, :], 0.0)
    k += batch * k0 + group * k1
    v += batch * v0 + group * v1
    mask += batch * m0
    row_mask = head * m1 + query.to(tl.int64) * m2
    # All is loaded before something waits for what was loaded. A vector whose layout changes waits
    # at once, so that the tables are loaded as matrices for the queries, and the new value is last.
    if HAS_NEW:
        fresh_place = tl.load(at_new).to(tl.int64)
        is_first = column < WIDTH // 2
        other = tl.where(is_first, column + WIDTH // 2, column - WIDTH // 2)
        in_width = column < WIDTH
        in_q = in_rows[:, None] & in_width[None, :]
        same_row = tl.zeros((ROWS, 1), tl.int32) + column[None, :]
        beside = tl.load(at_q[:, None] + other[None, :], in_q, 0.0)
        cosines = tl.load(cos + batch * t0 + same_row, in_q, 0.0)
        sines = tl.load(sin + batch * t1 + same_row, in_q, 0.0)
        at_k = new_k + batch * n0 + group * n1
        own_k = tl.load(at_k + column, in_width, 0.0)
        beside_k = tl.load(at_k + other, in_width, 0.0)
        cosine = tl.load(cos + batch * t0 + column, in_width, 0.0)
        sine = tl.load(sin + batch * t1 + column, in_width, 0.0)
    if COUNT == 1:
        some_k, some_v, seen, bias = _load_keys(
            k, v, mask, bound, first, k2, v2, m3, row_mask, WIDTH, OUT_WIDTH, BLOCK, OUT_BLOCK,
            ROWS, CHUNK, MASK, SHARES_MASK, keys, True)
    if HAS_NEW:
        fresh_v = tl.load(new_v + batch * w0 + group * w1 + out_column, out_column < OUT_WIDTH, 0.0)
        fresh_place = tl.where(fresh_place < 0, fresh_place + keys, fresh_place)
        beside = tl.where(is_first[None, :], -beside.to(tl.float32), beside.to(tl.float32))
        some_q = (some_q.to(tl.float32) * cosines.to(tl.float32) + beside * sines.to(tl.float32)
                  ).to(q.dtype.element_ty)
        beside_k = tl.where(is_first, -beside_k.to(tl.float32), beside_k.to(tl.float32))
        fresh_k = (own_k.to(tl.float32) * cosine.to(tl.float32) + beside_k * sine.to(tl.float32)
                   ).to(k.dtype.element_ty)
        if (fresh_place < 0) | (fresh_place >= keys):
            # As an index out of bounds ends kernels of PyTorch.
            tl.inline_asm_elementwise("trap; mov.u32 $0, 0;", "=r", [], dtype=tl.int32,
                                      is_pure=False, pack=1)
        if (fresh_place // CHUNK >= first) & (fresh_place // CHUNK < first + COUNT):
            tl.store(k + fresh_place * k2 + column, fresh_k, in_width)
            tl.store(v + fresh_place * v2 + out_column, fresh_v, out_column < OUT_WIDTH)
            tl.debug_barrier()
    else:
        fresh_k, fresh_v, fresh_place = 0, 0, 0
    if COUNT == 1:
        most, sums, values = _attend_chunk(
            some_q, some_k, some_v, seen, bias, v, fresh_k, fresh_v, fresh_place, first, keys, v2,
            scale, OUT_WIDTH, OUT_BLOCK, CHUNK, MASK, HAS_NEW, WEIGHT_UNIT, False)
    else:
        most, sums, values = _attend_keys(
            some_q, k, v, mask, bound, fresh_k, fresh_v, fresh_place, first, last, keys, k2, v2,
            m3, scale, row_mask, WIDTH, OUT_WIDTH, BLOCK, OUT_BLOCK, ROWS, CHUNK, SEGMENT, STAGES,
            MASK, SHARES_MASK, HAS_NEW, WEIGHT_UNIT, False)
    if tl.max(tl.max((values - values != 0.0).to(tl.int32), 1), 0) > 0:
        most, sums, values = _attend_keys(
            some_q, k, v, mask, bound, fresh_k, fresh_v, fresh_place, first, last, keys, k2, v2,
            m3, scale, row_mask, WIDTH, OUT_WIDTH, BLOCK, OUT_BLOCK, ROWS, CHUNK, SEGMENT, 1,
            MASK, SHARES_MASK, HAS_NEW, WEIGHT_UNIT, True)
    at_out = ((batch * queries + query) * groups * shared + head) * OUT_WIDTH
    if splits == 1:
        _finish(out, most, sums, values, at_out, in_rows, out_column, OUT_WIDTH)
    else:
        left = tl.program_id(0).to(tl.int64) * ROWS + rows
        tl.store(most_of + left, most, in_rows)
        tl.store(sums_of + left, sums, in_rows)
        tl.store(values_of + left[:, None] * OUT_BLOCK + out_column[None, :], values,
                 in_rows[:, None])
        tl.debug_barrier()
        if tl.atomic_add(tickets + tile, 1, sem="acq_rel", scope="gpu") == splits - 1:
            # The next launch finds the ticket as this one did.
            tl.store(tickets + tile, 0)
            few = tl.arange(0, FEW)
            pair = tile % tiles * ROWS + few
            in_few = pair < queries * shared
            empty = tl.full((FEW,), float("-inf"), tl.float32)
            zero = tl.zeros((FEW,), tl.float32)
            zeros = tl.zeros((FEW, OUT_BLOCK), tl.float32)
            x, y, z = empty, zero, zeros
            start = tile.to(tl.int64) * splits * ROWS + few
            at_most, at_sums = most_of + start, sums_of + start
            at_values = values_of + start[:, None] * OUT_BLOCK + out_column[None, :]
            # Parts are loaded before those before them are merged. The loop is short, since its
            # instructions are loaded, too.
            found = _load_four(at_most, at_sums, at_values, splits, in_few, ROWS, OUT_BLOCK)
            for part in range(4, splits + 4, 4):
                following = _load_four(
                    at_most + part * ROWS, at_sums + part * ROWS,
                    at_values + part * (ROWS * OUT_BLOCK), splits - part, in_few, ROWS, OUT_BLOCK)
                if COUNT == 1:
                    # Four chunks are a segment, which joins the others when it is complete.
                    segment = _merge_four((empty, zero, zeros), found)
                    x, y, z = _merge(x, y, z, segment[0], segment[1], segment[2])
                else:
                    x, y, z = _merge_four((x, y, z), found)
                found = following
            at_few = (batch * queries + pair // shared) * groups * shared + group * shared
            at_few = (at_few + pair % shared) * OUT_WIDTH
            _finish(out, x, y, z, at_few, in_few, out_column, OUT_WIDTH)


class _Tickets:
    """Counters on a device that are zero between launches, as the last program of each tile sets
    them back. Launches that may run at once have others: those of each stream, and each launch that
    is captured into a graph, which keeps its own."""

    _SIZE = 1 << 20

    def __init__(self, device: torch.device):
        self._all = torch.zeros(self._SIZE, dtype=torch.int32, device=device)
        self._streams: dict[int, Tensor] = {}
        self._used = 0
        self._lock = threading.Lock()
        # Streams that do not wait for this one may use them.
        torch.cuda.current_stream(device).synchronize()

    def _take(self, count: int) -> Tensor | None:
        if self._used + count > self._SIZE:
            return None
        self._used += count
        return self._all[self._used - count:self._used]

    def get(self, count: int) -> Tensor:
        stream = torch.cuda.current_stream(self._all.device).cuda_stream
        with self._lock:
            if torch.cuda.is_current_stream_capturing():
                found = self._take(count)
            else:
                found = self._streams.get(stream)
                if found is None or len(found) < count:
                    found = self._take(triton.next_power_of_2(count))
                    if found is not None:
                        self._streams[stream] = found
        if found is None:
            return torch.zeros(count, dtype=torch.int32, device=self._all.device)
        return found


_TICKETS: dict[int, _Tickets] = {}
_LOCK = threading.Lock()


def _get_tickets(device: torch.device, count: int) -> Tensor:
    index = device.index or 0
    if not count:
        return torch.empty(0, dtype=torch.int32, device=device)
    with _LOCK:
        if index not in _TICKETS:
            if torch.cuda.is_current_stream_capturing():
                return torch.zeros(count, dtype=torch.int32, device=device)
            _TICKETS[index] = _Tickets(device)
    return _TICKETS[index].get(count)


def _choose_count(tiles: int, keys: int, device: torch.device) -> int:
    """The chunks of keys of a program: one, those of a segment, or all."""
    programs = _FEW * torch.cuda.get_device_properties(device).multi_processor_count
    chunks = triton.cdiv(keys, CHUNK)
    if chunks <= 1 or tiles >= programs:
        return _ALL
    if tiles * chunks <= programs:
        return 1
    return SEGMENT if chunks > SEGMENT else _ALL


def has_program_for_chunk(shape: Sequence[int], cache: Sequence[int], device: torch.device) -> bool:
    """Whether each chunk of keys has a program of its own, all of which run at a time. Then a step
    of decoding takes less time than products with a softmax between them.

    Args:
      shape, cache: of the queries [B, H, 1, D] and of the keys [B, G, L, D].
    """
    return _choose_count(_count_tiles(shape, cache), cache[2], device) == 1


def _count_tiles(shape: Sequence[int], cache: Sequence[int]) -> int:
    """Tiles of rows of queries [B, H, T, D] of heads that share keys [B, G, L, D]."""
    batch, heads, queries, _ = shape
    rows = queries * (heads // cache[1])
    return batch * cache[1] * ((rows + _ROWS - 1) // _ROWS)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, lengths: Tensor | None,
           positions: Tensor | None, is_causal: bool, scale: float,
           new: tuple[Tensor, Tensor, Tensor, Tensor, Tensor] | None = None,
           count: int | None = None, warps: int = _WARPS) -> Tensor:
    """Tensors whose last stride is 1, but the mask's, which has the shape of the scores.

    Args:
      new: of one query: a key and a value [B, G, 1, ..] to store, the key rotated as the queries
        are, by cosines and sines [B, D], and where.
      count: the chunks of keys of a program: 1, SEGMENT or all of them, with the same bits.
      warps: those of a program, with the same bits.
    """
    batch, heads, queries, width = q.shape
    groups, keys, out_width = k.shape[1], k.shape[2], v.shape[3]
    shared = heads // groups if groups else 0
    out = make_result(q, v)
    if not out.numel():
        return out
    total = _count_tiles(q.shape, k.shape)
    tiles = total // (batch * groups)
    count = _choose_count(total, keys, q.device) if count is None else count
    splits = max(1, triton.cdiv(triton.cdiv(keys, CHUNK), count))
    block, out_block = (max(16, triton.next_power_of_2(each)) for each in (width, out_width))
    with torch.cuda.device(q.device):
        overlaps = torch.cuda.get_device_capability(q.device) >= (9, 0)
        rows = total * splits * _ROWS if splits > 1 else 0
        space = torch.empty(rows * (2 + out_block), dtype=torch.float32, device=q.device)
        tickets = _get_tickets(q.device, total if splits > 1 else 0)
        if mask is not None and mask.dtype == torch.bool:
            mask = mask.view(torch.uint8)
        # Whether rows of a program have one row of the mask.
        shares_mask = mask is not None and not mask.stride(1) and (
            queries == 1 or not mask.stride(2))
        _attention_kernel[total * splits,](
            q, k, v, q if mask is None else mask, q if lengths is None else lengths,
            q if positions is None else positions, *([q] * 5 if new is None else new), out,
            space, space[rows:], space[2 * rows:], tickets, *q.stride()[:3], *k.stride()[:3],
            *v.stride()[:3],
            *([0] * 4 if mask is None else mask.stride()),
            *([0] * 2 if positions is None else positions.stride()),
            *([0] * 6 if new is None else [*new[0].stride()[:2], *new[1].stride()[:2],
                                           new[2].stride(0), new[3].stride(0)]),
            groups, shared, queries, keys, tiles, splits, scale,
            WIDTH=width, OUT_WIDTH=out_width, BLOCK=block, OUT_BLOCK=out_block, ROWS=_ROWS,
            CHUNK=CHUNK, SEGMENT=SEGMENT, COUNT=count, STAGES=min(count, 2),
            FEW=min(_ROWS, triton.next_power_of_2(queries * shared)),
            MASK=0 if mask is None else 1 if mask.dtype == torch.uint8 else 2,
            SHARES_MASK=shares_mask, HAS_LENGTHS=lengths is not None,
            HAS_POSITIONS=positions is not None,
            IS_CAUSAL=is_causal, HAS_NEW=new is not None, WEIGHT_UNIT=WEIGHT_UNIT,
            OVERLAPS=overlaps, **{**_OPTIONS, "num_warps": warps},
            **({"launch_pdl": True} if overlaps else {}))
    return out
