# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizers as functions of ONNX: the arithmetic of docs/Numerics.md in its operators.

A function quantizes the last dimension of x in blocks. ONNX has no op that chooses scales,
so a model that was exported has a function for each format and recipe that it uses, in the
domain "blockscale". The functions say nothing of shapes.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

from blockscale._ops import FORMATS
from blockscale.onnx._nodes import Writer

DOMAIN = "blockscale"
#: The opset of exported models: the first with casts to float8e8m0; that of six bits is newer.
OPSET, OPSET_OF_SIX_BITS = 24, 28
_FLT_MAX = float(np.finfo(np.float32).max)


@dataclasses.dataclass(frozen=True)
class Element:
    """The largest value of data, the exponent of the largest power of two among them, and
    their mantissa bits."""

    largest: float
    exponent: int
    mantissa: int


ELEMENTS = {
    "f8E4M3FN": Element(448, 8, 3), "f8E5M2": Element(57344, 15, 2),
    "f6E2M3FN": Element(7.5, 2, 3), "f6E3M2FN": Element(28, 4, 2),
    "f4E2M1FN": Element(6, 2, 1),
}
#: Where `tosa` begins to double the scale: above a multiple of the power of two below the
#: amax, or (True) from it on.
_TOSA = {
    "f8E4M3FN": (464 / 256, False), "f8E5M2": (61440 / 32768, True), "f6E2M3FN": (7.75 / 4, True),
    "f6E3M2FN": (30 / 16, True), "f4E2M1FN": (7 / 4, True),
}
#: The mantissa bits to which `compressed_tensors` rounds an amax.
_ROUNDED_BITS = {"f4E2M1FN": 1, "f6E2M3FN": 3, "f8E4M3FN": 1}


