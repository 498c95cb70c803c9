# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modules of a gated MLP in training, y = (act(x gate^T) * (x up^T)) down^T: one of the forward
pass and one of the backward pass, of what a linear layer's modules consist of and of ops of linalg
on elements. Each tensor is quantized once for each product along another dimension, whichever
layers read it, so x and its codes serve two layers; what the activation gives, and the gradients of
gate and up, are computed by the kernels that quantize them (docs/Fusion.md, producers).

Numbers between the layers are rounded as a model that calls one layer after the other rounds them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sympy
import torch

from blockscale._linalg import FLOAT_UNARY, Array, Body, Builder, emit_elementwise
from blockscale._trace import Module, Value
from blockscale._training import TRANSPOSED, TrainingForm
from blockscale._types import element_name
from blockscale.torch._kernels import Kernel, get_kernel
from blockscale.torch._training_kernels import (
    count_codes,
    emit_operand,
    find_layout,
    get_codes_specs,
    multiply,
    takes_values,
)

if TYPE_CHECKING:
    from typing_extensions import Self

LAYERS = ("gate", "up", "down")
#: The layers whose random bits x, and what the activation gives, have.
_READERS = {"x": "gate", "inner": "down"}


def _differentiate_silu(body: Body, x: str) -> str:
    """s (1 + x (1 - s)) with s = sigmoid(x)."""
    one, sigmoid = body.constant(1), FLOAT_UNARY["sigmoid"](body, x, "f32")
    rest = body.mul(x, body.sub(one, sigmoid))
    return body.mul(sigmoid, body.add(one, rest))


def _differentiate_gelu(body: Body, x: str) -> str:
    """P(x) + x p(x), with the normal distribution P and its density p."""
    scaled = body.mul(x, body.constant(math.sqrt(0.5)))
    below = body.mul(body.constant(0.5), body.add(body.constant(1), body.op(f"math.erf {scaled}")))
    exponent = body.mul(body.mul(x, x), body.constant(-0.5))
    density = body.mul(body.constant(1 / math.sqrt(2 * math.pi)), body.op(f"math.exp {exponent}"))
    return body.add(below, body.mul(x, density))


def _differentiate_gelu_tanh(body: Body, x: str) -> str:
    """(1 + t) / 2 + x (1 - t^2) u' / 2, with t = tanh(u) and u = sqrt(2 / pi) (x + c x^3)."""
    one, half = body.constant(1), body.constant(0.5)
    root, cubic = body.constant(math.sqrt(2 / math.pi)), body.constant(0.044715)
    square = body.mul(x, x)
    inner = body.mul(root, body.add(x, body.mul(cubic, body.mul(square, x))))
    tanh = body.op(f"math.tanh {inner}")
    slope = body.mul(root, body.add(one, body.mul(body.constant(3 * 0.044715), square)))
    rest = body.mul(body.sub(one, body.mul(tanh, tanh)), slope)
    return body.add(body.mul(half, body.add(one, tanh)),
                    body.mul(body.mul(half, x), rest))


#: The derivative of each activation, in f32; itself is that of this name in FLOAT_UNARY.
DERIVATIVES: dict[str, Callable[[Body, str], str]] = {
    "silu": _differentiate_silu, "gelu": _differentiate_gelu,
    "gelu_tanh": _differentiate_gelu_tanh}


@dataclasses.dataclass(frozen=True)
class GatedMlp:
    """What decides a module. `sizes` are the columns of x, those between the layers, and those of
    y; None is any size. Products of what is behind the gate are `has_dgrad` for the gradient of x,
    `has_inner_wgrad` for those of gate and up, and `has_down_wgrad`. If it `has_values`, kernels
    decode the operands of products before."""

    form: TrainingForm
    activation: str
    sizes: tuple[int | None, ...]
    dtype: torch.dtype
    weight_dtype: torch.dtype
    layout: str
    has_dgrad: bool
    has_inner_wgrad: bool
    has_down_wgrad: bool
    has_values: bool = dataclasses.field(default=False, kw_only=True)

    @classmethod
    def of(cls, form: TrainingForm, activation: str, sizes: tuple[int, ...], dtype: torch.dtype,
           weight_dtype: torch.dtype, device: torch.device, *has: bool) -> Self:
        """On the CPU one kernel is for all sizes, which computes as fast."""
        found = (None,) * len(sizes) if device.type == "cpu" else sizes
        return cls(form, activation, found, dtype, weight_dtype, find_layout(device), *has)

    def with_values(self, rows: torch.Tensor) -> Self:
        """For a call: so many rows decide whether products take values."""
        return dataclasses.replace(self, has_values=True) if takes_values(rows) else self

    @property
    def has_inner(self) -> bool:
        """Whether a gradient goes through the activation."""
        return self.has_dgrad or self.has_inner_wgrad

    @property
    def saved(self) -> dict[str, str]:
        """The codes that the backward pass reads, as operands of the form by what they are of."""
        made = {name: "dgrad_weight" for name in LAYERS[:2] if self.has_dgrad}
        if self.has_inner:
            made["down"] = "dgrad_weight"
        if self.has_inner_wgrad:
            made["x"] = "wgrad_input"
        if self.has_down_wgrad:
            made["inner"] = "wgrad_input"
        return made

    def _count(self, names: dict[str, str]) -> list[torch.dtype]:
        return [dtype for name in names.values()
                for dtype in count_codes(getattr(self.form, name))]


