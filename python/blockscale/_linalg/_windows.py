# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and pooling: what is computed of windows that go over the dimensions of space of a
tensor [N, C, *space].

The element of a result at a place is made of one window of the input. A convolution of one group is
one product of matrices, of patches (what each window sees) and filters.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import sympy

from blockscale._linalg._body import (
    Along,
    Body,
    emit_elementwise,
    emit_full,
    format_sizes,
    get_inner,
)
from blockscale._linalg._builder import Array, Builder, Size, floor_divide, multiply, simplify
from blockscale._linalg._elementwise import emit_binary, emit_convert
from blockscale._linalg._products import emit_linear, emit_matmul
from blockscale._linalg._reductions import COMBINE, emit_reduction, get_start
from blockscale._linalg._shapes import (
    emit_pad,
    emit_reads,
    emit_reshape,
    emit_reverse,
    emit_slice,
    emit_transpose,
)


@dataclasses.dataclass(frozen=True)
class Windows:
    """Windows of `kernel` elements, a number for each dimension of space.

    Attributes:
      kernel: the elements of a window.
      strides: from the first element of a window to that of the next one.
      dilations: from an element of a window to its next one.
      low, high: the elements of padding before and behind the input; a negative number takes as
        many away.
      rounds_up: whether a last window may reach beyond the padding. It begins within the input or
        the padding before it.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[Size, ...]
    high: tuple[Size, ...]
    rounds_up: bool = False

    @staticmethod
    def make(kernel: Sequence[int], strides: Sequence[int] | None = None,
             dilations: Sequence[int] | None = None, low: Sequence[Size] | None = None,
             high: Sequence[Size] | None = None, rounds_up: bool = False) -> Windows:
        """Windows with strides and dilations of 1 and without padding where none is given."""
        ones, zeros = [1] * len(kernel), [0] * len(kernel)
        return Windows(tuple(kernel), tuple(strides or ones), tuple(dilations or ones),
                       tuple(low or zeros), tuple(high or zeros), rounds_up)

    @property
    def spans(self) -> list[int]:
        """How many elements of the input a window reaches over."""
        return [(size - 1) * gap + 1 for size, gap in zip(self.kernel, self.dilations)]

    def is_padded(self) -> bool:
        return any(each != 0 for each in (*self.low, *self.high))

    def count(self, space: Sequence[Size]) -> tuple[Size, ...]:
        """How many windows there are along each dimension."""
        counts: list[Size] = []
        for size, low, high, span, stride in zip(space, self.low, self.high, self.spans,
                                                 self.strides, strict=True):
            rest = size + low + high - span
            if not self.rounds_up:
                counts.append(simplify(floor_divide(rest, stride) + 1))
                continue
            most = floor_divide(size + low + stride - 1, stride)
            counts.append(simplify(sympy.Min(floor_divide(rest + stride - 1, stride) + 1, most)))
        return tuple(counts)


def _check(builder: Builder, x: Array, windows: Windows, places: Sequence[Size]) -> None:
    count = len(windows.kernel)
    if x.rank != count + 2:
        builder.refuse(f"expected a tensor of rank {count + 2} for windows of {count} dimensions, "
                       f"but got {format_sizes(x.sizes)}")
    if any(isinstance(each, int) and each < 1 for each in places):
        builder.refuse(f"expected windows of {list(windows.spans)} within {format_sizes(x.sizes)} "
                       f"and its padding of {list(windows.low)} and {list(windows.high)}")


def _pad(builder: Builder, x: Array, windows: Windows, value: float = 0) -> Array:
    """x with its padding, where a negative one takes elements away, and with what windows beyond
    it reach over."""
    before, behind = ([simplify(-each) if _is_negative(each) else 0 for each in ends]
                      for ends in (windows.low, windows.high))
    space = [simplify(size - first - last)
             for size, first, last in zip(x.sizes[2:], before, behind)]
    x = emit_slice(builder, x, [0, 0, *before], [*x.sizes[:2], *space])
    low, high = ([0 if _is_negative(each) else each for each in ends]
                 for ends in (windows.low, windows.high))
    beyond = [stride - 1 if windows.rounds_up else 0 for stride in windows.strides]
    high = [simplify(each + more) for each, more in zip(high, beyond)]
    return emit_pad(builder, x, [0, 0, *low], [0, 0, *high], value)


def _is_negative(size: Size) -> bool:
    return isinstance(size, int) and size < 0


def _multiply(body: Body, index: str, factor: int) -> str:
    if factor == 1:
        return index
    return body.op(f"arith.muli {index}, {body.op(f'arith.constant {factor}', 'index')}", "index")


def _find_elements(body: Body, windows: Windows, places: int, elements: int) -> list[str]:
    """Where an element of a window is in the input. Loops from `places` on are places, and those
    from `elements` on elements of windows."""
    found = []
    for dim, (stride, gap) in enumerate(zip(windows.strides, windows.dilations)):
        begin = _multiply(body, body.index(places + dim), stride)
        step = _multiply(body, body.index(elements + dim), gap)
        found.append(body.op(f"arith.addi {begin}, {step}", "index"))
    return found


def _emit_patches(builder: Builder, x: Array, windows: Windows, places: Sequence[Size]) -> Array:
    """Of padded x, what each place of the result sees: [N, *places, C, *kernel]."""
    count = len(windows.kernel)
    is_whole = all(stride == size and gap == 1 and place * stride == whole
                   for stride, size, gap, place, whole
                   in zip(windows.strides, windows.kernel, windows.dilations, places, x.sizes[2:]))
    if is_whole:
        # Patches side by side, which cover x, need no copy of their elements one by one.
        pairs = [size for pair in zip(places, windows.kernel) for size in pair]
        split = emit_reshape(builder, x, (*x.sizes[:2], *pairs))
        return emit_transpose(builder, split, [0, *range(2, 2 + 2 * count, 2), 1,
                                               *range(3, 3 + 2 * count, 2)])

    def place(body: Body) -> list[str]:
        return [body.index(0), body.index(1 + count),
                *_find_elements(body, windows, 1, 2 + count)]
    return emit_reads(builder, "patches", x, (x.sizes[0], *places, x.sizes[1], *windows.kernel),
                      [], place)


def _emit_reduction(builder: Builder, base: str, x: Array, operand: Along, windows: Windows,
                    sizes: Sequence[Size], inner: str, start: float,
                    channel: Callable[[Body], str], compute: Callable[[Body, str, str], str],
                    combine: Callable[[Body, str, str, str], str]) -> Array:
    """`combine(body, old, compute(body, element of x, element of operand), inner)` over the
    elements of each window of padded x, from `start` on. `sizes` are those of the result."""
    rank, count = len(sizes), len(windows.kernel)

    def read(body: Body, name: str) -> str:
        element = body.extract(x, [body.index(0), channel(body),
                                   *_find_elements(body, windows, 2, rank)])
        return compute(body, body.convert(element, x.dtype, inner), name)
    return emit_reduction(builder, base, [operand], (*sizes, *windows.kernel),
                          range(rank, rank + count), inner, start, read,
                          lambda body, old, a: combine(body, old, a, inner), inner=inner)


def emit_convolution(builder: Builder, x: Array, weight: Array, bias: Array | None,
                     windows: Windows, *, groups: int = 1, places: Sequence[Size] | None = None,
                     dtype: str | None = None) -> Array:
    """x [N, C, *space] with filters [O, C / groups, *kernel], and a bias [O]: [N, O, *places]. Sums
    are in f32, integers in their own type, and rounded once to `dtype` (None: that of x).

    Args:
      places: the sizes of the result; None for those that are computed.
    """
    dtype = dtype or x.dtype
    places = tuple(windows.count(x.sizes[2:]) if places is None else places)
    _check(builder, x, windows, places)
    out, depth = weight.sizes[:2]
    if (weight.sizes[2:] != windows.kernel or not isinstance(out, int) or groups < 1
            or out % groups or x.sizes[1] != depth * groups):
        builder.refuse(f"expected filters [a multiple of {groups}, channels / {groups}, "
                       f"*{list(windows.kernel)}] of {format_sizes(x.sizes)} in {groups} groups, "
                       f"but got {format_sizes(weight.sizes)}")
    if bias is not None and bias.sizes != (out,):
        builder.refuse(f"expected a bias of [{out}], but got {format_sizes(bias.sizes)}")
    x = _pad(builder, x, windows)
    count = len(windows.kernel)
    if depth == 1 and groups > 1:
        return _emit_depthwise(builder, x, weight, bias, windows, places, dtype)
    patches = _emit_patches(builder, x, windows, places)
    depth = multiply(weight.sizes[1:])
    filters = emit_reshape(builder, weight, (out, depth))
    if groups == 1:
        rows = emit_reshape(builder, patches, (*patches.sizes[:1 + count], depth))
        y = emit_linear(builder, rows, filters, bias, dtype)
        y = emit_transpose(builder, y, [0, 1 + count, *range(1, 1 + count)])
        return emit_reshape(builder, y, (x.sizes[0], out, *places))
    # A product for each group.
    split = emit_reshape(builder, patches, (multiply(patches.sizes[:1 + count]), groups, depth))
    y = emit_matmul(builder, emit_transpose(builder, split, [1, 0, 2]),
                    emit_reshape(builder, filters, (groups, out // groups, depth)),
                    transpose_b=True, dtype=get_inner(x.dtype, weight.dtype))
    y = emit_reshape(builder, y, (groups, x.sizes[0], multiply(places), out // groups))
    y = emit_reshape(builder, emit_transpose(builder, y, [1, 0, 3, 2]),
                     (x.sizes[0], out, *places))
    return _add_bias(builder, y, bias, dtype)


def _add_bias(builder: Builder, y: Array, bias: Array | None, dtype: str) -> Array:
    if bias is None:
        return emit_convert(builder, y, dtype, base="y")
    inner = y.dtype
    return emit_elementwise(builder, "y", [y, Along(bias, (1,))], y.sizes, dtype,
                            lambda body, a, b: body.add(a, b, inner), inner=inner)


def _emit_depthwise(builder: Builder, x: Array, weight: Array, bias: Array | None,
                    windows: Windows, places: Sequence[Size], dtype: str) -> Array:
    """Of padded x: filters that see one channel each, [O, 1, *kernel]."""
    out, rank = weight.sizes[0], 2 + len(places)
    inner = get_inner(x.dtype, weight.dtype)
    filters = emit_reshape(builder, weight, (out, *windows.kernel))
    multiplier = sympy.sympify(out) / x.sizes[1]

    def channel(body: Body) -> str:
        index = body.index(1)
        if multiplier == 1:
            return index
        number = body.op(f"arith.constant {multiplier}", "index")
        return body.op(f"arith.divui {index}, {number}", "index")

    operand = Along(filters, (1, *range(rank, rank + len(places))))
    y = _emit_reduction(builder, "product", x, operand, windows, (x.sizes[0], out, *places),
                        inner, 0, channel, lambda body, a, b: body.mul(a, b, inner), Body.add)
    return _add_bias(builder, y, bias, dtype)


def emit_transposed_convolution(builder: Builder, x: Array, weight: Array, bias: Array | None,
                                windows: Windows, *, places: Sequence[Size], groups: int = 1,
                                dtype: str | None = None) -> Array:
    """The convolution whose gradient a convolution with the same windows has: x [N, C, *space] with
    filters [C, O / groups, *kernel]. Each element of x adds a filter to the result, which is cut
    by the padding before it and has the sizes `places`."""
    count = len(windows.kernel)
    _check(builder, x, windows, places)
    depth, width = weight.sizes[:2]
    if depth != x.sizes[1] or not isinstance(depth, int) or groups < 1 or depth % groups or (
            weight.sizes[2:] != windows.kernel):
        builder.refuse(f"expected filters [channels, a number, *{list(windows.kernel)}] of "
                       f"{format_sizes(x.sizes)} in {groups} groups, but got "
                       f"{format_sizes(weight.sizes)}")
    # A convolution by the filters in the opposite order, of x with zeros between its elements.
    split = emit_reshape(builder, weight, (groups, depth // groups, width, *windows.kernel))
    order = [0, 2, 1, *range(3, 3 + count)]
    filters = emit_reshape(builder, emit_transpose(builder, split, order),
                           (multiply([groups, width]), depth // groups, *windows.kernel))
    if math.prod(windows.kernel) > 1:
        filters = emit_reverse(builder, filters, range(2, 2 + count))
    spread = emit_pad(builder, x, [0] * x.rank, [0] * x.rank, interior=[
        0, 0, *(stride - 1 for stride in windows.strides)])
    edges = [span - 1 for span in windows.spans]
    low = [simplify(edge - each) for edge, each in zip(edges, windows.low)]
    high = [simplify(place + edge - size - before) for place, edge, size, before
            in zip(places, edges, spread.sizes[2:], low)]
    inner = Windows.make(windows.kernel, dilations=windows.dilations, low=low, high=high)
    return emit_convolution(builder, spread, filters, bias, inner, groups=groups, places=places,
                            dtype=dtype)


def emit_pool(builder: Builder, kind: str, x: Array, windows: Windows, *,
              counts_padding: bool = False, places: Sequence[Size] | None = None,
              dtype: str | None = None) -> Array:
    """The "max", "min", "sum", "prod" or "mean" of each window of x [N, C, *space]. Padding is no
    element of a window, unless a mean `counts_padding`; what lies beyond the padding never is
    one."""
    dtype = dtype or x.dtype
    places = tuple(windows.count(x.sizes[2:]) if places is None else places)
    _check(builder, x, windows, places)
    inner = get_inner(x.dtype)
    start = get_start(kind, inner)
    window = emit_full(builder, windows.kernel, 0, inner)
    rank = x.rank
    result = _emit_reduction(
        builder, kind, _pad(builder, x, windows, start),
        Along(window, tuple(range(rank, rank + len(places)))), windows,
        (*x.sizes[:2], *places), inner, start, lambda body: body.index(1),
        lambda _, a, window: a, COMBINE[kind])
    if kind != "mean":
        return emit_convert(builder, result, dtype, base=kind)
    if not windows.rounds_up and (counts_padding or not windows.is_padded()):
        return emit_binary(builder, "div", result, math.prod(windows.kernel), dtype=dtype)
    # A window has as many elements as there are ones in a window of ones.
    ones = emit_full(builder, (1, 1, *x.sizes[2:]), 1, "f32")
    if counts_padding:
        ones = emit_pad(builder, ones, [0, 0, *windows.low], [0, 0, *windows.high], 1)
        windows = dataclasses.replace(windows, low=(0,) * len(places), high=(0,) * len(places))
    counts = emit_pool(builder, "sum", ones, windows, places=places)
    return emit_binary(builder, "div", result, counts, dtype=dtype)
