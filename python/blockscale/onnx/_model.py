# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as they are read: their nodes, constants, inputs and results."""

from __future__ import annotations

import ast
import dataclasses
import os
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Union

import google.protobuf.message
import numpy as np
import onnx
from onnx import helper, inliner, numpy_helper, version_converter

from blockscale._errors import ArgumentError, Problem, UnsupportedError, fail, read_file
from blockscale.onnx._recipes import DOMAIN, list_functions, make_function

Source = Union[onnx.ModelProto, bytes, str, "os.PathLike[str]"]
#: The oldest opset of a model.
OLDEST = 9
#: The oldest opset of ops that are imported: before it, reductions, softmax and slices were other
#: ops. Models of older ones are brought to it by onnx.version_converter.
_OF_OPS = 13
#: The first opset with blocks of QuantizeLinear and DequantizeLinear.
_OF_BLOCKS = 21


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of the graph. Inputs that are left out have the name "".

    `number` counts nodes from 1; `name` is that of its first result where it has none. `part` is
    the part of the model that it is of, where the exporter says so: PyTorch's does.
    """

    op: str
    domain: str
    name: str
    number: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    proto: onnx.NodeProto
    part: str = ""


@dataclasses.dataclass
class Model:
    """A model without functions of its own but the quantizers that this package exports.

    `written_opset` is the one that the file has, `opset` that of the nodes.
    """

    graph: onnx.GraphProto
    opset: int
    written_opset: int
    path: str
    folder: str
    nodes: list[Node]
    #: (format, recipe, is_amax) of quantizers that this package exported, by their names.
    quantizers: dict[str, tuple[str, str, bool]]


def _get_reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _parse(source: Source) -> tuple[onnx.ModelProto, str, str]:
    """The model, a name of it for errors, and the folder of its external data."""
    if isinstance(source, onnx.ModelProto):
        copy = onnx.ModelProto()
        copy.CopyFrom(source)
        return copy, "<model>", ""
    if isinstance(source, bytes):
        data, path, folder = source, "<model>", ""
    elif isinstance(source, (str, os.PathLike)):
        path = str(os.fspath(source))
        data, folder = read_file(path), os.path.dirname(os.path.abspath(path))
    else:
        raise ArgumentError("expected a ModelProto, bytes or the path of a file, but got "
                            f"{type(source).__name__}")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except google.protobuf.message.DecodeError as error:
        raise ArgumentError(f"{path}: expected a model of ONNX, but got {len(data)} bytes that "
                            f"are none ({_get_reason(error)})") from error
    if not model.HasField("graph"):
        raise ArgumentError(f"{path}: expected a model of ONNX, but got one without a graph")
    return model, path, folder


def _check_data(model: onnx.ModelProto, path: str, folder: str) -> None:
    """Whether the files that hold tensors are there."""
    for what, tensor in _list_tensors(model):
        if not onnx.external_data_helper.uses_external_data(tensor):
            continue
        place = {entry.key: entry.value for entry in tensor.external_data}.get("location", "")
        if not folder:
            raise ArgumentError(f"{path}: expected {what} {tensor.name!r} in the model, but "
                                f"got external data in {place!r}; give the path of the file")
        if not os.path.isfile(os.path.join(folder, place)):
            fail("BLOCKSCALE_FILE", f"{path}: expected the elements of {what} "
                                    f"{tensor.name!r} in {place!r}, but there is no such file")


def _list_tensors(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """All tensors of a model, and what each is."""
    nodes = [*list_nodes(model.graph),
             *(node for function in model.functions for node in _list_all(function.node))]
    for graph in (model.graph, *(inner for node in nodes for inner in _list_graphs(node))):
        for tensor in graph.initializer:
            yield "initializer", tensor
    for node in nodes:
        for attribute in node.attribute:
            for tensor in (attribute.t, *attribute.tensors):
                yield f"attribute {attribute.name} of {node.op_type}", tensor


def _load_attributes(model: onnx.ModelProto, path: str, folder: str) -> None:
    """Takes into the model what attributes have in files. Who reads an attribute knows of no
    folder."""
    for what, tensor in _list_tensors(model):
        if what != "initializer" and onnx.external_data_helper.uses_external_data(tensor):
            array = _read_tensor(tensor, what, path, folder)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _check_blocks(model: onnx.ModelProto, path: str, opset: int) -> None:
    """Whether the opset has the blocks that nodes have."""
    problems = [
        Problem(node.name or node.output[0], node.op_type, f"expected opset {_OF_BLOCKS} or newer "
                f"for block_size, but got {opset}", (path, number))
        for number, node in enumerate(model.graph.node, 1)
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and not node.domain
        and any(each.name == "block_size" and each.i for each in node.attribute)]
    if problems and opset < _OF_BLOCKS:
        raise UnsupportedError.of(problems)


def _check(model: onnx.ModelProto, path: str, folder: str) -> int:
    """Raises ArgumentError where it is no valid model; its opset."""
    opset = _find_opset(model.opset_import)
    newest = onnx.defs.onnx_opset_version()
    if not OLDEST <= opset <= newest:
        raise ArgumentError(f"{path}: expected opset {OLDEST} to {newest} (onnx "
                            f"{onnx.__version__}), but got {opset or 'none'}")
    _check_data(model, path, folder)
    _check_blocks(model, path, opset)
    try:
        # A file is checked where it lies, with its external data.
        onnx.checker.check_model(path if folder else model)
    except (onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"{path}: expected a valid model, but got: "
                            f"{_get_reason(error)}") from error
    return opset


def _modernize(model: onnx.ModelProto, path: str, folder: str, opset: int
               ) -> tuple[onnx.ModelProto, int]:
    """A model of an opset whose ops are imported, and the opset."""
    if opset >= _OF_OPS:
        return model, opset
    try:
        onnx.load_external_data_for_model(model, folder)
        return version_converter.convert_version(model, _OF_OPS), _OF_OPS
    except (onnx.checker.ValidationError, ValueError, RuntimeError,
            google.protobuf.message.EncodeError) as error:
        raise ArgumentError(f"{path}: expected a model of opset {opset} that onnx converts to "
                            f"opset {_OF_OPS}, but got: {_get_reason(error)}") from error


def _find_quantizers(model: onnx.ModelProto) -> dict[str, tuple[str, str, bool]]:
    """Functions of the model that are those that this package exports, node by node."""
    known, found = list_functions(), {}
    for function in model.functions:
        key = known.get(function.name)
        if function.domain != DOMAIN or key is None:
            continue
        for opset in function.opset_import:
            if make_function(*key, opset.version) == function:
                found[function.name] = key
    return found


def _fill_defaults(model: onnx.ModelProto, handled: Collection[str]) -> None:
    """Writes out the defaults of attributes of calls of functions, and of ops with a body in ONNX:
    bodies read them."""
    functions = {(each.domain, each.name, each.overload): each for each in model.functions}
    graphs = [(list_nodes(model.graph), model.opset_import)]
    graphs += [(iter(function.node), function.opset_import) for function in model.functions]
    for nodes, opsets in graphs:
        version = _find_opset(opsets)
        for node in nodes:
            function = functions.get((node.domain, node.op_type, node.overload))
            defaults: Iterable[onnx.AttributeProto] = ()
            if function is not None:
                defaults = function.attribute_proto
            elif node.domain in ("", "ai.onnx") and node.op_type not in handled:
                defaults = _list_defaults(node.op_type, version)
            given = {each.name for each in node.attribute}
            node.attribute.extend(each for each in defaults if each.name not in given)


def _list_defaults(op: str, version: int) -> list[onnx.AttributeProto]:
    """The attributes of an op of ONNX that have a default."""
    try:
        schema = onnx.defs.get_schema(op, version, "")
    except onnx.defs.SchemaError:
        return []
    return [each.default_value for each in schema.attributes.values() if each.default_value.type]


def _find_opset(opsets: Iterable[onnx.OperatorSetIdProto]) -> int:
    """The version of ONNX's own ops; 0 for none."""
    return next((each.version for each in opsets if each.domain in ("", "ai.onnx")), 0)


