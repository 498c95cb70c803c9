# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers whose weights are E4M3 with scales that are numbers, as checkpoints in FP8 have them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from blockscale._errors import ArgumentError
from blockscale._ops import ORDERS
from blockscale.checkpoint._layouts import Layout
from blockscale.torch._weight import WeightView


def check_fp8(prefix: str, layout: Layout, data: Tensor, scales: Tensor) -> None:
    """Raises ArgumentError for codes, as bytes, or scales of a layout that are no numbers."""
    for (end, _), bad in ((layout.data, (data & 0x7F) == 0x7F),
                          (layout.scales, ~scales.float().isfinite())):
        if bad.any():
            raise ArgumentError(f"'{prefix}{end}': expected numbers, but got {int(bad.sum())} that "
                                "are none")


def check_fp8_options(name: str, layout: Layout, weight_only: bool | None, order: str | None,
                      names: tuple[str, str] = ("weight_only", "order")) -> None:
    """Raises ArgumentError for options beside the checkpoint that have no effect on a layer in FP8.
    `names` are those of the two options."""
    if weight_only is False:
        raise ArgumentError(f"'{name}': {names[0]}: expected plain activations for {layout.name}, "
                            "which is multiplied by no others, but got quantized ones")
    if order not in (None, ORDERS[0]):
        raise ArgumentError(f"'{name}': {names[1]}: expected sums of order {ORDERS[0]} for "
                            f"{layout.name}, which PyTorch multiplies, but got {order}")


class Fp8Weight(nn.Module):
    """A weight [N, K], or a stack [E, N, K], of E4M3. Each call decodes it: products multiply plain
    numbers, and no decoded copy is kept.

    Attributes:
      data: the codes as bytes.
      scales: f32 [.., N / rows, K / cols]: a number is a code times its scale.
      input_scale: that the checkpoint has of activations, which stay plain here.
      rows, cols: of a block that shares a scale.
      layout: of the checkpoint.
      stored: the dtype and the shape that the file has for the scales of a matrix.
    """

    is_stack = False

    data: Tensor
    scales: Tensor
    input_scale: Tensor | None

    def __init__(self, data: Tensor, scales: Tensor, bias: Tensor | None, *, rows: int, cols: int,
                 layout: Layout, stored: tuple[torch.dtype, tuple[int, ...]],
                 dtype: torch.dtype, input_scale: Tensor | None = None,
                 is_transposed: bool = False):
        super().__init__()
        self.out_features, self.in_features = data.shape[-2:]
        self.rows, self.cols, self.layout, self.stored = rows, cols, layout, stored
        self.dtype, self.is_transposed = dtype, is_transposed
        self.register_buffer("data", data)
        self.register_buffer("scales", scales)
        self.register_buffer("input_scale", input_scale)
        self.register_parameter("bias", None if bias is None else
                                nn.Parameter(bias.detach(), requires_grad=False))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Fp8Weight:
        own = {id(each) for each in (self.scales, self.input_scale)}

        def move(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            # Scales are f32 in a model of any type.
            return tensor.to(moved.device) if id(tensor) in own else moved
        self.dtype = fn(self.data.new_empty(0, dtype=self.dtype)).dtype
        super()._apply(move, recurse)
        return self

    def decode(self, dtype: torch.dtype, number: int | None = None) -> Tensor:
        """The values, or those of one matrix of a stack: products in f32, rounded once."""
        data, scales = self.data, self.scales
        if number is not None:
            data, scales = data[number], scales[number]
        n, k = data.shape[-2:]
        scales = scales.repeat_interleave(self.rows, -2)[..., :n, :]
        scales = scales.repeat_interleave(self.cols, -1)[..., :k]
        return (data.view(torch.float8_e4m3fn).float() * scales).to(dtype)

    @property
    def weight(self) -> Tensor:
        """The values, computed where an op reads them."""
        if torch.compiler.is_dynamo_compiling():
            return self._read(self.dtype)
        return WeightView.of(self, self.data.shape, self.is_transposed)

    def _read(self, dtype: torch.dtype) -> Tensor:
        values = self.decode(dtype)
        return values.transpose(-2, -1) if self.is_transposed else values

    def extra_repr(self) -> str:
        stack = f"{self.data.shape[0]}, " if self.is_stack else ""
        return (f"{stack}in_features={self.in_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}, {self.layout.name}")


class Fp8Linear(Fp8Weight):
    """nn.Linear with a weight in FP8."""

    def forward(self, input: Tensor) -> Tensor:
        return self.compute(input, self.bias)

    def compute(self, x: Tensor, bias: Tensor | None) -> Tensor:
        return F.linear(x, self.decode(x.dtype), bias)


class Fp8Stack(Fp8Weight):
    """The weights of experts in FP8, of which one after the other is decoded."""

    is_stack = True

    def forward(self, input: Tensor, offsets: Tensor) -> Tensor:
        """Rows [M, K], sorted by expert, and the ends of the experts' rows, int32 [E]. Rows behind
        the last of them are zeros."""
        return self.compute(input, self.bias, offsets)

    def compute(self, x: Tensor, bias: Tensor | None, offsets: Tensor) -> Tensor:
        out = x.new_zeros(len(x), self.out_features)
        begin = 0
        for number, end in enumerate(offsets.tolist()):
            if end > begin:
                own = None if bias is None else bias[number]
                out[begin:end] = F.linear(x[begin:end], self.decode(x.dtype, number), own)
            begin = end
        return out
