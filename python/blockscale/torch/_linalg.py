# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops, plain products and reshapes of imported values.

Numbers are computed in f32 and rounded once to the result, as PyTorch does for bf16
and f16.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Callable, Sequence, Union

import sympy

from blockscale._trace import Value
from blockscale._types import Spec
from blockscale.torch._importer import Array, Importer, Size, get_spec

# A spec for values of type index and tensors of them, for which no spec has a type. It
# is not printed: the ops that take such values write the type themselves.
_INDEX = Spec((), "i64")


class Body:
    """The body of a linalg.generic: f32 values by their names."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def op(self, text: str, type: str = "f32") -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text} : {type}")
        return name

    def constant(self, value: float) -> str:
        if not math.isfinite(value):
            bits, = struct.unpack("<I", struct.pack("<f", value))
            return self.op(f"arith.constant 0x{bits:08X}")
        return self.op(f"arith.constant {float(value):.17e}")

    def add(self, a: str, b: str) -> str:
        return self.op(f"arith.addf {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.op(f"arith.subf {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.op(f"arith.mulf {a}, {b}")

    def div(self, a: str, b: str) -> str:
        return self.op(f"arith.divf {a}, {b}")

    def widen(self, name: str, dtype: str) -> str:
        return name if dtype == "f32" else self.op(f"arith.extf {name}", f"{dtype} to f32")

    def narrow(self, name: str, dtype: str) -> str:
        return name if dtype == "f32" else self.op(f"arith.truncf {name}", f"f32 to {dtype}")


def emit_size(importer: Importer, size: Size) -> Value:
    """A size as an index."""
    if size not in importer.sizes:
        importer.sizes[size] = _emit_size(importer, size)
    return importer.sizes[size]


def _emit_size(importer: Importer, size: Size) -> Value:
    if isinstance(size, int) or size.is_Integer:
        return importer.emit(f"c{size}", "arith.constant", [], f"{size} : index", _INDEX)
    if size in importer.symbols:
        read, dim = importer.symbols[size]
        if read.argument is None or read.argument.value.spec.shape[dim] is not None:
            importer.refuse(f"expected a use of input {read.name} before one of its size {size}")
        tensor, number = read.argument.value, emit_size(importer, dim)
        return importer.emit("size", "tensor.dim", [tensor, number],
                             f"{tensor.name}, {number.name} : {tensor.spec}", _INDEX)
    if not isinstance(size, (sympy.Add, sympy.Mul)):
        importer.refuse(f"expected sizes that are sums and products of inputs' sizes, but got "
                        f"{size}")
    op = "arith.addi" if isinstance(size, sympy.Add) else "arith.muli"
    result, *others = [emit_size(importer, each) for each in size.args]
    for other in others:
        result = importer.emit("size", op, [result, other],
                               f"{result.name}, {other.name} : index", _INDEX)
    return result


def _emit_empty(importer: Importer, sizes: Sequence[Size], spec: Spec) -> Value:
    dynamic = [emit_size(importer, size) for size in sizes if not isinstance(size, int)]
    names = ", ".join(value.name for value in dynamic)
    return importer.emit("empty", "tensor.empty", dynamic, f"({names}) : {spec}", spec)


def _emit_generic(importer: Importer, base: str, maps: Sequence[str], iterators: Sequence[str],
                  inputs: Sequence[Value], out: Value, body: Body, result: str) -> Value:
    arguments = ", ".join([f"%a{number}: {value.dtype}" for number, value in enumerate(inputs)]
                          + [f"%out: {out.dtype}"])
    names = ", ".join(value.name for value in inputs)
    types = ", ".join(str(value.spec) for value in inputs)
    lines = "".join(f"      {line}\n" for line in [*body.lines,
                                                   f"linalg.yield {result} : {out.dtype}"])
    kinds = ", ".join(f'"{kind}"' for kind in iterators)
    text = (f"{{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}} "
            f"ins({names} : {types}) outs({out.name} : {out.spec}) {{\n"
            f"    ^bb0({arguments}):\n{lines}    }} -> {out.spec}")
    return importer.emit(base, "linalg.generic", [*inputs, out], text, out.spec)


def _get_map(importer: Importer, sizes: Sequence[Size], result: Sequence[Size]) -> str:
    """How an operand, broadcast to the result, is read."""
    names = [f"d{number}" for number in range(len(result))]
    read = []
    for name, size, wanted in zip(names[len(result) - len(sizes):], sizes,
                                  result[len(result) - len(sizes):]):
        if size != wanted and size != 1:
            importer.refuse(f"expected operands that broadcast to {tuple(result)}, but got "
                            f"{tuple(sizes)}")
        read.append(name if size == wanted else "0")
    return f"affine_map<({', '.join(names)}) -> ({', '.join(read)})>"


def emit_elementwise(importer: Importer, base: str, operands: Sequence[Union[Array, float]],
                     sizes: tuple[Size, ...], dtype: str,
                     compute: Callable[..., str]) -> Array:
    """`compute(body, *names)` of each element, its operands in f32; numbers are constants."""
    arrays = [each for each in operands if isinstance(each, Array)]
    body = Body()
    names = iter([body.widen(f"%a{number}", array.dtype) for number, array in enumerate(arrays)])
    values = [next(names) if isinstance(each, Array) else body.constant(each)
              for each in operands]
    result = body.narrow(compute(body, *values), dtype)
    maps = [_get_map(importer, array.sizes, sizes) for array in arrays]
    out = _emit_empty(importer, sizes, get_spec(sizes, dtype))
    maps.append(_get_map(importer, sizes, sizes))
    value = _emit_generic(importer, base, maps, ["parallel"] * len(sizes),
                          [array.value for array in arrays], out, body, result)
    return Array(value, sizes)


def emit_linear(importer: Importer, x: Array, weight: Array, bias: Array | None,
                dtype: str) -> Array:
    """x [M, K] times the transpose of weight [N, K], summed in f32."""
    sizes = (x.sizes[0], weight.sizes[0])
    zero = importer.emit("zero", "arith.constant", [], "0.0 : f32", Spec((), "f32"))
    empty = _emit_empty(importer, sizes, get_spec(sizes, "f32"))
    filled = importer.emit("zeros", "linalg.fill", [zero, empty],
                           f"ins({zero.name} : f32) outs({empty.name} : {empty.spec}) "
                           f"-> {empty.spec}", empty.spec)
    body = Body()
    product = body.mul(body.widen("%a0", x.dtype), body.widen("%a1", weight.dtype))
    maps = [f"affine_map<(m, n, k) -> ({read})>" for read in ("m, k", "n, k", "m, n")]
    total = Array(_emit_generic(importer, "sum", maps, ["parallel", "parallel", "reduction"],
                                [x.value, weight.value], filled, body,
                                body.add("%out", product)), sizes)
    if bias is None:
        return emit_elementwise(importer, "y", [total], sizes, dtype, lambda _, a: a)
    return emit_elementwise(importer, "y", [total, bias], sizes, dtype, Body.add)


def _group(source: Sequence[Size], result: Sequence[Size]) -> list[tuple[list[int], list[int]]]:
    """Dimensions of both sides with equal products, in order, or []."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(source) and j < len(result):
        left, right = [i], [j]
        a, b = sympy.sympify(source[i]), sympy.sympify(result[j])
        i, j = i + 1, j + 1
        while a != b:
            # The side that lacks a factor takes its next dimension.
            if j < len(result) and (sympy.simplify(a / b) != 1) and _divides(b, a):
                b, right, j = b * result[j], [*right, j], j + 1
            elif i < len(source) and _divides(a, b):
                a, left, i = a * source[i], [*left, i], i + 1
            else:
                return []
        groups.append((left, right))
    if not groups:
        return []
    groups[-1][0].extend(range(i, len(source)))
    groups[-1][1].extend(range(j, len(result)))
    same = all(sympy.prod([source[k] for k in left]) == sympy.prod([result[k] for k in right])
               for left, right in groups)
    return groups if same else []


