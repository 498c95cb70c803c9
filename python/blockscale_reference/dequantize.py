# ===- dequantize.py - Values of quantized tensors ------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What codes and scales stand for, in f32, in the order of each recipe."""

import numpy as np

from . import mx, nvfp4
from .codecs import E2M1, E4M3, decode_e8m0


def dequantize_nvfp4(codes, scale, recipe="torchao", global_scale=None):
    """f32 [.., M, K] of codes [.., M, K] and scale bytes [.., M, ceil(K / 16)]."""
    values = E2M1.decode(codes)
    scale = E4M3.decode(scale)
    factor = np.float32(1) if global_scale is None else global_scale
    factor = np.asarray(factor, np.float32)[..., None, None]
    with np.errstate(all="ignore"):
        if recipe == "modelopt":
            return values * _spread(scale, nvfp4.BLOCK, codes) * factor
        return values * _spread(factor * scale, nvfp4.BLOCK, codes)


def dequantize_mx(codes, scale, element=E4M3):
    """f32 [.., M, K] of codes [.., M, K] and scale bytes [.., M, K / 32]."""
    with np.errstate(over="ignore", invalid="ignore"):
        return element.decode(codes) * _spread(decode_e8m0(scale), mx.BLOCK, codes)


def _spread(scale, block, codes):
    """One scale for each element; the last block may be a tail."""
    return np.repeat(scale, block, axis=-1)[..., : codes.shape[-1]]
