# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The walk over a graph, and what stands for its values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np
import onnx
import sympy
from onnx.reference import ReferenceEvaluator

from blockscale._errors import ArgumentError, Problem, UnsupportedError
from blockscale._linalg import Array, Builder, Size, simplify
from blockscale._linalg._builder import INDEX
from blockscale._types import Spec
from blockscale.onnx._model import Model, Node, make_node, read_initializers
from blockscale.onnx._nodes import NAMES, get_type_name
from blockscale.onnx._operands import Constant, Sizes, get_dtype
from blockscale.onnx._recipes import DOMAIN
from blockscale.onnx._sizes import fold_sizes

Handler = Callable[..., Any]
AnyHandler = TypeVar("AnyHandler", bound=Handler)
#: Handlers of ops, by (domain, name): `handler(importer, inputs, attributes)`.
HANDLERS: dict[tuple[str, str], Handler] = {}
#: Handlers that take nodes of constants too, which others never see.
_OF_CONSTANTS: set[Handler] = set()
#: Ops without inputs, or of constants, whose results are no constants.
_RANDOM = ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike",
           "Multinomial", "Bernoulli")

#: What sizes may be to others in every call.
RELATIONS: dict[str, Callable[[int, int], bool]] = {"at most": operator.le, "equal to": operator.eq}

NUMBERS = ("f32", "bf16", "f16")
#: Types of codes and scales.
NARROW = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2", "f8E8M0FNU")


def handles(*names: str, domain: str = "", of_constants: bool = False
            ) -> Callable[[AnyHandler], AnyHandler]:
    def add(handler: AnyHandler) -> AnyHandler:
        HANDLERS.update({(domain, name): handler for name in names})
        if of_constants:
            _OF_CONSTANTS.add(handler)
        return handler
    return add


#: The result of a node that was refused.
FAILED = object()
#: A value of the graph. Any stands for what has `materialize`, and for None, an input that is left
#: out.
Operand: TypeAlias = Array | Constant | Sizes | Any


def get_input(inputs: Sequence[Operand], place: int) -> Operand:
    """An input of a node; None where it is left out."""
    return inputs[place] if len(inputs) > place else None


class Refused(Exception):
    """Why a node is not imported."""


class Failed(Exception):
    """That a node in a branch is not imported, which has its reason."""


