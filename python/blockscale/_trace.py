# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python functions traced to modules of the dialect."""

from __future__ import annotations

import contextvars
import dataclasses
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from blockscale import _native
from blockscale._errors import ArgumentError, check
from blockscale._types import Spec

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_TRACE: contextvars.ContextVar[Trace | None] = contextvars.ContextVar("trace", default=None)
#: A file and a line, and the name of what is there where it has one.
Location = tuple[str, int] | tuple[str, int, str]
_WIDTH = 100
_INDENT = "\n        "


class Value:
    """A tensor of a function that is traced. `shape` has None for sizes that are not
    known; `dtype` is MLIR's name of it. `+`, `-` and `*` are elementwise on values of
    one shape and dtype."""

    def __init__(self, trace: Trace, name: str, spec: Spec):
        self._trace = trace
        self.name = name
        self.spec = spec

    @property
    def shape(self) -> tuple[int | None, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> str:
        return self.spec.dtype

    def __repr__(self) -> str:
        return f"Value({self.name}: {self.spec})"

    def __bool__(self) -> bool:
        raise ArgumentError("expected no use of a traced value as a truth value: its "
                            "elements are not known while a function is traced")

    def _elementwise(self, kind: str, other: Any) -> Value:
        if not isinstance(other, Value) or other.spec != self.spec:
            found = other.spec if isinstance(other, Value) else repr(other)
            raise ArgumentError(f"expected a value of type {self.spec}, but got {found}")
        if self.dtype not in ("f32", "bf16", "f16", "f64"):
            raise ArgumentError("expected values of f32, bf16, f16 or f64, but got "
                                f"{self.dtype}")
        return emit(kind, "arith." + kind, [self, other],
                    f"{self.name}, {other.name}", str(self.spec), [self.spec])[0]

    def __add__(self, other: Value) -> Value:
        return self._elementwise("addf", other)

    def __sub__(self, other: Value) -> Value:
        return self._elementwise("subf", other)

    def __mul__(self, other: Value) -> Value:
        return self._elementwise("mulf", other)


@dataclasses.dataclass
class Op:
    """A line of a module."""

    name: str
    operands: list[Value]
    results: list[Value]
    text: str
    types: str
    location: Location
    #: Of an op of the dialect: its keywords, with numbers, words and operands.
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)

    def format(self, with_location: bool) -> str:
        names = ", ".join(result.name for result in self.results)
        line = f"    {names} = {self.name} {self.text}"
        is_long = len(line) + len(self.types) > _WIDTH
        line += f"{_INDENT if is_long else ' '}: {self.types}"
        if is_long and len(self.types) + 8 > _WIDTH:
            line = line.replace(" -> ", f"{_INDENT}-> ")
        return line + (f" {format_location(self.location)}" if with_location else "")


def to_identifier(name: str) -> str:
    """`name`, as MLIR takes it: a lambda is named "lambda"."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", name.strip("<>"))
    return word if word[:1].isalpha() else f"v{word}"


def format_location(location: Location) -> str:
    file, line, *name = location
    place = f"{_quote(file)}:{line}:1"
    return f"loc({_quote(name[0])}({place}))" if name else f"loc({place})"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def find_location() -> tuple[str, int]:
    """The nearest line outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE + os.sep):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


