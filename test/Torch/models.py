# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that torchao quantizes, and its products emulated where this machine has no
kernel for them."""

import contextlib
import dataclasses
import unittest.mock

import numpy as np
import torch
import torchao.prototype.mx_formats.inference_workflow as workflow
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
from torchao.prototype.mx_formats.utils import from_blocked, to_blocked  # noqa: F401 (for tests)
from torchao.quantization import quantize_
from torchao.quantization.quantize_.common.kernel_preference import KernelPreference

import blockscale
import blockscale.torch
from blockscale._trace import Module

CONFIGS = {
    "nvfp4": workflow.NVFP4DynamicActivationNVFP4WeightConfig(use_triton_kernel=False),
    "nvfp4_no_global_scale": workflow.NVFP4DynamicActivationNVFP4WeightConfig(
        use_triton_kernel=False, use_dynamic_per_tensor_scale=False),
    "nvfp4_weight_only": workflow.NVFP4WeightOnlyConfig(),
    "nvfp4_weight_only_no_global_scale": workflow.NVFP4WeightOnlyConfig(
        use_dynamic_per_tensor_scale=False),
    "mxfp8": workflow.MXDynamicActivationMXWeightConfig(
        kernel_preference=KernelPreference.EMULATED),
    "mxfp4": workflow.MXDynamicActivationMXWeightConfig(
        activation_dtype=torch.float4_e2m1fn_x2, weight_dtype=torch.float4_e2m1fn_x2,
        kernel_preference=KernelPreference.EMULATED),
}


class Call(nn.Module):
    """A function as a model."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


class Attention(nn.Module):
    """The attention of BERT, by one op or written out."""

    def __init__(self, width, heads, is_written_out):
        super().__init__()
        self.heads, self.is_written_out = heads, is_written_out
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, mask):
        q, k, v = (layer(x).view(*x.shape[:-1], self.heads, -1).transpose(1, 2)
                   for layer in (self.query, self.key, self.value))
        if self.is_written_out:
            scores = torch.matmul(q, k.transpose(-1, -2)) * (q.shape[-1] ** -0.5)
            scores = scores.masked_fill(~mask, torch.finfo(x.dtype).min)
            y = torch.matmul(torch.softmax(scores, -1), v)
        else:
            y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(*x.shape))


class Encoder(nn.Module):
    """A transformer like BERT: tokens and their mask, [B, S] in int64, to vectors [B, H] of norm
    1."""

    def __init__(self, width=32, heads=4, hidden=48, layers=1, is_written_out=False, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.words, self.places = nn.Embedding(50, width), nn.Embedding(16, width)
        self.register_buffer("positions", torch.arange(16).unsqueeze(0))
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "attention": Attention(width, heads, is_written_out), "first": nn.LayerNorm(width),
            "up": nn.Linear(width, hidden), "down": nn.Linear(hidden, width),
            "second": nn.LayerNorm(width)}) for _ in range(layers))
        self.eval().requires_grad_(False)

    def forward(self, ids, mask):
        x = self.norm(self.words(ids) + self.places(self.positions[:, :ids.shape[1]]))
        seen = mask[:, None, None, :].expand(-1, 1, ids.shape[1], -1).to(torch.bool)
        for layer in self.layers:
            x = layer["first"](x + layer["attention"](x, seen))
            y = layer["down"](nn.functional.gelu(layer["up"](x)))
            x = layer["second"](x + y)
        weights = mask.unsqueeze(-1).to(x.dtype)
        mean = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, dim=1)


