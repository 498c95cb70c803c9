# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function that an importer writes, its tensors and their sizes."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
import sympy

from blockscale import _trace
from blockscale._errors import ArgumentError
from blockscale._trace import Module, Value
from blockscale._types import DataLayout, Layout, Spec, element_name

#: A size of a tensor: a number, or an expression in the symbols of the function.
Size: TypeAlias = int | sympy.Expr

# A spec for values of type index and tensors of them, for which no spec has a type. It
# is not printed: the ops that take such values write the type themselves.
INDEX = Spec((), "i64")


# Constants of more bytes are not printed with the ops.
LARGE = 1024


def simplify(size: Any) -> Size:
    """A size, as an int where it is known."""
    if isinstance(size, (int, np.integer)):
        return int(size)
    return int(size) if size.is_Integer else size


def multiply(sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    product: Any = 1
    for size in sizes:
        product = product * size
    return simplify(product)


class FloorDiv(sympy.Function):  # type: ignore[misc]
    """A size divided by a positive number, rounded down. Whole parts of the quotient stand beside
    it, so that equal sizes have one form."""

    nargs = 2
    is_integer = True
    #: In text, between that of sums and that of products.
    precedence = 45

    @classmethod
    def eval(cls, size: Any, divisor: Any) -> Any:
        whole, rest = sympy.S.Zero, sympy.S.Zero
        for term in sympy.Add.make_args(sympy.expand(size)):
            quotient, left = term / divisor, term
            if term.is_Integer and divisor.is_Integer:
                quotient, left = divmod(term, divisor)
            elif quotient.is_integer:
                left = sympy.S.Zero
            else:
                quotient = sympy.S.Zero
            whole, rest = whole + quotient, rest + left
        for term in sympy.Add.make_args(rest):
            if isinstance(term, cls):
                # A quotient of quotients is one.
                first, other = term.args
                return whole + cls(first + other * (rest - term), other * divisor)
        if rest.is_Integer and divisor.is_Integer:
            return whole + rest // divisor
        return None if whole == 0 and rest == size else whole + cls(rest, divisor)

    def _sympystr(self, printer: Any) -> str:
        size, divisor = (printer.parenthesize(each, self.precedence) for each in self.args)
        return f"{size} // {divisor}"

    def _eval_is_nonnegative(self) -> Any:
        return self.args[0].is_nonnegative

    def _eval_is_positive(self) -> Any:
        return (self.args[0] - self.args[1]).is_nonnegative


def floor_divide(size: Size, divisor: int) -> Size:
    """A size divided by a positive number, rounded down."""
    return simplify(FloorDiv(sympy.sympify(size), sympy.Integer(divisor)))


def get_spec(sizes: Sequence[Size], dtype: Any,
             layout: Layout | DataLayout | None = None) -> Spec:
    return Spec([size if isinstance(size, int) else None for size in sizes], dtype, layout)


def check_options(name: Any, constants: Any) -> None:
    """Raises ArgumentError where the options that all importers have are wrong."""
    if not isinstance(name, str) or _trace.to_identifier(name) != name:
        raise ArgumentError(f"expected name to be an identifier, but got {name!r}")
    if constants not in ("arguments", "resources"):
        raise ArgumentError(f"expected constants to be arguments or resources, but got "
                            f"{constants!r}")


@dataclasses.dataclass(frozen=True)
class Array:
    """A tensor of the function with the sizes of its dimensions."""

    value: Value
    sizes: tuple[Size, ...]

    @property
    def dtype(self) -> str:
        return self.value.dtype

    @property
    def rank(self) -> int:
        return len(self.sizes)


class _Op(_trace.Op):
    """An op of another dialect, whose text has its types."""

    def format(self, with_location: bool) -> str:
        names = ", ".join(result.name for result in self.results)
        end = f" {_trace.format_location(self.location)}" if with_location else ""
        return f"    {names} = {self.name} {self.text}{end}"


@dataclasses.dataclass
class Region:
    """Ops that another op runs, and what they give to it.

    Attributes:
      head: the text in front of the region, as of a branch or a loop.
      arguments: values that the op defines for the region.
    """

    head: str = ""
    arguments: list[Value] = dataclasses.field(default_factory=list)
    ops: list[_trace.Op] = dataclasses.field(default_factory=list)
    results: list[Value] = dataclasses.field(default_factory=list)

    def close(self, results: Sequence[Value]) -> list[Value]:
        """Ends the region with its results; the values from outside that it takes."""
        self.results = list(results)
        self.ops, _ = _remove_dead(self.ops, self.results)
        own = {value.name for op in self.ops for value in op.results}
        own.update(value.name for value in self.arguments)
        taken = [value for op in self.ops for value in op.operands] + self.results
        return list({value.name: value for value in taken if value.name not in own}.values())

    def format(self, with_location: bool) -> str:
        names = ", ".join(value.name for value in self.results)
        types = ", ".join(str(value.spec) for value in self.results)
        lines = [line for op in self.ops for line in op.format(with_location).split("\n")]
        inside = "".join(f"  {line}\n" for line in [*lines, f"    scf.yield {names} : {types}"])
        return f"{self.head}{{\n{inside}    }}"


class _RegionOp(_Op):
    """An op with regions, which stand behind its text."""

    regions: Sequence[Region] = ()

    def format(self, with_location: bool) -> str:
        names = ", ".join(result.name for result in self.results)
        end = f" {_trace.format_location(self.location)}" if with_location else ""
        regions = "".join(region.format(with_location) for region in self.regions)
        return f"    {names} = {self.name} {self.text}{regions}{end}"


def _remove_dead(ops: Sequence[_trace.Op], results: Sequence[Value]
                 ) -> tuple[list[_trace.Op], set[str]]:
    """The ops that results need, as none has another effect, and the names of values that are
    used."""
    live = {value.name for value in results}
    kept = []
    for op in reversed(ops):
        if live.intersection(value.name for value in op.results):
            live.update(value.name for value in op.operands)
            kept.append(op)
    return kept[::-1], live


class Trace(_trace.Trace):
    """Ops at the place of the node that is imported."""

    def __init__(self) -> None:
        super().__init__()
        self.location: _trace.Location = ("<graph>", 0)

    def emit(self, *arguments: Any) -> list[Value]:
        results = super().emit(*arguments)
        self.ops[-1].location = self.location
        return results

    def remove_dead(self, results: Sequence[Value]) -> set[str]:
        """Leaves out ops that nothing takes. The names of values that are used."""
        self.ops, live = _remove_dead(self.ops, results)
        return live


class Builder:
    """A function that is written op by op.

    Args:
      constants: what large constants become: "resources" of the module, or "arguments" of the
        function behind its others, which `constant_arrays` holds by their names.

    An importer sets `location` before each node: the file and the line, and the name of
    the node or its module where there is one. It overrides `refuse` to name the node.

        builder = Builder()
        x = builder.add_argument("x", (sympy.Symbol("rows"), 64), "f32")
        with builder.tracing():
            y = emit_unary(builder, "tanh", x)
        module = builder.finish("forward", [x.value], [y.value])
    """

    def __init__(self, constants: str = "resources") -> None:
        self.trace = Trace()
        self.constants = constants
        #: Large constants by the names of their values or resources: of arguments as they are
        #: passed, of resources an element in each whole number of bytes.
        self.constant_arrays: dict[str, np.ndarray] = {}
        self._constant_values: list[Value] = []
        #: Where the size of a symbol is read: the argument and its dimension.
        self.symbols: dict[Any, tuple[Value, int]] = {}
        self._sizes: dict[Size, Value] = {}
        #: The ops of the function itself, and how many regions those that are added now are in.
        self._function_ops = self.trace.ops
        self.depth = 0

    @property
    def location(self) -> _trace.Location:
        return self.trace.location

    @location.setter
    def location(self, location: _trace.Location) -> None:
        self.trace.location = location

    def refuse(self, message: str) -> NoReturn:
        """Raises the error of an importer for the node that it imports."""
        raise ArgumentError(message)

    def is_same(self, a: Size, b: Size) -> bool:
        """Whether two sizes are the same. An importer whose sizes have several names may take some
        to be."""
        return bool(a == b)

    @contextlib.contextmanager
    def tracing(self) -> Iterator[None]:
        """Ops of the dialect (blockscale.quantize and others) that are called in its `with`
        are added to this function."""
        token = _trace._TRACE.set(self.trace)
        try:
            yield
        finally:
            _trace._TRACE.reset(token)

    @contextlib.contextmanager
    def region(self, region: Region) -> Iterator[None]:
        """Ops that are emitted in its `with` are those of a region."""
        outer, sizes = self.trace.ops, dict(self._sizes)
        self.trace.ops = region.ops
        self.depth += 1
        try:
            yield
        finally:
            self.trace.ops, self._sizes = outer, sizes
            self.depth -= 1

    def emit_regions(self, base: str, name: str, operands: Sequence[Value], text: str,
                     regions: Sequence[Region], specs: Sequence[Spec]) -> list[Value]:
        """Adds an op with regions that are closed; `operands` are those it takes itself and those
        that its regions take."""
        results = [Value(self.trace, self.trace.name(base), spec) for spec in specs]
        op = _RegionOp(name, list(operands), results, text, "", self.trace.location)
        op.regions = regions
        self.trace.ops.append(op)
        return results

    def name_size(self, name: str, value: Value, dim: int | None = None, *, low: int = 1) -> Size:
        """A size that is one of a tensor, or without a dimension a number of type index. It is
        `low` or more."""
        symbol = sympy.Dummy(name, integer=True, positive=low > 0, nonnegative=True)
        if dim is None:
            self._sizes[symbol] = value
        else:
            self.symbols[symbol] = value, dim
        return symbol

    def emit(self, base: str, name: str, operands: Sequence[Value], text: str,
             spec: Spec) -> Value:
        """Adds an op of another dialect. `text` is what stands behind its name."""
        value = Value(self.trace, self.trace.name(base), spec)
        self.trace.ops.append(_Op(name, list(operands), [value], text, "", self.trace.location))
        return value

    def add_argument(self, name: str, sizes: Sequence[Any], dtype: Any,
                     layout: Layout | DataLayout | None = None) -> Array:
        """An argument of the function. Symbols among its sizes are read from it, unless an
        argument before it has them."""
        known = tuple(map(simplify, sizes))
        value = Value(self.trace, self.trace.name(name), get_spec(known, dtype, layout))
        for dim, size in enumerate(known):
            if isinstance(size, sympy.Symbol):
                self.symbols.setdefault(size, (value, dim))
        return Array(value, known)

    def add_constant(self, array: Any, name: str = "constant", dtype: str | None = None,
                     layout: Layout | DataLayout | None = None) -> Array:
        """A tensor that is known.

        Args:
          array: of NumPy, bf16 and 8-bit floats in dtypes of ml_dtypes or as their bits.
          name: a name for the value.
          dtype: of the elements; None for that of the array. Elements of 4 and 6 bits take a
                byte each.
          layout: how the module stores it; the array is row-major all the same.

        Those of more than 1 KiB are resources or arguments, as `constants` says. No region holds a
        constant, so that all may read it.
        """
        ops, self.trace.ops = self.trace.ops, self._function_ops
        try:
            return self._add_constant(array, name, dtype, layout)
        finally:
            self.trace.ops = ops

    def _add_constant(self, array: Any, name: str, dtype: str | None,
                      layout: Layout | DataLayout | None) -> Array:
        array = np.asarray(array)
        if array.dtype == np.bool_ and array.nbytes > LARGE and self.constants == "resources":
            # A resource of i1 has no form that all of MLIR agrees on.
            wide, spec = self.add_constant(array.view(np.int8), name), Spec(array.shape, "i1")
            return Array(self.emit(name, "arith.trunci", [wide.value], f"{wide.value.name} : "
                                   f"{wide.value.spec} to {spec}", spec), spec.shape)
        kind = dtype or element_name(array.dtype)
        array = np.ascontiguousarray(array).reshape(array.shape)
        spec = Spec(array.shape, kind, layout)
        if array.dtype.itemsize != np.dtype(spec.element.storage).itemsize:
            raise ArgumentError(f"expected an array of {spec.element.describe()}, but got "
                                f"{array.dtype}")
        if not array.size:
            return Array(self.empty(spec.shape, kind), spec.shape)
        if array.nbytes > LARGE and self.constants == "arguments":
            value = Value(self.trace, self.trace.name(name), spec)
            self.constant_arrays[value.name.removeprefix("%")] = array
            self._constant_values.append(value)
        elif array.nbytes > LARGE:
            value = self.emit(name, "arith.constant", [], "", spec)
            key = value.name.removeprefix("%")
            self.trace.ops[-1].text = f"dense_resource<{key}> : {spec}"
            self.constant_arrays[key] = array
        else:
            value = self.emit(name, "arith.constant", [], f"{_format_dense(array)} : {spec}", spec)
        return Array(value, spec.shape)

    def find_symbol(self, symbol: Any) -> tuple[Value, int]:
        """The argument that a symbol is a size of, and the dimension."""
        if symbol not in self.symbols:
            self.refuse(f"expected sizes of inputs, but got {symbol}")
        return self.symbols[symbol]

    # Sizes, as values of type index.

    def size(self, size: Size) -> Value:
        """A size as an index."""
        if size not in self._sizes:
            self._sizes[size] = self._emit_size(size)
        return self._sizes[size]

    def _emit_size(self, size: Any) -> Value:
        if isinstance(size, int) or size.is_Integer:
            return self.emit(f"c{size}", "arith.constant", [], f"{size} : index", INDEX)
        if isinstance(size, sympy.Symbol):
            tensor, dim = self.find_symbol(size)
            number = self.size(dim)
            return self.emit("size", "tensor.dim", [tensor, number],
                             f"{tensor.name}, {number.name} : {tensor.spec}", INDEX)
        op = _SIZE_OPS.get(type(size).__name__)
        if op is None:
            self.refuse("expected sizes that are sums, products, quotients, minima and maxima of "
                        f"inputs' sizes, but got {size}")
        result, *others = [self.size(simplify(each)) for each in size.args]
        for other in others:
            result = self.emit("size", op, [result, other],
                               f"{result.name}, {other.name} : index", INDEX)
        return result

    def empty(self, sizes: Sequence[Size], dtype: str) -> Value:
        """A tensor whose elements have no value yet."""
        spec = get_spec(sizes, dtype)
        dynamic = [self.size(size) for size in sizes if not isinstance(size, int)]
        names = ", ".join(value.name for value in dynamic)
        return self.emit("empty", "tensor.empty", dynamic, f"({names}) : {spec}", spec)

    # The module.

    def finish(self, name: str, arguments: Sequence[Value], results: Sequence[Value],
               location: _trace.Location = ("<graph>", 0)) -> Module:
        """The module of the function, without ops and constants that its results do not need.
        Large constants are arguments behind the others if they are not resources. Raises
        CompileError where an op breaks a rule."""
        used = self.trace.remove_dead(results)
        self.constant_arrays = {key: array for key, array in self.constant_arrays.items()
                                if f"%{key}" in used}
        constants = [value for value in self._constant_values if value.name in used]
        resources = self.constant_arrays if self.constants == "resources" else {}
        module = Module(name, [*arguments, *constants], self.trace.ops, list(results), location,
                        len(results) == 1, resources)
        module.verify()
        return module


def _format_dense(array: np.ndarray) -> str:
    """The elements of a small constant."""
    if array.dtype == np.bool_:
        return f"dense<{json.dumps(array.tolist())}>"
    return f'dense<"0x{array.tobytes().hex().upper()}">'


#: Ops of sizes by the class of an expression: of sympy, of this module, and of torch.
_SIZE_OPS = {
    "Add": "arith.addi", "Mul": "arith.muli", "Min": "arith.minsi", "Max": "arith.maxsi",
    "FloorDiv": "arith.floordivsi", "CeilDiv": "arith.ceildivsi", "Mod": "arith.remsi",
    "PythonMod": "arith.remsi",
}
