# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modules of quantizers, packers and linear layers, one for each static key."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch

from blockscale import _ops
from blockscale._forms import OperandForm
from blockscale._jit import jit
from blockscale._ops import FORMATS, ORDERS
from blockscale._trace import Module, Value
from blockscale._types import Spec, element_name
from blockscale.torch._forms import (
    ROW_MAJOR,
    get_data_layout,
    get_scale_layout,
    get_scale_order,
)
from blockscale.torch._kernels import Kernel, get_kernel

#: Recipes that compute with the amax and not with the decode scale.
_OF_AMAX = ("te", "mslk", "te_4over6_mae", "te_4over6_mse", "torchao_training")

#: Elements of bf16 in 16 bytes.
_WIDE_ELEMENTS = 8


def trace_named(name: str, function: Any, specs: dict[str, Spec]) -> Module:
    """A module of a function of named values."""
    names = list(specs)
    text = ", ".join(names)
    scope: dict[str, Any] = {"body": function}
    exec(f"def {name}({text}):\n    return body({', '.join(f'{n}={n}' for n in names)})", scope)
    return jit(scope[name]).trace(*specs.values())


def quantize_operand(x: Value, form: OperandForm, given: Value | None, *, offsets: Any = None,
                     layout: Any = None, block: tuple[int, int] | None = None,
                     transposed: bool = False, scale_dim: str | None = None,
                     rng: Value | None = None, has_group_amaxes: bool = False
                     ) -> tuple[Value, Value, Value | None]:
    """Data, scales and global scale of x. `given` is its amax or its global scale, where the
    scaling says so. A batch has an amax for each matrix, and so have groups if
    `has_group_amaxes`."""
    amax: Any = None
    scale = block_amax = None
    if form.scaling == "dynamic":
        amax = (_ops.amax(x, offsets=offsets) if has_group_amaxes else
                _ops.amax(x, per="batch" if x.spec.rank > 2 else "tensor"))
    elif form.scaling == "amax":
        amax = given
    elif form.scaling == "scale":
        scale = given
    if amax is not None:
        scale = (_ops.global_scale(amax) if form.recipe is None else
                 _ops.global_scale(amax, recipe=form.recipe))
    is_of_amax = amax is not None and (form.is_swept or form.recipe in _OF_AMAX)
    if form.is_swept:
        block_amax = _ops.scale_sweep(x, amax)
    data, scales = _ops.quantize(
        x, format=form.format, recipe=form.recipe, global_scale=None if is_of_amax else scale,
        global_amax=amax if is_of_amax else None, block_amax=block_amax, offsets=offsets,
        layout=layout, block=block, transposed=transposed, scale_dim=scale_dim, rng=rng)
    return data, scales, scale


def emit_product(a: tuple[Any, ...], b: tuple[Any, ...], dtype: torch.dtype,
                 offsets: Value | None = None, order: str = ORDERS[0], **options: Any) -> Value:
    """The product of two operands, each of which is data, scales and a global scale, or None
    instead; by groups of rows if there are `offsets`."""
    options |= dict(dtype=element_name(dtype), global_scale_a=a[2], global_scale_b=b[2],
                    order=None if order == ORDERS[0] else order)
    if offsets is not None:
        return _ops.scaled_grouped_mm(a[0], b[0], a[1], b[1], offsets, **options)
    return _ops.scaled_mm(a[0], b[0], a[1], b[1], **options)


