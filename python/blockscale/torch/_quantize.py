# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Global scales and quantizers in graphs whose layers are decomposed."""

from __future__ import annotations

from typing import Any

import torch

from blockscale import _ops
from blockscale._linalg import Array, emit_reduce, emit_reshape, emit_unary, get_spec
from blockscale._trace import Value
from blockscale._types import Layout
from blockscale.torch._importer import Constant, Importer, Narrow, handles
from blockscale.torch._torchao import flatten

#: Of NVFP4: what torchao divides an amax by.
_RANGE = 448 * 6


@handles("aten.abs.default", "aten.reciprocal.default")
def import_unary(importer: Importer, input: Any) -> Array:
    """An op on elements that the op behind it may see through."""
    kind = str(importer.node.target).split(".")[1]
    x = importer.tensor(input) if kind == "abs" else importer.array(input)
    result = emit_unary(importer, kind, x, base=importer.node.name)
    importer.origins[result.value.name] = kind, x
    return result


@handles("aten.max.default")
def import_max(importer: Importer, input: Any) -> Array:
    kind, x = importer.get_origin(input)
    if kind != "abs":
        return emit_reduce(importer, "max", importer.tensor(input))
    amax = Array(_ops.amax(emit_reshape(importer, x, flatten(x.sizes)).value), ())
    importer.origins[amax.value.name] = "amax", x
    return amax


def import_global_scale(importer: Importer, amax: Any, divisor: Any) -> Array | None:
    """An amax divided by the range of NVFP4, if that is what it is. A program that returns it gets
    the quotient also of an amax of 0; one that scales by it alone computes no NaN of zeros."""
    if importer.get_origin(amax)[0] != "amax" or divisor != _RANGE:
        return None
    is_returned = any(user.op == "output" for user in importer.node.users)
    return Array(_ops.global_scale(amax.value, recipe="torchao", nonzero_amax=not is_returned), ())


def _find_decode_scale(encode: torch.Tensor) -> torch.Tensor | None:
    """A number whose reciprocal is `encode`."""
    found = encode.reciprocal()
    for candidate in (found, torch.nextafter(found, 0 * found), torch.nextafter(found, 2 * found)):
        if torch.equal(candidate.reciprocal(), encode):
            return candidate
    return None


def _take_encode_scale(importer: Importer, encode: Any) -> Value | None:
    """The decode scale, which ops of the dialect have, of an encode scale."""
    if encode is None:
        return None
    if isinstance(encode, Constant) and encode.value.numel() == 1:
        decode = _find_decode_scale(encode.value.float().reshape(()))
        if decode is None:
            importer.refuse("expected an encode scale that is the reciprocal of a number, but got "
                            f"{encode.value.item()!r}")
        return importer.bind_constant(decode, f"{encode.name}_decode", get_spec((), "f32"))
    kind, source = importer.get_origin(encode)
    if kind != "reciprocal":
        importer.refuse("expected an encode scale that is aten.reciprocal of a decode scale, or a "
                        "constant: its reciprocal may have another reciprocal")
    return emit_reshape(importer, source, ()).value if source.sizes else source.value


@handles("ao.mslk_quantize_nvfp4.default")
def import_mslk_quantize(importer: Importer, x: Any, global_scale: Any) -> tuple[Narrow, Narrow]:
    """torchao's call of MSLK's kernel, whose global scale is an encode scale."""
    x = importer.array(x, "x")
    data, scale = _ops.quantize(emit_reshape(importer, x, flatten(x.sizes)).value, recipe="mslk",
                                global_scale=_take_encode_scale(importer, global_scale),
                                layout=Layout())
    return Narrow(scale, torch.float8_e4m3fn), Narrow(data, torch.uint8)
