# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resize: images in other sizes."""

from __future__ import annotations

import fractions
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from blockscale._linalg import (
    PLACES,
    ROUNDINGS,
    Array,
    Axis,
    Size,
    emit_convert,
    emit_interpolated,
    emit_nearest,
    floor_divide,
    simplify,
)
from blockscale.onnx._importer import Importer, Operand, get_input, handles
from blockscale.onnx._shapes import read_axes

_MODES = ("nearest", "linear", "cubic")
#: Attributes of which only one value is imported.
_FIXED = {"antialias": 0, "exclude_outside": 0, "keep_aspect_ratio_policy": b"stretch"}
#: The first opset whose nodes say where the elements of a result lie. In older ones they lie at
#: multiples of 1 / scale, and take the element before that place, or behind it where the image
#: becomes smaller, as onnxruntime computes them.
_OF_PLACES = 11
#: The largest denominator of scales of sizes that are not known.
_LARGEST = 64


def _scale(importer: Importer, size: Size, scale: float) -> Size:
    """The size times a scale, rounded down."""
    if isinstance(size, int):
        return math.floor(np.float32(size) * np.float32(scale))
    ratio = fractions.Fraction(scale).limit_denominator(_LARGEST)
    if np.float32(ratio.numerator / ratio.denominator) != np.float32(scale):
        importer.refuse(f"expected scales of sizes that are not known to be fractions of "
                        f"denominators up to {_LARGEST}, but got {scale}")
    return floor_divide(simplify(size * ratio.numerator), ratio.denominator)


def _check_count(importer: Importer, dims: Sequence[int], found: Sequence[Any]) -> None:
    if len(found) != len(dims):
        importer.refuse(f"expected sizes or scales of {len(dims)} axes, but got {len(found)}")


def _take_axes(importer: Importer, x: Array, inputs: Sequence[Operand],
               attributes: dict[str, Any]) -> list[Axis]:
    """The axes that get another size."""
    scales, sizes = get_input(inputs, 2), get_input(inputs, 3)
    dims = read_axes(importer, attributes.get("axes", range(x.rank)), x.rank)
    places = importer.choose(attributes, "coordinate_transformation_mode", "half_pixel", PLACES)
    if _is_old(importer):
        places = "asymmetric"
    if sizes is not None and sizes.sizes != (0,):
        wanted = importer.list_sizes(sizes, "sizes")
        _check_count(importer, dims, wanted)
        if any(isinstance(each, int) and each < 0 for each in wanted):
            importer.refuse(f"expected sizes of 0 or more, but got {wanted}")
        factors: list[float | None] = [None] * len(wanted)
    elif scales is not None:
        known = [float(each) for each in importer.known(scales, "scales").reshape(-1)]
        _check_count(importer, dims, known)
        if not all(0 < each < math.inf for each in known):
            importer.refuse(f"expected finite scales of more than 0, but got {known}")
        wanted = [_scale(importer, x.sizes[dim], each) for dim, each in zip(dims, known)]
        factors = [*known]
    else:
        importer.refuse("expected scales or sizes, but got none")
    return [Axis(dim, size, scale, places) for dim, size, scale in zip(dims, wanted, factors)
            if scale not in (None, 1.0) or size != x.sizes[dim]]


def _is_old(importer: Importer) -> bool:
    return importer.model.written_opset < _OF_PLACES


# onnx.reference has the places of the newest opset.
@handles("Resize", of_constants=True)
def import_resize(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                  ) -> Array:
    x = importer.plain(inputs[0])
    importer.check_fixed(attributes, _FIXED)
    mode = importer.choose(attributes, "mode", "nearest", _MODES)
    rounding = importer.choose(attributes, "nearest_mode", "round_prefer_floor", ROUNDINGS)
    y = x if mode == "nearest" else importer.number(inputs[0])
    cubic = attributes.get("cubic_coeff_a", -0.75) if mode == "cubic" else None
    for axis in _take_axes(importer, x, inputs, attributes):
        if mode == "nearest" and _is_old(importer):
            y = emit_nearest(importer, y, axis, "ceil" if (axis.scale or 1) < 1 else "floor")
        elif mode == "nearest":
            y = emit_nearest(importer, y, axis, rounding)
        else:
            y = emit_interpolated(importer, y, axis, cubic)
    return emit_convert(importer, y, x.dtype)