class Arithmetic(Writer):
    """Nodes of arithmetic in f32."""

    def add(self, a: str, b: str) -> str:
        return self.op("Add", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.op("Mul", a, b)

    def div(self, a: str, b: str) -> str:
        return self.op("Div", a, b)

    def minimum(self, a: str, b: str) -> str:
        return self.op("Min", a, b)

    def maximum(self, a: str, b: str) -> str:
        return self.op("Max", a, b)

    def select(self, condition: str, a: str, b: str) -> str:
        return self.op("Where", condition, a, b, name="chosen")

    def is_equal(self, a: str, value: float) -> str:
        return self.op("Equal", a, self.number(value))

    def round(self, x: str, dtype: str) -> str:
        """An f32 rounded to another type, in f32."""
        return x if dtype == "f32" else self.cast(self.cast(x, dtype), "f32")


# MX.


def _get_threshold(rule: str, element: str) -> tuple[float, bool] | None:
    """Where the scale doubles, as _TOSA has it; None for never."""
    if rule == "floor":
        return None
    if rule == "ceil":
        return 1.0, False
    if rule == "tosa":
        return _TOSA[element]
    bits = _ROUNDED_BITS[element] if rule == "compressed_tensors" else ELEMENTS[element].mantissa
    return 2 - 2.0 ** -(bits + 1), True


def _round_down(body: Arithmetic, x: str) -> str:
    """The power of two at or below x, at least 2^-127; NaN for infinity and NaN."""
    return body.cast(body.cast(x, "f8E8M0FNU", round_mode="down", saturate=0), "f32")


def _get_mx_scale(body: Arithmetic, amax: str, rule: str, element: str) -> str:
    """An f32 power of two, at least 2^-127; infinity and NaN stand for byte 255."""
    two = body.number(2)
    if rule in ("rceil", "rceil_sat"):
        ratio = body.mul(amax, body.number(np.float32(1) / np.float32(ELEMENTS[element].largest)))
        below = _round_down(body, ratio)
        scale = body.select(body.op("Greater", ratio, below), body.mul(below, two), below)
        if rule == "rceil":
            return scale
        is_infinite = body.op("Or", body.op("IsInf", scale), body.op("IsInf", ratio))
        return body.select(is_infinite, body.number(2.0 ** 127), scale)
    below = _round_down(body, amax)
    scale = body.mul(below, body.number(2.0 ** -ELEMENTS[element].exponent))
    threshold = _get_threshold(rule, element)
    if threshold is not None:
        value, is_reached = threshold
        compare = "GreaterOrEqual" if is_reached else "Greater"
        passes = body.op(compare, body.div(amax, below), body.number(value))
        doubled = body.mul(scale, two)
        if rule in ("even", "compressed_tensors"):
            # The amax itself is rounded, to infinity where it was nearly 2^128.
            top = body.op("And", passes, body.is_equal(below, 2.0 ** 127))
            doubled = body.select(top, body.number(np.inf), doubled)
        scale = body.select(passes, doubled, scale)
    return body.maximum(scale, body.number(2.0 ** -127))


def _quantize_mx(body: Arithmetic, blocks: str, amax: str, _: str, rule: str, data: str
                 ) -> tuple[str, str]:
    scale = _get_mx_scale(body, amax, rule, data)
    byte = body.cast(scale, "f8E8M0FNU", round_mode="down", saturate=0)
    scaled = body.mul(blocks, body.div(body.number(1), body.cast(byte, "f32")))
    if rule == "compressed_tensors" and data == "f4E2M1FN":
        scaled = body.add(scaled, body.number(0))
    return scale, scaled


# NVFP4. What comes as `g` is the decode scale, or the amax that it stands for.


def _invert(body: Arithmetic, g: str) -> str:
    return body.div(body.number(1), g)


def _round_scale(body: Arithmetic, ratio: str, least: float) -> tuple[str, str]:
    """Before and after it is rounded to E4M3; NaN passes."""
    held = body.minimum(body.maximum(ratio, body.number(least)), body.number(448))
    return held, body.round(held, "f8E4M3FN")


def _get_decode_scale(body: Arithmetic, g: str, is_amax: bool) -> str:
    return body.div(g, body.number(2688)) if is_amax else g


def _torchao(body: Arithmetic, blocks: str, amax: str, g: str, is_amax: bool) -> tuple[str, str]:
    g = _get_decode_scale(body, g, is_amax)
    held, scale = _round_scale(body, body.div(body.div(amax, body.number(6)), g), 2.0 ** -6)
    return held, body.mul(blocks, body.div(_invert(body, g), scale))


def _modelopt(body: Arithmetic, blocks: str, amax: str, g: str, is_amax: bool) -> tuple[str, str]:
    g = _get_decode_scale(body, g, is_amax)
    ratio = body.div(amax, body.mul(body.number(6), g))
    ratio = body.select(body.is_equal(ratio, 0), body.number(1), ratio)
    held, scale = _round_scale(body, ratio, 2.0 ** -9)
    return held, body.add(body.div(blocks, body.mul(scale, g)), body.number(0))


def _mslk(body: Arithmetic, blocks: str, amax: str, g: str, is_amax: bool) -> tuple[str, str]:
    encode = _get_mslk_encode(body, g) if is_amax else _invert(body, g)
    held, scale = _round_scale(body, body.mul(body.div(amax, body.number(6)), encode), 2.0 ** -9)
    return held, body.mul(blocks, body.div(encode, scale))


def _get_mslk_encode(body: Arithmetic, amax: str) -> str:
    return body.div(body.number(2688), body.maximum(amax, body.number(1e-8)))


def _get_te_encode(body: Arithmetic, g: str, is_amax: bool) -> str:
    ratio = body.div(body.number(2688 if is_amax else 1), g)
    encode = body.minimum(ratio, body.number(_FLT_MAX))
    encode = body.select(body.is_equal(g, 0), body.number(1), encode)
    return body.select(body.is_equal(encode, 0), body.number(1), encode) if is_amax else encode


def _te(body: Arithmetic, blocks: str, amax: str, g: str, is_amax: bool) -> tuple[str, str]:
    encode = _get_te_encode(body, g, is_amax)
    sixth = body.number(np.float32(1) / np.float32(6))
    held = body.minimum(body.mul(amax, body.mul(encode, sixth)), body.number(448))
    scale = body.round(held, "f8E4M3FN")
    factor = _invert(body, body.mul(scale, _invert(body, encode)))
    scaled = body.mul(blocks, body.minimum(factor, body.number(_FLT_MAX)))
    return held, body.add(scaled, body.number(0))


_NVFP4: dict[str, Callable[..., tuple[str, str]]] = {
    "torchao": _torchao, "modelopt": _modelopt, "mslk": _mslk, "te": _te,
}
#: Recipes whose last block may be short.
_TAKES_TAILS = ("modelopt", "te")
_MX = ("floor", "rceil", "rceil_sat", "ceil", "even", "tosa", "compressed_tensors")
#: The recipe of a quantizer that names none.
DEFAULTS = {name: "torchao" if name == "nvfp4" else "rceil" for name in FORMATS}


def get_nonzero_amax(body: Arithmetic, amax: str) -> str:
    """The amax that an op with nonzero_amax takes an amax as."""
    is_zero = body.is_equal(body.div(amax, body.number(2688)), 0)
    return body.select(is_zero, body.number(2688), amax)


def get_global_scale(body: Arithmetic, amax: str, recipe: str) -> str:
    """The decode scale of an amax, as the op global_scale has it."""
    if recipe == "mslk":
        return _invert(body, _get_mslk_encode(body, amax))
    if recipe == "te":
        return _invert(body, _get_te_encode(body, amax, True))
    return _get_decode_scale(body, amax, True)


def find_obstacle(format: str, recipe: str) -> str | None:
    """Why a quantizer cannot be exported, if it cannot."""
    data = FORMATS[format][0]
    if data not in ELEMENTS:
        return f"expected data of 4, 6 or 8 bits with a floating point, but got {data}"
    known = tuple(_NVFP4) if format == "nvfp4" else _MX
    if recipe == "compressed_tensors" and data not in _ROUNDED_BITS:
        return f"expected data that recipe {recipe} has, but got {data}"
    if recipe not in known:
        return f"expected recipe {', '.join(known)}, but got {recipe}"
    return None


@functools.cache
def make_function(format: str, recipe: str, is_amax: bool, opset: int) -> onnx.FunctionProto:
    """(x, g) -> (data, scale), of x [.., K] in f32, bf16 or f16.

    g is f32, of rank 3 and broadcast to rows [R, 1, 1] of x: the global scale of NVFP4, or
    the amax that it stands for where `is_amax`. Functions of MX have no g. data is [.., K],
    scale [.., K/B], rounded up.
    """
    data, scale_type, block = FORMATS[format]
    body = Arithmetic()
    x, g = body.name("x"), body.name("g")
    names = [body.name("data"), body.name("scale")]
    last = body.op("Shape", x, start=-1)
    rows = body.op("Reshape", body.cast(x, "f32"), body.op("Concat", body.sizes(-1), last, axis=0))
    padded = last
    if recipe in _TAKES_TAILS and format == "nvfp4":
        missing = body.op("Mod", body.op("Neg", last), body.sizes(block))
        rows = body.op("Pad", rows, body.op("Concat", body.sizes(0, 0, 0), missing, axis=0))
        padded = body.add(last, missing)
    blocks = body.op("Reshape", rows, body.sizes(0, -1, block), name="blocks")
    amax = body.op("ReduceMax", body.op("Abs", blocks), body.sizes(-1), name="amax", keepdims=1)
    if format == "nvfp4":
        scale, scaled = _NVFP4[recipe](body, blocks, amax, g, is_amax)
    else:
        scale, scaled = _quantize_mx(body, blocks, amax, g, recipe, data)
    wide = body.op("Reshape", scaled, body.op("Concat", body.sizes(-1), padded, axis=0))
    if padded != last:
        wide = body.op("Slice", wide, body.sizes(0), last, body.sizes(1))
    wide = body.op("Reshape", wide, body.op("Shape", x))
    # NaN has one code: that of the largest number where the format has no NaN.
    eight_bits = data.startswith("f8")
    nan = np.nan if eight_bits else ELEMENTS[data].largest
    known = body.select(body.op("IsNaN", wide), body.number(nan), wide)
    results = [body.cast(known, data, **({"saturate": 1} if eight_bits else {}))]
    shape = body.op("Concat", body.op("Shape", x, end=-1), body.sizes(-1), axis=0)
    scale = body.op("Reshape", scale, shape)
    if scale_type == "f8E8M0FNU":
        results.append(body.cast(scale, scale_type, round_mode="down", saturate=0))
    else:
        results.append(body.cast(scale, scale_type, saturate=1))
    for name, result in zip(names, results):
        body.nodes.append(helper.make_node("Identity", [result], [name]))
    return helper.make_function(
        DOMAIN, get_name(format, recipe, is_amax), [x, g] if format == "nvfp4" else [x], names,
        body.nodes, [helper.make_opsetid("", opset)])


def get_name(format: str, recipe: str, is_amax: bool) -> str:
    return f"quantize_{format}_{recipe}" + ("_amax" if is_amax else "")


def list_functions() -> dict[str, tuple[str, str, bool]]:
    """(format, recipe, is_amax) of all functions, by their names."""
    found = {}
    for format in FORMATS:
        for recipe in (*_NVFP4, *_MX):
            if find_obstacle(format, recipe) is None:
                for is_amax in (False, True)[:2 if format == "nvfp4" else 1]:
                    found[get_name(format, recipe, is_amax)] = (format, recipe, is_amax)
    return found


#: A global scale of 1.0, which an absent one means.
ONE = np.ones((1, 1, 1), np.float32)
#: Types of ml_dtypes that a module's constants may have, by the names of MLIR.
NUMPY = {
    "f4E2M1FN": ml_dtypes.float4_e2m1fn, "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "bf16": ml_dtypes.bfloat16,
}
