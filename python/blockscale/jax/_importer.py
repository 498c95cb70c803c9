# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The walk over a graph of StableHLO, and what stands for its values."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from blockscale import _ops
from blockscale._errors import ArgumentError, Problem
from blockscale._linalg import (
    Along,
    Array,
    Builder,
    emit_broadcast,
    emit_convert,
    emit_elementwise,
    emit_full,
    emit_reshape,
    format_sizes,
)
from blockscale._trace import Value
from blockscale.jax import _narrow
from blockscale.jax._errors import make_problem, refuse
from blockscale.jax._graph import Graph, Node, Ref, walk
from blockscale.jax._recognize import Quantizer

#: The dtype of a tensor of the module, and NumPy's, by StableHLO's element type. Integers of
#: the module have no sign; the ops say which one they mean.
DTYPES = {
    "f32": ("f32", np.float32), "f64": ("f64", np.float64), "f16": ("f16", np.float16),
    "bf16": ("bf16", ml_dtypes.bfloat16), "i1": ("i1", np.bool_),
    "i8": ("i8", np.int8), "i16": ("i16", np.int16), "i32": ("i32", np.int32),
    "i64": ("i64", np.int64), "ui8": ("i8", np.uint8), "ui16": ("i16", np.uint16),
    "ui32": ("i32", np.uint32), "ui64": ("i64", np.uint64),
    "f8E4M3FN": ("f8E4M3FN", ml_dtypes.float8_e4m3fn),
    "f8E5M2": ("f8E5M2", ml_dtypes.float8_e5m2),
    "f8E8M0FNU": ("f8E8M0FNU", ml_dtypes.float8_e8m0fnu),
    "f4E2M1FN": ("f4E2M1FN", ml_dtypes.float4_e2m1fn),
}


@dataclasses.dataclass(frozen=True)
class Literal:
    """A tensor of one number."""

    number: np.generic
    sizes: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Spread:
    """An array repeated to `sizes`: its dimension i runs along dimension `dims[i]`. It is
    made where an op cannot read the array itself."""

    array: Array
    dims: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Codes:
    """A tensor of 4-bit numbers: as codes, where nothing has moved them, and else as f32
    numbers, which an op that takes codes rounds. `is_exact`: they need no rounding."""

    sizes: tuple[int, ...]
    packed: Array | None = None
    numbers: Array | None = None
    is_exact: bool = False


@dataclasses.dataclass(frozen=True)
class Pending:
    """An elementwise result that only one other elementwise op reads. That op computes it as
    well, so that a chain of them is one op of the module. `compute(body, *names)` takes the
    operands, each in its dtype of `inner`, and gives the result's, rounded as the op alone
    rounds it. `depth` is the number of ops of its longest chain: that many calls of `compute`
    are nested."""

    operands: tuple[Any, ...]
    inner: tuple[str, ...]
    compute: Callable[..., str]
    sizes: tuple[int, ...]
    dtype: str
    base: str
    depth: int


#: What stands for a value of the graph.
Known = Array | Literal | Spread | Codes | Pending
# Operands and length of a chain of ops on elements.
_MAX_OPERANDS, _MAX_CHAIN = 32, 100
Handler = Callable[["Importer", Node], Known | Sequence[Known]]
AnyHandler = TypeVar("AnyHandler", bound=Handler)
#: Handlers of ops by name; of custom calls and composites by the title of the node.
HANDLERS: dict[str, Handler] = {}
#: Ops whose handlers call Importer.compute.
ELEMENTWISE: set[str] = set()


def handles(*names: str, elementwise: bool = False) -> Callable[[AnyHandler], AnyHandler]:
    def add(handler: AnyHandler) -> AnyHandler:
        HANDLERS.update(dict.fromkeys(names, handler))
        if elementwise:
            ELEMENTWISE.update(names)
        return handler
    return add


@dataclasses.dataclass(frozen=True)
class Input:
    """An argument of the module: input `number` of the function of JAX."""

    value: Value
    element: str
    number: int

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size or 0 for size in self.value.shape)


def get_sizes(ref: Ref) -> tuple[int, ...]:
    return tuple(ref.shape)


def import_quantizer(importer: Importer, quantizer: Quantizer) -> None:
    """The results of a quantizer that is written out."""
    x = importer.array(quantizer.x)
    data, scale = _ops.quantize(x.value, format="mxfp8", recipe="rceil")
    sizes = get_sizes(quantizer.data)
    importer.values[quantizer.data] = Array(data, sizes)
    importer.values[quantizer.scale] = Array(scale, get_sizes(quantizer.scale))


