# ===- formats.py - The formats of the example ----------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What the example quantizes to, and the reference bytes of each format."""

from dataclasses import dataclass

import numpy as np

import blockscale_reference as reference


@dataclass(frozen=True)
class Format:
    """Element types are MLIR's; blocks run along the last dimension."""

    name: str
    data: str
    scale: str
    block: int
    recipe: str
    has_global: bool = False

    def quantize(self, x, block_amax=None):
        """The reference's `Quantized` of bf16 bits [.., M, K] (uint16)."""
        values = reference.from_bf16(x)
        if self.scale == "f8E8M0FNU":
            codes, scale = reference.quantize_mx(values, reference.E4M3, self.recipe)
            return Quantized(codes, scale, reference.dequantize_mx(codes, scale))
        g = None
        if self.has_global:
            amax = np.abs(values).max(axis=(-2, -1))
            g = reference.global_scale(amax, self.recipe)
        codes, scale = reference.quantize_nvfp4(
            values, self.recipe, global_scale=g, block_amax=block_amax
        )
        values = reference.dequantize_nvfp4(codes, scale, self.recipe)
        return Quantized(reference.pack(codes), scale, values, g)


@dataclass
class Quantized:
    """`data` as stored, `scale` linear, `values` without the global scale (f32)."""

    data: np.ndarray
    scale: np.ndarray
    values: np.ndarray
    global_scale: np.ndarray = None

    @property
    def factor(self):
        """The global scale in f64, 1 where there is none."""
        return np.float64(1 if self.global_scale is None else self.global_scale)


FORMATS = (
    Format("NVFP4+global", "f4E2M1FN", "f8E4M3FN", 16, "torchao", has_global=True),
    Format("NVFP4", "f4E2M1FN", "f8E4M3FN", 16, "torchao"),
    Format("MXFP8", "f8E4M3FN", "f8E8M0FNU", 32, "rceil"),
)
