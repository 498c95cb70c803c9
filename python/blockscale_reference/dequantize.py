# ===- dequantize.py - Values of quantized tensors ------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What codes and scales stand for, in f32, in the order of each recipe."""

import numpy as np

from . import mx, nvfp4
from .blocks import spread
from .codecs import E2M1, E4M3, decode_e8m0


def dequantize_nvfp4(
    codes, scale, recipe="torchao", global_scale=None, block=(1, nvfp4.BLOCK)
):
    """f32 [.., M, K] of codes and scale bytes [.., ceil(M / bm), ceil(K / bk)].

    `global_scale` is a scalar, one value a batch element or one a row [.., M].
    """
    values = E2M1.decode(codes)
    scale = spread(E4M3.decode(scale), block, codes.shape)
    factor = nvfp4.against_elements(1 if global_scale is None else global_scale, codes)
    with np.errstate(all="ignore"):
        if recipe == "modelopt":
            return values * scale * factor
        if recipe == "compressed_tensors":
            return values * (scale / (np.float32(1) / factor))
        return values * (factor * scale)


def dequantize_mx(codes, scale, element=E4M3, block=(1, mx.BLOCK)):
    """f32 [.., M, K] of codes [.., M, K] and scale bytes [.., M / bm, K / bk]."""
    with np.errstate(over="ignore", invalid="ignore"):
        scale = spread(decode_e8m0(scale), block, codes.shape)
        return element.decode(codes) * scale