class Importer(Builder):
    """Imports the nodes of a graph, one after the other."""

    def __init__(self, constants: str) -> None:
        super().__init__(constants)
        self.node: Node | None = None
        self.values: dict[Ref, Known] = {}
        self.inputs: list[Input] = []
        #: What a transpose was made of, by the name of its result, and the order.
        self.transposes: dict[str, tuple[Array, tuple[int, ...]]] = {}
        #: Values that the function returns.
        self.returned: set[Ref] = set()
        self._known: dict[Any, Known] = {}

    def refuse(self, message: str) -> NoReturn:
        node = self.node
        if node is None:
            raise ArgumentError(message)
        refuse([make_problem(node.title, message, node.location)])

    def check_signed(self, ref: Ref) -> None:
        if ref.is_unsigned:
            self.refuse("expected signed or floating-point numbers, but got unsigned ones")

    # Types.

    def dtype_of(self, ref: Ref) -> str:
        """The dtype of the module for a value."""
        if ref.element not in DTYPES:
            self.refuse(f"expected elements of {', '.join(DTYPES)}, but got {ref.element}")
        return DTYPES[ref.element][0]

    @property
    def result(self) -> Ref:
        """The only result of the node."""
        assert self.node is not None
        if len(self.node.results) != 1:
            self.refuse(f"expected one result, but got {len(self.node.results)}")
        return self.node.results[0]

    # Arguments and constants of the module.

    def add_input(self, ref: Ref, number: int, name: str) -> None:
        element = ref.element
        if element not in DTYPES:
            raise ArgumentError(f"{name}: expected an input of {', '.join(DTYPES)}, but got "
                                f"{element}")
        if not ref.type.has_static_shape:
            raise ArgumentError(f"{name}: expected sizes that are known, but got {ref.type}")
        sizes = get_sizes(ref)
        if element == "f4E2M1FN" and (not sizes or sizes[-1] % 2):
            raise ArgumentError(f"{name}: expected an even last dimension of an input of "
                                f"f4E2M1FN, but got {format_sizes(sizes)}")
        # Functions take truth values as bytes.
        array = self.add_argument(name, sizes, "i8" if element == "i1" else DTYPES[element][0])
        self.inputs.append(Input(array.value, element, number))
        if element == "i1":
            array = emit_convert(self, array, "i1")
        self.values[ref] = Codes(sizes, packed=array) if element == "f4E2M1FN" else array

    def import_constant(self, ref: Ref, node: Node) -> Known:
        """The value of a constant."""
        # Which refuses what the module has no type for, and JAX may not read the attribute of.
        self.dtype_of(ref)
        kind, attribute = DTYPES[ref.element][1], node.attribute("value")
        if not isinstance(attribute, ir.DenseElementsAttr):
            self.refuse(f"expected a dense constant, but got {type(attribute).__name__}")
        sizes = get_sizes(ref)
        if attribute.is_splat:
            return Literal(read_elements(attribute, (1,), kind)[0], sizes)
        numbers = read_elements(attribute, sizes, kind)
        key = (ref.element, sizes, numbers.tobytes())
        if key not in self._known:
            self._known[key] = self._add_known(ref, numbers)
        return self._known[key]

    def _add_known(self, ref: Ref, numbers: np.ndarray) -> Known:
        element, sizes = ref.element, get_sizes(ref)
        if element != "f4E2M1FN":
            return self.add_constant(numbers, dtype=DTYPES[element][0])
        wide = self.add_constant(numbers.astype(np.float32))
        return Codes(sizes, numbers=wide, is_exact=True)

    # Operands of ops.

    def get(self, ref: Ref) -> Known:
        return self.values[ref]

    def array(self, ref: Ref) -> Array:
        """A value as a tensor of numbers. 4-bit numbers become f32."""
        return self.make(self.values[ref])

    def make(self, known: Known) -> Array:
        if isinstance(known, Array):
            return known
        if isinstance(known, Literal):
            element = element_of(known.number)
            if element in _narrow.FLOATS8:
                return _narrow.emit_literal(self, known.number, known.sizes, element)
            dtype = "f32" if element == "f4E2M1FN" else DTYPES[element][0]
            return emit_full(self, known.sizes, to_number(known.number), dtype)
        if isinstance(known, Spread):
            return emit_broadcast(self, known.array, known.sizes, known.dims)
        if isinstance(known, Pending):
            return emit_elementwise(self, known.base, known.operands, known.sizes, known.dtype,
                                    known.compute, inner=known.inner, made=known.dtype)
        return self.get_numbers(known)

    def operand(self, ref: Ref) -> Any:
        """A value as an operand of an op on elements."""
        known = self.values[ref]
        if isinstance(known, Literal) and element_of(known.number) not in _narrow.FLOATS8:
            return to_number(known.number)
        if isinstance(known, Spread):
            return Along(known.array, known.dims)
        return self.make(known)

    def compute(self, base: str, refs: Sequence[Ref], inner: Sequence[str], dtype: str,
                compute: Callable[..., str], made: str) -> Known:
        """The result of an op on elements.

        Args:
          refs: the operands, which `compute(body, *names)` takes in the dtypes of `inner`.
          dtype: of the result; `compute` gives one of dtype `made`.
        """
        parts: list[tuple[Pending | None, int, str]] = []
        operands: list[Any] = []
        kinds: list[str] = []
        sizes = get_sizes(self.result)
        for ref, kind in zip(refs, inner):
            known = self.values[ref]
            if isinstance(known, Pending) and known.sizes == sizes:
                parts.append((known, len(operands), kind))
                operands += known.operands
                kinds += known.inner
            else:
                parts.append((None, len(operands), kind))
                operands.append(self.operand(ref))
                kinds.append(kind)

        def whole(body: Any, *names: str) -> str:
            values = []
            for known, start, kind in parts:
                if known is None:
                    values.append(names[start])
                else:
                    inside = known.compute(body, *names[start:start + len(known.operands)])
                    values.append(body.convert(inside, known.dtype, kind))
            converted: str = body.convert(compute(body, *values), made, dtype)
            return converted
        depth = 1 + max((known.depth for known, _, _ in parts if known is not None), default=0)
        pending = Pending(tuple(operands), tuple(kinds), whole, sizes, dtype, base, depth)
        return pending if self._is_pending(pending) else self.make(pending)

    def _is_pending(self, pending: Pending) -> bool:
        """Whether the only reader of the node's result is an op on as many elements."""
        ref = self.result
        if len(ref.users) != 1 or ref in self.returned:
            return False
        user = ref.users[0]
        return (user.name in ELEMENTWISE and len(pending.operands) <= _MAX_OPERANDS
                and pending.depth < _MAX_CHAIN and user.operands.count(ref) == 1
                and get_sizes(user.results[0]) == pending.sizes)

    # 4-bit numbers.

    def get_numbers(self, codes: Codes) -> Array:
        """4-bit numbers in f32."""
        if codes.numbers is not None and codes.is_exact:
            return codes.numbers
        return _narrow.emit_decode_codes(self, self.pack(codes))

    def pack(self, codes: Codes) -> Array:
        """4-bit numbers as codes."""
        if codes.packed is not None:
            return codes.packed
        assert codes.numbers is not None
        return _narrow.emit_codes(self, codes.numbers)

    def move_codes(self, codes: Codes, sizes: tuple[int, ...],
                   move: Callable[[Array], Array]) -> Codes:
        """Codes after an op that only moves elements."""
        numbers = codes.numbers if codes.numbers is not None else self.get_numbers(codes)
        is_exact = codes.is_exact or codes.packed is not None
        return Codes(sizes, numbers=move(numbers), is_exact=is_exact)

    def reshape_codes(self, codes: Codes, sizes: tuple[int, ...]) -> Codes:
        keeps_rows = bool(codes.sizes and sizes and codes.sizes[-1] == sizes[-1])
        if codes.packed is not None and keeps_rows:
            return Codes(sizes, packed=emit_reshape(self, codes.packed, sizes))
        return self.move_codes(codes, sizes, lambda x: emit_reshape(self, x, sizes))

    def take_result(self, ref: Ref) -> Value:
        """A value as a result of the module's function."""
        self.node = ref.node
        self.dtype_of(ref)
        known = self.values[ref]
        if ref.element == "i1":
            return emit_convert(self, self.make(known), "i8").value
        if ref.element != "f4E2M1FN":
            return self.make(known).value
        if not isinstance(known, Codes):
            known = Codes(get_sizes(ref), numbers=self.make(known), is_exact=True)
        return self.pack(known).value

    # The walk.

    def import_all(self, graph: Graph, quantizers: Sequence[Quantizer]) -> None:
        """All nodes, with quantizers in place of what they are made of."""
        self.returned = set(graph.results)
        made = {ref.node: each for each in quantizers for ref in (each.data, each.scale)}
        inside = {node for each in quantizers for node in each.nodes}
        pending = set(quantizers)
        for node in graph.nodes:
            if node in made:
                if made[node] in pending:
                    pending.discard(made[node])
                    self.node, self.location = node, node.location
                    import_quantizer(self, made[node])
                    self.node = None
            elif node not in inside or any(user not in inside for ref in node.results
                                           for user in ref.users):
                self.import_node(node)

    def import_graph(self, graph: Graph) -> None:
        self.returned.update(graph.results)
        for node in graph.nodes:
            self.import_node(node)

    def import_node(self, node: Node) -> None:
        outer = self.node, self.location
        self.node, self.location = node, node.location
        for ref in node.results:
            self._check_static(ref)
        if node.results and all(ref.known is not None for ref in node.results):
            self.values.update((ref, Literal(ref.known, ())) for ref in node.results)
            self.node, self.location = outer
            return
        handler = HANDLERS.get(node.title) or HANDLERS[node.name]
        try:
            made = handler(self, node)
        except ArgumentError as error:
            self.refuse(str(error))
        results: list[Any] = list(made) if isinstance(made, (list, tuple)) else [made]
        self.values.update(zip(node.results, results))
        self.node, self.location = outer

    def _check_static(self, ref: Ref) -> None:
        if isinstance(ref.type, ir.RankedTensorType) and not ref.type.has_static_shape:
            self.refuse(f"expected sizes that are known, but got {ref.type}; export the function "
                        "for shapes of numbers")


