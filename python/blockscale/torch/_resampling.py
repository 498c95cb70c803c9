# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images and sounds in other sizes, and padding by their own elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockscale._linalg import (
    Array,
    Axis,
    emit_convert,
    emit_interpolated,
    emit_nearest,
    emit_pad_by_elements,
)
from blockscale.torch._importer import Importer, handles, sizes_of, to_size

#: The coefficient of PyTorch's cubic functions.
_CUBIC = -0.75


def _get_axes(importer: Importer, x: Array, arguments: dict[str, Any], places: str) -> list[Axis]:
    """The dimensions of space with their new sizes."""
    sizes = sizes_of(importer.result)
    count = x.rank - 2
    names = ("scales_d", "scales_h", "scales_w")[-count:] if count > 1 else ("scales",)
    scales = arguments.get("scale_factors") or [arguments.get(name) for name in names]
    return [Axis(dim, sizes[dim], None if scale is None else float(scale), places)
            for dim, scale in enumerate(scales, 2)]


_DIMENSIONS = (1, 2, 3)
_FORMS = ("default", "vec")


@handles(*(f"aten.{name}{count}d.{form}" for name in ("upsample_nearest", "_upsample_nearest_exact")
           for count in _DIMENSIONS for form in _FORMS))
def import_nearest(importer: Importer, input: Any, **arguments: Any) -> Array:
    """The element at or before each place, or the nearest one."""
    x = importer.tensor(input)
    is_exact = "exact" in str(importer.node.target)
    for axis in _get_axes(importer, x, arguments, "half_pixel" if is_exact else "asymmetric"):
        x = emit_nearest(importer, x, axis, "round_prefer_ceil" if is_exact else "floor")
    return x


@handles(*(f"aten.upsample_{name}.{form}" for name in (
    "linear1d", "bilinear2d", "trilinear3d", "bicubic2d") for form in _FORMS))
def import_interpolated(importer: Importer, input: Any, align_corners: bool,
                        **arguments: Any) -> Array:
    x = importer.array(input)
    cubic = _CUBIC if "bicubic" in str(importer.node.target) else None
    places = "align_corners" if align_corners else "half_pixel"
    for axis in _get_axes(importer, x, arguments, places):
        x = emit_interpolated(importer, x, axis, cubic)
    return emit_convert(importer, x, importer.get_dtype(), base="resized")


@handles(*(f"aten.{name}_pad{count}d.default" for name in ("reflection", "replication")
           for count in _DIMENSIONS))
def import_pad_by_elements(importer: Importer, input: Any, padding: Sequence[Any]) -> Array:
    """Sizes before and behind each dimension, the last one first."""
    x, sizes = importer.tensor(input), list(map(to_size, padding))
    if any(isinstance(each, int) and each < 0 for each in sizes):
        importer.refuse(f"expected padding of 0 or more, but got {sizes}")
    low, high = [0] * x.rank, [0] * x.rank
    for number, dim in enumerate(range(x.rank - 1, x.rank - 1 - len(sizes) // 2, -1)):
        low[dim], high[dim] = sizes[2 * number:2 * number + 2]
    kind = "reflect" if "reflection" in str(importer.node.target) else "edge"
    return emit_pad_by_elements(importer, kind, x, low, high)