def make_tokens(*lengths, seed=0):
    """Tokens and their mask; sentences have these lengths."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 50, (len(lengths), max(lengths)), generator=generator)
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    return ids, mask


def quantize(model, config):
    # torchao asks for the GPU before it quantizes, though this needs none.
    with unittest.mock.patch.object(workflow, "is_sm_at_least_100", return_value=True):
        quantize_(model, config)
    return model.requires_grad_(False)


def make_mlp(config, bias=True, sizes=(96, 160, 64), dtype=torch.bfloat16, seed=0):
    torch.manual_seed(seed)
    k, hidden, n = sizes
    model = nn.Sequential(nn.Linear(k, hidden, bias=bias), nn.GELU(),
                          nn.Linear(hidden, hidden, bias=bias), nn.ReLU(),
                          nn.Linear(hidden, n, bias=bias)).to(dtype).eval()
    return quantize(model, config)


def _emulate(a, b, scale_a, scale_b, bias=None, out_dtype=None):
    """aten._scaled_mm of torchao's NVFP4: its dequantize, a product in f64, one rounding."""
    operands = []
    for codes, scale in ((a, scale_a), (b.t(), scale_b)):
        codes = codes.contiguous().view(torch.uint8)
        rows, blocks = codes.shape[0], codes.shape[1] // 8
        linear = from_blocked(scale.contiguous().flatten(), rows, blocks)
        operands.append(NVFP4Tensor(codes, linear, 16, torch.float32).dequantize().double())
    y = operands[0] @ operands[1].t()
    return (y if bias is None else y + bias.double()).to(out_dtype)


@contextlib.contextmanager
def emulated():
    with unittest.mock.patch.object(torch, "_scaled_mm", _emulate), torch.no_grad():
        yield


@dataclasses.dataclass
class Quantized:
    """What a quantize op took and gave."""

    x: torch.Tensor
    data: torch.Tensor
    scale: torch.Tensor


def _observe(imported, x, values):
    module = imported.module
    observer = blockscale.compile(Module(module.name, module.arguments, module.ops, values,
                                         module.location, False))
    return observer(x, *imported.constants.values())


def observe_quantize(imported, x):
    """Of every quantize op of a program that is called with x."""
    ops = [op for op in imported.module.ops if op.name == "blockscale.quantize"]
    found = _observe(imported, x, [value for op in ops
                                   for value in (op.operands[0], *op.results)])
    return [Quantized(*found[first:first + 3]) for first in range(0, len(found), 3)]


def observe_dequantize(imported, x):
    """The results of every dequantize op of a program that is called with x."""
    return _observe(imported, x, [op.results[0] for op in imported.module.ops
                                  if op.name == "blockscale.dequantize"])


def quantize_as_torchao(x, weight):
    """Codes and scales, as bytes, that a layer with `weight` makes of x [M, K]."""
    how = weight.act_quant_kwargs
    if isinstance(weight, MXTensor):
        found = MXTensor.to_mx(x, how.elem_dtype, how.block_size, how.scaling_mode,
                               how.kernel_preference, None, how.is_swizzled_scales)
    else:
        amax = torch.max(torch.abs(x))
        scale = (workflow.per_tensor_amax_to_scale(amax) if how.use_dynamic_per_tensor_scale
                 else weight.act_per_tensor_scale)
        found = NVFP4Tensor.to_nvfp4(x, per_tensor_scale=scale,
                                     is_swizzled_scales=how.is_swizzled_scales)
    return found.qdata.view(torch.uint8), found.scale.contiguous().view(torch.uint8)


def get_bound(x, weight, y, bias, roundings):
    """How far a sum in f32 of x [M, K] times weight [N, K] and the bias may be from another
    one, where they are rounded to bf16 so many times together."""
    magnitude = x.double().abs() @ weight.double().abs().t()
    offset = 0 if bias is None else bias.double().abs()
    sums = 2e-6 * max(1, x.shape[1] / 256) * (magnitude + offset)
    return sums + roundings * 2.0 ** -8 * (y.double().abs() + offset)


def as_bytes(tensor):
    return np.asarray(tensor.contiguous().view(torch.uint8)).ravel()


def from_graph_of(function, *arguments, tracing_mode="fake", **options):
    """The graph of make_fx of a function, imported with the options."""
    graph = make_fx(function, tracing_mode=tracing_mode, _allow_non_fake_inputs=True)(*arguments)
    return blockscale.torch.from_graph(graph, **options)
