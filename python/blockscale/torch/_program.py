# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of torch.export and graphs of torch.fx, imported, compiled and called."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from blockscale._ahead import File, compile_ahead, hash_source, load_from, read_ahead
from blockscale._compile import Compiled
from blockscale._compile import compile as compile_module
from blockscale._errors import ArgumentError
from blockscale._linalg import Array, check_options
from blockscale._trace import Module
from blockscale._types import Spec
from blockscale.torch import (  # noqa: F401 (handlers)
    _aten,
    _complex,
    _convolutions,
    _experts,
    _import_ops,
    _layers,
    _orders,
    _pools,
    _products,
    _resampling,
    _scatter,
    _tensors,
    _torchao,
)
from blockscale.torch._errors import find_location, refuse
from blockscale.torch._importer import (
    HANDLERS,
    Argument,
    Constant,
    Importer,
    Input,
    is_unknown,
    sizes_of,
    solve_size,
)
from blockscale.torch._nodes import is_mutable
from blockscale.torch._recognize import find_quantizers

_CONSTANTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


class Function:
    """An imported program that was compiled: call it as the model is called.

    Attributes:
      compiled: what the module became, with its PTX, stages and remarks.
      buffers: the tensors that the program changes, by their names in the model. They begin as
        in the program; each call replaces them by those that it computes, and so may a caller.

    Any thread may use it; calls of one with buffers wait for each other.
    """

    def __init__(self, imported: Imported, compiled: Compiled, device: torch.device):
        self._imported = imported
        self.compiled = compiled
        arguments = list(enumerate(imported.arguments))
        self._constants = {number: _view_bytes(argument, argument.constant.to(device))
                           for number, argument in arguments
                           if argument.constant is not None and not argument.buffer}
        self.buffers = {argument.buffer: argument.constant.to(device, copy=True)
                        for _, argument in arguments
                        if argument.buffer and argument.constant is not None}
        self._lock = threading.Lock() if imported.changed else contextlib.nullcontext()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inputs = self._imported._flatten(args, kwargs)
        symbols = bind_sizes(self._imported.inputs, inputs)
        _check_ranges(self._imported.inputs, symbols, self._imported.ranges)
        with self._lock:
            results = self.compiled(*[self._get_array(number, inputs, symbols)
                                      for number in range(len(self._imported.arguments))])
            results = list(results) if isinstance(results, tuple) else [results]
            changed = self._imported.changed
            self.buffers.update(zip(changed, results))
        return self._imported._unflatten(results[len(changed):])

    def _get_array(self, number: int, inputs: list[Any], symbols: dict[Any, int]) -> Tensor:
        argument = self._imported.arguments[number]
        if argument.buffer:
            return self.buffers[argument.buffer]
        if argument.constant is not None:
            return self._constants[number]
        return _view_bytes(argument, argument.arrange(inputs[argument.input], symbols))


def _view_bytes(argument: Argument, tensor: Tensor) -> Tensor:
    """Codes of MXINT8, which PyTorch has as bytes and the module as i8."""
    is_signed = argument.value.dtype == "i8" and tensor.dtype == torch.uint8
    return tensor.view(torch.int8) if is_signed else tensor


class Imported:
    """A program as a module.

    Attributes:
      module: the module. Its function takes the program's inputs, constants and buffers.
      arguments: what each argument of the function is.
      inputs: the tensors that a caller passes.
      changed: the names of buffers that the program changes. What they become are the first
        results of the function.
      ranges: the least and the largest size of symbols, where the program is only known to be the
        model for these.
    """

    def __init__(self, module: Module, importer: Importer,
                 flatten: Callable[[Sequence[Any], dict[str, Any]], list[Any]],
                 unflatten: Callable[[list[Tensor]], Any], changed: Sequence[str] = (),
                 ranges: Mapping[Any, tuple[int, float]] | None = None):
        self.module = module
        self.arguments: list[Argument] = importer.arguments
        self.inputs: list[Input] = importer.inputs
        self.changed = tuple(changed)
        self.ranges = dict(ranges or {})
        self._flatten = flatten
        self._unflatten = unflatten

    @property
    def constants(self) -> dict[str, Tensor]:
        """Weights and other constants, by the names of the function's arguments."""
        return {argument.value.name.removeprefix("%"): argument.constant
                for argument in self.arguments
                if argument.constant is not None and not argument.buffer}

    def compile(self, **options: Any) -> Function:
        """Compiles the module; options are those of blockscale.compile()."""
        return self._make(compile_module(self.module, **options), options.get("on"),
                          options.get("device", 0))

    def _make(self, compiled: Compiled, on: str | None, device: int) -> Function:
        place = torch.device("cuda", device) if on == "cuda" else torch.device("cpu")
        return Function(self, compiled, place)

    def compile_ahead(self, path: str | None = None, **options: Any) -> bytes:
        """Compiles the module for several targets into a file; arguments are those of
        blockscale.compile_ahead(). Weights that are arguments are not in it."""
        return compile_ahead(self.module, path, **options)

    def load(self, file: File, *, target: str | None = None, on: str | None = None,
             device: int = 0) -> Function:
        """The function of a file that compile_ahead() of the same program wrote, without
        compilation; arguments are those of blockscale.load().

        Raises: ArgumentError where the file has another program, and what blockscale.load()
          raises.
        """
        ahead = read_ahead(file)
        own = hash_source(self.module)
        if ahead.source != own:
            raise ArgumentError(f"expected a file with this program, whose module has the SHA-256 "
                                f"{own}, but {ahead.name} has one with {ahead.source}; compile "
                                "it again")
        return self._make(load_from(ahead, target, on, device), on, device)


