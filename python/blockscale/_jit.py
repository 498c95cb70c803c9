# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of arrays that are traced and compiled when they are called."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from blockscale._arrays import get_spec
from blockscale._compile import compile as compile_module
from blockscale._errors import ArgumentError
from blockscale._trace import Module, trace_function
from blockscale._types import Spec

Function = TypeVar("Function", bound=Callable[..., Any])


def _get_parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        # Annotations are text under `from __future__ import annotations`.
        return inspect.signature(function, eval_str=True).parameters
    except (NameError, AttributeError, SyntaxError, TypeError):
        return inspect.signature(function).parameters


class Traced(Generic[Function]):
    """A function under @jit: `trace` makes a module for shapes and dtypes; a call
    traces and compiles for those of its arrays, once, and runs on this CPU."""

    __name__: str

    def __init__(self, function: Function):
        self.function = function
        self.parameters = _get_parameters(function)
        self._compiled: dict[tuple[Spec, ...], Any] = {}
        self._lock = threading.Lock()
        functools.update_wrapper(self, function)

    def trace(self, *specs: Any) -> Module:
        """A module for arrays of `specs`, each a Spec or an array that has it; those that
        are left out are the parameters' annotations."""
        known = [spec if isinstance(spec, Spec) else get_spec(spec) for spec in specs]
        for name, parameter in list(self.parameters.items())[len(known):]:
            annotation = parameter.annotation
            if not isinstance(annotation, Spec):
                raise ArgumentError(f"expected a Spec for {name} of @{self.__name__}, as an "
                                    "argument of trace() or its annotation")
            known.append(annotation)
        if len(known) != len(self.parameters):
            raise ArgumentError(f"expected {len(self.parameters)} specs for "
                                f"@{self.__name__}, but got {len(known)}")
        return trace_function(self.function, known)

    def __call__(self, *arrays: Any) -> Any:
        """Calls the function on arrays of NumPy or DLPack in this CPU's memory."""
        if len(arrays) != len(self.parameters):
            raise ArgumentError(f"@{self.__name__}: expected {len(self.parameters)} arrays, "
                                f"but got {len(arrays)}")
        key = tuple(parameter.annotation if isinstance(parameter.annotation, Spec)
                    else get_spec(array)
                    for parameter, array in zip(self.parameters.values(), arrays))
        with self._lock:
            compiled = self._compiled.get(key)
        if compiled is None:
            compiled = compile_module(self.trace(*key))
            with self._lock:
                compiled = self._compiled.setdefault(key, compiled)
        return compiled(*arrays)


def jit(function: Function) -> Traced[Function]:
    """Makes a function on arrays of one of Python on traced values:

        @jit
        def amax(x: Spec((None, 64), "bf16")):
            return blockscale.amax(x)
    """
    return Traced(function)
