# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that reads bytes which JAX exported, or a portable artifact of StableHLO, from its
input, and writes the module as MLIR text. It is a process of its own, within limits of time and
memory, because readers of JAX and MLIR do not survive all bytes. It imports nothing of this
package, which would take longer to load than most files to read.

  _apart.py export|artifact < bytes
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

#: How bytecode of MLIR begins, and so do portable artifacts.
MAGIC = b"ML\xefR"
#: The exit status with which the output is an error.
FAILED = 3


def get_seconds(size: int) -> int:
    """Seconds of a core in which bytes are read, as in blockscale/Driver/BytecodeAnswer.h."""
    return 10 + (size >> 20)


def get_memory(size: int) -> int:
    """Bytes of memory in which they are read, as there."""
    return (1 << 30) + 64 * size


def deserialize(data: bytes) -> Any:
    """The jax.export.Exported of bytes. Raises ValueError."""
    from jax import export
    try:
        return export.deserialize(bytearray(data))
    except ImportError as error:
        raise ValueError(f"expected flatbuffers to be installed for bytes: {error}") from error
    except MemoryError:
        raise
    # The reader of jax.export checks nothing.
    except Exception as error:
        raise ValueError("expected the bytes of jax.export.Exported.serialize(), but got damaged "
                         f"ones: {type(error).__name__}: {error}") from error


def _print(artifact: bytes) -> bytes:
    from jax.interpreters import mlir
    from jaxlib.mlir.dialects import stablehlo
    try:
        module = stablehlo.deserialize_portable_artifact(mlir.make_ir_context(), artifact)
        text: bytes = module.operation.get_asm(binary=True, enable_debug_info=True)
        return text
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError("expected a portable artifact of StableHLO, but got damaged bytes: "
                         f"{error}") from error


def _limit(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _limit_reading(size: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        data = int(file.read().split()[5]) * resource.getpagesize()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_DATA, data + get_memory(size))
    _limit(resource.RLIMIT_CPU, int(time.process_time()) + 1 + get_seconds(size))


def main() -> int:
    import jax.export
    import jax.interpreters.mlir  # noqa: F401
    data = sys.stdin.buffer.read()
    _limit_reading(len(data))
    try:
        if sys.argv[1] == "export":
            data = bytes(deserialize(data).mlir_module_serialized)
        text = _print(data) if data.startswith(MAGIC) else data
    except ValueError as error:
        text = " ".join(str(error).split()).encode(errors="replace")
        sys.stdout.buffer.write(text)
        return FAILED
    sys.stdout.buffer.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