class Trace:
    """The ops of a function while it is called."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.names: dict[str, int] = {}

    def name(self, base: str) -> str:
        base = to_identifier(base)
        name, count = base, self.names.get(base, 0)
        # A base may look like another one with its number.
        while count and (name := f"{base}_{count}") in self.names:
            count += 1
        self.names[base] = count + 1
        self.names.setdefault(name, 1)
        return f"%{name}"

    def emit(self, bases: Sequence[str], name: str, operands: list[Value], text: str,
             types: str, specs: Sequence[Spec]) -> list[Value]:
        for operand in operands:
            if operand._trace is not self:
                raise ArgumentError(f"expected values of the function that is traced, but "
                                    f"got {operand!r} of another")
        results = [Value(self, self.name(base), spec) for base, spec in zip(bases, specs)]
        self.ops.append(Op(name, operands, results, text, types, find_location()))
        return results


def emit(bases: str | Sequence[str], name: str, operands: list[Value], text: str,
         types: str, specs: Sequence[Spec]) -> list[Value]:
    """Adds an op to the function that is traced."""
    trace = _TRACE.get()
    if trace is None:
        raise ArgumentError(f"expected {name} in a function that is traced: call it in a "
                            "function under @blockscale.jit")
    return trace.emit([bases] if isinstance(bases, str) else bases, name, operands, text,
                      types, specs)


class Module:
    """A module of one function. `print` shows it as MLIR."""

    def __init__(self, name: str, arguments: list[Value], ops: list[Op],
                 results: list[Value], location: Location, is_single: bool,
                 resources: Mapping[str, np.ndarray] | None = None):
        self.name = name
        self.arguments = arguments
        self.ops = ops
        self.results = results
        self.location = location
        self.is_single = is_single
        #: Constants that ops name by dense_resource.
        self.resources = dict(resources or {})
        #: Names of arguments that nothing writes which may still run when a call begins.
        self.settled: frozenset[str] = frozenset()
        #: The most rows that matrices of a call have, where types do not say; None if any.
        self.max_rows: int | None = None

    def _format(self, with_locations: bool) -> str:
        end = f" {format_location(self.location)}" if with_locations else ""
        arguments = ", ".join(
            f"{value.name}: {value.spec}"
            f"{' {blockscale.settled}' if value.name in self.settled else ''}"
            for value in self.arguments)
        types = ", ".join(str(value.spec) for value in self.results)
        names = ", ".join(value.name for value in self.results)
        head = f"  func.func @{self.name}({arguments})"
        gap = "\n      " if len(head) + len(types) > _WIDTH else " "
        bound = ("" if self.max_rows is None else
                 f" attributes {{blockscale.max_rows = {self.max_rows} : i64}}")
        lines = ["module {", f"{head}{gap}-> ({types}){bound} {{",
                 *(op.format(with_locations) for op in self.ops),
                 f"    return {names} : {types}{end}", f"  }}{end}", f"}}{end}", ""]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self._format(False).rstrip("\n")

    @property
    def source(self) -> bytes:
        """MLIR with the places in Python, and with the resources."""
        text = self._format(True).encode()
        if not self.resources:
            return text
        # An alignment of 64 bytes comes before the elements.
        parts = [f'      {name}: "0x40000000{array.tobytes().hex().upper()}"'.encode()
                 for name, array in self.resources.items()]
        return b"".join([text, b"{-#\n  dialect_resources: {\n    builtin: {\n",
                         b",\n".join(parts), b"\n    }\n  }\n#-}\n"])

    def verify(self) -> None:
        """Raises CompileError where an op breaks a rule of the dialect."""
        # The elements of resources break no rule of an op.
        text = self._format(True).encode()
        check(_native.compile(text, self.name, [], 0, None, True, None, False, False, None))


def trace_function(function: Callable[..., Any], specs: Sequence[Spec]) -> Module:
    """A module of a function that is called on values of `specs`."""
    location = (function.__code__.co_filename, function.__code__.co_firstlineno)
    trace = Trace()
    names = list(inspect.signature(function).parameters)
    arguments = [Value(trace, trace.name(name), spec) for name, spec in zip(names, specs)]
    token = _TRACE.set(trace)
    try:
        returned = function(*arguments)
    finally:
        _TRACE.reset(token)
    is_single = isinstance(returned, Value)
    results = [returned] if is_single else list(returned or ())
    for result in results:
        if not isinstance(result, Value) or result._trace is not trace:
            raise ArgumentError(f"expected @{function.__name__} to return values of its "
                                f"trace, but got {result!r}")
    if not results:
        raise ArgumentError(f"expected @{function.__name__} to return a value")
    module = Module(to_identifier(function.__name__), arguments, trace.ops, results, location,
                    is_single)
    module.verify()
    return module