def _declare_initializers(graph: onnx.GraphProto) -> None:
    """Writes out the types of initializers, by which the bodies of some ops are made."""
    known = {each.name for each in (*graph.input, *graph.value_info)}
    graph.value_info.extend(
        helper.make_tensor_value_info(each.name, each.data_type, list(each.dims))
        for each in graph.initializer if each.name not in known)


def _inline(model: onnx.ModelProto, handled: Collection[str], path: str,
            kept: Collection[str]) -> onnx.ModelProto:
    """Without functions but those to keep, and without ops that have a body in ONNX itself
    and no handler here."""
    opset = _find_opset(model.opset_import)

    def has_body(op: str) -> bool:
        try:
            schema = onnx.defs.get_schema(op, opset, "")
        except onnx.defs.SchemaError:
            return False
        return bool(schema.has_function or schema.has_context_dependent_function)
    left = {node.op_type for node in list_nodes(model.graph)
            if node.domain in ("", "ai.onnx") and node.op_type not in handled}
    if not any(map(has_body, left)) and all(
            function.domain == DOMAIN and function.name in kept for function in model.functions):
        return model
    _fill_defaults(model, handled)
    _declare_initializers(model.graph)
    names = [(DOMAIN, name) for name in kept]
    names += [(domain, name) for name in handled for domain in ("", "ai.onnx")]
    try:
        return inliner.inline_selected_functions(model, names, exclude=True,
                                                 inline_schema_functions=True)
    except (RuntimeError, ValueError) as error:
        raise ArgumentError(f"{path}: expected functions that can be inlined, but got: "
                            f"{_get_reason(error)}") from error