class Importer(Builder):
    """Imports the nodes of a graph, one after the other."""

    def __init__(self, model: Model, constants: str = "resources"):
        super().__init__(constants)
        self.model = model
        self.values: dict[str, Any] = {}
        self.inputs: dict[str, Array] = {}
        #: Of a value, by its name, for ops that see through others: what it is.
        self.origins: dict[str, Any] = {}
        #: Sizes, names of RELATIONS that they have to others where the model is called rightly, and
        #: those others.
        self.relations: list[tuple[Size, str, Size]] = []
        self.problems: list[Problem] = []
        self._constants: dict[int, tuple[np.ndarray, Array]] = {}
        #: Sizes that the caller knows, by name, and the names of all sizes.
        self._fixed: dict[str, Any] = {}
        self._names_of_sizes: set[str] = set()
        self.node: Node

    def refuse(self, message: str) -> NoReturn:
        raise Refused(message)

    def is_same(self, a: Size, b: Size) -> bool:
        """Sizes that differ for no or not for all calls are taken to be the same, and each call is
        checked."""
        difference = sympy.sympify(a) - b
        if difference == 0:
            return True
        if difference.is_nonzero:
            return False
        self._relate(a, "equal to", b)
        return True

    def limit(self, size: Size, most: Size) -> None:
        """A size is at most another one in every call."""
        self._relate(size, "at most", most)

    def _relate(self, a: Size, relation: str, b: Size) -> None:
        # A branch that is not taken asks nothing. One that is, and sizes of results of branches,
        # are checked where the module computes.
        is_of_inputs = all(isinstance(symbol, sympy.Symbol) and not isinstance(symbol, sympy.Dummy)
                           for each in (a, b) for symbol in sympy.sympify(each).free_symbols)
        if self.depth == 0 and is_of_inputs and (a, relation, b) not in self.relations:
            self.relations.append((a, relation, b))

    # Inputs and constants.

    def add_input(self, info: onnx.ValueInfoProto) -> None:
        kind = info.type.WhichOneof("value")
        tensor = info.type.tensor_type
        dtype = NAMES.get(tensor.elem_type)
        message = ""
        if kind != "tensor_type":
            message = f"expected a tensor, but got {kind or 'no type'}"
        elif dtype is None:
            message = (f"expected elements of one of {', '.join(map(get_type_name, NAMES))}, but "
                       f"got {get_type_name(tensor.elem_type)}")
        elif not tensor.HasField("shape"):
            message = "expected a shape, but got none"
        if message:
            self.problems.append(Problem(info.name, "input", message, (self.model.path, 0)))
            self.values[info.name] = FAILED
            return
        sizes = [self._read_size(info.name, number, dim)
                 for number, dim in enumerate(tensor.shape.dim)]
        self.values[info.name] = self.inputs[info.name] = self.add_argument(info.name, sizes,
                                                                            dtype)

    def _take_inputs(self, fixed: Mapping[str, Any]) -> None:
        inputs = [info for info in self.model.graph.input if info.name not in self.values]
        names = [info.name for info in inputs]
        self._fixed = {name: value for name, value in fixed.items() if name not in names}
        for info in inputs:
            if info.name in fixed:
                self.values[info.name] = self._fix_input(info, fixed[info.name])
            else:
                self.add_input(info)
        sizes = sorted(self._names_of_sizes)
        for name, value in self._fixed.items():
            if name not in sizes:
                raise ArgumentError(
                    f"expected fixed to name inputs ({', '.join(names)}) or sizes "
                    f"({', '.join(sizes) or 'none'}), but got {name!r}")
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ArgumentError(f"expected fixed to have a number of 1 or more for size "
                                    f"{name}, but got {value!r}")

    def _fix_input(self, info: onnx.ValueInfoProto, value: Any) -> Constant:
        """An input that is a constant, of the type and the shape that the model says."""
        tensor = info.type.tensor_type
        try:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            array = np.asarray(value, dtype)
        except (TypeError, ValueError, KeyError, OverflowError) as error:
            raise ArgumentError(f"{info.name}: expected fixed to have numbers of "
                                f"{get_type_name(tensor.elem_type)}, but got {value!r}") from error
        sizes = [self._read_size(info.name, number, dim)
                 for number, dim in enumerate(tensor.shape.dim)]
        if tensor.HasField("shape") and (len(sizes) != array.ndim or any(
                isinstance(size, int) and size != found
                for size, found in zip(sizes, array.shape))):
            raise ArgumentError(f"{info.name}: expected fixed to have shape {sizes}, but got "
                                f"{list(array.shape)}")
        return Constant(array, info.name)

    def _read_size(self, name: str, number: int, dim: Any) -> Size:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            return int(dim.dim_value)
        # Some exporters write -1, or a question mark, for a size without a name.
        given = "" if dim.dim_param == "?" else dim.dim_param
        known = given or f"{name}_{number}"
        self._names_of_sizes.add(known)
        if isinstance(self._fixed.get(known), int):
            return int(self._fixed[known])
        return sympy.Symbol(known, integer=True, positive=True)

    def constant(self, value: np.ndarray, name: str) -> Array:
        """A tensor that is known, once for each array."""
        key = id(value)
        if key not in self._constants:
            dtype = get_dtype(value.dtype)
            if not dtype:
                known = ", ".join(map(get_type_name, NAMES))
                self.refuse(f"expected a constant of one of {known}, but got {value.dtype}")
            array = value.view(np.uint8) if dtype in NARROW else value
            self._constants[key] = value, self.add_constant(array, name, dtype)
        return self._constants[key][1]

    # Operands of ops.

    def array(self, operand: Operand, what: str = "operand") -> Array:
        """A tensor of the function."""
        if isinstance(operand, Constant):
            return self.constant(operand.value, operand.name)
        if isinstance(operand, Sizes):
            return self._emit_sizes(operand)
        if operand is None:
            self.refuse(f"expected {what}, but got none")
        return operand if isinstance(operand, Array) else operand.materialize(self)

    def _emit_sizes(self, sizes: Sizes) -> Array:
        numbers = []
        for each in sizes.value.flat:
            size = self.size(simplify(each))
            numbers.append(self.emit("number", "arith.index_cast", [size],
                                     f"{size.name} : index to {sizes.dtype}", INDEX))
        spec = Spec(sizes.sizes, sizes.dtype)
        names = ", ".join(number.name for number in numbers)
        return Array(self.emit("sizes", "tensor.from_elements", numbers, f"{names} : {spec}",
                               spec), sizes.sizes)

    def number(self, operand: Operand, what: str = "operand") -> Array:
        """A tensor of f32, bf16 or f16."""
        if operand is not None and operand.dtype not in NUMBERS:
            self.refuse(f"expected {what} of float, bfloat16 or float16, but got {operand.dtype}")
        return self.array(operand, what)

    def plain(self, operand: Operand, what: str = "operand") -> Array:
        """A tensor of numbers or truth values, not of codes."""
        if operand is not None and operand.dtype in NARROW:
            self.refuse(f"expected {what} of numbers, but got {operand.dtype}")
        return self.array(operand, what)

    def known(self, operand: Operand, what: str) -> np.ndarray:
        """Numbers that are known at import."""
        if not isinstance(operand, Constant):
            self.refuse(f"expected {what} to be known at import")
        if not get_dtype(operand.value.dtype):
            self.refuse(f"expected {what} to be numbers, but got {operand.dtype}")
        return operand.value

    def known_number(self, operand: Operand, what: str) -> Any:
        """One number that is known at import."""
        found = self.known(operand, what)
        if found.size != 1:
            self.refuse(f"expected {what} to be one number, but got {list(found.shape)} of them")
        return found.reshape(-1)[0]

    def list_sizes(self, operand: Operand, what: str) -> list[Size]:
        """A list of sizes, which may be those of inputs."""
        if not isinstance(operand, (Constant, Sizes)):
            self.refuse(f"expected {what} to be computed from sizes of inputs")
        if operand.dtype not in ("i32", "i64"):
            self.refuse(f"expected {what} of int32 or int64, but got {operand.dtype}")
        return [simplify(each) for each in operand.value.reshape(-1).tolist()]

    def check_types(self, operands: Sequence[Operand]) -> None:
        """Refuses operands of several types."""
        dtypes = sorted({each.dtype for each in operands if each is not None})
        if len(dtypes) > 1:
            self.refuse(f"expected operands of one type, but got {' and '.join(dtypes)}")

    def get_origin(self, operand: Any, kind: Any) -> Any:
        """What a value is, if it is of a kind."""
        found = self.origins.get(operand.value.name) if isinstance(operand, Array) else None
        return found if isinstance(found, kind) else None

    # Attributes.

    def choose(self, attributes: Mapping[str, Any], name: str, default: str,
               known: Collection[str]) -> str:
        """An attribute that is one of the names that are known."""
        found: str = attributes.get(name, default.encode()).decode()
        if found not in known:
            self.refuse(f"expected {name} to be one of {', '.join(known)}, but got {found}")
        return found

    def check_fixed(self, attributes: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
        """Refuses attributes with another value than the only one that is imported."""
        for name, value in fixed.items():
            found = attributes.get(name, value)
            if found != value:
                expected, got = (each.decode() if isinstance(each, bytes) else each
                                 for each in (value, found))
                self.refuse(f"expected {name} to be {expected}, but got {got}")

    # The walk.

    def import_graph(self, graph: onnx.GraphProto) -> list[Operand]:
        """The results of a branch in the node that is imported. Its names end with it."""
        outer, node, location = dict(self.values), self.node, self.location
        self._take_initializers(graph)
        for each in graph.node:
            self._import_node(make_node(each, node.number))
        results = [self.values[output.name] for output in graph.output]
        self.values, self.node, self.location = outer, node, location
        return results

    def _take_initializers(self, graph: onnx.GraphProto) -> None:
        known = read_initializers(graph, self.model.path, self.model.folder)
        self.values.update({key: Constant(value, key) for key, value in known.items()})
        for sparse in graph.sparse_initializer:
            self.values[sparse.values.name] = FAILED
            self.problems.append(Problem(sparse.values.name, "initializer", "expected a dense "
                                         "tensor, but got a sparse one", (self.model.path, 0)))

    def run(self, fixed: Mapping[str, Any]) -> None:
        """Imports all nodes, with inputs and sizes that the caller knows; raises UnsupportedError
        with all that are refused."""
        self._take_initializers(self.model.graph)
        self._take_inputs(fixed)
        with self.tracing():
            for node in self.model.nodes:
                self._import_node(node)
        self.raise_problems()

    def raise_problems(self) -> None:
        if self.problems:
            raise UnsupportedError.of(self.problems)

    def note(self, node: Node, message: str) -> None:
        op = f"{node.domain}.{node.op}" if node.domain else node.op
        self.problems.append(Problem(node.name, op, message, (self.model.path, node.number),
                                     node.part))

    def _import_node(self, node: Node) -> None:
        self.node = node
        self.location = (self.model.path, node.number, node.part or node.name)
        inputs = [self.values[name] if name else None for name in node.inputs]
        handler = self._find_handler(node)
        results: Any = [FAILED] * len(node.outputs)
        try:
            folded = self._fold(node, inputs, handler)
            if folded is not None:
                results = folded
            elif handler is None:
                self.refuse("expected an op that is imported, or one of constants")
            elif not any(each is FAILED for each in inputs):
                results = self._call(node, inputs, handler)
        except Failed:
            pass
        except (Refused, ArgumentError) as error:  # ArgumentError: of an op of the dialect.
            self.note(node, str(error))
        self.values.update(zip(node.outputs, results))

    def _find_handler(self, node: Node) -> Handler | None:
        if node.domain == DOMAIN and node.op in self.model.quantizers:
            return HANDLERS[DOMAIN, "quantize"]
        return HANDLERS.get((node.domain, node.op))

    def _call(self, node: Node, inputs: list[Any], handler: Handler) -> list[Any]:
        if any(isinstance(each, Sizes) for each in inputs):
            found = fold_sizes(node, inputs)
            if found is not None:
                return [found]
        results = handler(self, inputs, node.attributes)
        results = list(results) if isinstance(results, tuple) else [results]
        for name in node.outputs[len(results):]:
            if name:
                self.refuse(f"expected no more than {len(results)} results to be taken, but got "
                            f"{name!r} as well")
        return results

    def _fold(self, node: Node, inputs: Sequence[Any], handler: Handler | None
              ) -> list[Any] | None:
        """The results of a node of constants, as onnx.reference computes them."""
        if node.domain or handler in _OF_CONSTANTS or node.op in _RANDOM or not all(
                each is None or isinstance(each, Constant) for each in inputs):
            return None
        feeds = {name: each.value for name, each in zip(node.inputs, inputs) if each is not None}
        try:
            results = evaluate(node.proto, self.model.opset, feeds, self.refuse)
        except Refused:
            if handler is None:
                raise
            return None  # There are forms that onnx.reference does not evaluate.
        return [Constant(results[name], name) if name else None for name in node.outputs]


def evaluate(node: onnx.NodeProto, opset: int, feeds: dict[str, np.ndarray],
             refuse: Callable[[str], NoReturn]) -> dict[str, np.ndarray]:
    """The results of a node, by their names."""
    outputs = [name for name in node.output if name]
    graph = onnx.helper.make_graph(
        [node], "constant", [onnx.ValueInfoProto(name=name) for name in feeds],
        [onnx.ValueInfoProto(name=name) for name in outputs])
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(graph, opsets={"": opset}).run(None, feeds)
    except Exception as error:  # Of any class: the model is what is wrong.
        refuse("expected a node of constants that onnx.reference evaluates, but got "
               f"{type(error).__name__}: {' '.join(str(error).split())}")
    return {name: _to_array(each) for name, each in zip(outputs, results)}


def _to_array(result: Any) -> np.ndarray:
    """A result of onnx.reference. A sequence becomes an array of objects, which stands for no
    tensor of the graph, but later nodes of constants take it."""
    if not isinstance(result, list):
        return np.asarray(result)
    array = np.empty(len(result), object)
    for number, each in enumerate(result):
        array[number] = each
    return array
