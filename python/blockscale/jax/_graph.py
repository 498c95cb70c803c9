# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A StableHLO module as a list of nodes, with the functions that it calls in place of
their calls, and the passes of loops one behind the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir

from blockscale._errors import ArgumentError
from blockscale._trace import Location
from blockscale.jax import _counters
from blockscale.jax._errors import UNKNOWN, make_problem, refuse

# Calls in calls, and nodes in all: functions that call themselves have no end.
_MAX_DEPTH, _MAX_NODES = 200, 100_000
# Passes of a loop.
_MAX_PASSES = 1000


@dataclasses.dataclass(eq=False)
class Ref:
    """A value of the graph: a result of a node, or an argument. `known` is the number that it is
    (_counters.py), or None."""

    type: Any
    node: Node | None = None
    number: int = 0
    users: list[Node] = dataclasses.field(default_factory=list)
    known: Any = None

    @property
    def shape(self) -> list[int]:
        return list(self.type.shape) if isinstance(self.type, ir.RankedTensorType) else []

    @property
    def element(self) -> str:
        """The element type, as StableHLO prints it: "f32", "ui8"; the type of what is no
        tensor."""
        is_tensor = isinstance(self.type, ir.RankedTensorType)
        return str(self.type.element_type if is_tensor else self.type)

    @property
    def is_unsigned(self) -> bool:
        return self.element.startswith("ui")


@dataclasses.dataclass(eq=False)
class Node:
    """An op. `decomposition` has the nodes of a composite."""

    op: Any
    operands: list[Ref]
    results: list[Ref]
    location: Location
    decomposition: Graph | None = None

    @property
    def name(self) -> str:
        return str(self.op.name)

    @property
    def title(self) -> str:
        """The op's name, with the target of a custom call or the name of a composite."""
        if self.name == "stablehlo.custom_call":
            return f"{self.name} @{self.attribute('call_target_name').value}"
        if self.name == "stablehlo.composite":
            return f"{self.name} {self.attribute('name').value}"
        return self.name

    def attribute(self, name: str) -> Any:
        """An attribute, or None."""
        attributes = self.op.attributes
        if name not in attributes:
            return None
        return attributes[name]


@dataclasses.dataclass
class Graph:
    """Nodes in an order in which operands come first."""

    arguments: list[Ref]
    nodes: list[Node]
    results: list[Ref]
    #: The module, which jaxlib's ops and attributes do not keep.
    module: Any


def find_location(location: Any) -> Location:
    """The innermost line that JAX has of an op, and the name that JAX gave it."""
    name = location.name_str if isinstance(location, ir.NameLoc) else ""
    for found in _find_files(location):
        start = found.start_line if hasattr(found, "start_line") else found.line
        return (found.filename, start, name) if name else (found.filename, start)
    return (*UNKNOWN[:2], name) if name else UNKNOWN


def _find_files(location: Any) -> Iterator[Any]:
    """Lines, the innermost first."""
    if isinstance(location, ir.NameLoc):
        yield from _find_files(location.child_loc)
    elif isinstance(location, ir.CallSiteLoc):
        yield from _find_files(location.callee)
        yield from _find_files(location.caller)
    elif isinstance(location, ir.FusedLoc):
        for each in location.locations:
            yield from _find_files(each)
    elif isinstance(location, ir.FileLineColLoc):
        yield location


