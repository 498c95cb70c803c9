# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The walk over a graph, and what stands for its values."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

import numpy as np
import sympy
import torch
from torch import Tensor

from blockscale import _ops
from blockscale._errors import ArgumentError, Problem, UnsupportedError
from blockscale._linalg import LARGE, Array, Builder, Size, get_spec, is_float, simplify
from blockscale._trace import Value
from blockscale._types import Layout, Spec
from blockscale.torch._errors import find_location, find_module, refuse
from blockscale.torch._nodes import is_pure
from blockscale.torch._recognize import Quantizer

Handler = Callable[..., Any]
AnyHandler = TypeVar("AnyHandler", bound=Handler)
#: Handlers of ops, by name: `handler(importer, **arguments of its schema)`.
HANDLERS: dict[str, Handler] = {}

#: The same of ops that take complex numbers.
COMPLEX_HANDLERS: dict[str, Handler] = {}

NARROW = {
    torch.float4_e2m1fn_x2: "f4E2M1FN", torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2", torch.float8_e8m0fnu: "f8E8M0FNU", torch.uint8: "",
}
#: Numbers and truth values, which ops compute with.
NUMBERS = {
    torch.float32: "f32", torch.float64: "f64", torch.bfloat16: "bf16", torch.float16: "f16",
    torch.bool: "i1",
    torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
}
_UNKNOWN = "expected an op that is imported, or one of constants"
_UNKNOWN_COMPLEX = ("expected an op that takes complex numbers: a product, a sum or a difference, "
                    "one that only moves elements, or view_as_real")
#: Stands for the result of a node that is not imported.
FAILED = object()
_KNOWN = "float32, float64, bfloat16, float16, bool or int8 to int64"
#: Parts of complex numbers.
_PARTS = {torch.complex64: "f32", torch.complex128: "f64"}
#: Inputs that a program of torch.export has one value of.
_KNOWN_INPUTS = (bool, int, float, str, type(None))
#: Formats of MX by the dtype of their codes.
MX_FORMATS = {
    torch.float8_e4m3fn: "mxfp8", torch.float8_e5m2: "mxfp8_e5m2",
    torch.float4_e2m1fn_x2: "mxfp4",
}


def handles(*names: str) -> Callable[[AnyHandler], AnyHandler]:
    def add(handler: AnyHandler) -> AnyHandler:
        HANDLERS.update(dict.fromkeys(names, handler))
        return handler
    return add


def sizes_of(tensor: Any) -> tuple[Size, ...]:
    """The shape of a tensor of a graph."""
    return tuple(map(to_size, tensor.shape))


def to_size(size: Any) -> Size:
    """A size of torch, which may be a SymInt."""
    return simplify(size if isinstance(size, int) else size.node.expr)


def solve_size(size: Size) -> tuple[Any, int, int] | None:
    """The symbol, the factor and the addend of a size that is a number times a symbol plus a
    number, as 2*rows + 1; None of other sizes."""
    if isinstance(size, int) or len(size.free_symbols) != 1:
        return None
    symbol, = size.free_symbols
    addend = size.subs(symbol, 0)
    factor = size.subs(symbol, 1) - addend
    is_line = factor.is_Integer and addend.is_Integer and factor > 0 and not sympy.expand(
        size - factor * symbol - addend)
    return (symbol, int(factor), int(addend)) if is_line else None


@dataclasses.dataclass(frozen=True)
class Constant:
    """What is known at import: a tensor, or a tuple of them."""

    value: Any
    name: str


@dataclasses.dataclass
class Argument:
    """An argument of the module: what the caller passes as `input`, a constant, or a buffer that
    the program changes, with its first value."""

    value: Value
    #: From a tensor, and the sizes of symbols, to what the module takes.
    arrange: Callable[[Tensor, dict[Any, int]], Tensor]
    constant: Tensor | None = None
    input: int = -1
    buffer: str = ""


@dataclasses.dataclass
class Input:
    """What the caller passes: a tensor, or another value, which the program was exported for.
    Whether a tensor of bytes is data, and of which format, or scales, and in which layout,
    says the op that takes it."""

    index: int
    name: str
    #: What the graph says of the tensor, or the value.
    meta: Any
    argument: Argument | None = None

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.meta, Tensor)


@dataclasses.dataclass(frozen=True)
class Narrow:
    """Codes or scales: an input of bytes, or what an op of the dialect made."""

    source: Input | Value
    dtype: torch.dtype
    is_transposed: bool = False


@dataclasses.dataclass(frozen=True)
class Complex:
    """A tensor of complex numbers: its real and imaginary parts."""

    real: Array
    imaginary: Array


