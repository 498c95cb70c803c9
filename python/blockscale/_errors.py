# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What calls raise, and what the compiler says of a module."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

from blockscale import _native
from blockscale._text import escape, escape_lines

Value = TypeVar("Value")
_SEVERITIES = ("error", "warning", "note", "remark")


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """What the compiler says of a place of the source: of a traced module, the
    line of Python that made the op."""

    severity: str  # "error", "warning", "note" or "remark"
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    notes: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return "\n".join([f"{place}{self.severity}: {self.message}", *map(str, self.notes)])


class Error(RuntimeError):
    """An error of this package. `status` is its name in C, as BLOCKSCALE_NO_DRIVER, or
    "" where the package itself says what is wrong."""

    status: str = ""
    #: Whether the message is meant to have several lines. Else an end of a line comes of a name.
    has_lines: bool = False

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> Error:
        """An error with several lines, which may have names of a file."""
        error = cls("\n".join(map(escape, lines)))
        error.has_lines = True
        return error

    def __str__(self) -> str:
        # A message may have names of a file, and is shown on terminals, also by a traceback.
        return escape_lines(super().__str__())


class ArgumentError(Error, ValueError):
    """What was given is not what is expected; the message says what to change."""


class FileError(Error, OSError):
    """A file cannot be read or written, is damaged, or of another version."""


class DeviceError(Error):
    """A GPU, its driver or ptxas is not there, or failed."""

    has_lines = True


class Cancelled(Error):
    """The work was ended."""


class CompileError(Error):
    """The module cannot be compiled; `diagnostics` say why."""

    has_lines = True
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclasses.dataclass(frozen=True)
class Problem:
    """A node that an importer does not import: its name, its op, why, the file and line that it
    is of, and the part of the model, where they are known. Line 0 is none."""

    node: str
    target: str
    message: str
    location: tuple[str, int] | None = None
    module: str = ""

    def __str__(self) -> str:
        place = ""
        if self.location:
            file, line = self.location
            place = f"{file}:{line}: " if line else f"{file}: "
        module = f" of module {self.module!r}" if self.module else ""
        return f"{place}{self.node} = {self.target}{module}: {self.message}"


class UnsupportedError(Error):
    """Nodes that are not imported, all that were found. `node`, `target` and `location` are
    those of the first."""

    has_lines = True
    problems: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> UnsupportedError:
        found = tuple(problems)
        error = cls("\n".join(map(str, found)))
        error.problems = found
        return error

    @property
    def node(self) -> str:
        return self.problems[0].node if self.problems else ""

    @property
    def target(self) -> str:
        return self.problems[0].target if self.problems else ""

    @property
    def location(self) -> tuple[str, int] | None:
        return self.problems[0].location if self.problems else None


_CLASSES = {
    "BLOCKSCALE_INVALID_ARGUMENT": ArgumentError,
    "BLOCKSCALE_INVALID_DATA": ArgumentError,
    "BLOCKSCALE_MISALIGNED": ArgumentError,
    "BLOCKSCALE_NOT_FOUND": ArgumentError,
    "BLOCKSCALE_FILE": FileError,
    "BLOCKSCALE_INVALID_BUNDLE": FileError,
    "BLOCKSCALE_INVALID_CHECKPOINT": FileError,
    "BLOCKSCALE_COMPILE_ERROR": CompileError,
    "BLOCKSCALE_CANCELLED": Cancelled,
}


def convert(found: tuple[Any, ...]) -> Diagnostic:
    severity, message, file, line, column, notes = found
    return Diagnostic(_SEVERITIES[severity], message, file, line, column,
                      tuple(map(convert, notes)))


def fail(status: str, message: str, diagnostics: tuple[Diagnostic, ...] = ()) -> NoReturn:
    error = _CLASSES.get(status, DeviceError)(message)
    error.status = status
    if isinstance(error, CompileError):
        error.diagnostics = diagnostics
        errors = [str(each) for each in diagnostics if each.severity == "error"]
        error.args = ("\n".join(errors) or message,)
    raise error


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, or the error that it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        fail("BLOCKSCALE_FILE", f"cannot read '{os.fspath(path)}': {error.strerror}")
    except ValueError as error:
        # A NUL in a name, or half a surrogate pair.
        fail("BLOCKSCALE_FILE", f"cannot read '{os.fspath(path)}': {error}")


def check(outcome: tuple[int, str, list[tuple[Any, ...]], Value]
          ) -> tuple[Value, tuple[Diagnostic, ...]]:
    """The value of what the library returned and the diagnostics, or the error."""
    status, message, found, value = outcome
    diagnostics = tuple(map(convert, found))
    if status != 0:
        fail(_native.status_name(status), message, diagnostics)
    return value, diagnostics
