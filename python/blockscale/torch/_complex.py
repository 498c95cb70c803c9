# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers, as rotary embeddings have them: two tensors of a program each, the real and the
imaginary parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from blockscale._linalg import (
    Array,
    Body,
    emit_broadcast,
    emit_concat,
    emit_elementwise,
    emit_reshape,
    emit_slice,
    get_inner,
)
from blockscale.torch import _tensors
from blockscale.torch._importer import (
    COMPLEX_HANDLERS,
    HANDLERS,
    Complex,
    Constant,
    Handler,
    Importer,
    handles,
    is_complex,
    sizes_of,
)

#: Handlers of ops that only move elements: they move both parts.
_MOVES = (
    _tensors.import_reshape, _tensors.import_alias, _tensors.import_transpose,
    _tensors.import_permute, _tensors.import_expand, _tensors.import_repeat, _tensors.import_slice,
    _tensors.import_select, _tensors.import_split, _tensors.import_index,
    _tensors.import_index_select, _tensors.import_embedding, _tensors.import_cat,
    _tensors.import_stack,
)


def _split(importer: Importer, value: Any) -> Any:
    """A constant of complex numbers as its parts; other values as they are."""
    if not isinstance(value, Constant) or not is_complex(value):
        return value
    parts = torch.view_as_real(value.value.resolve_conj().detach())
    return Complex(*(importer.add_constant(parts[..., place].contiguous().numpy(force=True),
                                           value.name) for place in (0, 1)))


def _map(function: Callable[[Any], Any], arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: pytree.tree_map(function, value, is_leaf=is_complex)
            for name, value in arguments.items()}


def _takes_complex(*names: str) -> Callable[[Handler], Handler]:
    """Registers a handler, whose arguments are Complex where they are constants, too."""
    def add(handler: Handler) -> Handler:
        def call(importer: Importer, **arguments: Any) -> Any:
            return handler(importer, **_map(lambda each: _split(importer, each), arguments))
        COMPLEX_HANDLERS.update(dict.fromkeys(names, call))
        return handler
    return add


def _move(handler: Handler) -> Handler:
    def move(importer: Importer, **arguments: Any) -> Any:
        def take(part: str) -> Any:
            return handler(importer, **_map(
                lambda each: getattr(each, part) if is_complex(each) else each, arguments))
        real, imaginary = take("real"), take("imaginary")
        if isinstance(real, tuple):
            return tuple(map(Complex, real, imaginary))
        return Complex(real, imaginary)
    return move


for _name, _handler in list(HANDLERS.items()):
    if _handler in _MOVES:
        _takes_complex(_name)(_move(_handler))


def _emit(importer: Importer, operands: Sequence[Any], compute: Callable[..., str]) -> Array:
    inner = get_inner(*(each.dtype for each in operands if isinstance(each, Array)))
    return emit_elementwise(importer, importer.node.name, operands, sizes_of(importer.result),
                            inner, lambda body, *names: compute(body, *names, inner), inner=inner)


@handles("aten.view_as_complex.default")
def import_view_as_complex(importer: Importer, input: Any) -> Complex:
    x = importer.tensor(input)
    sizes = (*x.sizes[:-1], 1)
    real, imaginary = (
        emit_reshape(importer, emit_slice(importer, x, (*[0] * (x.rank - 1), place), sizes),
                     x.sizes[:-1]) for place in (0, 1))
    return Complex(real, imaginary)


@handles("aten.complex.default")
def import_parts(importer: Importer, real: Any, imag: Any) -> Complex:
    sizes = sizes_of(importer.result)
    return Complex(*(emit_broadcast(importer, importer.array(each, name, takes_f64=True), sizes)
                     for each, name in ((real, "real"), (imag, "imag"))))


@handles("aten.polar.default")
def import_polar(importer: Importer, abs: Any, angle: Any) -> Complex:
    operands = [importer.array(each, name, takes_f64=True)
                for each, name in ((abs, "abs"), (angle, "angle"))]

    def make(function: str) -> Array:
        return _emit(importer, operands, lambda body, a, b, dtype: body.mul(
            a, body.op(f"math.{function} {b}", dtype), dtype))
    return Complex(make("cos"), make("sin"))


@_takes_complex("aten.view_as_real.default")
def import_view_as_real(importer: Importer, input: Complex) -> Array:
    parts = [emit_reshape(importer, each, (*each.sizes, 1))
             for each in (input.real, input.imaginary)]
    return emit_concat(importer, parts, -1)


@_takes_complex("aten.mul.Tensor")
def import_product(importer: Importer, input: Any, other: Any) -> Complex:
    if not isinstance(input, Complex):
        input, other = other, input
    if not isinstance(other, Complex):
        by = importer.operand(other)
        return Complex(*(_emit(importer, (part, by), Body.mul)
                         for part in (input.real, input.imaginary)))
    operands = (input.real, input.imaginary, other.real, other.imaginary)

    def real(body: Body, a: str, b: str, c: str, d: str, dtype: str) -> str:
        return body.sub(body.mul(a, c, dtype), body.mul(b, d, dtype), dtype)

    def imaginary(body: Body, a: str, b: str, c: str, d: str, dtype: str) -> str:
        return body.add(body.mul(a, d, dtype), body.mul(b, c, dtype), dtype)
    return Complex(_emit(importer, operands, real), _emit(importer, operands, imaginary))


@_takes_complex("aten.add.Tensor", "aten.sub.Tensor")
def import_sum(importer: Importer, input: Any, other: Any, alpha: Any = 1) -> Complex:
    if not (isinstance(input, Complex) and isinstance(other, Complex)) or alpha != 1:
        importer.refuse("expected a sum or a difference of two tensors of complex numbers without "
                        "factors")
    combine = Body.add if "add" in str(importer.node.target) else Body.sub
    return Complex(_emit(importer, (input.real, other.real), combine),
                   _emit(importer, (input.imaginary, other.imaginary), combine))
