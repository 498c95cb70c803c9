# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bodies of linalg ops, and ops on elements.

Floating-point numbers are computed in f32 and rounded once to the result. Integers are
signed, wrap around, and i1 is a truth value.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import sympy

from blockscale._linalg._builder import Array, Builder, Size, simplify
from blockscale._trace import Value

#: Widths in bits.
FLOATS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}
INTEGERS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def is_integer(dtype: str) -> bool:
    """Whether it is an integer, i1 among them."""
    return dtype in INTEGERS


def get_inner(*dtypes: str) -> str:
    """The dtype in which operands of these are computed: f32 where one is a floating-point
    number, f64 beside f64, else the widest integer."""
    if any(map(is_float, dtypes)):
        return "f64" if "f64" in dtypes else "f32"
    return max(dtypes, key=lambda dtype: INTEGERS[dtype])


class Body:
    """The body of a linalg.generic: its values by their names. What has no dtype is f32."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        #: Tensors that the body reads by itself.
        self.captured: list[Value] = []

    def op(self, text: str, type: str = "f32") -> str:
        """Adds a line; `type` is what stands behind the colon."""
        return self._line(f"{text} : {type}")

    def _line(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, value: float, dtype: str = "f32") -> str:
        if dtype == "i1":
            return self._line(f"arith.constant {'true' if value else 'false'}")
        if not is_float(dtype):
            return self.op(f"arith.constant {int(value)}", dtype)
        value = float(value)
        if not math.isfinite(value):
            number, form = ("<Q", "<d") if dtype == "f64" else ("<I", "<f")
            bits, = struct.unpack(number, struct.pack(form, value))
            return self.op(f"arith.constant 0x{bits:0{16 if dtype == 'f64' else 8}X}", dtype)
        return self.op(f"arith.constant {value:.17e}", dtype)

    def _arith(self, name: str, a: str, b: str, dtype: str) -> str:
        return self.op(f"arith.{name}{'f' if is_float(dtype) else 'i'} {a}, {b}", dtype)

    def add(self, a: str, b: str, dtype: str = "f32") -> str:
        return self._arith("add", a, b, dtype)

    def sub(self, a: str, b: str, dtype: str = "f32") -> str:
        return self._arith("sub", a, b, dtype)

    def mul(self, a: str, b: str, dtype: str = "f32") -> str:
        return self._arith("mul", a, b, dtype)

    def div(self, a: str, b: str, dtype: str = "f32") -> str:
        """Integers are rounded towards 0; 0 where the divisor is 0."""
        if is_float(dtype):
            return self.op(f"arith.divf {a}, {b}", dtype)
        return self._divide("div", a, b, dtype)

    def rem(self, a: str, b: str, dtype: str = "f32") -> str:
        """What div leaves, of the sign of a; 0 where an integer divisor is 0."""
        if is_float(dtype):
            return self.op(f"arith.remf {a}, {b}", dtype)
        return self._divide("rem", a, b, dtype)

    def _divide(self, name: str, a: str, b: str, dtype: str) -> str:
        # Division by 0, and of the least number by -1, have no value in MLIR.
        zero, one = self.constant(0, dtype), self.constant(1, dtype)
        is_zero = self.compare("eq", b, zero, dtype)
        is_negated = self.compare("eq", b, self.constant(-1, dtype), dtype)
        unsafe = self.op(f"arith.ori {is_zero}, {is_negated}", "i1")
        quotient = self.op(f"arith.{name}si {a}, {self.select(unsafe, one, b, dtype)}", dtype)
        negated = self.sub(zero, a, dtype) if name == "div" else zero
        return self.select(is_zero, zero, self.select(is_negated, negated, quotient, dtype),
                           dtype)

    def maximum(self, a: str, b: str, dtype: str = "f32") -> str:
        """NaN where one is."""
        return self.op(f"arith.{_MAXIMA[_get_kind(dtype)]} {a}, {b}", dtype)

    def minimum(self, a: str, b: str, dtype: str = "f32") -> str:
        """NaN where one is."""
        return self.op(f"arith.{_MINIMA[_get_kind(dtype)]} {a}, {b}", dtype)

    def compare(self, predicate: str, a: str, b: str, dtype: str = "f32") -> str:
        """An i1; `predicate` is eq, ne, lt, le, gt or ge. NaN is unequal to every number."""
        if is_float(dtype):
            sign = "u" if predicate == "ne" else "o"
            return self.op(f"arith.cmpf {sign}{predicate}, {a}, {b}", dtype)
        sign = "" if predicate in ("eq", "ne") else "u" if dtype == "i1" else "s"
        return self.op(f"arith.cmpi {sign}{predicate}, {a}, {b}", dtype)

    def select(self, condition: str, a: str, b: str, dtype: str = "f32") -> str:
        return self.op(f"arith.select {condition}, {a}, {b}", dtype)

    def widen(self, name: str, dtype: str) -> str:
        """A floating-point number in f32."""
        return self.convert(name, dtype, "f32")

    def convert(self, name: str, source: str, target: str) -> str:
        """A number in another dtype. Floating-point numbers become integers rounded towards 0
        and saturated, NaN becomes 0; what is not 0 is true; integers keep their low bits."""
        if source == target:
            return name
        if source == "index":
            middle = target if is_integer(target) and target != "i1" else "i64"
            cast = self.op(f"arith.index_cast {name}", f"index to {middle}")
            return self.convert(cast, middle, target)
        if target == "index":
            middle = source if is_integer(source) and source != "i1" else "i64"
            return self.op(f"arith.index_cast {self.convert(name, source, middle)}",
                           f"{middle} to index")
        if target == "i1":
            inner = get_inner(source)
            return self.compare("ne", self.convert(name, source, inner),
                                self.constant(0, inner), inner)
        if is_float(source) and is_float(target):
            # Between types of 16 bits, and from f64 to them, which libraries round by way of f32.
            if FLOATS[source] == FLOATS[target] or (source == "f64" and FLOATS[target] == 16):
                return self.convert(self.convert(name, source, "f32"), "f32", target)
            op = "extf" if FLOATS[source] < FLOATS[target] else "truncf"
        elif is_float(source):
            return self._saturate(self.convert(name, source, get_inner(source)),
                                  get_inner(source), target)
        elif is_float(target):
            if target not in ("f32", "f64"):
                return self.convert(self.convert(name, source, "f32"), "f32", target)
            op = "uitofp" if source == "i1" else "sitofp"
        elif INTEGERS[source] < INTEGERS[target]:
            op = "extui" if source == "i1" else "extsi"
        else:
            op = "trunci"
        return self.op(f"arith.{op} {name}", f"{source} to {target}")

    def _saturate(self, name: str, source: str, target: str) -> str:
        bits = INTEGERS[target]
        high = self.constant(2.0 ** (bits - 1), source)
        low = self.constant(-(2.0 ** (bits - 1)), source)
        is_high = self.compare("ge", name, high, source)
        is_low = self.compare("le", name, low, source)
        # Of NaN and of numbers out of range, the conversion has no value in MLIR.
        outside = self.op(f"arith.ori {is_high}, {is_low}", "i1")
        is_nan = self.compare("ne", name, name, source)
        outside = self.op(f"arith.ori {outside}, {is_nan}", "i1")
        safe = self.select(outside, self.constant(0, source), name, source)
        number = self.op(f"arith.fptosi {safe}", f"{source} to {target}")
        number = self.select(is_high, self.constant(2 ** (bits - 1) - 1, target), number, target)
        return self.select(is_low, self.constant(-(2 ** (bits - 1)), target), number, target)

    def index(self, dim: int) -> str:
        """The position of the element along a dimension, an index."""
        return self.op(f"linalg.index {dim}", "index")

    def extract(self, array: Array, indices: Sequence[str]) -> str:
        """An element of a tensor; each index is within it."""
        self.captured.append(array.value)
        return self.op(f"tensor.extract {array.value.name}[{', '.join(indices)}]",
                       str(array.value.spec))

    def capture(self, value: Value) -> str:
        """The name of a value from outside of the body, of type index say."""
        self.captured.append(value)
        return value.name


def _get_kind(dtype: str) -> str:
    return "float" if is_float(dtype) else "bool" if dtype == "i1" else "integer"


_MAXIMA = {"float": "maximumf", "integer": "maxsi", "bool": "maxui"}
_MINIMA = {"float": "minimumf", "integer": "minsi", "bool": "minui"}


def get_map(rank: int, read: Sequence[int | str]) -> str:
    """A map from `rank` loops to what an operand is read at: numbers of loops, or text."""
    names = ", ".join(f"d{number}" for number in range(rank))
    places = ", ".join(f"d{each}" if isinstance(each, int) else each for each in read)
    return f"affine_map<({names}) -> ({places})>"


def emit_generic(builder: Builder, base: str, maps: Sequence[str], iterators: Sequence[str],
                 inputs: Sequence[Value], out: Value, body: Body, result: str) -> Value:
    """A linalg.generic. The body reads inputs as %a0, %a1, .. and the result's old element as
    %out, each in its own dtype."""
    arguments = ", ".join([f"%a{number}: {value.dtype}" for number, value in enumerate(inputs)]
                          + [f"%out: {out.dtype}"])
    names = ", ".join(value.name for value in inputs)
    types = ", ".join(str(value.spec) for value in inputs)
    lines = "".join(f"      {line}\n" for line in [*body.lines,
                                                   f"linalg.yield {result} : {out.dtype}"])
    kinds = ", ".join(f'"{kind}"' for kind in iterators)
    ins = f"ins({names} : {types}) " if inputs else ""
    text = (f"{{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}} "
            f"{ins}outs({out.name} : {out.spec}) {{\n"
            f"    ^bb0({arguments}):\n{lines}    }} -> {out.spec}")
    return builder.emit(base, "linalg.generic", [*inputs, out, *body.captured], text, out.spec)


@dataclasses.dataclass(frozen=True)
class Along:
    """An operand of an op on elements that does not broadcast as in numpy: its dimension i
    runs along dimension `dims[i]` of the result."""

    array: Array
    dims: tuple[int, ...]


#: An operand of an op on elements: a tensor, one with its place, a number, or a size.
Operand: TypeAlias = Array | Along | int | float | sympy.Expr


def broadcast(builder: Builder, *shapes: Sequence[Size]) -> tuple[Size, ...]:
    """The shape to which shapes broadcast, as in numpy."""
    rank = max(map(len, shapes))
    result: list[Size] = [1] * rank
    for shape in shapes:
        for dim, size in enumerate(shape, rank - len(shape)):
            if size == 1:
                continue
            if result[dim] != 1 and not builder.is_same(size, result[dim]):
                builder.refuse("expected operands that broadcast, but got "
                               f"{' and '.join(format_sizes(each) for each in shapes)}")
            if result[dim] == 1 or isinstance(size, int):
                result[dim] = size
    return tuple(result)


def format_sizes(sizes: Sequence[Size]) -> str:
    return f"[{', '.join(map(str, sizes))}]"


def get_operand_map(builder: Builder, operand: Array | Along, result: Sequence[Size]) -> str:
    """How an operand, broadcast to the result, is read."""
    rank = len(result)
    if isinstance(operand, Along):
        array, dims = operand.array, operand.dims
    else:
        array, dims = operand, tuple(range(rank - len(operand.sizes), rank))
    read: list[int | str] = []
    for dim, size in zip(dims, array.sizes):
        is_repeated = dim >= 0 and size == 1 and result[dim] != 1
        if dim < 0 or not (is_repeated or builder.is_same(size, result[dim])):
            builder.refuse(f"expected operands that broadcast to {format_sizes(result)}, but got "
                           f"{format_sizes(array.sizes)}")
        read.append("0" if is_repeated else dim)
    return get_map(rank, read)


def _get_array(operand: Any) -> Any:
    return operand.array if isinstance(operand, Along) else operand


def emit_elementwise(builder: Builder, base: str, operands: Sequence[Operand],
                     sizes: Sequence[Size] | None, dtype: str, compute: Callable[..., str], *,
                     inner: str | Sequence[str] = "f32", made: str | None = None) -> Array:
    """`compute(body, *names)` of each element.

    Args:
      base: a name for the result.
      operands: of one shape, or broadcast to it; numbers and sizes are the same for all.
      sizes: of the result; None for the shape to which the operands broadcast.
      dtype: of the result.
      inner: the dtype in which `compute` takes its operands, or one for each of them.
      made: the dtype that it gives, which is converted to `dtype`; None for `inner`.
    """
    arrays = [each for each in operands if isinstance(each, (Array, Along))]
    if sizes is None:
        sizes = broadcast(builder, *[each.sizes for each in arrays if isinstance(each, Array)])
    sizes = tuple(sizes)
    kinds = [inner] * len(operands) if isinstance(inner, str) else list(inner)
    made = made or (inner if isinstance(inner, str) else inner[0])
    body, names, number = Body(), [], 0
    for each, kind in zip(operands, kinds):
        if isinstance(each, (Array, Along)):
            names.append(body.convert(f"%a{number}", _get_array(each).dtype, kind))
            number += 1
        elif isinstance(each, sympy.Expr):
            names.append(body.convert(body.capture(builder.size(each)), "index", kind))
        else:
            names.append(body.constant(each, kind))
    result = body.convert(compute(body, *names), made, dtype)
    maps = [get_operand_map(builder, each, sizes) for each in arrays]
    out = builder.empty(sizes, dtype)
    maps.append(get_map(len(sizes), range(len(sizes))))
    value = emit_generic(builder, base, maps, ["parallel"] * len(sizes),
                         [_get_array(each).value for each in arrays], out, body, result)
    return Array(value, sizes)


def emit_full(builder: Builder, sizes: Sequence[Any], value: float, dtype: str) -> Array:
    """A tensor of one number."""
    return emit_elementwise(builder, "full", [value], tuple(map(simplify, sizes)), dtype,
                            lambda _, a: a,
                            inner=dtype if not is_float(dtype) else get_inner(dtype))
