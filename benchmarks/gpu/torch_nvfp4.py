# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A linear layer that trains in NVFP4, in ops of PyTorch alone: the form "nvfp4" of
docs/Training.md as one would write it without kernels. It is a peer of the benchmark train.py.

Codes are not packed: a product is one of bf16, whose operands are the values that codes and
scales of blocks stand for, which bf16 holds exactly. The two global scales are applied behind it.
Stochastic rounding takes its numbers from torch.rand_like.
"""

import torch

#: Of TransformerEngine's transform: bit i says that sign i is -1.
SIGN_MASK = 0xD7E8
LARGEST, LARGEST_SCALE, MOST = 6.0, 448.0, torch.finfo(torch.float32).max


def make_transform(device):
    """The matrix [16, 16] that transforms rows of 16 numbers."""
    signs = [-1 if SIGN_MASK >> i & 1 else 1 for i in range(16)]
    rows = [[signs[i] * (-1) ** (i & j).bit_count() / 4 for j in range(16)] for i in range(16)]
    return torch.tensor(rows, dtype=torch.bfloat16, device=device)


def round_e2m1(x, is_stochastic):
    """Numbers of magnitude 6 at most to values of E2M1."""
    magnitude = x.abs()
    step = torch.where(magnitude < 2, 0.5, torch.where(magnitude < 4, 1.0, 2.0))
    steps = magnitude / step
    steps = (steps + torch.rand_like(steps)).floor() if is_stochastic else steps.round()
    return torch.copysign(steps * step, x)


def quantize(x, is_square=False, is_stochastic=False):
    """Values of codes times those of scales [rows, cols], in bf16, and the global scale.

    Blocks are [1, 16], or [16, 16]."""
    rows, cols = x.shape
    x = x.float()
    amax = x.abs().amax()
    encode = (torch.full_like(amax, LARGEST * LARGEST_SCALE) / amax).clamp(max=MOST)
    encode = torch.where((amax == 0) | (encode == 0), 1.0, encode)
    decode = 1 / encode
    shape = (rows // 16, 16, cols // 16, 16) if is_square else (rows, 1, cols // 16, 16)
    blocks = x.reshape(shape)
    most = blocks.abs().amax((1, 3), keepdim=True)
    scales = (most * (encode * (1 / LARGEST))).clamp(max=LARGEST_SCALE)
    scales = scales.to(torch.float8_e4m3fn).float()
    factor = (1 / (scales * decode)).clamp(max=MOST)
    codes = round_e2m1((blocks * factor).clamp(-LARGEST, LARGEST), is_stochastic)
    return (codes * scales).reshape(rows, cols).bfloat16(), decode


def transform(x, matrix):
    """Each 16 numbers of a row."""
    return (x.reshape(-1, 16) @ matrix).reshape(x.shape)


class TrainLinear(torch.autograd.Function):
    """y = x weight^T; x [M, K] in bf16, the weight [N, K], all sizes multiples of 16."""

    @staticmethod
    def forward(ctx, x, weight, matrix):
        ctx.save_for_backward(x, weight, matrix)
        rows, of_x = quantize(x)
        values, of_weight = quantize(weight, is_square=True)
        return ((rows @ values.T).float() * (of_x * of_weight)).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        x, weight, matrix = ctx.saved_tensors
        rows, of_rows = quantize(gradient, is_stochastic=True)
        values, of_weight = quantize(weight, is_square=True)
        of_x = ((rows @ values).float() * (of_rows * of_weight)).to(x.dtype)
        columns, of_columns = quantize(transform(gradient.T.contiguous(), matrix),
                                       is_stochastic=True)
        inputs, of_inputs = quantize(transform(x.T.contiguous(), matrix))
        of_weight = ((columns @ inputs.T).float() * (of_columns * of_inputs)).to(weight.dtype)
        return of_x, of_weight, None
