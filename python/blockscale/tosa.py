# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of TOSA in flatbuffers.

    module = blockscale.tosa.read("model.tosa")
    print(module)                                  # MLIR with ops of TOSA
    compiled = blockscale.compile(module.source, target="sm_100a")

The flatbuffer is read by `tosa-opt` of the PyPI package tosa-tools, a program of its own.
docs/Tosa.md of the project says more.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable

from blockscale import _native
from blockscale._errors import ArgumentError, CompileError, Diagnostic, Error, FileError, convert

__all__ = ["TosaModule", "read"]

_VARIABLE = "BLOCKSCALE_TOSA_OPT"
#: Seconds that tosa-opt may take; it takes less than one for each 100 MB.
_LIMIT = 600
#: Digits of a constant that is printed; one of more becomes a resource.
_SHOWN_DIGITS = 2048
# MLIR packs the elements of i1 in text, and not in resources.
_CONSTANT = re.compile(r'dense<"0x([0-9A-F]+)"> : (tensor<(?:[0-9]+x)*(?!i1>)[^>]*>)')
_OP = re.compile(r'^ *(?:%[\w:, %]+ = )?"?(tosa\.\w+)', re.M)
_TYPE = re.compile(r"!(tosa\.\w+)(<[^<>]*>)?")


@dataclasses.dataclass(frozen=True)
class TosaModule:
    """MLIR text of a program of TOSA, one public function. `print` shows it."""

    source: bytes
    name: str

    def __str__(self) -> str:
        return self.source.decode()


def _find_tosa_opt(given: str | None) -> str:
    """The program: `given`, $BLOCKSCALE_TOSA_OPT, beside this Python, or of PATH."""
    named = given or os.environ.get(_VARIABLE)
    if named:
        found = shutil.which(named)
        if found:
            return found
        raise ArgumentError(f"expected {'tosa_opt' if given else '$' + _VARIABLE} to name the "
                            f"program tosa-opt, but got {named!r}")
    folder = os.path.dirname(sys.executable)
    found = shutil.which("tosa-opt", path=folder) or shutil.which("tosa-opt")
    if found:
        return found
    raise ArgumentError(
        f"expected the program tosa-opt, which reads .tosa files, in {folder} or of $PATH, but "
        "found none: `pip install tosa-tools` installs it. It may be in an environment of its "
        f"own, whose bin/tosa-opt ${_VARIABLE} names.")


def _deserialize(path: str, program: str) -> str:
    """The program of a flatbuffer as MLIR text of the version that tosa-opt has."""
    try:
        with open(path, "rb") as file:
            size = len(file.read(8))
    except OSError as error:
        raise FileError(f"cannot read '{path}': {error.strerror}") from None
    if size < 8:
        raise FileError(f"{path}: expected a TOSA flatbuffer, but got a file of {size} bytes")
    # A name that the parser of options takes as it is.
    name = re.sub(r"[^\w.-]", "_", os.path.basename(path), flags=re.ASCII)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(path), os.path.join(folder, name))
        try:
            done = subprocess.run(
                [program, f"--tosa-deserialize=tosa-flatbuffer-filename={name}",
                 "--mlir-print-debuginfo"],
                input=b"module {}", cwd=folder, capture_output=True, timeout=_LIMIT)
        except subprocess.TimeoutExpired:
            raise FileError(f"{path}: expected tosa-opt to read it within {_LIMIT} s, but it "
                            "did not") from None
        except OSError as error:
            raise ArgumentError(f"'{program}' cannot be run: {error.strerror}") from None
    # What it says of a damaged file is on both streams, and may quote its bytes.
    output, errors = (each.decode(errors="replace") for each in (done.stdout, done.stderr))
    said = [line.removeprefix("ERROR: ").strip() for line in f"{output}\n{errors}".splitlines()
            if line.startswith(("ERROR", "Fail", "Error"))]
    if done.returncode or "func.func" not in output:
        reason = "; ".join(said) or errors.strip() or f"exit status {done.returncode}"
        raise FileError(f"{path}: expected a TOSA flatbuffer that tosa-opt reads, but it says: "
                        f"{reason}")
    if output.encode() != done.stdout:
        raise FileError(f"{path}: expected tosa-opt to print UTF-8, but got other bytes")
    return output