def bind_sizes(inputs: Sequence[Input], tensors: Sequence[Any]) -> dict[Any, int]:
    """The sizes of symbols; raises ArgumentError where a tensor is not as the program says."""
    if len(inputs) != len(tensors):
        raise ArgumentError(f"expected {len(inputs)} inputs, but got {len(tensors)}")
    symbols: dict[Any, int] = {}
    derived: list[tuple[Input, int, Any, int]] = []
    for read, tensor in zip(inputs, tensors):
        meta = read.meta
        if not read.is_tensor:
            if type(tensor) is not type(meta) or tensor != meta:
                raise ArgumentError(f"{read.name}: expected {meta!r}, which the program was "
                                    f"exported for, but got {tensor!r}")
            continue
        if not isinstance(tensor, Tensor) or tensor.dtype != meta.dtype:
            found = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ArgumentError(f"{read.name}: expected a tensor of {meta.dtype}, but got "
                                f"{found}")
        sizes = sizes_of(meta)
        shape = list(tensor.shape)
        if len(sizes) != len(shape):
            raise ArgumentError(f"{read.name}: expected shape {list(sizes)}, but got {shape}")
        for dim, (size, found) in enumerate(zip(sizes, shape)):
            known = size if isinstance(size, int) else found
            if isinstance(size, sympy.Symbol):
                known = symbols.setdefault(size, found)
            elif not isinstance(size, int):
                derived.append((read, dim, size, found))
            if known != found:
                where = "" if isinstance(size, int) else f", where {size} is {known}"
                raise ArgumentError(f"{read.name}: expected shape {list(sizes)}{where}, but "
                                    f"got {shape}")
    _bind_derived(inputs, derived, symbols)
    return symbols


def _check_ranges(inputs: Sequence[Input], symbols: Mapping[Any, int],
                  ranges: Mapping[Any, tuple[int, float]]) -> None:
    """Raises ArgumentError for sizes that a program was not exported for: code of the model may
    have branched on them."""
    for symbol, found in symbols.items():
        least, most = ranges.get(symbol, (found, found))
        if not least <= found <= most:
            where = _find_place(inputs, symbol).removeprefix(", ").rstrip(",")
            bounds = f"{least} or more" if most == math.inf else f"from {least} to {most}"
            raise ArgumentError(f"expected {where or symbol} to be {bounds}, which the program was "
                                f"exported for, but got {found}")


def _read_ranges(program: torch.export.ExportedProgram) -> dict[Any, tuple[int, float]]:
    """The ranges of a program's sizes. PyTorch takes sizes of 0 and 1 where the least is 2, with
    which it begins where nobody says another. torchao's layers branch on the number of rows, where
    the module does not."""
    if any(map(_torchao.is_quantized, program.state_dict.values())):
        return {}
    return {symbol: (int(each.lower) if each.lower > 2 else 0,
                     int(each.upper) if each.upper.is_Integer else math.inf)
            for symbol, each in program.range_constraints.items()
            if isinstance(symbol, sympy.Symbol)}


def _find_place(inputs: Sequence[Input], symbol: Any) -> str:
    """Which dimension of an input a symbol is, for messages."""
    return next((f", dimension {dim} of {read.name}," for read in inputs if read.is_tensor
                 for dim, size in enumerate(sizes_of(read.meta)) if size == symbol), "")