@dataclasses.dataclass(frozen=True)
class Quantizer:
    """Of tensors [.., M, K] with dynamic sizes, to codes and scales in an order of weights.
    `columns` are K, or None for any. `is_settled` is for an x that nothing writes which may still
    run when a call begins (docs/LaunchPlan.md): the call need not wait for it to read x."""

    form: OperandForm
    dtype: torch.dtype
    rank: int
    rht: bool = False
    layout: str = ROW_MAJOR
    columns: int | None = None
    is_settled: bool = False

    def build(self, _: int | None) -> Module:
        shape = (*(None,) * (self.rank - 1), self.columns)
        specs = {"x": Spec(shape, element_name(self.dtype))}
        if self.form.scaling in ("amax", "scale"):
            specs["given"] = Spec((), "f32")

        def quantize(x: Value, given: Value | None = None) -> Any:
            if self.rht:
                x = _ops.hadamard(x, 1)
            data, scales, scale = quantize_operand(
                x, self.form, given, layout=get_scale_order(self.layout))
            if get_data_layout(self.layout) is not None:
                data = _ops.prepack(data, get_data_layout(self.layout))
            is_made = scale is not None and scale is not given
            return (data, scales, scale) if is_made else (data, scales)
        module = trace_named("quantize", quantize, specs)
        if self.is_settled:
            module.settled = frozenset({module.arguments[0].name})
        return module

    def get(self) -> Kernel:
        is_made = self.form.scaling in ("dynamic", "amax")
        results = [torch.uint8] * 2 + [torch.float32] * is_made
        return get_kernel(self, lambda: Kernel(f"quantize to {self.form.format}", self.build,
                                               results))


@dataclasses.dataclass(frozen=True)
class FakeQuantizer:
    """Of tensors [.., M, K] with dynamic sizes: the values that codes in blocks stand for, and the
    scales. Those of blocks of a column are [.., K, M], and in blocks of a row. With `rht`, blocks
    are of the Hadamard transform along them. `columns` are K, or None for any."""

    form: OperandForm
    dtype: torch.dtype
    rank: int
    block: tuple[int, int]
    is_stochastic: bool
    rht: bool = False
    columns: int | None = None

    @property
    def is_transposed(self) -> bool:
        return self.block[1] == 1

    def build(self, _: int | None) -> Module:
        shape = (*(None,) * (self.rank - 1), self.columns)
        specs = {"x": Spec(shape, element_name(self.dtype))}
        if self.form.scaling in ("amax", "scale"):
            specs["given"] = Spec((), "f32")
        if self.is_stochastic:
            specs["rng"] = Spec((2,), "i64")

        def quantize(x: Value, given: Value | None = None, rng: Value | None = None) -> Any:
            if self.rht:
                x = _ops.hadamard(x, 0 if self.is_transposed else 1)
            data, scales, scale = quantize_operand(
                x, self.form, given, block=self.block, transposed=self.is_transposed, rng=rng)
            block = self.block[::-1] if self.is_transposed else self.block
            y = _ops.dequantize(data, scales, dtype=element_name(self.dtype), block=block,
                                recipe=self.form.recipe, global_scale=scale)
            return (y, scales, scale) if self.form.scaling in ("dynamic", "amax") else (y, scales)
        return trace_named("fake_quantize", quantize, specs)

    def get(self, device: torch.device, columns: int) -> Kernel:
        """The kernel for tensors of so many columns on a device. On a GPU one of blocks of a column
        is for these alone: it reads 16 bytes of a row at a time only if all rows begin at a
        multiple of these."""
        if device.type == "cuda" and self.is_transposed and columns % _WIDE_ELEMENTS == 0:
            return dataclasses.replace(self, columns=columns)._get()
        return self._get()

    def _get(self) -> Kernel:
        is_made = self.form.scaling in ("dynamic", "amax")
        results = [self.dtype, torch.uint8] + [torch.float32] * is_made
        return get_kernel(self, lambda: Kernel(f"fake_quantize to {self.form.format}", self.build,
                                               results))