class _Writer(Builder):
    """Writes a module for so many rows, or any."""

    def __init__(self, mlp: GatedMlp, rows: int | None):
        super().__init__()
        self.mlp = mlp
        self.dtype = element_name(mlp.dtype)
        self.arguments: list[Value] = []
        self.rows, self.columns, self.inner, self.outputs = (
            sympy.Symbol(name, integer=True, positive=True) if size is None else size
            for name, size in zip(("rows", "columns", "inner", "outputs"), (rows, *mlp.sizes)))

    def take(self, name: str, *sizes: Any, dtype: str | None = None, layout: Any = None) -> Value:
        value = self.add_argument(name, sizes, dtype or self.dtype, layout).value
        self.arguments.append(value)
        return value

    def take_codes(self, name: str, operand: str, rows: Any, cols: Any) -> tuple[Any, ...]:
        """Of [rows, cols] of a product that sums along columns."""
        shape = tuple(size if isinstance(size, int) else None for size in (rows, cols))
        specs = get_codes_specs(name, getattr(self.mlp.form, operand), shape, self.mlp.layout)
        made = [Value(self.trace, self.trace.name(each), spec) for each, spec in specs.items()]
        self.arguments += made
        return (*made, None)[:3]

    def take_rng(self, names: list[tuple[str, str]]) -> None:
        """The random bits of operands of layers."""
        self.rng = {each: self.take(f"rng_{'_'.join(each)}", 2, dtype="i64") for each in names}

    def make(self, value: Value, layer: str, operand: str) -> tuple[Any, ...]:
        """Codes of an operand of a layer."""
        return emit_operand(value, getattr(self.mlp.form, operand), operand in TRANSPOSED,
                            self.rng.get((layer, operand)), self.mlp.layout)

    def multiply(self, layer: str, product: str, a: tuple[Any, ...], b: tuple[Any, ...],
                 dtype: torch.dtype) -> Value:
        """A product of a layer, whose weight has as many rows as it has outputs."""
        rows = self.mlp.sizes[2 if layer == "down" else 1]
        return multiply(self.mlp.form, product, self.mlp.has_values, rows, a, b, dtype)

    def map(self, name: str, compute: Callable[..., str], *values: Value, columns: Any = None
            ) -> Value:
        """A function of elements in f32, rounded."""
        sizes = (self.rows, self.inner if columns is None else columns)
        for dim, size in enumerate(sizes):
            if isinstance(size, sympy.Symbol):  # Codes do not tell the sizes that products have.
                self.symbols.setdefault(size, (values[0], dim))
        return emit_elementwise(self, name, [Array(each, sizes) for each in values], sizes,
                                self.dtype, compute).value

    def round(self, body: Body, x: str) -> str:
        """A number of f32, rounded as a tensor between two ops is."""
        return body.convert(body.convert(x, "f32", self.dtype), self.dtype, "f32")

    def activate(self, body: Body, gate: str) -> str:
        return self.round(body, FLOAT_UNARY[self.mlp.activation](body, gate, "f32"))


