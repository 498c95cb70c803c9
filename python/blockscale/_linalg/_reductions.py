# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions, and what is made of them: softmax and norms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from blockscale._linalg._body import (
    INTEGERS,
    Along,
    Body,
    emit_elementwise,
    emit_generic,
    get_inner,
    get_map,
    get_operand_map,
    is_float,
)
from blockscale._linalg._builder import Array, Builder, Size, multiply
from blockscale._linalg._elementwise import emit_convert
from blockscale._linalg._shapes import emit_reshape
from blockscale._trace import Value
from blockscale._types import Spec


def normalize_axes(builder: Builder, axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes from 0 on, in order; None for all of them, and negative ones count from the end."""
    if axes is None:
        return tuple(range(rank))
    found = {axis + rank if axis < 0 else axis for axis in axes}
    if len(found) != len(axes) or any(not 0 <= axis < rank for axis in found):
        builder.refuse(f"expected different axes of a tensor of rank {rank}, but got "
                       f"{list(axes)}")
    return tuple(sorted(found))


#: What each reduction does with its result so far and an element: `function(body, a, b, dtype)`.
COMBINE: dict[str, Callable[..., str]] = {
    "sum": Body.add, "mean": Body.add, "prod": Body.mul, "max": Body.maximum, "min": Body.minimum,
}


def get_start(kind: str, dtype: str) -> float:
    """What a reduction has before its first element."""
    if kind in ("sum", "mean"):
        return 0
    if kind == "prod":
        return 1
    if is_float(dtype):
        return -math.inf if kind == "max" else math.inf
    if dtype == "i1":
        return 0 if kind == "max" else 1
    limit = 1 << (INTEGERS[dtype] - 1)
    return -limit if kind == "max" else limit - 1


def emit_filled(builder: Builder, sizes: Sequence[Size], value: float, dtype: str) -> Value:
    """A tensor of one number, as what products and reductions start from."""
    body = Body()
    body.constant(value, dtype)
    text = body.lines[0].split(" = arith.constant ", 1)[1]
    number = builder.emit("start", "arith.constant", [], text, Spec((), dtype))
    empty = builder.empty(sizes, dtype)
    return builder.emit("filled", "linalg.fill", [number, empty],
                        f"ins({number.name} : {dtype}) outs({empty.name} : {empty.spec}) "
                        f"-> {empty.spec}", empty.spec)


def emit_reduction(builder: Builder, base: str, operands: Sequence[Array | Along],
                   sizes: Sequence[Size], axes: Sequence[int], dtype: str, start: float,
                   compute: Callable[..., str], combine: Callable[..., str], *,
                   inner: str | Sequence[str] | None = None) -> Array:
    """`combine(body, old, compute(body, *names))` over all elements along axes.

    Args:
      operands: broadcast to `sizes`, as those of emit_elementwise. One has each of the
        dimensions that are reduced.
      sizes: before the reduction.
      dtype: of numbers in between and of the result: no rounding comes in between.
      start: what `combine` has as old at first.
      inner: the dtype in which operands are taken, or one for each; None for `dtype`.

    Returns: without the dimensions of axes.
    """
    body = Body()
    arrays = [each.array if isinstance(each, Along) else each for each in operands]
    kinds = [inner or dtype] * len(arrays) if inner is None or isinstance(inner, str) else inner
    names = [body.convert(f"%a{number}", each.dtype, kind)
             for number, (each, kind) in enumerate(zip(arrays, kinds, strict=True))]
    result = combine(body, "%out", compute(body, *names))
    kept = [dim for dim in range(len(sizes)) if dim not in axes]
    left = tuple(sizes[dim] for dim in kept)
    filled = emit_filled(builder, left, start, dtype)
    maps = [*(get_operand_map(builder, each, sizes) for each in operands),
            get_map(len(sizes), kept)]
    iterators = ["reduction" if dim in axes else "parallel" for dim in range(len(sizes))]
    value = emit_generic(builder, base, maps, iterators, [each.value for each in arrays], filled,
                         body, result)
    return Array(value, left)


def emit_reduce(builder: Builder, kind: str, x: Array, axes: Sequence[int] | None = None, *,
                keepdims: bool = False, dtype: str | None = None) -> Array:
    """The sum, prod, max, min or mean along axes (None: all). Sums of floating-point numbers
    are in f32, and rounded once to `dtype` (None: that of x). Truth values have max (any) and
    min (all); their sum needs an integer `dtype`. NaN is the maximum and the minimum."""
    dtype = dtype or x.dtype
    axes = normalize_axes(builder, axes, x.rank)
    inner = get_inner(dtype) if kind in ("sum", "prod", "mean") else get_inner(x.dtype)
    if kind == "mean" and not is_float(inner):
        builder.refuse(f"expected a mean of floating-point numbers, but got {x.dtype}")
    if kind in ("sum", "prod") and inner == "i1":
        builder.refuse(f"expected a {kind} of numbers, but got truth values")
    combine = COMBINE[kind]
    total = emit_reduction(builder, kind, [x], x.sizes, axes, inner, get_start(kind, inner),
                           lambda body, a: a, lambda body, old, a: combine(body, old, a, inner))
    if kind == "mean":
        total = _divide(builder, total, multiply([x.sizes[axis] for axis in axes]), dtype)
    else:
        total = emit_convert(builder, total, dtype, base=kind)
    if keepdims:
        kept = tuple(1 if dim in axes else size for dim, size in enumerate(x.sizes))
        return emit_reshape(builder, total, kept)
    return total


def _divide(builder: Builder, total: Array, count: Size, dtype: str,
            finish: Callable[[Body, str], str] = lambda _, a: a) -> Array:
    """`finish` of elements divided by a count."""
    known, inner = None if isinstance(count, int) else builder.size(count), get_inner(total.dtype)

    def divide(body: Body, a: str) -> str:
        number = (body.constant(count, inner) if known is None else
                  body.convert(body.capture(known), "index", inner))
        return finish(body, body.div(a, number, inner))
    return emit_elementwise(builder, "mean", [total], total.sizes, dtype, divide, inner=inner)


def emit_softmax(builder: Builder, x: Array, axis: int = -1, *, dtype: str | None = None,
                 logarithm: bool = False, empty: float | None = None) -> Array:
    """The softmax along an axis, or its logarithm: maximum, exponentials and sum in f32, rounded
    once to `dtype` (None: that of x). Of -inf alone it is NaN, or `empty` where given."""
    axis, = normalize_axes(builder, [axis], x.rank)
    kept = tuple(dim for dim in range(x.rank) if dim != axis)
    largest = emit_reduction(builder, "largest", [x], x.sizes, [axis], "f32", -math.inf,
                             lambda body, a: a, Body.maximum)

    def shift(body: Body, a: str, m: str) -> str:
        return body.sub(a, m)

    def raised(body: Body, a: str, m: str) -> str:
        return body.op(f"math.exp {shift(body, a, m)}")
    rows = Along(largest, kept)
    dtype = dtype or x.dtype
    if logarithm:
        total = emit_reduction(builder, "total", [x, rows], x.sizes, [axis], "f32", 0, raised,
                               Body.add)
        return emit_elementwise(
            builder, "log_softmax", [x, rows, Along(total, kept)], x.sizes, dtype,
            lambda body, a, m, t: body.sub(shift(body, a, m), body.op(f"math.log {t}")))
    powers = emit_elementwise(builder, "powers", [x, rows], x.sizes, "f32", raised)
    total = emit_reduction(builder, "total", [powers], x.sizes, [axis], "f32", 0,
                           lambda body, a: a, Body.add)
    if empty is None:
        return emit_elementwise(builder, "softmax", [powers, Along(total, kept)], x.sizes, dtype,
                                Body.div)

    def share(body: Body, a: str, m: str, t: str) -> str:
        is_empty = body.compare("eq", m, body.constant(-math.inf))
        return body.select(is_empty, body.constant(empty), body.div(a, t))
    return emit_elementwise(builder, "softmax", [powers, rows, Along(total, kept)], x.sizes,
                            dtype, share)


def emit_layer_norm(builder: Builder, x: Array, axes: Sequence[int], epsilon: float,
                    weight: Array | None = None, bias: Array | None = None, *,
                    dtype: str | None = None, centered: bool = True) -> Array:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias along axes, in f32, rounded once to
    `dtype` (None: that of x). Weight and bias broadcast to x. Where not `centered`, the
    mean is taken to be 0: an RMS norm."""
    axes = normalize_axes(builder, axes, x.rank)
    kept = tuple(dim for dim in range(x.rank) if dim not in axes)
    count = multiply([x.sizes[axis] for axis in axes])
    operands: list[Array | Along] = [x]
    if centered:
        total = emit_reduction(builder, "total", [x], x.sizes, axes, "f32", 0,
                               lambda body, a: a, Body.add)
        operands.append(Along(_divide(builder, total, count, "f32"), kept))

    def shift(body: Body, a: str, *mean: str) -> str:
        return body.sub(a, mean[0]) if mean else a

    def square(body: Body, *names: str) -> str:
        d = shift(body, *names)
        return body.mul(d, d)

    squares = emit_reduction(builder, "squares", operands, x.sizes, axes, "f32", 0, square,
                             Body.add)
    inverse = _divide(builder, squares, count, "f32", lambda body, a: body.op(
        f"math.rsqrt {body.add(a, body.constant(epsilon))}"))
    shifts = len(operands)
    operands.append(Along(inverse, kept))
    operands += [each for each in (weight, bias) if each is not None]

    def norm(body: Body, *names: str) -> str:
        y = body.mul(shift(body, *names[:shifts]), names[shifts])
        rest = list(names[shifts + 1:])
        if weight is not None:
            y = body.mul(y, rest.pop(0))
        return body.add(y, rest.pop(0)) if bias is not None else y
    return emit_elementwise(builder, "norm", operands, x.sizes, dtype or x.dtype, norm)


def emit_batch_norm(builder: Builder, x: Array, mean: Array, variance: Array, epsilon: float,
                    weight: Array | None = None, bias: Array | None = None, *,
                    dtype: str | None = None) -> Array:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias of x [N, C, ..] with means and
    variances [C] that are given, in f32, rounded once to `dtype` (None: that of x)."""
    operands = [each for each in (mean, variance, weight, bias) if each is not None]
    for each in operands:
        if x.rank < 2 or each.sizes != x.sizes[1:2]:
            builder.refuse("expected a mean, a variance, a scale and a bias of a number for each "
                           f"channel of {list(x.sizes)}, but got {list(each.sizes)}")

    def factor(body: Body, variance: str, *weight: str) -> str:
        """By what each element of a channel is multiplied."""
        inverse = body.op(f"math.rsqrt {body.add(variance, body.constant(epsilon))}")
        return body.mul(inverse, weight[0]) if weight else inverse
    factors = emit_elementwise(
        builder, "factors", [variance] if weight is None else [variance, weight], variance.sizes,
        "f32", factor)

    def norm(body: Body, a: str, mean: str, by: str, *bias: str) -> str:
        y = body.mul(body.sub(a, mean), by)
        return body.add(y, bias[0]) if bias else y
    places = [Along(each, (1,)) for each in (mean, factors, bias) if each is not None]
    return emit_elementwise(builder, "norm", [x, *places], x.sizes, dtype or x.dtype, norm)
