# ===- __init__.py - Reference quantizers in numpy ------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""An independent numpy transcription of the quantizers, layouts and products.

It shares nothing with the C++ implementation: it is written from the formulas
in docs/Numerics.md and tested against arrays that other software computed
(test/Data/golden and test/Data/oracles), so agreement between the two means something.

Arrays hold values as f32 and codes as uint8: E2M1 one code an element (see
`pack`), scales in the form of the matrix (see `swizzle`).
"""

from .amax import amax, group_amax
from .bits import from_bf16, to_bf16
from .blocks import expand_scale
from .codecs import E2M1, E2M3, E3M2, E4M3, E5M2, INT8, decode_e8m0
from .dequantize import dequantize_mx, dequantize_nvfp4
from .fragments import prepack, unprepack
from .groups import group_bounds, group_fault, pad_groups, quantize_groups
from .hadamard import hadamard
from .layout import swizzle, swizzle_groups, unswizzle
from .matmul import Product, scaled_grouped_matmul, scaled_matmul
from .mx import quantize_mx
from .nvfp4 import global_scale, nonzero_amax, quantize_nvfp4
from .packing import pack, unpack
from .stochastic import encode_stochastic, philox4x32, random_bytes
from .sweep import scale_sweep
from .tensor_core import TensorCoreSum, multiply_on_tensor_cores, tensor_core_sum

__all__ = [
    "E2M1", "E2M3", "E3M2", "E4M3", "E5M2", "INT8", "Product", "TensorCoreSum", "amax",
    "decode_e8m0", "dequantize_mx", "dequantize_nvfp4", "encode_stochastic", "expand_scale",
    "from_bf16", "global_scale", "group_amax", "group_bounds", "group_fault", "hadamard",
    "multiply_on_tensor_cores", "nonzero_amax", "pack", "pad_groups", "philox4x32", "prepack",
    "quantize_groups", "quantize_mx", "quantize_nvfp4", "random_bytes", "scale_sweep",
    "scaled_grouped_matmul", "scaled_matmul", "swizzle", "swizzle_groups", "tensor_core_sum",
    "to_bf16", "unpack", "unprepack", "unswizzle",
]