def check_known(graph: Graph) -> None:
    """Raises UnsupportedError for all ops that have no handler, each once with its first
    place."""
    found: dict[str, list[Node]] = {}
    for node in walk(graph):
        if node.title not in HANDLERS and node.name not in HANDLERS:
            found.setdefault(node.title, []).append(node)
    problems: list[Problem] = []
    for title, nodes in found.items():
        more = f" (and {len(nodes) - 1} more of it)" if len(nodes) > 1 else ""
        problems.append(make_problem(
            title, f"expected an op that is imported, as docs/Doors.md lists them{more}",
            nodes[0].location))
    if problems:
        refuse(problems)


def element_of(number: np.generic) -> str:
    """StableHLO's element type of a number of NumPy."""
    return _ELEMENTS[number.dtype]


_ELEMENTS = {np.dtype(kind): element for element, (_, kind) in DTYPES.items()}


def to_number(number: np.generic) -> int | float:
    """A number as the module has it: integers are signed, whatever their sign means."""
    dtype = number.dtype
    if dtype.kind == "u":
        return int(number.view(np.dtype(f"i{dtype.itemsize}")))
    if dtype.kind in "ib":
        return int(number)
    return float(number)


def read_elements(attribute: Any, sizes: Sequence[int], kind: Any) -> np.ndarray:
    """The numbers of a DenseElementsAttr in its shape."""
    if attribute.is_splat:
        return np.full(sizes, _parse_elements(str(attribute), kind)[0], kind)
    try:
        numbers = np.array(attribute)
    except (TypeError, BufferError):  # Types that Python's buffers have no name for.
        return _parse_elements(str(attribute), kind).reshape(sizes)
    found: np.ndarray = numbers.reshape(-1).view(kind).reshape(sizes)
    return found


def _parse(text: str, kind: Any) -> Any:
    """A number as MLIR prints it: in decimals, or the bits of one that has none."""
    if text in ("true", "false"):
        return text == "true"
    dtype = np.dtype(kind)
    if not text.startswith("0x"):
        return np.array(float(text) if dtype.kind not in "iub" else int(text)).astype(dtype)
    return np.array(int(text, 16), f"u{dtype.itemsize}").view(dtype)


def _parse_elements(text: str, kind: Any) -> np.ndarray:
    inner = text[text.index("<") + 1:text.rindex(" : ") - 1]
    if inner.startswith('"'):
        return np.frombuffer(bytes.fromhex(inner.strip('"')[2:]), kind)
    parts = [part for part in re.split(r"[][, ]+", inner) if part]
    return np.array([_parse(part, kind) for part in parts], kind)
