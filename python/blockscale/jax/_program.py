# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported functions of JAX, imported, compiled and called."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Union

import jax
import ml_dtypes
import numpy as np
from jax import export, tree_util

from blockscale._arrays import pack_codes
from blockscale._compile import Compiled
from blockscale._compile import compile as compile_module
from blockscale._errors import ArgumentError, read_file
from blockscale._linalg import check_options
from blockscale._trace import Module
from blockscale.jax import (  # noqa: F401 (handlers)
    _elementwise,
    _ffi,
    _graph,
    _loops,
    _orders,
    _reader,
    _reductions,
    _scaled,
    _scatter,
    _shapes,
    _windows,
)
from blockscale.jax._errors import UNKNOWN
from blockscale.jax._importer import DTYPES, Importer, Input, check_known
from blockscale.jax._recognize import find_quantizers

Source = Union[bytes, str, "os.PathLike[str]"]


def to_storage(array: np.ndarray, element: str) -> np.ndarray:
    """An array as the module's function takes it, row-major."""
    array = np.ascontiguousarray(array).reshape(array.shape)
    if element == "f4E2M1FN":
        packed: np.ndarray = pack_codes(array.view(np.uint8))
        return packed
    if element == "i1":
        return array.view(np.int8)
    if element.startswith("ui"):
        return array.view(np.dtype(f"i{array.dtype.itemsize}"))
    return array


def from_storage(array: np.ndarray, element: str) -> np.ndarray:
    """A result of the module's function with JAX's dtype."""
    kind = np.dtype(DTYPES[element][1])
    if element == "f4E2M1FN":
        codes = np.stack([array & 15, array >> 4], axis=-1)
        return codes.reshape(*array.shape[:-1], -1).view(ml_dtypes.float4_e2m1fn)
    return array.view(kind)


class Function:
    """An imported function that was compiled: call it as the function of JAX is called. In
    jax.jit, a call is one through XLA's FFI, for the CPU.

    Attributes:
      compiled: what the module became, with its PTX, stages and remarks.
    """

    def __init__(self, imported: Imported, compiled: Compiled):
        self._imported = imported
        self.compiled = compiled
        self._lock = threading.Lock()
        self._call: Callable[..., list[Any]] | None = None

    def _get_call(self) -> Callable[..., list[Any]]:
        """The call in programs of XLA."""
        imported = self._imported
        if self.compiled.target != "cpu":
            raise ArgumentError("expected a function for the CPU in jax.jit, but got one for "
                                f"{self.compiled.target}")
        with self._lock:
            if self._call is None:
                results = [(value.shape, element, DTYPES[element][1])
                           for value, element in zip(imported.module.results, imported.elements)]
                self._call = _ffi.make_call(
                    _ffi.add(*self.compiled.prepare(imported.constants.values())),
                    [each.element for each in imported.inputs], results)
            return self._call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        imported = self._imported
        leaves = [imported.check(number, leaf)
                  for number, leaf in enumerate(imported.flatten(args, kwargs))]
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return imported.unflatten(self._get_call()(
                *[leaves[each.number] for each in imported.inputs]))
        arrays = [to_storage(np.asarray(leaves[each.number]), each.element)
                  for each in imported.inputs]
        # JAX has no errors that depend on numbers.
        results = self.compiled(*arrays, *imported.constants.values(), accept_nan_scales=True)
        results = results if isinstance(results, tuple) else (results,)
        made = [jax.numpy.asarray(from_storage(result, element))
                for result, element in zip(results, imported.elements)]
        return imported.unflatten(made)


class Imported:
    """An exported function as a module.

    Attributes:
      module: the module. Its function takes the arguments of the function of JAX that this
        one reads, in their order, then what `constants` has.
      constants: arrays of large constants, by the names of the function's arguments, where
        they are arguments.
      inputs: what the arguments are.
    """

    def __init__(self, importer: Importer, module: Module, elements: list[str],
                 in_avals: Sequence[Any], flatten: Callable[[Any, Any], list[Any]],
                 unflatten: Callable[[list[Any]], Any]):
        self.module = module
        self.inputs: list[Input] = importer.inputs
        self.constants: dict[str, np.ndarray] = (
            importer.constant_arrays if importer.constants == "arguments" else {})
        self.elements = elements
        self.in_avals = in_avals
        self.flatten = flatten
        self.unflatten = unflatten

    def check(self, number: int, leaf: Any) -> Any:
        """An argument of a call; raises ArgumentError where it is not as exported."""
        aval = self.in_avals[number]
        found = leaf if hasattr(leaf, "dtype") else np.asarray(leaf, aval.dtype)
        if found.dtype != aval.dtype or tuple(found.shape) != tuple(aval.shape):
            raise ArgumentError(f"argument {number}: expected {aval.dtype} {list(aval.shape)}, "
                                f"but got {found.dtype} {list(found.shape)}")
        return found

    def compile(self, **options: Any) -> Function:
        """Compiles the module; options are those of blockscale.compile(). Arrays of JAX on a
        GPU are not taken: on is "cpu" or "emulator"."""
        if options.get("on") == "cuda":
            raise ArgumentError("expected on to be cpu or emulator, but got 'cuda': give "
                                "blockscale.compile the module for arrays of a GPU")
        return Function(self, compile_module(self.module, **options))


