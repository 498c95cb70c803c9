# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operands of a layer in training: the codes that the modules make, numbers that codes stand
for, and the products of these in f64."""

import sys
from pathlib import Path

import numpy as np
import torch

from blockscale._training import PRODUCTS
from blockscale._types import Spec, element_name
from blockscale.torch import _kernels
from blockscale.torch._products_kernels import trace_named
from blockscale.torch._training_kernels import count_codes, emit_operand, pad_groups

sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))  # Behind the package.

import blockscale_reference as reference

__all__ = ["PRODUCTS", "SOURCES", "multiply", "quantize_operand", "quantize_operands",
           "reference"]

#: The tensor of each operand, and whether the product sums along its rows.
SOURCES = {"forward_input": ("x", False), "forward_weight": ("weight", False),
           "dgrad_gradient": ("gradient", False), "dgrad_weight": ("weight", True),
           "wgrad_gradient": ("gradient", True), "wgrad_input": ("x", True)}
ELEMENTS = {"mxfp8": reference.E4M3, "mxfp8_e5m2": reference.E5M2, "mxfp4": reference.E2M1}


def pad(x):
    return torch.nn.functional.pad(x, (0, 0, 0, -len(x) % 32))


def quantize_operand(x, operand, is_transposed, rng=None, offsets=None, amax=None):
    """Data, scales and global scale, by a module with this operand alone, of a matrix, a stack, or
    groups of rows of these ends. An `amax` is given where x is a part of a larger tensor."""
    # Kernels of GPUs that know where x lies in a larger tensor take rows of one length.
    sizes = tuple(x.shape) if x.is_cuda else (None,) * x.dim()
    specs = {"x": Spec(sizes, element_name(x.dtype))}
    if offsets is not None:
        specs["offsets"] = Spec((None,), "i32")
    if rng is not None:
        specs["rng"] = Spec((len(rng),), "i64")
    if amax is not None:
        specs["amax"] = Spec((), "f32")

    def body(x, offsets=None, rng=None, amax=None):
        if is_transposed:
            x, offsets = pad_groups(x, offsets)
        return [each for each in emit_operand(x, operand, is_transposed, rng, "row_major", offsets,
                                              amax) if each is not None]
    kernel = _kernels.get_kernel(
        ("operand", operand, x.dtype, is_transposed, x.dim(), *specs.items()),
        lambda: _kernels.Kernel("operand", lambda _: trace_named("operand", body, specs),
                                count_codes(operand)))
    made = kernel([x.contiguous(),
                   *(each for each in (offsets, rng, amax) if each is not None)])
    return made if len(made) == 3 else [*made, None]


def quantize_operands(form, x, weight, gradient, rng=None):
    """Of each operand the codes that a layer's products read."""
    tensors = {"x": pad(x), "weight": weight, "gradient": pad(gradient)}
    made = {}
    for name, (source, is_transposed) in SOURCES.items():
        bits = rng[form.stochastic.index(name)] if name in form.stochastic else None
        made[name] = quantize_operand(tensors[source], getattr(form, name), is_transposed, bits)
    return made


def decode(made, operand):
    """Values in f64 and the global scale."""
    data, scales, scale = made
    codes, bytes_ = data.numpy(), scales.numpy()
    if operand.format == "nvfp4":
        values = reference.dequantize_nvfp4(reference.unpack(codes), bytes_,
                                            operand.recipe)
    else:
        if operand.format == "mxfp4":
            codes = reference.unpack(codes)
        values = reference.dequantize_mx(codes, bytes_, ELEMENTS[operand.format])
    return values, 1.0 if scale is None else float(scale)


def multiply(made, form, names):
    """The product of two operands, with its bound."""
    (a, of_a), (b, of_b) = (decode(made[name], getattr(form, name)) for name in names)
    return reference.scaled_matmul(a, b, float(np.float64(of_a) * np.float64(of_b)))