def _divides(a: Any, b: Any) -> bool:
    return a == 1 or (b / a).is_integer is True or b == 0


def emit_reshape(importer: Importer, x: Array, sizes: tuple[Size, ...]) -> Array:
    """Row-major elements in another shape."""
    if x.sizes == sizes:
        return x
    groups = _group(x.sizes, sizes)
    if not groups and x.sizes and sizes:
        groups = [([*range(len(x.sizes))], [*range(len(sizes))])]
    middle = tuple(sizes[right[0]] if len(left) == 1 == len(right)
                   else sympy.prod([x.sizes[k] for k in left]) for left, right in groups)
    middle = tuple(int(each) if not isinstance(each, int) and each.is_Integer else each
                   for each in middle)
    value = x.value
    if len(middle) != len(x.sizes):
        spec = get_spec(middle, x.dtype)
        dims = [left for left, _ in groups]
        value = importer.emit("joined", "tensor.collapse_shape", [value],
                              f"{value.name} {dims} : {value.spec} into {spec}", spec)
    if len(middle) != len(sizes):
        value = _emit_split(importer, value, [right for _, right in groups], sizes)
    return Array(value, sizes)


def _emit_split(importer: Importer, value: Value, dims: list[list[int]],
                sizes: tuple[Size, ...]) -> Value:
    spec = get_spec(sizes, value.dtype)
    # MLIR 22 crashes where it lowers an expand_shape of one dimension to several of
    # unknown size.
    if any(sum(not isinstance(sizes[k], int) for k in group) > 1 for group in dims):
        shape = [emit_size(importer, size) for size in sizes]
        names = ", ".join(size.name for size in shape)
        kind = f"tensor<{len(sizes)}xindex>"
        shape = importer.emit("shape", "tensor.from_elements", shape, f"{names} : {kind}", _INDEX)
        return importer.emit("split", "tensor.reshape", [value, shape],
                             f"{value.name}({shape.name}) : ({value.spec}, {kind}) -> {spec}",
                             spec)
    dynamic = {k: emit_size(importer, size) for k, size in enumerate(sizes)
               if not isinstance(size, int)}
    shape = ", ".join(dynamic[k].name if k in dynamic else str(size)
                      for k, size in enumerate(sizes))
    return importer.emit("split", "tensor.expand_shape", [value, *dynamic.values()],
                         f"{value.name} {dims} output_shape [{shape}] : {value.spec} "
                         f"into {spec}", spec)
