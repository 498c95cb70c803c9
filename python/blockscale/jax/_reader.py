# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StableHLO text and portable artifacts, as modules of jaxlib's MLIR.

Bytes that come from a file are read by a process of its own (_apart.py), because the readers of
JAX and of MLIR may crash on damaged ones. Its answer is text. Text is looked at before jaxlib's
parser gets it, which does not survive all text.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import Any

from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from blockscale import _native
from blockscale._errors import ArgumentError
from blockscale.jax import _apart

#: Comments and strings of MLIR text, what strings may hide, and the bytes of strings.
_STRINGS = re.compile(rb'//[^\n]*|"((?:[^"\\\n]|\\.)*)"')
_HIGH_BYTE = re.compile(rb"\\[89A-Fa-f][0-9A-Fa-f]")
_ESCAPE = re.compile(rb"\\(?:([0-9A-Fa-f]{2})|.)")


def deserialize(artifact: bytes) -> Any:
    """The module of a portable artifact that this process made."""
    try:
        return stablehlo.deserialize_portable_artifact(mlir.make_ir_context(), artifact)
    except (ValueError, ir.MLIRError) as error:
        raise ArgumentError("expected a portable artifact of StableHLO, but got: "
                            f"{error}") from error


def _check_strings(text: bytes) -> None:
    """An error where a string is not UTF-8 behind its escapes. Strings of Python are, and where
    one cannot be made, the bindings of jaxlib end the process."""
    if not _HIGH_BYTE.search(text):
        return
    for match in _STRINGS.finditer(text):
        if match[1] is None:
            continue
        try:
            _ESCAPE.sub(lambda part: bytes([int(part[1], 16)]) if part[1] else b"?",
                        match[1]).decode()
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, match.start()) + 1
            raise ArgumentError("expected the strings of a module of StableHLO to be UTF-8, but "
                                f"got one in line {line} that is not: {error}") from error


def parse(text: str) -> Any:
    """The module of MLIR text."""
    try:
        source = text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"expected MLIR text in UTF-8, but got other characters: {error}"
                            ) from error
    _check_strings(source)
    status, message, found, _ = _native.check_nesting(source, "<stablehlo>")
    if status:
        where = f"line {found[0][3]}, column {found[0][4]}: {found[0][1]}" if found else message
        raise ArgumentError(f"expected a module of StableHLO, but got: {where}")
    try:
        return ir.Module.parse(text, mlir.make_ir_context())
    except ir.MLIRError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ArgumentError("expected a module of StableHLO, but got: "
                            f"{' '.join(lines)}") from error


def read(source: bytes | str) -> Any:
    """The module of text, or of the bytes of a file: text, or a portable artifact."""
    if isinstance(source, bytes):
        is_artifact = source.startswith(_apart.MAGIC)
        source = _decode(_read_apart(source, "artifact") if is_artifact else source)
    return parse(source)


def read_export(data: bytes) -> tuple[Any, Any]:
    """What bytes are that jax.export.Exported.serialize() made, and its module. They are read
    here once more because another process can only give their text; what it survived in its
    time and memory, this one does."""
    text = _decode(_read_apart(data, "export"))
    try:
        exported = _apart.deserialize(data)
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    return exported, parse(text)


def _decode(source: bytes) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        raise ArgumentError("expected MLIR text or a portable artifact of StableHLO, but got "
                            f"bytes that are neither: {error}") from error


def _read_apart(data: bytes, kind: str) -> bytes:
    """The text of the module in the bytes of a file."""
    # jaxlib is found as it is here.
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    try:
        process = subprocess.run([sys.executable, _apart.__file__, kind], input=data,
                                 env=environment, capture_output=True, check=False)
    except OSError as error:
        raise ArgumentError("expected to start a process that reads bytes, but got: "
                            f"{error.strerror}") from error
    if process.returncode == 0:
        return process.stdout
    if process.returncode == _apart.FAILED:
        raise ArgumentError(process.stdout.decode(errors="replace"))
    reason = f"its reader ended with status {process.returncode}"
    if process.returncode == -signal.SIGXCPU:
        reason = f"they take more than {_apart.get_seconds(len(data))} s to read"
    elif b"MemoryError" in process.stderr or b"bad_alloc" in process.stderr:
        reason = f"they take more than {_apart.get_memory(len(data)) >> 20} MiB of memory to read"
    what = ("the bytes of jax.export.Exported.serialize()" if kind == "export" else
            "a portable artifact of StableHLO")
    raise ArgumentError(f"expected {what}, but got damaged ones: {reason}")