def _bind_derived(inputs: Sequence[Input], derived: Sequence[tuple[Input, int, Any, int]],
                  symbols: dict[Any, int]) -> None:
    """Finds symbols of which no tensor has the size itself, and checks all sizes that are computed
    from others, as 2*rows."""
    for read, dim, size, found in derived:
        solved = solve_size(size)
        if solved is None or solved[0] in symbols:
            continue
        symbol, factor, addend = solved
        if found < addend or (found - addend) % factor:
            raise ArgumentError(f"{read.name}: expected dimension {dim} to be {size} for a whole "
                                f"number {symbol}, but got {found}")
        symbols[symbol] = (found - addend) // factor
    for read, dim, size, found in derived:
        known = {symbol: symbols[symbol] for symbol in size.free_symbols if symbol in symbols}
        wanted = size.subs(known)
        if wanted.is_Integer and int(wanted) != found:
            where = ", ".join(f"{symbol}{_find_place(inputs, symbol)} is {value}"
                              for symbol, value in known.items())
            raise ArgumentError(f"{read.name}: expected dimension {dim} to be {size}, which is "
                                f"{wanted} where {where}, but got {found}")


def _recognize(importer: Importer, nodes: Sequence[Any]) -> list[Any]:
    """The nodes without those that are part of a quantizer alone."""
    # What these check of a tensor is what the program says of it.
    left = {node for node in nodes if str(node.target) == "aten._assert_tensor_metadata.default"}
    constants = {node: value.value for node, value in importer.values.items()
                 if isinstance(value, Constant) and isinstance(value.value, Tensor)}
    inside: set[Any] = set()
    for quantizer in find_quantizers(nodes, constants):
        importer.quantizers[quantizer.data] = importer.quantizers[quantizer.scale] = quantizer
        inside |= quantizer.inside
    for node in reversed(nodes):
        if node in inside and all(user in left or user in importer.quantizers
                                  for user in node.users):
            left.add(node)
    return [node for node in nodes if node not in left]


def _import(importer: Importer, nodes: Sequence[Any], results: Sequence[Any], output: Any,
            name: str) -> Module:
    with importer.tracing():
        importer.import_nodes(nodes)
        values = []
        importer.node = output
        for result in results:
            read = importer.values[result] if isinstance(result, torch.fx.Node) else None
            source = getattr(read, "source", None)
            if isinstance(read, Array):
                values.append(read.value)
            elif isinstance(read, Constant):
                values.append(importer.tensor(read, "result").value)
            elif source is not None and not isinstance(source, Input):
                values.append(source)
            else:
                importer.refuse(f"expected results to be tensors that are computed, but got "
                                f"{result}")
    if not values:
        refuse(output, "expected a result, but got none")
    for read in importer.inputs:
        if read.is_tensor and read.argument is None:
            spec = Spec([None] * read.meta.dim(), "i8")
            importer.take_input(read, spec, lambda tensor, _: tensor.view(torch.int8))
    importer.arguments.sort(key=lambda each: (each.constant is not None, each.input))
    used = importer.trace.remove_dead(values)
    importer.arguments = [each for each in importer.arguments
                          if each.constant is None or each.value.name in used]
    location = next((place for place in map(find_location, nodes) if place), ("<graph>", 0))
    return importer.finish(name, [each.value for each in importer.arguments], values, location)


def _check(source: Any, kind: type, name: Any, constants: Any) -> None:
    if not isinstance(source, kind):
        raise ArgumentError(f"expected {kind.__name__}, but got {type(source).__name__}")
    check_options(name, constants)


def _get_nodes(graph: Any) -> tuple[list[Any], list[Any], Any]:
    """Placeholders, ops and the output."""
    placeholders, ops = [], []
    for node in graph.nodes:
        if node.op == "placeholder":
            placeholders.append(node)
        elif node.op == "output":
            output = node
        elif node.op == "call_function":
            ops.append(node)
        elif node.op != "get_attr":
            refuse(node, f"expected a graph of aten ops, as torch.export and make_fx make it, "
                         f"but got a {node.op}")
    return placeholders, ops, output


def _get_changed(program: torch.export.ExportedProgram) -> list[str]:
    """The names of buffers that a program changes, in the order of its results."""
    return [each.target for each in program.graph_signature.output_specs
            if each.kind == OutputKind.BUFFER_MUTATION]


