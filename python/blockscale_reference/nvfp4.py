# ===- nvfp4.py - NVFP4 quantizers ----------------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""NVFP4: E2M1 data, one E4M3 scale for each block (16 elements of a row or column,
or a tile of 16 x 16), and an optional f32 global scale g (decode: x ~ code *
scale * g).

The recipes are those of five packages; they differ in rounding, in the smallest
scale and at zero. Each operation below is one f32 rounding, and in
`compressed_tensors` some are one bf16 rounding where x is bf16.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import four_over_six
from .bits import from_bf16, to_bf16
from .blocks import cut, join, largest_magnitude
from .codecs import E2M1, E4M3
from .stochastic import encode_stochastic, random_bytes

BLOCK = 16

_ONE, _SIX = np.float32(1), np.float32(6)
_E4M3_MAX = np.float32(448)
_FLT_MAX = np.finfo(np.float32).max
_EIGHTH = np.uint8(0x20)  # E4M3 of 0.125


@dataclass(frozen=True)
class Factors:
    """What the global scale is to a quantizer."""

    decode: np.ndarray  # g
    encode: np.ndarray  # S, of the recipes that compute with it
    total: np.ndarray  # the tensor's amax, of which they are
    x_type: str
    has_block_amax: bool  # the amaxes of blocks are given


@dataclass(frozen=True)
class Recipe:
    """A recipe: a field for each rule in which packages differ."""

    quotient: Callable  # of (amax, factors): what the scale of a block is rounded from
    scaled: Callable  # of (blocks, decoded scales, factors): what codes are rounded from
    least: float = -np.inf  # of what scales are rounded from
    zero_byte: int | None = None  # in the place of a scale that is 0 or less
    squared: bool | None = None  # which errors choose one of two scales (four_over_six)
    keeps_negative_zero: bool = False  # of x, as code 8
    takes_tails: bool = False
    amax: Callable = largest_magnitude
    round_scale: Callable = E4M3.encode
    round_element: Callable = E2M1.encode

    def scales(self, blocks, amax, factors):
        """The scale bytes [.., 1, 1] of blocks [.., bm, bk]."""
        value = self.quotient(amax, factors)
        if self.squared is not None:
            value = four_over_six.choose(self, blocks, value, factors)
        scale = self.rounded_scale(value)
        if self.zero_byte is None:
            return scale
        # A negative global scale gives no negative scales.
        return np.where((value <= 0) | (scale == 0), np.uint8(self.zero_byte), scale)

    def rounded_scale(self, value):
        """Bytes of values held in [least, 448]; NaN passes."""
        return self.round_scale(np.clip(value, np.float32(self.least), _E4M3_MAX))


def global_scale(amax, recipe="torchao", x_type="f32"):
    """The decode scale of tensors whose largest magnitude is `amax` (f32).

    `x_type` is the type of the tensors, "f32", "bf16" or "f16", to which the recipe
    compressed_tensors rounds.
    """
    amax = np.asarray(amax, np.float32)
    with np.errstate(all="ignore"):
        if recipe in ("torchao", "torchao_training", "modelopt"):
            return amax / _range(recipe)
        return _ONE / encode_scale(recipe, None, amax, x_type)


def nonzero_amax(amax):
    """The amax of which the compiler takes the global scale where it chooses one: 2688 for
    zeros, and for numbers whose decode scale would be 0."""
    amax = np.asarray(amax, np.float32)
    with np.errstate(all="ignore"):
        return np.where(amax / _range("torchao") == 0, _range("torchao"), amax)


def quantize_nvfp4(
    x,
    recipe="torchao",
    global_scale=None,
    global_amax=None,
    block=(1, BLOCK),
    transposed=False,
    block_amax=None,
    rng=None,
    x_type="f32",
    rules=None,
    scale=None,
):
    """Codes [.., M, K] and scale bytes [.., ceil(M / bm), ceil(K / bk)] of f32 x.

    At most one of `global_scale` (decode) and `global_amax`: a scalar, one value
    for each batch element, or one for each row [.., M]; without either the global
    scale is 1. `block_amax`, of the scales' shape, replaces the blocks' own.
    `transposed` gives both results transposed: the quantization of x^T. `rng` =
    (seed, offset) rounds stochastically. Recipes te, modelopt and te_4over6_*
    take tails, as if padded with zeros. `x_type` is the type of x, "f32", "bf16"
    or "f16", to which the recipe compressed_tensors rounds.

    `rules` is a Recipe with other rules than those of the name, and `scale` are bytes in
    the place of the blocks' own.
    """
    rules = RECIPES[recipe] if rules is None else rules
    x = np.asarray(x, np.float32)
    if transposed:
        x, block = x.swapaxes(-2, -1), block[::-1]
    blocks = cut(x, block, rules.takes_tails)
    if block_amax is None:
        amax = rules.amax(blocks)
    else:
        amax = np.asarray(block_amax, np.float32)[..., None, None]
    with np.errstate(all="ignore"):
        decode = _decode_scale(recipe, global_scale, global_amax)
        encode = encode_scale(recipe, global_scale, global_amax, x_type)
        total = _range(recipe) * decode if global_amax is None else global_amax
        decode, encode, total = (against_blocks(v, x) for v in (decode, encode, total))
        factors = Factors(decode, encode, total, x_type, block_amax is not None)
        if scale is None:
            scale = rules.scales(blocks, amax, factors)[..., 0, 0]
        scale = np.asarray(scale, np.uint8)
        scaled = rules.scaled(blocks, E4M3.decode(scale)[..., None, None], factors)
    scaled = join(scaled, *x.shape[-2:])
    if rng is None:
        codes = rules.round_element(scaled)
    elif transposed:
        bits = random_bytes(x.swapaxes(-2, -1).shape, *rng)
        codes = encode_stochastic(scaled, bits.swapaxes(-2, -1))
    else:
        codes = encode_stochastic(scaled, random_bytes(x.shape, *rng))
    if not rules.keeps_negative_zero:
        codes[scaled == 0] = 0
    return codes, scale