class _Flattener:
    def __init__(self, module: Any):
        self.module = module
        self.count = 0
        self.functions = {ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
                          for op in module.body.operations
                          if op.operation.name == "func.func"}

    def get_function(self, name: str) -> Any:
        if name not in self.functions or not list(self.functions[name].regions[0].blocks):
            raise ArgumentError(f"expected the module to define @{name}")
        return self.functions[name]

    def flatten(self, name: str, depth: int = 0) -> Graph:
        function = self.get_function(name)
        arguments = [Ref(value.type) for value in function.regions[0].blocks[0].arguments]
        nodes: list[Node] = []
        results = self._add(function, arguments, nodes, UNKNOWN, depth)
        return Graph(arguments, nodes, results, self.module)

    def _add(self, function: Any, arguments: Sequence[Ref], nodes: list[Node],
             call: Location, depth: int) -> list[Ref]:
        """Adds a function's nodes, and returns its results."""
        if depth > _MAX_DEPTH:
            raise ArgumentError(f"expected at most {_MAX_DEPTH} calls in calls, but got more in "
                                f"@{ir.StringAttr(function.attributes['sym_name']).value}")
        block = function.regions[0].blocks[0]
        return self._add_block(block, dict(zip(block.arguments, arguments)), nodes, call, depth)

    def _unroll(self, op: Any, state: list[Ref], values: Mapping[Any, Ref], nodes: list[Node],
                location: Location, depth: int) -> list[Ref] | None:
        """Adds the passes of a loop, and returns its results. None where constants do not decide
        how many there are."""
        condition, body = (region.blocks[0] for region in op.regions)
        for _ in range(_MAX_PASSES + 1):
            inside = {**values, **dict(zip(condition.arguments, state))}
            goes_on = _counters.evaluate(condition, {value: ref.known
                                                     for value, ref in inside.items()})
            if goes_on is None:
                return None
            if not goes_on:
                return state
            inside = {**values, **dict(zip(body.arguments, state))}
            state = self._add_block(body, inside, nodes, location, depth + 1)
        return refuse([make_problem("stablehlo.while", f"expected a loop of at most {_MAX_PASSES} "
                                    "passes, which stand one behind the other, but got one of "
                                    "more", location)])

    def _add_block(self, block: Any, values: dict[Any, Ref], nodes: list[Node], call: Location,
                   depth: int) -> list[Ref]:
        """Adds a block's nodes, and returns what it returns. `values` are those that it may
        read."""
        for view in block.operations:
            op = view.operation
            operands = [values[value] for value in op.operands]
            if op.name in ("func.return", "stablehlo.return"):
                return operands
            location = find_location(op.location)
            # Ops of a function of JAX itself have no line, but the call of it has.
            location = location if location[1] else (*call[:2], *location[2:])
            if op.name == "func.call":
                callee = self.get_function(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
                results = self._add(callee, operands, nodes, location, depth + 1)
            elif op.name == "stablehlo.while" and (unrolled := self._unroll(
                    op, operands, values, nodes, location, depth)) is not None:
                results = unrolled
            else:
                node = Node(op, operands, [], location)
                node.results = [Ref(value.type, node, number)
                                for number, value in enumerate(op.results)]
                if len(node.results) == 1:
                    node.results[0].known = _counters.fold(op, [ref.known for ref in operands])
                for ref in operands:
                    ref.users.append(node)
                if op.name == "stablehlo.composite":
                    node.decomposition = self.flatten(
                        ir.FlatSymbolRefAttr(op.attributes["decomposition"]).value, depth + 1)
                    _fill_locations(node.decomposition, location)
                nodes.append(node)
                self.count += 1
                if self.count > _MAX_NODES:
                    raise ArgumentError(f"expected at most {_MAX_NODES} ops, but got more")
                results = node.results
            values.update(zip(op.results, results))
        raise ArgumentError(f"expected a function to end in a return, but got {op.name}")


def _fill_locations(graph: Graph, location: Location) -> None:
    for node in graph.nodes:
        if not node.location[1]:
            node.location = location


def flatten(module: Any, entry: str = "main") -> Graph:
    """The graph of a function of a module."""
    return _Flattener(module).flatten(entry)


def walk(graph: Graph) -> Iterator[Node]:
    """All nodes, those of composites included."""
    for node in graph.nodes:
        yield node
        if node.decomposition is not None:
            yield from walk(node.decomposition)
