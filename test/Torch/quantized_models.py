# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a policy makes of a model of Hugging Face, computed by PyTorch: layers whose operands went
through the quantizers of blockscale_reference (python/)."""

import contextlib
import unittest.mock

import numpy as np
import torch
import torch.nn.functional as F
import transformers.integrations.moe as moe
from torch import nn

import blockscale_reference as reference

#: The rule of a policy for each format, and the elements of a block.
RULES = {"nvfp4": {"format": "nvfp4", "recipe": "torchao"},
         "mxfp8": {"format": "mxfp8", "recipe": "rceil"}}
#: Matrices of experts.
_STACKS = ("gate_up_proj", "down_proj")
BLOCKS = {"nvfp4": 16, "mxfp8": 32}


def _through(x, format):
    """x [M, K] in f32, rounded to bf16, quantized and dequantized."""
    rows = np.asarray(x.bfloat16().float())
    if format == "mxfp8":
        return torch.from_numpy(reference.dequantize_mx(*reference.quantize_mx(rows)))
    scale = reference.global_scale(reference.amax(rows))
    codes = reference.quantize_nvfp4(rows, global_scale=scale)
    return torch.from_numpy(reference.dequantize_nvfp4(*codes, global_scale=scale))


class _Layer(nn.Module):
    """A linear layer, or a convolution of patches side by side."""

    def __init__(self, plain, format):
        super().__init__()
        self.plain, self.format = plain, format
        self.matrix = _through(plain.weight.flatten(1), format)
        self.weight = plain.weight  # Models ask for its dtype.

    def _multiply(self, x):
        y = _through(x.reshape(-1, x.shape[-1]), self.format) @ self.matrix.t()
        if self.plain.bias is not None:
            y = y + self.plain.bias
        return y.bfloat16().float().reshape(*x.shape[:-1], -1)

    def forward(self, x):
        if isinstance(self.plain, nn.Linear):
            return self._multiply(x)
        kernel = self.plain.kernel_size
        assert self.plain.stride == kernel
        y = self._multiply(F.unfold(x, kernel, stride=kernel).transpose(1, 2))
        places = [size // each for size, each in zip(x.shape[2:], kernel)]
        return y.transpose(1, 2).unflatten(2, places)


class Quantized:
    """A model whose products with weights of enough rows are quantized.

    Attributes:
      products: how many these are.
    """

    def __init__(self, model, format):
        self.model, self._format, self.products = model, format, 0
        self._matrices = {}
        for module in list(model.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, (nn.Linear, nn.Conv2d)) and (
                        child.weight.shape[0] >= BLOCKS[format]):
                    setattr(module, name, _Layer(child, format))
                    self.products += 1
            self.products += sum(name in _STACKS for name, _ in module.named_parameters(
                recurse=False))

    def _multiply_groups(self, input, weight, offs):
        """Rows times the matrices of their groups, all of which are one weight [E * N, K]."""
        count, _, columns = weight.shape
        key = weight.data_ptr(), weight.stride()
        if key not in self._matrices:
            self._matrices[key] = _through(weight.transpose(1, 2).flatten(0, 1), self._format)
        y = (_through(input, self._format) @ self._matrices[key].t()).bfloat16().float()
        groups = torch.searchsorted(offs.long(), torch.arange(len(input)), right=True)
        return y.unflatten(1, (count, columns))[torch.arange(len(input)), groups]

    @contextlib.contextmanager
    def _patched(self):
        with unittest.mock.patch.object(moe, "_grouped_mm", self._multiply_groups):
            yield

    def __call__(self, **given):
        with self._patched(), torch.no_grad():
            return self.model(**given)
