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

import numpy as np

from . import four_over_six
from .bits import from_bf16, to_bf16
from .blocks import cut, join
from .codecs import E2M1, E4M3
from .stochastic import encode_stochastic, random_bytes

BLOCK = 16
PADDING_RECIPES = ("te", "modelopt", "te_4over6_mae", "te_4over6_mse")

_ONE, _SIX = np.float32(1), np.float32(6)
_E4M3_MAX = np.float32(448)
_FLT_MAX = np.finfo(np.float32).max
_EIGHTH = np.uint8(0x20)  # E4M3 of 0.125


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
):
    """Codes [.., M, K] and scale bytes [.., ceil(M / bm), ceil(K / bk)] of f32 x.

    At most one of `global_scale` (decode) and `global_amax`: a scalar, one value
    for each batch element, or one for each row [.., M]; without either the global
    scale is 1. `block_amax`, of the scales' shape, replaces the blocks' own.
    `transposed` gives both results transposed: the quantization of x^T. `rng` =
    (seed, offset) rounds stochastically. Recipes te, modelopt and te_4over6_*
    take tails, as if padded with zeros. `x_type` is the type of x, "f32", "bf16"
    or "f16", to which the recipe compressed_tensors rounds.
    """
    x = np.asarray(x, np.float32)
    if transposed:
        x, block = x.swapaxes(-2, -1), block[::-1]
    takes_tails = recipe in PADDING_RECIPES
    blocks = cut(x, block, takes_tails)
    given = block_amax is not None
    amax = block_amax if given else np.abs(blocks).max(axis=(-2, -1))
    amax = np.asarray(amax, np.float32)[..., None, None]
    with np.errstate(all="ignore"):
        decode = _decode_scale(recipe, global_scale, global_amax)
        encode = encode_scale(recipe, global_scale, global_amax, x_type)
        total = _range(recipe) * decode if global_amax is None else global_amax
        decode, encode, total = (against_blocks(v, x) for v in (decode, encode, total))
        if recipe == "torchao":
            scale, scaled = _torchao(blocks, amax, decode)
        elif recipe == "mslk":
            scale, scaled = _mslk(blocks, amax, encode)
        elif recipe == "torchao_training":
            scale, scaled = _torchao_training(blocks, amax, encode)
        elif recipe == "te":
            scale, scaled = _te(blocks, amax, encode)
        elif recipe == "modelopt":
            scale, scaled = _modelopt(blocks, amax, decode, total if given else None)
        elif recipe == "compressed_tensors":
            scale, scaled = _compressed_tensors(blocks, amax, encode, x_type)
        else:
            squared = {"te_4over6_mae": False, "te_4over6_mse": True}[recipe]
            scale, scaled = four_over_six.choose(blocks, amax, encode, total, squared)
    scaled = join(scaled, *x.shape[-2:])
    if rng is None:
        codes = E2M1.encode(scaled)
    elif transposed:
        bits = random_bytes(x.swapaxes(-2, -1).shape, *rng)
        codes = encode_stochastic(scaled, bits.swapaxes(-2, -1))
    else:
        codes = encode_stochastic(scaled, random_bytes(x.shape, *rng))
    if takes_tails or recipe == "compressed_tensors":
        codes[scaled == 0] = 0  # no negative zero
    return codes, scale[..., 0, 0]


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


def _floored(scale, floor):
    """Scale bytes of values held in [floor, 448]; NaN passes."""
    return E4M3.encode(np.clip(scale, np.float32(floor), _E4M3_MAX))


def _torchao(blocks, amax, g):
    scale = _floored((amax / _SIX) / g, 2.0**-6)
    return scale, blocks * ((_ONE / g) / E4M3.decode(scale))


def _mslk(blocks, amax, encode):
    scale = _floored((amax / _SIX) * encode, 2.0**-9)
    return scale, blocks * (encode / E4M3.decode(scale))


def _torchao_training(blocks, amax, encode):
    scale = _floored((amax / _SIX) * encode, 2.0**-6)
    return scale, blocks * _te_factor(scale, encode)


def _te(blocks, amax, encode):
    scale = E4M3.encode(np.minimum(amax * (encode * (_ONE / _SIX)), _E4M3_MAX))
    return scale, blocks * _te_factor(scale, encode)


def _te_factor(scale, encode):
    return np.minimum(_ONE / (E4M3.decode(scale) * (_ONE / encode)), _FLT_MAX)


def _compressed_tensors(blocks, amax, encode, x_type):
    ratio = _rounded(amax / _SIX, x_type)
    value = encode * ratio
    # A negative global scale gives no negative scales.
    is_zero = (value <= 0) | (E4M3.encode(value) == 0)
    scale = np.where(is_zero, _EIGHTH, E4M3.encode(value))
    return scale, blocks / (E4M3.decode(scale) / encode)


def _rounded(values, x_type):
    """To the type of x, in which the recipe computes."""
    if x_type == "bf16":
        return from_bf16(to_bf16(values))
    if x_type == "f16":
        with np.errstate(over="ignore"):
            return np.asarray(values, np.float16).astype(np.float32)
    return values


def _modelopt(blocks, amax, g, total):
    """`total` is the tensor's amax where block amaxes were given, else None."""
    ratio = amax / (_SIX * g if total is None else _SIX)
    ratio = np.where(ratio == 0, _ONE, ratio)
    if total is not None:
        ratio = (ratio * _E4M3_MAX) / (total / _SIX)
    scale = _floored(ratio, 2.0**-9)
    return scale, blocks / (E4M3.decode(scale) * g)
