# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax and attention in PyTorch's ops on elements alone: a row's bits depend on the row alone.

PyTorch's sums, products and exponentials have orders, or halves of vectors, that depend on sizes.
Each op here is a sum, product, quotient or maximum of two elements, which IEEE 754 defines, and the
order in which they are combined depends on the place in the row alone: numbers of a block are added
by halves, and blocks in ascending order. What is masked out adds +0 or is left out.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

#: Elements of a row of a softmax that are added to those of the next block, and last by halves.
SUM_BLOCK = 1024
#: Keys that are attended to at once; chunks of them that are merged before they join the others.
CHUNK, SEGMENT = 64, 4
#: Weights are added as multiples of its inverse. The largest weight of a chunk is 1.
WEIGHT_UNIT = float(1 << 24)
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
#: Elements of a product that are held at once.
_MOST_ELEMENTS = 1 << 22
_INFINITY = float("inf")
#: What is known of the keys that a row of scores was made of: the largest score, the sum of
#: exponentials, and the sum of values by these.
State = tuple[Tensor, Tensor, Tensor]


def pad_last(x: Tensor, size: int) -> Tensor:
    """x with zeros behind its rows, up to a size."""
    return torch.nn.functional.pad(x, (0, size - x.shape[-1]))


def add_halves(x: Tensor) -> Tensor:
    """The sums of rows whose size is a power of two: halves are added until one number is left."""
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        x = x[..., :half] + x[..., half:]
    return x[..., 0]


def _evaluate(coefficients: list[float], x: Tensor) -> Tensor:
    """A polynomial, from its highest coefficient down."""
    y = torch.full_like(x, coefficients[0])
    for each in coefficients[1:]:
        y = y * x + each
    return y


_EXP = [1 / math.factorial(power) for power in range(13, -1, -1)]
_LOG = [2 / (2 * power + 1) for power in range(12, -1, -1)]


def exp(x: Tensor) -> Tensor:
    """e to the power of f32, computed in f64 and rounded once."""
    wide = x.double().clamp(-200, 200)
    count = torch.round(wide * (1 / math.log(2)))
    power = ((count.to(torch.int64) + 1023) << 52).view(torch.float64)
    return (_evaluate(_EXP, (wide - count * _LN2_HIGH) - count * _LN2_LOW) * power).float()


def log(x: Tensor) -> Tensor:
    """The natural logarithm of f32 from 1 on, computed in f64 and rounded once."""
    fraction, exponent = torch.frexp(x.double())
    is_small = fraction < math.sqrt(0.5)
    fraction = torch.where(is_small, fraction * 2, fraction)
    exponent = (exponent - is_small.to(exponent.dtype)).double()
    ratio = (fraction - 1) / (fraction + 1)
    return (exponent * math.log(2) + ratio * _evaluate(_LOG, ratio * ratio)).float()


def _sum_rows(x: Tensor) -> Tensor:
    """Sums of rows of numbers that are not negative. Zeros behind a row change nothing."""
    total = torch.zeros((*x.shape[:-1], SUM_BLOCK), dtype=x.dtype, device=x.device)
    for block in x.split(SUM_BLOCK, -1):
        total = total + pad_last(block, SUM_BLOCK)
    return add_halves(total)


def softmax(x: Tensor, is_log: bool) -> Tensor:
    """Along rows, in f32."""
    if not x.shape[-1]:
        return x.clone()
    x = x.float()
    distance = x - x.amax(-1, True)
    powers = exp(distance)
    total = _sum_rows(powers)[..., None]
    return distance - log(total) if is_log else powers / total


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """In f32."""
    one, other = x.float().chunk(2, -1)
    return (x.float() * cos.float()
            + torch.cat([other.neg(), one], -1) * sin.float())


def _merge(one: State, other: State) -> State:
    """What is known of the keys of both. A row that sees none of the other's is left as it is."""
    most = torch.maximum(one[0], other[0])
    factors = exp(one[0] - most), exp(other[0] - most)
    is_empty = other[0] == -_INFINITY
    return (torch.where(is_empty, one[0], most),
            torch.where(is_empty, one[1], one[1] * factors[0] + other[1] * factors[1]),
            torch.where(is_empty[..., None], one[2],
                        one[2] * factors[0][..., None] + other[2] * factors[1][..., None]))


