# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models imported, compiled and called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import sympy

from blockscale._arrays import pack_codes
from blockscale._compile import Compiled
from blockscale._compile import compile as compile_module
from blockscale._errors import ArgumentError, Problem
from blockscale._linalg import Array, Size, check_options
from blockscale._trace import Module
from blockscale.onnx import (  # noqa: F401
    _control,
    _elementwise,
    _integers,
    _products,
    _quantize,
    _recurrent,
    _reductions,
    _resize,
    _shapes,
    _windows,
)
from blockscale.onnx._importer import FAILED, HANDLERS, RELATIONS, Importer, Refused
from blockscale.onnx._model import Source, read


class Function:
    """An imported model that was compiled: call it with its inputs.

    Attributes:
      compiled: what the module became, with its PTX, stages and remarks.
    """

    def __init__(self, imported: Imported, compiled: Compiled):
        self._imported = imported
        self.compiled = compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it with arrays in the order of the inputs, or by their names.

        Codes of float4e2m1 are arrays of ml_dtypes, or bytes of two.

        Returns: the array of the result, or a tuple of them.
        """
        arrays = self._imported._bind(args, kwargs)
        return self.compiled(*arrays, *self._imported.constants.values())


class Imported:
    """A model as a module.

    Attributes:
      module: the module. Its function takes the model's inputs, and then its large constants
        where these are arguments.
      inputs: the names of the inputs.
      outputs: the names of the results.
      constants: the constants that are arguments, by name, in storage form.
    """

    def __init__(self, module: Module, inputs: Mapping[str, Array], outputs: list[str],
                 constants: Mapping[str, np.ndarray],
                 relations: Sequence[tuple[Size, str, Size]]):
        self.module = module
        self.inputs = list(inputs)
        self.outputs = outputs
        self.constants = dict(constants)
        self._arrays = dict(inputs)
        self._relations = list(relations)

    def compile(self, **options: Any) -> Function:
        """Compiles the module; options are those of blockscale.compile()."""
        return Function(self, compile_module(self.module, **options))

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        given = dict(zip(self.inputs, args))
        if len(args) > len(self.inputs) or given.keys() & kwargs.keys() or (
                {*given, *kwargs} != set(self.inputs)):
            raise ArgumentError(f"expected inputs {', '.join(self.inputs)}, but got "
                                f"{len(args)} and {', '.join(kwargs) or 'none'} by name")
        given.update(kwargs)
        symbols: dict[Any, int] = {}
        arrays = [_arrange(name, self._arrays[name], given[name], symbols) for name in self.inputs]
        for size, relation, other in self._relations:
            _check_sizes(size, relation, other, symbols)
        return arrays


def _check_sizes(size: Size, relation: str, other: Size, symbols: Mapping[Any, int]) -> None:
    """Raises ArgumentError where sizes of a call have no relation that the model takes for
    granted."""
    found, wanted = (int(sympy.sympify(each).subs(symbols)) for each in (size, other))
    if not RELATIONS[relation](found, wanted):
        given = [number for number, each in ((found, size), (wanted, other))
                 if not isinstance(each, int)]
        raise ArgumentError(f"expected {size} to be {relation} {other}, but got "
                            f"{' and '.join(map(str, given))}")


def _arrange(name: str, expected: Array, array: Any, symbols: dict[Any, int]) -> Any:
    """An input in storage form, if it has the shape that the model says."""
    if isinstance(array, np.ndarray) and array.dtype == ml_dtypes.float4_e2m1fn:
        array = pack_codes(array.view(np.uint8))
    shape = list(getattr(array, "shape", ()))
    sizes: list[Size] = list(expected.sizes)
    if expected.dtype == "f4E2M1FN" and shape:
        shape[-1] *= 2
    is_equal = len(shape) == len(sizes)
    for size, found in zip(sizes, shape):
        wanted = size if isinstance(size, int) else symbols.setdefault(size, found)
        # Sizes that are not known at import are positive.
        is_equal = is_equal and wanted == found and (found > 0 or size == 0)
    if not is_equal:
        known = "".join(f", where {symbol} is {number}" for symbol, number in symbols.items()
                        if symbol in sizes)
        raise ArgumentError(f"{name}: expected shape {sizes}{known}, but got {shape}")
    return array


def _get_result(importer: Importer, name: str) -> Array | None:
    value = importer.values[name]
    if value is FAILED:
        return None
    try:
        return importer.array(value)
    except Refused as error:
        importer.problems.append(Problem(name, "output", str(error), (importer.model.path, 0)))
        return None


def from_model(source: Source, name: str = "forward", *, constants: str = "resources",
               fixed: Mapping[str, Any] | None = None) -> Imported:
    """A model of ONNX.

    Args:
      source: the path of a file, beside which its external data lie, its bytes, or a
        ModelProto. Opset 9 and newer.
      name: of the module's function.
      constants: what constants of more than 1 KiB become: "resources" of the module, or
        "arguments" of its function behind the inputs.
      fixed: inputs that are known, by their names, as arrays or numbers, which the function does
        not take then, and sizes of inputs, by theirs: dimension 1 of an input x that has no name
        is "x_1".

    Raises: UnsupportedError with all nodes that are not imported; FileError or ArgumentError for
      a model that cannot be read.
    """
    check_options(name, constants)
    model = read(source, {op for domain, op in HANDLERS if not domain})
    importer = Importer(model, constants)
    importer.run(fixed or {})
    with importer.tracing():
        outputs = [output.name for output in model.graph.output]
        results = [_get_result(importer, output) for output in outputs]
    importer.raise_problems()
    if not results:
        raise ArgumentError(f"{model.path}: expected a model with results, but got none")
    module = importer.finish(name, [array.value for array in importer.inputs.values()],
                             [result.value for result in results if result is not None],
                             (model.path, 1))
    arrays = {}
    for value in module.arguments[len(importer.inputs):]:
        key = value.name.removeprefix("%")
        array = importer.constant_arrays[key]
        arrays[key] = pack_codes(array) if value.dtype == "f4E2M1FN" else array
    return Imported(module, importer.inputs, outputs, arrays, importer.relations)