def against_elements(factor, x):
    """A global factor of any form, to meet elements [.., M, K]."""
    factor = np.asarray(factor, np.float32)
    if factor.ndim and factor.ndim == x.ndim - 1:
        return factor[..., None]
    return factor[..., None, None]


def against_blocks(factor, x):
    """The factor in the shape that meets blocks [.., M / bm, K / bk, bm, bk]."""
    return against_elements(factor, x)[..., None, None]


def _range(recipe):
    """What the largest magnitude of a tensor is mapped to."""
    scale = four_over_six.LARGEST_SCALE if "4over6" in recipe else _E4M3_MAX
    return scale * _SIX


def _decode_scale(recipe, scale, amax):
    if amax is not None:
        return global_scale(amax, recipe)
    return _ONE if scale is None else np.asarray(scale, np.float32)


def encode_scale(recipe, scale, amax, x_type="f32"):
    """The factor S of te, its 4over6, mslk, compressed_tensors and torchao_training,
    from g or from the amax that it stands for."""
    if amax is not None:
        amax = np.asarray(amax, np.float32)
        if recipe == "compressed_tensors":
            with np.errstate(all="ignore"):
                inverse = _rounded(_ONE / amax, x_type)
                encode = _rounded(inverse * _range(recipe), x_type)
            return np.where(encode < np.inf, encode, _ONE)
        if recipe == "mslk":
            return _range(recipe) / np.maximum(amax, np.float32(1e-8))
        encode = np.minimum(_range(recipe) / amax, _FLT_MAX)
        return np.where((amax == 0) | (encode == 0), _ONE, encode)
    if scale is None:
        return _ONE
    scale = np.asarray(scale, np.float32)
    if recipe in ("mslk", "compressed_tensors"):
        return _ONE / scale
    return np.where(scale == 0, _ONE, np.minimum(_ONE / scale, _FLT_MAX))


def _rounded(values, x_type):
    """To the type of x, in which the recipe computes."""
    if x_type == "bf16":
        return from_bf16(to_bf16(values))
    if x_type == "f16":
        with np.errstate(over="ignore"):
            return np.asarray(values, np.float16).astype(np.float32)
    return values


def _modelopt_quotient(amax, factors):
    ratio = amax / (_SIX if factors.has_block_amax else _SIX * factors.decode)
    ratio = np.where(ratio == 0, _ONE, ratio)
    if factors.has_block_amax:
        ratio = (ratio * _E4M3_MAX) / (factors.total / _SIX)
    return ratio


def _te_scaled(blocks, scale, factors):
    return blocks * np.minimum(_ONE / (scale * (_ONE / factors.encode)), _FLT_MAX)


RECIPES = {
    "torchao": Recipe(
        quotient=lambda amax, factors: (amax / _SIX) / factors.decode,
        scaled=lambda blocks, scale, factors: blocks * ((_ONE / factors.decode) / scale),
        least=2.0**-6,
        keeps_negative_zero=True,
    ),
    "mslk": Recipe(
        quotient=lambda amax, factors: (amax / _SIX) * factors.encode,
        scaled=lambda blocks, scale, factors: blocks * (factors.encode / scale),
        least=2.0**-9,
        keeps_negative_zero=True,
    ),
    "te": Recipe(
        quotient=lambda amax, factors: amax * (factors.encode * (_ONE / _SIX)),
        scaled=_te_scaled,
        takes_tails=True,
    ),
    "modelopt": Recipe(
        quotient=_modelopt_quotient,
        scaled=lambda blocks, scale, factors: blocks / (scale * factors.decode),
        least=2.0**-9,
        takes_tails=True,
    ),
    "compressed_tensors": Recipe(
        quotient=lambda amax, factors: factors.encode * _rounded(amax / _SIX, factors.x_type),
        scaled=lambda blocks, scale, factors: blocks / (scale / factors.encode),
        zero_byte=_EIGHTH,
    ),
    "torchao_training": Recipe(
        quotient=lambda amax, factors: (amax / _SIX) * factors.encode,
        scaled=_te_scaled,
        least=2.0**-6,
        keeps_negative_zero=True,
    ),
    **{
        f"te_4over6_{name}": Recipe(
            quotient=lambda amax, factors: (amax / _SIX) * factors.encode,
            scaled=_te_scaled,
            squared=squared,
            takes_tails=True,
        )
        for name, squared in (("mae", False), ("mse", True))
    },
}
PADDING_RECIPES = tuple(name for name, rules in RECIPES.items() if rules.takes_tails)
