# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantize by every route that must give the same bytes; dequantize."""

from dataclasses import dataclass, field

import numpy as np

from cases import swizzled
from ir import SWIZZLED, Tensor
from jobs import Job, bits_check

INPUT_ELEMENTS = {np.dtype("uint16"): "bf16", np.dtype("uint32"): "f32"}


@dataclass
class Expected:
    """One expected array and the masks of what is not compared in it."""

    array: str
    want: np.ndarray
    uncompared: dict = field(default_factory=dict)
    written: bool = True

    def swizzled(self, array=None, want=None):
        """The same scales in tiles; checked where no array has them, too."""
        tiles = swizzled(self.want) if want is None else want
        masks = {reason: swizzled(mask) for reason, mask in self.uncompared.items()}
        return Expected(array or self.array, tiles, masks, want is not None)

    def transposed(self):
        """The same matrices on their sides, which no array has."""
        masks = {r: mask.swapaxes(-2, -1) for r, mask in self.uncompared.items()}
        return Expected(self.array, self.want.swapaxes(-2, -1), masks, False)

    def expanded(self, block, dim, size):
        """Compact scales of square blocks, replicated for a product along k or n."""
        masks = {
            r: _expanded(mask, block, dim, size) for r, mask in self.uncompared.items()
        }
        want = _expanded(self.want, block, dim, size)
        return Expected(self.array, want, masks, False)


def _expanded(scale, block, dim, size):
    turned = scale if dim == "k" else scale.swapaxes(-2, -1)
    return np.repeat(turned, block, axis=-2)[..., :size, :]


def input_tensor(job, bits):
    return job.input(Tensor(bits.shape, INPUT_ELEMENTS[bits.dtype]), bits)


def _checks(expected, element, route, written=False):
    return [
        bits_check(
            e.array,
            e.want,
            element,
            e.uncompared,
            route=route,
            written=written and e.written,
        )
        for e in expected
    ]


def quantize(job, x, format, recipe, routes, data, scales, tiles, form=None):
    """Each route (its name to its operands) with linear scales, then with swizzled
    ones, where the form has them; `data`, `scales`, `tiles` list what to expect.
    Returns the linear scales of the first route."""
    linear = None
    for route, operands in routes.items():
        q, s = job.function.quantize(x, format, recipe, form=form, **operands)
        first = linear is None
        linear = linear or s
        job.output(q, _checks(data, format.data, route, first))
        job.output(s, _checks(scales, format.scale, route, first))
    if tiles:
        t = job.function.swizzle(linear, SWIZZLED)
        job.output(t, _checks(tiles, format.scale, "swizzle", True))
        for route, operands in routes.items():
            q, t = job.function.quantize(x, format, recipe, SWIZZLED, form, **operands)
            way = ", ".join(filter(None, (route, "swizzled result")))
            job.output(q, _checks(data, format.data, way))
            job.output(t, _checks(tiles, format.scale, way))
    return linear


def expand(job, scale, block, dim, shape, expected, layout=None):
    """Compact scales of square blocks, expanded to `shape` for a product along k
    or n of what they are the scales of."""
    value = job.function.expand_scale(scale, block, dim, shape, layout)
    element = scale.type.element
    job.output(value, _checks([expected], element, "expand_scale", True))


def dequantize_job(case, prefix, format, data, scale, recipe=None, global_scale=None):
    """Dequantizes expected codes, so that it is judged alone."""
    job = Job(f"{case.name}.{prefix}dequantize")
    shape = (*scale.shape[:-1], scale.shape[-1] * format.block)
    if "x" in case.inputs:
        shape = case.inputs["x"].shape
    q = job.input(Tensor(shape, format.data), data)
    s = job.input(Tensor(scale.shape, format.scale), scale)
    operands = {}
    if global_scale is not None:
        operands["global_scale"] = job.input(Tensor(shape[:-2], "f32"), global_scale)
    for element in ("f32", "bf16"):
        array = f"{prefix}dequant_{element}"
        if array in case.expected:
            value = job.function.dequantize(q, s, format, element, recipe, **operands)
            job.output(value, [bits_check(array, case.expected[array], element)])
    return job