def _begin(program: torch.export.ExportedProgram, constants: str
           ) -> tuple[Importer, list[Any], Any]:
    """An importer with the program's inputs and constants, the nodes that it imports, and the
    output."""
    importer = Importer(constants)
    signature = program.graph_signature
    placeholders, ops, output = _get_nodes(program.graph)
    changed = _get_changed(program)
    for node, read in zip(placeholders, signature.input_specs):
        if read.kind == InputKind.USER_INPUT:
            importer.add_input(node)
        elif read.kind in _CONSTANTS:
            tables = (program.state_dict, program.constants)
            table = next((each for each in tables if read.target in each), None)
            if table is None:
                refuse(node, f"expected the program to have {read.target}")
            if read.target in changed:
                importer.add_buffer(node, table[read.target], read.target)
            else:
                importer.values[node] = Constant(table[read.target], node.name)
        else:
            refuse(node, f"expected inputs, parameters and buffers, but got {read.kind.name}")
    for each in signature.output_specs:
        if each.kind not in (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION):
            refuse(output, "expected a program that changes nothing but buffers, but got "
                           f"{each.kind.name} of {each.target}")
    _add_attributes(importer, program.graph_module)
    return importer, _recognize(importer, ops), output


def _decompose(program: torch.export.ExportedProgram, ops: Sequence[Any]
               ) -> torch.export.ExportedProgram:
    """The same program without ops that write into tensors and without parts under another mode of
    gradients or autocast, and with others of `ops` that have no handler written out in ops that
    may have one, as far as PyTorch knows how."""
    unknown = {node.target for node in ops if is_unknown(node)}
    if not unknown or any(map(_torchao.is_quantized, program.state_dict.values())):
        # PyTorch would write out what layers do with torchao's weights, too.
        return program
    # What is left of the graph are parts of quantizers, which are known by their ops.
    kept = {node.target for node in program.graph.nodes} - {node.target for node in ops}
    table = {op: function for op, function in torch.export.default_decompositions().items()
             if str(op) not in HANDLERS and op not in kept}
    if not (unknown.intersection(table) or any(
            is_mutable(each) or isinstance(each, HigherOrderOperator) for each in unknown)):
        return program
    try:
        return program.run_decompositions(table)
    except Exception:  # PyTorch traces the program anew, which it cannot do for each one.
        return program  # What has no handler is refused with its place.


def from_export(program: torch.export.ExportedProgram, name: str = "forward",
                constants: str = "arguments") -> Imported:
    """A program of torch.export.

    Args:
      program: of a model in evaluation mode; weights may be torchao's NVFP4Tensor and
        MXTensor. Sizes that are dynamic in it are dynamic in the module.
      name: of the module's function.
      constants: weights and other constants are "arguments" of the function, or "resources" of
        the module, which passes can compute with.

    Raises: UnsupportedError with all nodes that are not imported.
    """
    _check(program, torch.export.ExportedProgram, name, constants)
    importer, ops, output = _begin(program, constants)
    written_out = _decompose(program, ops)
    if written_out is not program:
        importer, ops, output = _begin(written_out, constants)
    module = _import(importer, ops, output.args[0], output, name)

    def flatten(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        values, spec = pytree.tree_flatten((tuple(args), kwargs))
        if spec != program.call_spec.in_spec:
            raise ArgumentError(f"expected arguments of the structure {program.call_spec.in_spec}, "
                                f"but got {spec}")
        return list(values)

    return Imported(module, importer, flatten,
                    lambda results: pytree.tree_unflatten(results, program.call_spec.out_spec),
                    _get_changed(written_out), _read_ranges(program))


def from_graph(graph_module: torch.fx.GraphModule, name: str = "forward",
               constants: str = "arguments") -> Imported:
    """A graph of torch.fx with aten ops and node.meta["val"], as make_fx makes it.

    Args:
      graph_module: its placeholders are the inputs, its attributes constants.
      name, constants: as from_export() has them.

    Raises: UnsupportedError with all nodes that are not imported.
    """
    _check(graph_module, torch.fx.GraphModule, name, constants)
    importer = Importer(constants)
    placeholders, ops, output = _get_nodes(graph_module.graph)
    for node in placeholders:
        importer.add_input(node)
    _add_attributes(importer, graph_module)
    results, spec = pytree.tree_flatten(output.args[0])
    module = _import(importer, _recognize(importer, ops), results, output, name)

    def flatten(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        if kwargs:
            raise ArgumentError("expected the inputs of a graph in their order, but got "
                                f"{', '.join(kwargs)} by name")
        return list(args)

    return Imported(module, importer, flatten,
                    lambda values: pytree.tree_unflatten(values, spec))


def _add_attributes(importer: Importer, graph_module: Any) -> None:
    for node in graph_module.graph.nodes:
        if node.op == "get_attr":
            value: Any = graph_module
            for part in node.target.split("."):
                value = getattr(value, part)
            importer.values[node] = Constant(value, node.name)
