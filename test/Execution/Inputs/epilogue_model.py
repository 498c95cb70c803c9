# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of sm100_epilogue.py in numpy: from the sums of products to data and
scales. It judges faults of the sums; last bits of exp and tanh are not the CPU's."""

import numpy as np

from gpu_producers import GELU_TANH, SWIGLU
from reference import E2M1, E4M3, from_bf16, quantize_groups, quantize_mx, quantize_nvfp4, to_bf16


def bf16(values):
    return from_bf16(to_bf16(values))


def f16(values):
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


def silu(x):
    with np.errstate(over="ignore"):
        return bf16(x / (np.exp(-x) + np.float32(1)))


def gelu_tanh(x):
    inner = np.float32(0.797884561) * (x + np.float32(0.044715) * (x * x * x))
    return np.float32(0.5) * x * (np.float32(1) + np.tanh(inner))


def bodies(relu, shift, join):
    """What each body of a case makes of f32 values."""
    return {"": lambda x: x, SWIGLU: lambda gate, up: silu(gate) * up,
            SWIGLU.replace("%1", "%one"): silu, GELU_TANH: gelu_tanh,
            relu: lambda x: np.maximum(x, np.float32(0.5)),
            shift: lambda x: x + np.float32(0.5),
            join: lambda x, full, cols, rows: (x * cols + full) * rows[..., None]}


def quantized(x, format, recipe, block, factors, ends=None):
    """Codes and scale bytes; `factors` are the global scales, `ends` those of groups."""
    def quantize(x, factor=None):
        if format == "nvfp4":
            return quantize_nvfp4(x, recipe, global_scale=factor)
        return quantize_mx(x, E2M1 if format == "mxfp4" else E4M3, recipe)

    if ends is None:
        return list(quantize(x, factors))
    values = None if factors is None else np.broadcast_to(factors, (len(ends),))
    return list(quantize_groups(quantize, x, ends, 0, (1, block), values=values))
