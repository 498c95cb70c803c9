# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modules of a linear layer in training: one of the forward pass, which also makes the codes
that the backward pass reads, and one of the backward pass. Each quantizes a tensor once for each
product that reads it, and GPUs read it once for all (docs/Fusion.md)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch

from blockscale import _ops
from blockscale._ops import FORMATS
from blockscale._trace import Module, Value
from blockscale._training import TrainingForm, TrainingOperand
from blockscale._types import Layout, Size, Spec, ceil_div, element_name
from blockscale.torch._forms import ROW_MAJOR, TILES, get_scale_layout, get_scale_order
from blockscale.torch._kernels import Kernel, get_kernel
from blockscale.torch._products_kernels import emit_product, quantize_operand, trace_named

if TYPE_CHECKING:
    from typing_extensions import Self

#: Rows, and rows of groups, are filled up with zeros to a multiple of this for the gradient of the
#: weight, which sums along them: whole blocks of every format.
ROW_UNIT = 32


def count_padded(rows: Any, groups: Any) -> Any:
    """The rows of which there are codes for the gradient of the weight; `groups` None for none."""
    return _ops.count_padded_rows(rows, 1 if groups is None else groups, ROW_UNIT)


def emit_operand(x: Value, operand: TrainingOperand, is_transposed: bool, rng: Value | None,
                 layout: str, offsets: Value | None = None
                 ) -> tuple[Value, Value, Value | None]:
    """Data, scales and global scale of x [.., rows, cols] for a product that sums along columns,
    or, transposed, along rows. `offsets` are the ends of groups of rows."""
    if operand.sign_mask is not None:
        x = _ops.hadamard(x, 0 if is_transposed else 1, sign_mask=operand.sign_mask)
    size, scale_dim = operand.block, None
    block = (size, 1) if is_transposed else (1, size)
    if operand.is_square:
        block, scale_dim = (size, size), "n" if is_transposed else "k"
    return quantize_operand(x, operand.form, None, block=block, transposed=is_transposed,
                            layout=get_scale_order(layout), scale_dim=scale_dim, rng=rng,
                            offsets=offsets, has_group_amaxes=offsets is not None)


def get_codes_specs(name: str, operand: TrainingOperand, shape: tuple[Size, ...], layout: str,
                    groups: Any = 0) -> dict[str, Spec]:
    """Of an operand [.., rows, cols] of a product that sums along columns, in so many groups."""
    data, scale, block = FORMATS[operand.format]
    order = Layout(groups, 1) if groups != 0 and layout == TILES else get_scale_layout(layout)
    specs = {f"{name}_data": Spec(shape, data),
             f"{name}_scales": Spec((*shape[:-1], ceil_div(shape[-1], block)), scale, order)}
    if operand.scaling != "none":
        specs[f"{name}_global"] = Spec((groups,) if groups != 0 else shape[:-2], "f32")
    return specs


def pad_groups(x: Value, offsets: Value | None) -> tuple[Value, Value | None]:
    """x with whole blocks in each group, and the groups' new ends. Without groups, x has whole
    blocks."""
    return (x, None) if offsets is None else _ops.pad_groups(x, offsets, ROW_UNIT)


def _flatten(codes: tuple[Any, ...]) -> list[Value]:
    return [each for each in codes if each is not None]


def count_codes(operand: TrainingOperand) -> list[torch.dtype]:
    """Of the tensors that codes are."""
    return [torch.uint8] * 2 + [torch.float32] * (operand.scaling != "none")


def find_layout(device: torch.device) -> str:
    """The order in memory of codes for a device."""
    return ROW_MAJOR if device.type == "cpu" else TILES


@dataclasses.dataclass(frozen=True)
class Layer:
    """What decides a module of a layer. `shape` is that of the weight, [N, K], or [G, N, K] with
    groups of rows, where None is any size."""

    form: TrainingForm
    shape: tuple[Size, ...]
    dtype: torch.dtype
    weight_dtype: torch.dtype
    layout: str

    @classmethod
    def of(cls, form: TrainingForm, shape: tuple[int, ...], dtype: torch.dtype,
           weight_dtype: torch.dtype, device: torch.device, **options: Any) -> Self:
        """On the CPU one kernel is for all sizes, which computes as fast."""
        sizes = (None,) * len(shape) if device.type == "cpu" else shape
        return cls(form, sizes, dtype, weight_dtype, find_layout(device), **options)

    @property
    def is_grouped(self) -> bool:
        return len(self.shape) == 3

    def get_offsets_specs(self) -> dict[str, Spec]:
        return {"offsets": Spec((self.shape[0],), "i32")} if self.is_grouped else {}


