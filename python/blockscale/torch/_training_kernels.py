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
from blockscale._training import PRODUCTS, TRANSPOSED, TrainingForm, TrainingOperand
from blockscale._types import Layout, Size, Spec, ceil_div, element_name
from blockscale.torch._forms import (
    FRAGMENTS,
    ROW_MAJOR,
    TILES,
    get_layout,
    get_scale_layout,
    get_scale_order,
)
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


def _transform(x: Value, operand: TrainingOperand, is_transposed: bool) -> Value:
    """What is quantized, of which the amax is taken."""
    if operand.sign_mask is None:
        return x
    return _ops.hadamard(x, 0 if is_transposed else 1, sign_mask=operand.sign_mask)


def emit_operand(x: Value, operand: TrainingOperand, is_transposed: bool, rng: Value | None,
                 layout: str, offsets: Value | None = None, amax: Value | None = None
                 ) -> tuple[Value, Value, Value | None]:
    """Data, scales and global scale of x [.., rows, cols] for a product that sums along columns,
    or, transposed, along rows. `offsets` are the ends of groups of rows. An `amax` is that of a
    larger tensor, of which x is a part."""
    x = _transform(x, operand, is_transposed)
    form = operand.form
    if amax is not None:
        form = dataclasses.replace(form, scaling="amax")
    size, scale_dim = operand.block, None
    block = (size, 1) if is_transposed else (1, size)
    if operand.is_square:
        block, scale_dim = (size, size), "n" if is_transposed else "k"
    return quantize_operand(x, form, amax, block=block, transposed=is_transposed,
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


def take_codes(name: str, given: dict[str, Value]) -> tuple[Value, Value, Value | None]:
    """Data, scales and global scale, from arguments of these specs."""
    return given[f"{name}_data"], given[f"{name}_scales"], given.get(f"{name}_global")


#: The rows of one operand of a product on Hopper from which on it takes less time to make values of
#: the codes of the other one before than to decode them in the product: this takes a tenth more.
VALUE_ROWS = 6144


def takes_values(rows: torch.Tensor, offsets: torch.Tensor | None = None) -> bool:
    """Whether products of these rows take values instead of codes."""
    return (offsets is None and rows.shape[0] >= VALUE_ROWS
            and get_layout(rows.device, True) == FRAGMENTS)


def decode(codes: tuple[Value, Value, Value | None], operand: TrainingOperand
           ) -> tuple[Value, None, Value | None]:
    """Codes as a plain operand: their values, all of which bf16 has, and the global scale, which
    multiplies sums."""
    data, scales, scale = codes
    values = _ops.dequantize(data, scales, dtype="bf16", block=(1, operand.block))
    return values, None, scale


def multiply(form: TrainingForm, product: str, has_values: bool, rows: Any, a: tuple[Any, ...],
             b: tuple[Any, ...], *arguments: Any, **options: Any) -> Value:
    """A product of a form, by its name, of the codes of its operands, in a layer whose weight has
    so many rows, or any (None). If it `has_values`, kernels decode both of them before it, but for
    the gradient of a weight of few rows, which decodes what was kept of x itself."""
    if has_values and (product != "wgrad" or rows is None or rows >= VALUE_ROWS):
        a, b = (decode(codes, getattr(form, name))
                for codes, name in zip((a, b), PRODUCTS[product]))
    return emit_product(a, b, *arguments, **options)


def pad_groups(x: Value, offsets: Value | None) -> tuple[Value, Value | None]:
    """x with whole blocks in each group, and the groups' new ends. Without groups, x has whole
    blocks."""
    return (x, None) if offsets is None else _ops.pad_groups(x, offsets, ROW_UNIT)


def is_of_weight(name: str) -> bool:
    """Whether an operand, a field of a form, is made of the weight."""
    return name.endswith("_weight")


def _flatten(codes: tuple[Any, ...]) -> list[Value]:
    return [each for each in codes if each is not None]


#: Of data, scales and global scale, as PyTorch has them.
CODE_DTYPES = (torch.uint8, torch.uint8, torch.float32)


def count_codes(operand: TrainingOperand) -> list[torch.dtype]:
    """The dtypes of the tensors that codes are."""
    return list(CODE_DTYPES[:2 + (operand.scaling != "none")])


def find_layout(device: torch.device) -> str:
    """The order in memory of codes for a device."""
    return ROW_MAJOR if device.type == "cpu" else TILES


@dataclasses.dataclass(frozen=True)
class Layer:
    """What decides a module of a layer. `shape` is that of the weight, [N, K], or [G, N, K] with
    groups of rows, where None is any size. If it `has_amaxes`, they are arguments. The random
    bits of an operand are `random_numbers` (docs/Spec.md, quantize). If it `has_values`, kernels
    decode the operands of products before."""

    form: TrainingForm
    shape: tuple[Size, ...]
    dtype: torch.dtype
    weight_dtype: torch.dtype
    layout: str
    has_amaxes: bool
    random_numbers: int
    has_values: bool = dataclasses.field(default=False, kw_only=True)

    @classmethod
    def of(cls, form: TrainingForm, shape: tuple[int, ...], dtype: torch.dtype,
           weight_dtype: torch.dtype, device: torch.device, rng: torch.Tensor | None,
           amaxes: torch.Tensor | None, **options: Any) -> Self:
        """On the CPU one kernel is for all sizes, which computes as fast."""
        sizes = (None,) * len(shape) if device.type == "cpu" else shape
        return cls(form, sizes, dtype, weight_dtype, find_layout(device), amaxes is not None,
                   0 if rng is None else rng.shape[1], **options)

    @property
    def is_grouped(self) -> bool:
        return len(self.shape) == 3

    @property
    def made(self) -> tuple[str, ...]:
        """The operands that are quantized here."""
        raise NotImplementedError

    @property
    def random(self) -> list[str]:
        """Those that take random bits."""
        return [name for name in self.form.stochastic if name in self.made]

    @property
    def scaled(self) -> list[str]:
        """Those whose amaxes are given."""
        return [name for name in self.form.dynamic if name in self.made and self.has_amaxes]

    def get_more_specs(self) -> dict[str, Spec]:
        """Of the arguments behind the operands of products."""
        specs = {"offsets": Spec((self.shape[0],), "i32")} if self.is_grouped else {}
        specs |= {f"rng_{name}": Spec((self.random_numbers,), "i64") for name in self.random}
        return specs | {f"amax_{name}": Spec((), "f32") for name in self.scaled}

    def emit(self, x: Value, name: str, given: dict[str, Value], offsets: Value | None = None
             ) -> tuple[Value, Value, Value | None]:
        """An operand of x, with its random bits and its amax of those that are given."""
        return emit_operand(x, getattr(self.form, name), name in TRANSPOSED,
                            given.get(f"rng_{name}"), self.layout, offsets,
                            given.get(f"amax_{name}"))

    def with_values(self, rows: torch.Tensor, offsets: torch.Tensor | None) -> Self:
        """For a call: so many rows decide whether products take values."""
        if takes_values(rows, offsets):
            return dataclasses.replace(self, has_values=True)
        return self

    def multiply(self, product: str, a: tuple[Any, ...], b: tuple[Any, ...], *arguments: Any,
                 **options: Any) -> Value:
        return multiply(self.form, product, self.has_values, self.shape[-2], a, b, *arguments,
                        **options)


@dataclasses.dataclass(frozen=True)
class TrainingForward(Layer):
    """y of x [M, K] and a weight [N, K], the weight's codes for the gradient of x, if `has_dgrad`,
    and those of x for the gradient of the weight, if `has_wgrad`. If `takes_codes`, the codes of
    the weight are arguments, and none are made."""

    bias: torch.dtype | None
    has_dgrad: bool
    has_wgrad: bool
    takes_codes: bool = False

    @property
    def saved(self) -> tuple[str, ...]:
        return ("dgrad_weight",) * self.has_dgrad + ("wgrad_input",) * self.has_wgrad

    @property
    def made(self) -> tuple[str, ...]:
        return ("forward_input", *("forward_weight",) * (not self.takes_codes), *self.saved)

    def build(self, rows: int | None) -> Module:
        specs = {"x": Spec((rows, self.shape[-1]), element_name(self.dtype))}
        if self.takes_codes:
            specs |= get_codes_specs("weight", self.form.forward_weight, self.shape, self.layout)
        else:
            specs["weight"] = Spec(self.shape, element_name(self.weight_dtype))
        if self.bias is not None:
            specs["bias"] = Spec(self.shape[:-1], element_name(self.bias))
        specs |= self.get_more_specs()

        def forward(x: Value, bias: Value | None = None, offsets: Value | None = None,
                    **given: Value) -> Any:
            a = self.emit(x, "forward_input", given, offsets)
            b = (take_codes("weight", given) if self.takes_codes else
                 self.emit(given["weight"], "forward_weight", given))
            results = [self.multiply("forward", a, b, self.dtype, offsets, bias=bias)]
            if self.has_dgrad:
                results += _flatten(self.emit(given["weight"], "dgrad_weight", given))
            if self.has_wgrad:
                padded, ends = pad_groups(x, offsets)
                results += _flatten(self.emit(padded, "wgrad_input", given, ends))
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
    def made(self) -> tuple[str, ...]:
        return ("dgrad_gradient",) * self.has_dgrad + ("wgrad_gradient",) * self.has_wgrad

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
        specs |= self.get_more_specs()

        def backward(gradient: Value, offsets: Value | None = None, **given: Value) -> Any:
            results = []
            if self.has_dgrad:
                rows = self.emit(gradient, "dgrad_gradient", given, offsets)
                results.append(self.multiply("dgrad", rows, take_codes("weight", given),
                                             self.dtype, offsets))
            if self.has_wgrad:
                padded, ends = pad_groups(gradient, offsets)
                columns = self.emit(padded, "wgrad_gradient", given, ends)
                of_x = take_codes("x", given)
                results.append(self.multiply("wgrad", columns, of_x, self.weight_dtype, ends))
            return results
        return trace_named("linear_backward", backward, specs)

    def get(self) -> Kernel:
        results = [self.dtype] * self.has_dgrad + [self.weight_dtype] * self.has_wgrad
        return get_kernel(self, lambda: Kernel("backward of a linear layer in training",
                                               self.build, results))


@dataclasses.dataclass(frozen=True)
class TrainingAmaxes:
    """The amaxes of operands that are made of x or the gradient [M, cols], or of a weight, if it
    has a `weight_dtype`. `names` are the operands, and `shape` the sizes of columns and of the
    weight."""

    form: TrainingForm
    names: tuple[str, ...]
    shape: tuple[Size, ...]
    dtype: torch.dtype
    weight_dtype: torch.dtype | None

    def build(self, rows: int | None) -> Module:
        cols, *weight = self.shape
        specs = {"x": Spec((rows, cols), element_name(self.dtype))}
        if self.weight_dtype is not None:
            specs["weight"] = Spec(tuple(weight), element_name(self.weight_dtype))

        def amaxes(**given: Value) -> Any:
            return [_ops.amax(_transform(given["weight" if is_of_weight(name) else "x"],
                                         getattr(self.form, name), name in TRANSPOSED))
                    for name in self.names]
        return trace_named("linear_amaxes", amaxes, specs)

    def get(self) -> Kernel:
        results = [torch.float32] * len(self.names)
        return get_kernel(self, lambda: Kernel("amaxes of a linear layer in training", self.build,
                                               results))


@dataclasses.dataclass(frozen=True)
class SquareQuantizer:
    """Of a weight [N, K] or some of its rows, in square blocks: data and a scale for each block,
    row-major, and the global scale. The amax is an argument if the operand has a global scale.
    `cols` is K, or None for any."""

    operand: TrainingOperand
    dtype: torch.dtype
    cols: Size

    def build(self, _: int | None) -> Module:
        specs = {"x": Spec((None, self.cols), element_name(self.dtype))}
        form, size = self.operand.form, self.operand.block
        if form.scaling != "none":
            specs["amax"] = Spec((), "f32")
            form = dataclasses.replace(form, scaling="amax")

        def quantize(x: Value, amax: Value | None = None) -> Any:
            return _flatten(quantize_operand(x, form, amax, block=(size, size)))
        return trace_named("quantize_squares", quantize, specs)

    def get(self) -> Kernel:
        return get_kernel(self, lambda: Kernel("quantizer of squares", self.build,
                                               count_codes(self.operand)))


@dataclasses.dataclass(frozen=True)
class SquareScales:
    """Scales of a weight [N, K] in square blocks, as a product along `scale_dim` reads them."""

    format: str
    shape: tuple[int, int]
    scale_dim: str
    layout: str

    def build(self, _: int | None) -> Module:
        (scale, size), (n, k) = FORMATS[self.format][1:], self.shape
        specs = {"scales": Spec((n // size, k // size), scale)}
        return trace_named("spread_scales", lambda scales: _ops.expand_scale(
            scales, self.scale_dim, rows=n, cols=k, layout=get_scale_order(self.layout)), specs)

    def get(self) -> Kernel:
        return get_kernel(self, lambda: Kernel("scales of squares", self.build, [torch.uint8]))
