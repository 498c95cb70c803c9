# ===- nvfp4.py - NVFP4 quantizers ----------------------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""NVFP4: E2M1 data, one E4M3 scale for each 16 elements of a row, and an optional
f32 global scale g (decode: x ~ code * scale * g).

The recipes are those of four packages; they differ in rounding, in the smallest
scale and at zero. Each operation below is one f32 rounding.
"""

import numpy as np

from .codecs import E2M1, E4M3

BLOCK = 16

_ONE, _SIX = np.float32(1), np.float32(6)
_E4M3_MAX = np.float32(448)
_LARGEST = _E4M3_MAX * _SIX
_FLT_MAX = np.finfo(np.float32).max


def global_scale(amax, recipe="torchao"):
    """The decode scale of tensors whose largest magnitude is `amax` (f32)."""
    amax = np.asarray(amax, np.float32)
    with np.errstate(all="ignore"):
        if recipe in ("torchao", "modelopt"):
            return amax / _LARGEST
        return _ONE / _encode_scale(recipe, None, amax)


def quantize_nvfp4(x, recipe="torchao", global_scale=None, global_amax=None):
    """Codes [.., M, K] and scale bytes [.., M, ceil(K / 16)] of f32 x [.., M, K].

    At most one of `global_scale` (decode) and `global_amax`, each a scalar or one
    value for each batch element; without either the global scale is 1. Recipes te
    and modelopt take K % 16 != 0, as if padded with zeros.
    """
    x = np.asarray(x, np.float32)
    blocks = _blocks(x, takes_tails=recipe in ("te", "modelopt"))
    amax = np.abs(blocks).max(axis=-1)
    quantize = {"torchao": _torchao, "mslk": _mslk, "te": _te, "modelopt": _modelopt}
    with np.errstate(all="ignore"):
        if recipe in ("torchao", "modelopt"):
            factor = _decode_scale(global_scale, global_amax)
        else:
            factor = _encode_scale(recipe, global_scale, global_amax)
        # One factor for each matrix, against amax [.., M, blocks].
        factor = np.asarray(factor, np.float32)[..., None, None]
        scale, scaled = quantize[recipe](blocks, amax, factor)
    codes = E2M1.encode(scaled)
    if recipe in ("te", "modelopt"):
        codes[scaled == 0] = 0  # no negative zero
    padded = codes.reshape(*x.shape[:-1], blocks.shape[-2] * BLOCK)
    return padded[..., : x.shape[-1]], scale


def _blocks(x, takes_tails):
    tail = -x.shape[-1] % BLOCK
    if tail and not takes_tails:
        raise ValueError(f"expected K to be a multiple of 16, but got {x.shape[-1]}")
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, tail)])
    return padded.reshape(*x.shape[:-1], padded.shape[-1] // BLOCK, BLOCK)


def _decode_scale(scale, amax):
    if amax is not None:
        return global_scale(amax)
    return _ONE if scale is None else scale


def _encode_scale(recipe, scale, amax):
    """The factor S of te and mslk, from g or from the amax it stands for."""
    if amax is not None:
        amax = np.asarray(amax, np.float32)
        if recipe == "mslk":
            return _LARGEST / np.maximum(amax, np.float32(1e-8))
        encode = np.minimum(_LARGEST / amax, _FLT_MAX)
        return np.where((amax == 0) | (encode == 0), _ONE, encode)
    if scale is None:
        return _ONE
    scale = np.asarray(scale, np.float32)
    if recipe == "mslk":
        return _ONE / scale
    return np.where(scale == 0, _ONE, np.minimum(_ONE / scale, _FLT_MAX))


def _floored(scale, floor):
    """Scale bytes of values held in [floor, 448]; NaN passes."""
    return E4M3.encode(np.clip(scale, np.float32(floor), _E4M3_MAX))


def _torchao(blocks, amax, g):
    scale = _floored((amax / _SIX) / g, 2.0**-6)
    return scale, blocks * ((_ONE / g) / E4M3.decode(scale))[..., None]


def _mslk(blocks, amax, encode):
    scale = _floored((amax / _SIX) * encode, 2.0**-9)
    return scale, blocks * (encode / E4M3.decode(scale))[..., None]


def _te(blocks, amax, encode):
    scale = E4M3.encode(np.minimum(amax * (encode * (_ONE / _SIX)), _E4M3_MAX))
    factor = _ONE / (E4M3.decode(scale) * (_ONE / encode))
    return scale, blocks * np.minimum(factor, _FLT_MAX)[..., None]


def _modelopt(blocks, amax, g):
    ratio = amax / (_SIX * g)
    scale = _floored(np.where(ratio == 0, _ONE, ratio), 2.0**-9)
    return scale, blocks / (E4M3.decode(scale) * g)[..., None]