def _import(module: Any, kept: Sequence[int] | None, name: str,
            constants: str) -> tuple[Importer, Module, list[str]]:
    """A module's @main; `kept` says which input each of its arguments is."""
    graph = _graph.flatten(module)
    check_known(graph)
    importer = Importer(constants)
    main = next(op for op in module.body.operations if op.operation.name == "func.func"
                and op.operation.attributes["sym_name"].value == "main")
    block = main.regions[0].blocks[0]
    inputs = range(len(graph.arguments)) if kept is None else kept
    if len(inputs) != len(graph.arguments):
        raise ArgumentError(f"expected the export to keep {len(graph.arguments)} inputs, as its "
                            f"module takes, but got {len(inputs)}")
    for ref, number, argument in zip(graph.arguments, inputs, block.arguments):
        location = argument.location
        importer.add_input(ref, number, getattr(location, "name_str", "") or f"input{number}")
    quantizers = find_quantizers(graph)
    with importer.tracing():
        importer.import_all(graph, quantizers)
        results = [importer.take_result(ref) for ref in graph.results]
    if not results:
        raise ArgumentError("expected a function with a result, but got none")
    location = next((node.location for node in graph.nodes if node.location[1]), UNKNOWN)
    made = importer.finish(name, [each.value for each in importer.inputs], results, location)
    return importer, made, [ref.element for ref in graph.results]


def from_export(exported: Any, name: str = "forward", *,
                constants: str = "arguments") -> Imported:
    """A function that jax.export exported.

    Args:
      exported: a jax.export.Exported for one platform and one device, the bytes that its
        serialize() made, or the pathlib.Path of a file of them. Arrays that the function
        closes over are constants of the module.
      name: of the module's function.
      constants: what constants of more than 1 KiB become: "arguments" of the module's
        function, or "resources" of the module.

    Raises: UnsupportedError with all ops that are not imported; ArgumentError for damaged
      bytes; FileError.
    """
    check_options(name, constants)
    module: Any = None
    if isinstance(exported, os.PathLike):
        exported = read_file(exported)
    if isinstance(exported, (bytes, bytearray)):
        exported, module = _reader.read_export(bytes(exported))
    if not isinstance(exported, export.Exported):
        raise ArgumentError("expected a jax.export.Exported, its bytes or a pathlib.Path, but "
                            f"got {type(exported).__name__}")
    _check_export(exported)
    if module is None:
        module = _reader.deserialize(bytes(exported.mlir_module_serialized))
    importer, made, elements = _import(module, exported.module_kept_var_idx, name,
                                      constants)

    def flatten(args: Any, kwargs: Any) -> list[Any]:
        leaves, tree = tree_util.tree_flatten((args, kwargs))
        if tree != exported.in_tree:
            raise ArgumentError(f"expected arguments of the structure {exported.in_tree}, but got "
                                f"{tree}")
        return list(leaves)
    return Imported(importer, made, elements, exported.in_avals, flatten,
                    lambda results: tree_util.tree_unflatten(exported.out_tree, results))


def _check_export(exported: Any) -> None:
    if len(exported.platforms) != 1 or exported.nr_devices != 1:
        raise ArgumentError("expected an export for one platform and one device, but got "
                            f"{', '.join(exported.platforms)} and {exported.nr_devices} devices")
    if exported.ordered_effects or exported.unordered_effects:
        raise ArgumentError("expected a function without effects, but got "
                            f"{(*exported.ordered_effects, *exported.unordered_effects)}")
    if any(not isinstance(size, int) for aval in exported.in_avals for size in aval.shape):
        shapes = ", ".join(str(aval) for aval in exported.in_avals)
        raise ArgumentError("expected inputs of sizes that are known, but got "
                            f"{shapes}; export the function for shapes of numbers")


def from_stablehlo(source: Source, name: str = "forward", *,
                constants: str = "arguments") -> Imported:
    """The function @main of a module of StableHLO, as other frontends than JAX make it.

    Args:
      source: MLIR text, a portable artifact, or the pathlib.Path of a file of either.
      name: of the module's function.
      constants: what constants of more than 1 KiB become: "arguments" of the module's
        function, or "resources" of the module.

    Raises: UnsupportedError with all ops that are not imported; ArgumentError for damaged
      bytes; FileError.
    """
    check_options(name, constants)
    if isinstance(source, os.PathLike):
        source = read_file(source)
    if not isinstance(source, (bytes, str)):
        raise ArgumentError("expected MLIR text, a portable artifact or a pathlib.Path, but got "
                            f"{type(source).__name__}")
    module = _reader.read(source)
    importer, made, elements = _import(module, None, name, constants)
    in_avals = [jax.ShapeDtypeStruct(each.sizes, DTYPES[each.element][1])
                for each in importer.inputs]

    def flatten(args: Any, kwargs: Any) -> list[Any]:
        if kwargs or len(args) != len(in_avals):
            raise ArgumentError(f"expected {len(in_avals)} arguments, but got "
                                f"{len(args) + len(kwargs)}")
        return list(args)
    return Imported(importer, made, elements, in_avals, flatten,
                    lambda results: results[0] if len(results) == 1 else tuple(results))