def is_complex(value: Any) -> bool:
    """Whether a value of a graph is a tensor of complex numbers."""
    tensor = value.value if isinstance(value, Constant) else None
    return isinstance(value, Complex) or (isinstance(tensor, Tensor) and tensor.is_complex())


def to_elements(tensor: Tensor, spec: Spec) -> np.ndarray:
    """A constant in storage form as row-major elements, those of 4 bits a byte each."""
    if isinstance(spec.layout, Layout):
        from torchao.prototype.mx_formats.utils import from_blocked
        *batch, rows, cols = spec.shape
        tiles = tensor.reshape(-1, tensor[(0,) * len(batch)].numel())
        tensor = torch.stack([from_blocked(each, rows, cols) for each in tiles])
        tensor = tensor.reshape(spec.shape)
    elif spec.element.is_packed:
        codes = torch.stack([tensor & 15, tensor >> 4], -1)
        tensor = codes.flatten(-2)
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.uint16)
    elif str(tensor.dtype).startswith("torch.float8"):
        tensor = tensor.view(torch.uint8)
    found: np.ndarray = tensor.numpy(force=True)
    return found


class Importer(Builder):
    """Imports the nodes of a graph, one after the other."""

    def __init__(self, constants: str = "arguments") -> None:
        super().__init__(constants)
        self.values: dict[Any, Any] = {}
        self.inputs: list[Input] = []
        self.arguments: list[Argument] = []
        #: The input that the size of a symbol is read of, and the dimension.
        self.inputs_of: dict[Any, tuple[Input, int]] = {}
        #: Where no input has it as a size: one that has a number times it plus a number.
        self.multiples_of: dict[Any, tuple[Input, int]] = {}
        #: Of a value, by its name, for ops that see through others: what it is, and of what.
        self.origins: dict[str, tuple[str, Any]] = {}
        self._constants: dict[tuple[int, Spec], tuple[Tensor, Value]] = {}
        self.problems: list[Problem] = []
        #: The nodes of results of quantizers that are written out.
        self.quantizers: dict[Any, Quantizer] = {}
        self.node: Any = None
        #: Arguments of the node, before they are values.
        self.nodes: dict[str, Any] = {}

    def refuse(self, message: str) -> NoReturn:
        refuse(self.node, message)

    def find_symbol(self, symbol: Any) -> tuple[Value, int]:
        found = self.inputs_of.get(symbol) or self.multiples_of.get(symbol)
        if found is None:
            held = [f"{size} in dimension {dim} of input {read.name}" for read in self.inputs
                    if read.is_tensor for dim, size in enumerate(sizes_of(read.meta))
                    if not isinstance(size, int) and symbol in size.free_symbols]
            self.refuse(f"expected an input with a dimension of a number times {symbol} plus a "
                        f"number, which tells that size, but got "
                        f"{', '.join(held) or 'no dimension that has it'}")
        read, dim = found
        if read.argument is None or read.argument.value.spec.shape[dim] is not None:
            self.refuse(f"expected a use of input {read.name} before one of its size {symbol}")
        return read.argument.value, dim

    def _emit_size(self, size: Any) -> Value:
        if not isinstance(size, sympy.Symbol) or size in self.inputs_of:
            return super()._emit_size(size)
        whole = super()._emit_size(size)
        read, dim = self.multiples_of[size]
        _, factor, addend = solve_size(sizes_of(read.meta)[dim])  # type: ignore[misc]
        for op, number in (("arith.subi", addend), ("arith.divsi", factor)):
            other = self.size(number)
            whole = self.emit("size", op, [whole, other], f"{whole.name}, {other.name} : index",
                              whole.spec)
        return whole

    # Arguments of the module.

    def add_input(self, node: Any) -> None:
        meta = get_meta(node)
        read = Input(len(self.inputs), node.name, meta)
        self.inputs.append(read)
        if isinstance(meta, _KNOWN_INPUTS):
            self.values[node] = meta
            return
        if not read.is_tensor:
            refuse(node, "expected inputs to be tensors, or values that the program was exported "
                         f"for, but got {type(meta).__name__}")
        for dim, size in enumerate(sizes_of(meta)):
            if isinstance(size, sympy.Symbol):
                self.inputs_of.setdefault(size, (read, dim))
            elif (solved := solve_size(size)) is not None:
                self.multiples_of.setdefault(solved[0], (read, dim))
        if meta.dtype in NARROW:
            self.values[node] = Narrow(read, meta.dtype)
            return
        sizes = sizes_of(meta)
        try:
            spec = get_spec(sizes, meta.dtype)
        except ArgumentError as error:
            refuse(node, str(error))
        value = self._add_argument(read, spec, lambda tensor, _: tensor)
        self.values[node] = Array(value, sizes)

    def _add_argument(self, read: Input, spec: Spec, arrange: Callable[..., Tensor]) -> Value:
        value = Value(self.trace, self.trace.name(read.name), spec)
        read.argument = Argument(value, arrange, input=read.index)
        self.arguments.append(read.argument)
        return value

    def take_input(self, read: Input, spec: Spec, arrange: Callable[..., Tensor]) -> Value:
        """An input of bytes, as an op takes it."""
        if read.argument is None:
            return self._add_argument(read, spec, arrange)
        if read.argument.value.spec != spec:
            self.refuse(f"expected one use of input {read.name}, but it is taken as "
                        f"{read.argument.value.spec} and as {spec}")
        return read.argument.value

    def bind_constant(self, tensor: Tensor, name: str, spec: Spec) -> Value:
        """A tensor in the form that the module takes."""
        key = (id(tensor), spec)
        if key not in self._constants and self.constants == "resources":
            array = to_elements(tensor.detach(), spec)
            found = self.add_constant(array, name, spec.dtype, spec.layout)
            self._constants[key] = tensor, found.value
        if key not in self._constants:
            value = Value(self.trace, self.trace.name(name), spec)
            argument = Argument(value, lambda tensor, _: tensor, tensor.detach())
            self.arguments.append(argument)
            self._constants[key] = tensor, value
        return self._constants[key][1]

    def add_buffer(self, node: Any, tensor: Tensor, name: str) -> None:
        """A buffer that the program changes."""
        spec = get_spec(tensor.shape, tensor.dtype)
        value = Value(self.trace, self.trace.name(node.name), spec)
        self.arguments.append(Argument(value, lambda each, _: each, tensor.detach(), buffer=name))
        self.values[node] = Array(value, tuple(tensor.shape))

    # Operands of ops.

    def tensor(self, operand: Any, what: str = "operand") -> Array:
        """A tensor of numbers or truth values."""
        if isinstance(operand, Array):
            return operand
        if isinstance(operand, Constant) and isinstance(operand.value, Tensor):
            tensor = operand.value
            if type(tensor) not in (Tensor, torch.nn.Parameter, torch.nn.Buffer):
                self.refuse(f"expected {what} to be a plain tensor, but got "
                            f"{type(tensor).__name__}")
            if tensor.dtype not in NUMBERS:
                self.refuse(f"expected {what} of {_KNOWN}, but got {tensor.dtype}")
            if not tensor.dtype.is_floating_point and tensor.nbytes <= LARGE:
                # Indices and masks are no weights.
                return self.add_constant(tensor.numpy(force=True), operand.name)
            value = self.bind_constant(tensor.contiguous(), operand.name,
                                       get_spec(tensor.shape, tensor.dtype))
            return Array(value, tuple(tensor.shape))
        if isinstance(operand, Narrow):
            self.refuse(f"expected {what} of {_KNOWN}, but got {operand.dtype}")
        return self.refuse(f"expected {what} to be a tensor, but got {operand!r}")

    def array(self, operand: Any, what: str = "operand", *, takes_f64: bool = False) -> Array:
        """A tensor of floating-point numbers: of float64 where the op computes in it."""
        found = operand.value if isinstance(operand, Constant) else operand
        dtype = getattr(found, "dtype", "f32")
        name = NUMBERS.get(dtype, dtype)
        if name in NUMBERS.values() and (
                not is_float(name) or (name == "f64" and not takes_f64)):
            also = ", float64" if takes_f64 else ""
            self.refuse(f"expected {what} of float32{also}, bfloat16 or float16, but got {dtype}")
        return self.tensor(operand, what)

    def scalar(self, operand: Any) -> Any:
        """A number, or a size of inputs."""
        if isinstance(operand, torch.SymInt):
            return to_size(operand)
        if not isinstance(operand, (int, float)):
            self.refuse(f"expected a number or a size, but got {operand}")
        return operand

    def operand(self, operand: Any, what: str = "operand") -> Any:
        """A tensor of numbers or truth values, a number, or a size of inputs."""
        if isinstance(operand, (int, float, torch.SymInt)):
            return self.scalar(operand)
        return self.tensor(operand, what)

    def get_dtype(self) -> str:
        """The dtype of the node's result."""
        found = NUMBERS.get(self.result.dtype) or _PARTS.get(self.result.dtype)
        if found is None:
            self.refuse(f"expected a result of {_KNOWN}, but got {self.result.dtype}")
        return found

    def get_operand_meta(self, name: str) -> Any:
        """The tensor that an argument of the node is, or what the graph says of it."""
        node = self.nodes[name]
        value = self.values[node]
        return value.value if isinstance(value, Constant) else get_meta(node)

    def get_origin(self, operand: Any) -> tuple[str, Any]:
        name = operand.value.name if isinstance(operand, Array) else ""
        return self.origins.get(name, ("", None))

    def offsets(self, operand: Any) -> Value:
        """Ends of groups, [G] in int32."""
        found = operand
        if isinstance(operand, Constant):
            if operand.value.dtype == torch.int32:
                return self.bind_constant(operand.value, operand.name,
                                         get_spec(operand.value.shape, "i32"))
            found = operand.value.dtype
        elif isinstance(operand, Array):
            found = operand.value.spec
        if not isinstance(operand, Array) or found.dtype != "i32":
            self.refuse(f"expected offs to be int32 ends of groups, but got {found}")
        return operand.value

    # The walk.

    def import_nodes(self, nodes: Iterable[Any]) -> None:
        """Imports nodes in their order. Raises UnsupportedError with all that are not imported,
        but for those that need the result of another one."""
        for node in nodes:
            # What a quantizer computes on its way is not imported.
            needed = ([self.quantizers[node].x] if node in self.quantizers
                      else node.all_input_nodes)
            if any(self.values[each] is FAILED for each in needed):
                self.values[node] = FAILED
                if is_unknown(node):
                    self._note(node)
                continue
            try:
                self.import_node(node)
            except UnsupportedError as error:
                self.problems += error.problems
                self.values[node] = FAILED
        if self.problems:
            raise UnsupportedError.of(self.problems)

    def _note(self, node: Any) -> None:
        try:
            refuse(node, _UNKNOWN)
        except UnsupportedError as error:
            self.problems += error.problems

    def import_node(self, node: Any) -> None:
        self.node = node
        file, line = find_location(node) or ("<graph>", 0)
        module = find_module(node)
        self.location = (file, line, module) if module else (file, line)
        if node in self.quantizers:
            self._import_quantizer(self.quantizers[node])
            return
        operands = [self.values[each] for each in node.all_input_nodes]
        if node.target is operator.getitem:
            source = self.values[node.args[0]]
            items = source.value if isinstance(source, Constant) else source
            item = items[node.args[1]]
            self.values[node] = (Constant(item, node.name) if isinstance(source, Constant)
                                 else item)
        elif is_size(node):
            self.values[node] = get_meta(node)
        elif all(isinstance(each, Constant) for each in operands) and is_pure(node.target):
            self.values[node] = self._fold(node)
        else:
            takes_complex = any(map(is_complex, operands))
            handler = (COMPLEX_HANDLERS if takes_complex else HANDLERS).get(str(node.target))
            if handler is None:
                self.refuse(_UNKNOWN_COMPLEX if takes_complex else _UNKNOWN)
            try:
                self.values[node] = handler(self, **self._bind(node))
            except ArgumentError as error:  # Of an op of the dialect.
                self.refuse(str(error))

    def _import_quantizer(self, quantizer: Quantizer) -> None:
        """Its results, when the first of them is come to."""
        if quantizer.data in self.values:
            return
        x = self.array(self.values[quantizer.x], "what is quantized")
        data, scale = _ops.quantize(x.value, format=MX_FORMATS[quantizer.element],
                                    recipe=quantizer.mode,
                                    layout=Layout() if quantizer.is_swizzled else None)
        self.values[quantizer.data] = Narrow(data, quantizer.element)
        self.values[quantizer.scale] = Narrow(scale, torch.float8_e8m0fnu)

    def _fold(self, node: Any) -> Constant:
        def get(value: Any) -> Any:
            return torch.fx.node.map_arg(value, lambda each: self.values[each].value)
        with torch.no_grad():
            return Constant(node.target(*get(node.args), **get(node.kwargs)), node.name)

    def _bind(self, node: Any) -> dict[str, Any]:
        """Arguments by the names of the op's schema, with `input` for `self`."""
        bound = {}
        self.nodes = {}
        for number, argument in enumerate(node.target._schema.arguments):
            if number < len(node.args) and not argument.kwarg_only:
                value = node.args[number]
            elif argument.name in node.kwargs:
                value = node.kwargs[argument.name]
            else:
                value = argument.default_value
            name = "input" if argument.name == "self" else argument.name
            self.nodes[name] = value
            bound[name] = torch.fx.node.map_arg(value, lambda each: self.values[each])
        return bound

    @property
    def result(self) -> Any:
        """What the graph says of the node's result."""
        return get_meta(self.node)


def get_meta(node: Any) -> Any:
    if "val" not in node.meta:
        refuse(node, "expected node.meta['val'], as torch.export and make_fx write it, but got "
                     f"{sorted(node.meta)}")
    return node.meta["val"]


def is_size(node: Any) -> bool:
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymBool, int))


def is_unknown(node: Any) -> bool:
    """Whether an op has no handler, and needs one if its operands are not constants."""
    name = str(node.target)
    return (node.target is not operator.getitem and not is_size(node)
            and name not in HANDLERS and name not in COMPLEX_HANDLERS)