@dataclasses.dataclass(frozen=True)
class Packer:
    """From one order of a weight in memory to another."""

    shape: tuple[int, ...]
    format: str
    before: str
    after: str

    def build(self, _: int | None) -> Module:
        data, scale, block = FORMATS[self.format]
        sizes = (*self.shape[:-1], -(-self.shape[-1] // block))
        specs = {"data": Spec(self.shape, data, get_data_layout(self.before)),
                 "scales": Spec(sizes, scale, get_scale_layout(self.before))}

        def pack(data: Value, scales: Value) -> list[Value]:
            if get_data_layout(self.before) != get_data_layout(self.after):
                data = _ops.prepack(data, get_data_layout(self.after))
            if get_scale_layout(self.before) != get_scale_layout(self.after):
                scales = _ops.swizzle(scales, get_scale_layout(self.after))
            return [data, scales]
        return trace_named("pack", pack, specs)

    def get(self) -> Kernel:
        return get_kernel(self, lambda: Kernel(f"{self.after} of {self.format}", self.build,
                                               [torch.uint8] * 2))


@dataclasses.dataclass(frozen=True)
class Dequantizer:
    """Of a weight with linear scales, to a plain one without its global scale."""

    shape: tuple[int | None, ...]
    format: str
    dtype: torch.dtype

    def build(self, _: int | None) -> Module:
        data, scale, block = FORMATS[self.format]
        columns = self.shape[-1]
        specs = {"data": Spec(self.shape, data),
                 "scales": Spec((*self.shape[:-1], None if columns is None else columns // block),
                                scale)}
        return trace_named("dequantize", lambda data, scales: _ops.dequantize(
            data, scales, dtype=element_name(self.dtype)), specs)

    def get(self, device: torch.device) -> Kernel:
        if device.type == "cpu":  # One kernel for all sizes.
            return dataclasses.replace(self, shape=(None,) * len(self.shape))._get()
        return self._get()

    def _get(self) -> Kernel:
        return get_kernel(self, lambda: Kernel(f"dequantize {self.format}", self.build,
                                               [self.dtype]))


@dataclasses.dataclass(frozen=True)
class Linear:
    """A product of rows [M, K] with a weight [N, K], or with [G, N, K] by groups of rows, and
    what is before and behind it. `scale_shape` is that of the global scale; it and `bias` are None
    where there are none. G, N and K are None for any. `order` is that of the product's sums."""

    shape: tuple[Any, ...]
    dtype: torch.dtype
    format: str
    layout: str
    scale_shape: tuple[int | None, ...] | None
    bias: torch.dtype | None
    activation: OperandForm | None
    rht: bool
    order: str = ORDERS[0]

    @property
    def is_grouped(self) -> bool:
        return len(self.shape) == 3

    def get_specs(self, rows: int | None) -> dict[str, Spec]:
        """Of the arguments, in their order."""
        data, scale, block = FORMATS[self.format]
        *batch, n, k = self.shape
        specs = {"x": Spec((rows, k), element_name(self.dtype)),
                 "data": Spec(self.shape, data, get_data_layout(self.layout)),
                 "scales": Spec((*batch, n, None if k is None else k // block), scale,
                                get_scale_layout(self.layout))}
        if self.scale_shape is not None:
            specs["global_scale"] = Spec(self.scale_shape, "f32")
        if self.bias is not None:
            specs["bias"] = Spec((*batch, n), element_name(self.bias))
        if self.activation is not None and self.activation.scaling in ("amax", "scale"):
            specs["input_global"] = Spec((), "f32")
        if self.is_grouped:
            specs["offsets"] = Spec((self.shape[0],), "i32")
        return specs

    def emit(self, x: Value, data: Value, scales: Value, global_scale: Value | None = None,
             bias: Value | None = None, input_global: Value | None = None,
             offsets: Value | None = None) -> Value:
        """The ops of the layer, in the function that is traced."""
        if self.rht:
            x = _ops.hadamard(x, 1)
        operand: tuple[Any, ...] = (x, None, None)
        if self.activation is not None:
            layout = get_scale_order(self.layout)
            operand = quantize_operand(x, self.activation, input_global, layout=layout,
                                       offsets=offsets if layout else None)
        return emit_product(operand, (data, scales, global_scale), self.dtype, offsets, self.order,
                            bias=bias)

    def build(self, rows: int | None) -> Module:
        return trace_named("linear", self.emit, self.get_specs(rows))

    def get(self, device: torch.device) -> Kernel:
        """The kernel for a device. The CPU has one for all sizes, which computes as fast."""
        if device.type == "cpu" and self.layout == ROW_MAJOR:
            scale = self.scale_shape if self.is_grouped or not self.scale_shape else (None,)
            return dataclasses.replace(self, shape=(*self.shape[:-2], None, None),
                                       scale_shape=scale)._get()
        return self._get()

    def _get(self) -> Kernel:
        kind = "quantized" if self.activation else "weight-only"
        sizes = "x".join(map(str, self.shape))
        return get_kernel(self, lambda: Kernel(f"{kind} {self.format} linear {sizes}", self.build,
                                               [self.dtype]))


@dataclasses.dataclass(frozen=True)
class TransposedLinear:
    """The product of rows [M, N] with the values of a weight [N, K], or of [G, N, K] by groups of
    rows, along N, which is a multiple of 16: what the gradient of a layer's activations is made of.
    It reads the codes that the layer itself multiplies. `scale_shape` is that of the global scale,
    one for each matrix at most; it is None without one. `dtype` is that of the rows and `result`
    that of the product, `order` the order of its sums. N and K are None for any."""

    shape: tuple[Any, ...]
    dtype: torch.dtype
    result: torch.dtype
    format: str
    layout: str
    scale_shape: tuple[int, ...] | None
    order: str

    def get_specs(self, rows: int | None) -> dict[str, Spec]:
        data, scale, block = FORMATS[self.format]
        *batch, n, k = self.shape
        specs = {"rows": Spec((rows, n), element_name(self.dtype)),
                 "data": Spec(self.shape, data, get_data_layout(self.layout)),
                 "scales": Spec((*batch, n, None if k is None else k // block), scale,
                                get_scale_layout(self.layout))}
        if self.scale_shape is not None:
            specs["global_scale"] = Spec(self.scale_shape, "f32")
        if batch:
            specs["offsets"] = Spec((batch[0],), "i32")
        return specs

    def emit(self, rows: Value, data: Value, scales: Value, global_scale: Value | None = None,
             offsets: Value | None = None) -> Value:
        return emit_product((rows, None, None), (data, scales, global_scale), self.result, offsets,
                            self.order, mn_major="b")

    def build(self, rows: int | None) -> Module:
        return trace_named("transposed", self.emit, self.get_specs(rows))

    def get(self, device: torch.device) -> Kernel:
        """The kernel for a device. The CPU has one for all sizes."""
        if device.type == "cpu" and self.layout == ROW_MAJOR:
            return dataclasses.replace(self, shape=(*self.shape[:-2], None, None))._get()
        return self._get()

    def _get(self) -> Kernel:
        sizes = "x".join(map(str, self.shape))
        return get_kernel(self, lambda: Kernel(f"transposed {self.format} linear {sizes}",
                                               self.build, [self.result]))


@dataclasses.dataclass(frozen=True)
class Mixer:
    """Of rows of bf16: the Hadamard transform, without its signs unless `has_signs`. Without them
    it is its own transpose."""

    has_signs: bool = False

    def build(self, _: int | None) -> Module:
        sign_mask = None if self.has_signs else 0
        return trace_named("mix", lambda x: _ops.hadamard(x, 1, sign_mask=sign_mask),
                      {"x": Spec((None, None), "bf16")})

    def get(self) -> Kernel:
        return get_kernel(self, lambda: Kernel("mix", self.build, [torch.bfloat16]))


@dataclasses.dataclass(frozen=True)
class PlainLinear:
    """A product of rows [M, K] with a weight [N, K], both of one type without scales. `bias` says
    whether there is one, of the same type, and `order` is that of the product's sums."""

    shape: tuple[int, int]
    dtype: torch.dtype
    bias: bool
    order: str

    def build(self, rows: int | None) -> Module:
        (n, k), dtype = self.shape, element_name(self.dtype)
        specs = {"x": Spec((rows, k), dtype), "weight": Spec((n, k), dtype)}
        if self.bias:
            specs["bias"] = Spec((n,), dtype)

        return trace_named("linear", self.emit, specs)

    def emit(self, x: Value, weight: Value, bias: Value | None = None) -> Value:
        """The product, in the function that is traced."""
        return _ops.scaled_mm(x, weight, None, None, dtype=element_name(self.dtype), bias=bias,
                              order=None if self.order == ORDERS[0] else self.order)

    def get(self) -> Kernel:
        n, k = self.shape
        return get_kernel(self, lambda: Kernel(f"linear {n}x{k}", self.build, [self.dtype]))


def run(kernel: Kernel, tensors: Sequence[torch.Tensor | None], rows: int | None = None,
        out: Sequence[torch.Tensor] | None = None) -> list[torch.Tensor]:
    """A call with the arguments that are not None."""
    return kernel([each for each in tensors if each is not None], rows, out)
