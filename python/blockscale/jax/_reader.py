# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StableHLO text and portable artifacts, as modules of jaxlib's MLIR.

Bytes that come from a file are read by a process of its own, because MLIR's reader of
bytecode may crash on damaged ones. Its answer is text.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from blockscale._errors import ArgumentError

_MAGIC = b"ML\xefR"
_FAILED = 3


def deserialize(artifact: bytes) -> Any:
    """The module of a portable artifact that this process made."""
    try:
        return stablehlo.deserialize_portable_artifact(mlir.make_ir_context(), artifact)
    except (ValueError, ir.MLIRError) as error:
        raise ArgumentError("expected a portable artifact of StableHLO, but got: "
                            f"{error}") from error


def parse(text: str) -> Any:
    """The module of MLIR text."""
    try:
        return ir.Module.parse(text, mlir.make_ir_context())
    except ir.MLIRError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ArgumentError("expected a module of StableHLO, but got: "
                            f"{' '.join(lines)}") from error


def read(source: bytes | str) -> Any:
    """The module of text, or of the bytes of a file: text, or a portable artifact."""
    if isinstance(source, bytes):
        source = _read_apart(source) if source.startswith(_MAGIC) else _decode(source)
    return parse(source)


def _decode(source: bytes) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        raise ArgumentError("expected MLIR text or a portable artifact of StableHLO, but got "
                            f"bytes that are neither: {error}") from error


def _read_apart(artifact: bytes) -> str:
    # jaxlib is found as it is here.
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    process = subprocess.run([sys.executable, "-c", f"import sys\n{_CHILD}"], input=artifact,
                             env=environment, capture_output=True, check=False)
    if process.returncode == 0:
        return process.stdout.decode()
    reason = (process.stdout.decode(errors="replace").strip() if process.returncode == _FAILED
              else f"its reader ended with status {process.returncode}")
    raise ArgumentError("expected a portable artifact of StableHLO, but got damaged bytes: "
                        f"{reason}")


_CHILD = f"""
from jax.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo
try:
    module = stablehlo.deserialize_portable_artifact(mlir.make_ir_context(),
                                                     sys.stdin.buffer.read())
    text = module.operation.get_asm(enable_debug_info=True)
except Exception as error:
    print(" ".join(str(error).split()))
    sys.exit({_FAILED})
sys.stdout.buffer.write(text.encode())
"""