def _attend_chunk(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, is_seen: Tensor,
                  scale: float) -> State:
    """q [G, S, T, D], k [G, C, D], v [G, C, E]; bias and is_seen [G, S, T, C]."""
    products = q.float()[..., None, :] * k.float()[:, None, None]
    scores = add_halves(pad_last(products, 1 << (q.shape[-1] - 1).bit_length())) * scale
    if bias is not None:
        scores = scores + bias.float()
    scores = torch.where(is_seen, scores, -_INFINITY)
    # A score that is NaN makes the row NaN, as PyTorch's does.
    most = torch.where(scores.isnan(), _INFINITY, scores).amax(-1)
    weights = exp(scores - torch.where(most == -_INFINITY, 0, most)[..., None])
    weights = weights.to(v.dtype).float()
    weighted = torch.where(is_seen[..., None], weights[..., None] * v.float()[:, None, None], 0)
    whole = (weights * WEIGHT_UNIT).nan_to_num(0).to(torch.int64).sum(-1)
    return most, whole.float() / WEIGHT_UNIT, add_halves(weighted.transpose(-2, -1))


def _attend_rows(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bounds: Tensor,
                 scale: float) -> Tensor:
    """Of one sequence: q [G, S, T, D], k [G, L, D], v [G, L, E], mask [G, S, T, L]. Bounds [T] are
    the numbers of keys that queries look at."""
    shape = q.shape[:-1]

    def start() -> State:
        zeros = torch.zeros(shape, device=q.device)
        return (zeros - _INFINITY, zeros,
                torch.zeros((*shape, v.shape[-1]), device=q.device))
    total, segment = start(), start()
    count = int(bounds.max()) if bounds.numel() else 0
    for number, first in enumerate(range(0, count, CHUNK)):
        last = min(first + CHUNK, k.shape[1])
        keys = torch.arange(first, first + CHUNK, device=q.device)

        def pad(x: Tensor, dim: int, size: int = CHUNK + first - last) -> Tensor:
            return torch.nn.functional.pad(x, (0, 0) * (x.dim() - 1 - dim) + (0, size))
        is_seen = (keys < bounds[:, None]).expand(*shape, CHUNK)
        bias = None
        if mask is not None:
            part = pad(mask[..., first:last], 3)
            if part.dtype == torch.bool:
                is_seen = is_seen & part
            else:
                bias, is_seen = part, is_seen & (part != -_INFINITY)
        found = _attend_chunk(q, pad(k[:, first:last], 1), pad(v[:, first:last], 1), bias,
                              is_seen, scale)
        segment = _merge(segment, found)
        if number % SEGMENT == SEGMENT - 1:
            total, segment = _merge(total, segment), start()
    most, sums, values = _merge(total, segment)
    # Where nothing is seen there are zeros, as in PyTorch.
    return torch.where((most == -_INFINITY)[..., None], 0, values / sums[..., None])


def make_result(q: Tensor, v: Tensor) -> Tensor:
    """The [B, H, T, E] of an attention, before there is anything in it. The heads of a query lie
    behind one another, as a layer behind the attention reads them."""
    batch, heads, queries, _ = q.shape
    return q.new_empty([batch, queries, heads, v.shape[3]]).transpose(1, 2)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bounds: Tensor, scale: float
           ) -> Tensor:
    """q [B, H, T, D], k [B, G, L, D], v [B, G, L, E], mask [B, H, T, L]; bounds [B, T]."""
    batch, heads, queries, width = q.shape
    groups, shared = k.shape[1], heads // max(k.shape[1], 1)
    result = make_result(q, v)
    largest = max(width, v.shape[-1], 1)
    step = max(1, _MOST_ELEMENTS // (max(heads, 1) * CHUNK * largest))
    for number in range(batch):
        for first in range(0, queries, step):
            part = slice(first, first + step)
            of_mask = None if mask is None else mask[number, :, part].unflatten(0, (groups, shared))
            made = _attend_rows(q[number, :, part].unflatten(0, (groups, shared)), k[number],
                                v[number], of_mask, bounds[number, part], scale)
            result[number, :, part] = made.flatten(0, 1).to(q.dtype)
    return result