def _find_part(node: onnx.NodeProto) -> str:
    for entry in node.metadata_props:
        if entry.key == "pkg.torch.onnx.name_scopes":
            try:
                scopes = ast.literal_eval(entry.value)
            except (ValueError, SyntaxError):
                return ""
            # From the whole model to the op itself.
            is_list = isinstance(scopes, list) and len(scopes) > 1
            return str(scopes[-2]) if is_list else ""
    return ""


def make_node(node: onnx.NodeProto, number: int) -> Node:
    """A node, of a graph or of a branch in its node of this number."""
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    domain = "" if node.domain == "ai.onnx" else node.domain
    name = node.name or next((each for each in node.output if each), f"#{number}")
    return Node(node.op_type, domain, name, number, tuple(node.input), tuple(node.output),
                attributes, node, _find_part(node))


def list_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph and of the graphs in them."""
    return _list_all(graph.node)


def _list_all(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    for node in nodes:
        yield node
        for inner in _list_graphs(node):
            yield from list_nodes(inner)


def _list_graphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        yield from (attribute.g, *attribute.graphs)


def _read_tensor(tensor: onnx.TensorProto, what: str, path: str, folder: str) -> np.ndarray:
    try:
        array: np.ndarray = numpy_helper.to_array(tensor, folder)
        return array
    except (onnx.checker.ValidationError, ValueError, TypeError, OSError, RuntimeError) as error:
        fail("BLOCKSCALE_FILE", f"{path}: expected the elements of {what} "
                                f"{tensor.name!r}, but {_get_reason(error)}")


def read_initializers(graph: onnx.GraphProto, path: str, folder: str) -> dict[str, np.ndarray]:
    """Tensors that are known, of a graph or of a branch."""
    return {tensor.name: _read_tensor(tensor, "initializer", path, folder)
            for tensor in graph.initializer}


def read(source: Source, handled: Collection[str]) -> Model:
    """A model whose functions are inlined; ops in `handled` stay as they are."""
    model, path, folder = _parse(source)
    written = _check(model, path, folder)
    _load_attributes(model, path, folder)
    model, opset = _modernize(model, path, folder, written)
    quantizers = _find_quantizers(model)
    model = _inline(model, handled, path, quantizers)
    nodes = [make_node(node, number) for number, node in enumerate(model.graph.node, 1)]
    return Model(model.graph, opset, written, path, folder, nodes, quantizers)