def _find_random(form: TrainingForm, operands: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [each for each in operands if each[1] in form.stochastic]


@dataclasses.dataclass(frozen=True)
class GatedForward(GatedMlp):
    """y of x and three weights; what gate and up give, if a gradient goes through them; and codes.
    x, which two layers read, has the random bits of the gate's."""

    @property
    def random(self) -> list[tuple[str, str]]:
        """The operands that take random bits here, by their layer."""
        return _find_random(self.form, [
            ("gate", "forward_input"), ("down", "forward_input"),
            *((layer, "forward_weight") for layer in LAYERS),
            *((_READERS.get(name, name), operand) for name, operand in self.saved.items())])

    def build(self, rows: int | None) -> Module:
        writer = _Writer(self, rows)
        x = writer.take("x", writer.rows, writer.columns)
        weight_dtype = element_name(self.weight_dtype)
        weights = {name: writer.take(name, *sizes, dtype=weight_dtype) for name, sizes in (
            ("gate", (writer.inner, writer.columns)), ("up", (writer.inner, writer.columns)),
            ("down", (writer.outputs, writer.inner)))}
        writer.take_rng(self.random)
        with writer.tracing():
            a = writer.make(x, "gate", "forward_input")
            gate, up = (writer.multiply(
                name, "forward", a, writer.make(weights[name], name, "forward_weight"),
                self.dtype) for name in LAYERS[:2])
            inner = writer.map("inner", lambda body, gate, up: body.mul(
                writer.activate(body, gate), up), gate, up)
            y = writer.multiply(
                "down", "forward", writer.make(inner, "down", "forward_input"),
                writer.make(weights["down"], "down", "forward_weight"), self.dtype)
            results = [y] + [gate, up] * self.has_inner
            sources = {**weights, "x": x, "inner": inner}
            for name, operand in self.saved.items():
                made = writer.make(sources[name], _READERS.get(name, name), operand)
                results += [each for each in made if each is not None]
        return writer.finish("gated_mlp_forward", writer.arguments, results)

    def get(self) -> Kernel:
        results = [self.dtype] * (3 if self.has_inner else 1) + self._count(self.saved)
        return get_kernel(self, lambda: Kernel("forward of a gated MLP in training", self.build,
                                               results))


@dataclasses.dataclass(frozen=True)
class GatedBackward(GatedMlp):
    """Of the gradient of y: the gradients of x, of the weights of gate and up, and of that of down,
    those that there are."""

    @property
    def random(self) -> list[tuple[str, str]]:
        made = [("down", "dgrad_gradient")] * self.has_inner
        made += [("down", "wgrad_gradient")] * self.has_down_wgrad
        for has, operand in ((self.has_dgrad, "dgrad_gradient"),
                             (self.has_inner_wgrad, "wgrad_gradient")):
            made += [(layer, operand) for layer in LAYERS[:2]] * has
        return _find_random(self.form, made)

    def build(self, rows: int | None) -> Module:
        writer = _Writer(self, rows)
        inner, columns = writer.inner, writer.columns
        gradient = writer.take("gradient", writer.rows, writer.outputs)
        if self.has_inner:
            gate, up = (writer.take(name, writer.rows, inner) for name in LAYERS[:2])
        sizes = {"gate": (columns, inner), "up": (columns, inner),
                 "down": (inner, writer.outputs), "x": (columns, writer.rows),
                 "inner": (inner, writer.rows)}
        codes = {name: writer.take_codes(f"{name}_codes", operand, *sizes[name])
                 for name, operand in self.saved.items()}
        writer.take_rng(self.random)
        with writer.tracing():
            results = []
            if self.has_inner:
                of_inner = writer.multiply(
                    "down", "dgrad", writer.make(gradient, "down", "dgrad_gradient"),
                    codes["down"], self.dtype)
                of = {"gate": writer.map("of_gate", lambda body, of_inner, gate, up: body.mul(
                          writer.round(body, body.mul(of_inner, up)),
                          DERIVATIVES[self.activation](body, gate)), of_inner, gate, up),
                      "up": writer.map("of_up", lambda body, of_inner, gate: body.mul(
                          of_inner, writer.activate(body, gate)), of_inner, gate)}
            if self.has_dgrad:
                parts = [writer.multiply(
                    name, "dgrad", writer.make(of[name], name, "dgrad_gradient"), codes[name],
                    self.dtype) for name in LAYERS[:2]]
                results.append(writer.map("of_x", Body.add, *parts, columns=columns))
            if self.has_inner_wgrad:
                results += [writer.multiply(
                    name, "wgrad", writer.make(of[name], name, "wgrad_gradient"), codes["x"],
                    self.weight_dtype) for name in LAYERS[:2]]
            if self.has_down_wgrad:
                results.append(writer.multiply(
                    "down", "wgrad", writer.make(gradient, "down", "wgrad_gradient"),
                    codes["inner"], self.weight_dtype))
        return writer.finish("gated_mlp_backward", writer.arguments, results)

    def get(self) -> Kernel:
        count = 2 * self.has_inner_wgrad + self.has_down_wgrad
        results = [self.dtype] * self.has_dgrad + [self.weight_dtype] * count
        return get_kernel(self, lambda: Kernel("backward of a gated MLP in training", self.build,
                                               results))
