# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in other sizes: each element of the result is the nearest one of the input, or an average
of those around its place, one axis after the other.

Places are computed in f32, once for each position along an axis.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import sympy

from blockscale._linalg._body import Along, Body, emit_elementwise
from blockscale._linalg._builder import Array, Builder, Size, simplify
from blockscale._linalg._shapes import emit_clamped

#: `function(body, position, scale, size, new size)` in f32: where along the input a position of the
#: result is.
PLACES: dict[str, Callable[[Body, str, str, str, str], str]] = {
    "half_pixel": lambda body, i, scale, size, new: _half_pixel(body, i, scale),
    "pytorch_half_pixel": lambda body, i, scale, size, new: body.select(
        body.compare("gt", new, body.constant(1)), _half_pixel(body, i, scale), body.constant(0)),
    "half_pixel_symmetric": lambda body, i, scale, size, new: _symmetric(body, i, scale, size, new),
    "asymmetric": lambda body, i, scale, size, new: body.div(i, scale),
    "align_corners": lambda body, i, scale, size, new: _align_corners(body, i, size, new),
}


def _half_pixel(body: Body, i: str, scale: str) -> str:
    half = body.constant(0.5)
    return body.sub(body.div(body.add(i, half), scale), half)


def _symmetric(body: Body, i: str, scale: str, size: str, new: str) -> str:
    """Where the scale gives no whole size, what it leaves is on both sides."""
    share = body.div(new, body.mul(scale, size))
    half = body.mul(size, body.constant(0.5))
    offset = body.mul(half, body.sub(body.constant(1), share))
    return body.add(offset, _half_pixel(body, i, scale))


def _align_corners(body: Body, i: str, size: str, new: str) -> str:
    one = body.constant(1)
    steps = body.maximum(body.sub(new, one), one)
    return body.div(body.mul(i, body.sub(size, one)), steps)


def _round_half_down(body: Body, x: str) -> str:
    return body.op(f"math.ceil {body.sub(x, body.constant(0.5))}")


def _round_half_up(body: Body, x: str) -> str:
    return body.op(f"math.floor {body.add(x, body.constant(0.5))}")


#: Which element is the nearest one to a place.
ROUNDINGS: dict[str, Callable[[Body, str], str]] = {
    "round_prefer_floor": _round_half_down,
    "round_prefer_ceil": _round_half_up,
    "floor": lambda body, x: body.op(f"math.floor {x}"),
    "ceil": lambda body, x: body.op(f"math.ceil {x}"),
}


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis that gets another size.

    Attributes:
      dim: the dimension.
      size: the new size.
      scale: the new size for each element of the old one; None for their quotient.
      places: a name of PLACES.
    """

    dim: int
    size: Size
    scale: float | None
    places: str


def _emit_places(builder: Builder, x: Array, axis: Axis) -> Array:
    """Where each position along an axis is in x."""
    numbers = [sympy.sympify(each) for each in (x.sizes[axis.dim], axis.size)]

    def compute(body: Body, size: str, new: str) -> str:
        scale = body.div(new, size) if axis.scale is None else body.constant(axis.scale)
        position = body.convert(body.index(0), "index", "f32")
        return PLACES[axis.places](body, position, scale, size, new)
    return emit_elementwise(builder, "places", numbers, (axis.size,), "f32", compute)


def _read(body: Body, x: Array, axis: Axis, index: str, builder: Builder) -> str:
    """The element at an index along an axis, an i64, or the one nearest to it."""
    places = [body.index(dim) for dim in range(x.rank)]
    places[axis.dim] = emit_clamped(body, body.convert(index, "i64", "index"),
                                    builder.size(x.sizes[axis.dim]))
    return body.extract(x, places)


def _get_sizes(x: Array, axis: Axis) -> tuple[Size, ...]:
    return (*x.sizes[:axis.dim], simplify(axis.size), *x.sizes[axis.dim + 1:])


def emit_nearest(builder: Builder, x: Array, axis: Axis, rounding: str) -> Array:
    """x with the elements that are nearest to the places of its new size along an axis. `rounding`
    is a name of ROUNDINGS."""
    places = _emit_places(builder, x, axis)
    indices = emit_elementwise(
        builder, "nearest", [places], places.sizes, "i64",
        lambda body, at: body.convert(ROUNDINGS[rounding](body, at), "f32", "i64"), made="i64")
    return emit_elementwise(builder, "resized", [Along(indices, (axis.dim,))], _get_sizes(x, axis),
                            x.dtype, lambda body, at: _read(body, x, axis, at, builder),
                            inner="i64", made=x.dtype)


def _get_linear(body: Body, fraction: str) -> list[str]:
    """Factors of the elements before and behind a place."""
    return [body.sub(body.constant(1), fraction), fraction]


def _get_cubic(body: Body, fraction: str, a: float) -> list[str]:
    """Factors of the two elements before a place and the two behind it."""
    one, two = body.constant(1), body.constant(2)
    before, behind = fraction, body.sub(one, fraction)

    def near(t: str) -> str:
        # (a + 2) t^3 - (a + 3) t^2 + 1
        inside = body.sub(body.mul(body.constant(a + 2), t), body.constant(a + 3))
        return body.add(body.mul(body.mul(inside, t), t), one)

    def far(t: str) -> str:
        # a t^3 - 5 a t^2 + 8 a t - 4 a
        inside = body.sub(body.mul(body.constant(a), t), body.constant(5 * a))
        inside = body.add(body.mul(inside, t), body.constant(8 * a))
        return body.sub(body.mul(inside, t), body.constant(4 * a))
    return [far(body.add(before, one)), near(before), near(behind), far(body.sub(two, before))]


def emit_interpolated(builder: Builder, x: Array, axis: Axis, cubic: float | None = None) -> Array:
    """x between whose elements a line is drawn along an axis, or a cubic function of this
    coefficient, read at the places of the new size. Behind the edges are copies of them. The result
    is f32, so that other axes follow without a rounding."""
    places = _emit_places(builder, x, axis)

    def compute(body: Body, at: str) -> str:
        first = body.op(f"math.floor {at}")
        fraction = body.sub(at, first)
        weights = (_get_linear(body, fraction) if cubic is None else
                   _get_cubic(body, fraction, cubic))
        index = body.convert(first, "f32", "i64")
        total = ""
        for number, weight in enumerate(weights):
            offset = body.constant(number - (0 if cubic is None else 1), "i64")
            element = _read(body, x, axis, body.add(index, offset, "i64"), builder)
            term = body.mul(weight, body.convert(element, x.dtype, "f32"))
            total = body.add(total, term) if total else term
        return total
    return emit_elementwise(builder, "resized", [Along(places, (axis.dim,))], _get_sizes(x, axis),
                            "f32", compute)