@dataclasses.dataclass(frozen=True)
class TrainingForward(Layer):
    """y of x [M, K] and a weight [N, K], the weight's codes for the gradient of x, if `has_dgrad`,
    and those of x for the gradient of the weight, if `has_wgrad`."""

    bias: torch.dtype | None
    has_dgrad: bool
    has_wgrad: bool

    @property
    def saved(self) -> tuple[str, ...]:
        return ("dgrad_weight",) * self.has_dgrad + ("wgrad_input",) * self.has_wgrad

    @property
    def random(self) -> list[str]:
        """The operands that take random bits here."""
        made = ("forward_input", "forward_weight", *self.saved)
        return [name for name in self.form.stochastic if name in made]

    def build(self, rows: int | None) -> Module:
        specs = {"x": Spec((rows, self.shape[-1]), element_name(self.dtype)),
                 "weight": Spec(self.shape, element_name(self.weight_dtype))}
        if self.bias is not None:
            specs["bias"] = Spec(self.shape[:-1], element_name(self.bias))
        specs |= self.get_offsets_specs()
        for name in self.random:
            specs[f"rng_{name}"] = Spec((2,), "i64")

        def forward(x: Value, weight: Value, bias: Value | None = None,
                    offsets: Value | None = None, **rng: Value) -> Any:
            def make(value: Value, name: str, is_transposed: bool,
                     ends: Value | None = None) -> tuple[Any, ...]:
                return emit_operand(value, getattr(self.form, name), is_transposed,
                                    rng.get(f"rng_{name}"), self.layout, ends)
            a, b = make(x, "forward_input", False, offsets), make(weight, "forward_weight", False)
            results = [emit_product(a, b, self.dtype, offsets, bias=bias)]
            if self.has_dgrad:
                results += _flatten(make(weight, "dgrad_weight", True))
            if self.has_wgrad:
                padded, ends = pad_groups(x, offsets)
                results += _flatten(make(padded, "wgrad_input", True, ends))
            return results
        return trace_named("linear_forward", forward, specs)

    def get(self) -> Kernel:
        results = [self.dtype]
        for name in self.saved:
            results += count_codes(getattr(self.form, name))
        return get_kernel(self, lambda: Kernel("forward of a linear layer in training", self.build,
                                               results))


@dataclasses.dataclass(frozen=True)
class TrainingBackward(Layer):
    """Of the gradient [M, N] of y: the gradient of x, if `has_dgrad`, and that of the weight, if
    `has_wgrad`."""

    has_dgrad: bool
    has_wgrad: bool

    @property
    def random(self) -> list[str]:
        made = ("dgrad_gradient",) * self.has_dgrad + ("wgrad_gradient",) * self.has_wgrad
        return [name for name in self.form.stochastic if name in made]

    def build(self, rows: int | None) -> Module:
        *batch, n, k = self.shape
        specs = {"gradient": Spec((rows, n), element_name(self.dtype))}
        if self.has_dgrad:
            specs |= get_codes_specs("weight", self.form.dgrad_weight, (*batch, k, n), self.layout)
        if self.has_wgrad:
            groups = batch[0] if self.is_grouped else 0
            cols = rows
            if self.is_grouped and rows is not None:
                cols = None if groups is None else count_padded(rows, groups)
            specs |= get_codes_specs("x", self.form.wgrad_input, (k, cols), self.layout, groups)
        specs |= self.get_offsets_specs()
        for name in self.random:
            specs[f"rng_{name}"] = Spec((2,), "i64")

        def backward(gradient: Value, offsets: Value | None = None, **given: Value) -> Any:
            def make(value: Value, name: str, is_transposed: bool,
                     ends: Value | None) -> tuple[Any, ...]:
                return emit_operand(value, getattr(self.form, name), is_transposed,
                                    given.get(f"rng_{name}"), self.layout, ends)

            def take(name: str) -> tuple[Any, ...]:
                return (given[f"{name}_data"], given[f"{name}_scales"],
                        given.get(f"{name}_global"))
            results = []
            if self.has_dgrad:
                rows = make(gradient, "dgrad_gradient", False, offsets)
                results.append(emit_product(rows, take("weight"), self.dtype, offsets))
            if self.has_wgrad:
                padded, ends = pad_groups(gradient, offsets)
                columns = make(padded, "wgrad_gradient", True, ends)
                results.append(emit_product(columns, take("x"), self.weight_dtype, ends))
            return results
        return trace_named("linear_backward", backward, specs)

    def get(self) -> Kernel:
        results = [self.dtype] * self.has_dgrad + [self.weight_dtype] * self.has_wgrad
        return get_kernel(self, lambda: Kernel("backward of a linear layer in training",
                                               self.build, results))