def _use_resources(text: str) -> str:
    """`text` with its large constants as resources at the end, which no dump prints."""
    blobs: list[str] = []

    def take(match: re.Match[str]) -> str:
        digits, type = match.groups()
        if len(digits) <= _SHOWN_DIGITS:
            return match[0]
        blobs.append(f'      tosa_constant_{len(blobs)}: "0x40000000{digits}"')
        return f"dense_resource<tosa_constant_{len(blobs) - 1}> : {type}"

    text = _CONSTANT.sub(take, text)
    if not blobs:
        return text
    return "\n".join([text.rstrip("\n"), "", "{-#", "  dialect_resources: {", "    builtin: {",
                      ",\n".join(blobs), "    }", "  }", "#-}", ""])


def _find_errors(text: str, name: str) -> tuple[Diagnostic, ...]:
    status, message, found, _ = _native.compile(text.encode(), name, [], 0, None, True, None,
                                                False, False, None)
    if status == 0:
        return ()
    errors = tuple(each for each in map(convert, found) if each.severity == "error")
    return errors or (Diagnostic("error", message, name),)


def _is_known_op(name: str) -> bool:
    """Whether this package's MLIR has an op, whatever its operands should be."""
    probe = f'func.func @probe() {{ "{name}"() : () -> () return }}'
    return not any("unregistered operation" in each.message or "is unknown" in each.message
                   for each in _find_errors(probe, "probe"))


def _is_known_type(text: str) -> bool:
    probe = f"func.func private @probe(tensor<4x{text}>)"
    return "shape<" in text or not _find_errors(probe, "probe")


def _count(names: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _explain(text: str, path: str, errors: tuple[Diagnostic, ...]) -> Error:
    """What MLIR does not know of `text`, all of it, or else its first error."""
    ops = _count(_OP.findall(text))
    types = _count(match[0] for match in _TYPE.finditer(text))
    unknown = {**{name: count for name, count in types.items() if not _is_known_type(name)},
               **{name: count for name, count in ops.items() if not _is_known_op(name)}}
    if not unknown:
        error = CompileError("\n".join(f"{path}: {each}" for each in errors))
        error.diagnostics = errors
        return error
    listed = ", ".join(f"{name} ({count} times)" if count > 1 else name
                       for name, count in sorted(unknown.items()))
    message = (f"{path}: expected ops and types of TOSA that this MLIR has, but got {listed}; "
               "they are of a later version")
    error = CompileError(message)
    error.diagnostics = (Diagnostic("error", message, path),)
    return error


def read(path: str | os.PathLike[str], *, name: str | None = None,
         tosa_opt: str | None = None) -> TosaModule:
    """The program of a TOSA flatbuffer, as MLIR text with ops of TOSA.

    path: the file, as `model.tosa`.
    name: the name of its function; without it the function is `main`, as in the file.
    tosa_opt: the program tosa-opt of tosa-tools. Without it, $BLOCKSCALE_TOSA_OPT, the folder
      of this Python and $PATH are searched.

    Constants of more than 1 KiB are resources.

    Raises FileError where the file cannot be read or is damaged, ArgumentError where tosa-opt is
    not found, and CompileError where this MLIR does not know its ops or types; the message names
    all of them.
    """
    path = os.fspath(path)
    if name is not None and not re.fullmatch(r"[A-Za-z_][\w$.-]*", name, re.ASCII):
        raise ArgumentError(f"expected a name of letters, digits and _ $ . -, but got {name!r}")
    text = _use_resources(_deserialize(path, _find_tosa_opt(tosa_opt)))
    if name is not None:
        text = re.sub(r"@main\b", f"@{name}", text)
    errors = _find_errors(text, path)
    if errors:
        raise _explain(text, path, errors)
    return TosaModule(text.encode(), name or "main")
