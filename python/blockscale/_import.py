# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blockscale-import: a model of another format as a module of MLIR.

    blockscale-import model.onnx -o model.mlir

Weights are resources at the end of the module. Nodes that are not imported are all listed, and
then no file is written.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from blockscale._errors import ArgumentError, Error, UnsupportedError
from blockscale._files import write
from blockscale._text import escape
from blockscale._trace import to_identifier

#: Modules whose `import_file(path, name)` returns what has the text of a module as `source`, by
#: the ends of names of files. Each is imported only for such a file.
FRONTENDS = {
    ".jax": "blockscale.jax._file", ".stablehlo": "blockscale.jax._file",
    ".mlir": "blockscale._mlir_file", ".mlirbc": "blockscale._mlir_file",
    ".onnx": "blockscale.onnx._file", ".pt2": "blockscale.torch._file",
    ".tosa": "blockscale._tosa_file",
}


class Imported(Protocol):
    """What a frontend returns."""

    source: bytes


def import_file(path: str, name: str = "forward") -> Imported:
    """The module of a file, by the end of its name.

    Raises: UnsupportedError with all nodes that are not imported, FileError, CompileError,
      ImportError where a package that the format needs is not installed.
    """
    ending = os.path.splitext(path)[1]
    if ending not in FRONTENDS:
        known = sorted(FRONTENDS)
        raise ArgumentError(f"expected a file that ends in {', '.join(known[:-1])} or "
                            f"{known[-1]}, but got '{path}'")
    frontend: Any = importlib.import_module(FRONTENDS[ending])
    found: Imported = frontend.import_file(path, name)
    return found


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="blockscale-import", description="Writes a model of another format as a module.")
    parser.add_argument("model", help="a file that ends in " + ", ".join(sorted(FRONTENDS)))
    parser.add_argument("-o", dest="output", metavar="FILE", required=True,
                        help="the file for the module; - is the standard output")
    parser.add_argument("--name", default="forward", help="the name of the module's function")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> None:
    if to_identifier(options.name) != options.name:
        raise ArgumentError(f"expected --name to be an identifier, but got '{options.name}'")
    source = import_file(options.model, options.name).source
    if options.output == "-":
        sys.stdout.buffer.write(source)
    else:
        write(options.output, source)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; its exit status."""
    options = _parse(arguments)
    try:
        _run(options)
        return 0
    except UnsupportedError as error:
        lines = list(map(str, error.problems)) or [str(error)]
    except (Error, ImportError) as error:
        lines = str(error).split("\n")
    except MemoryError:
        lines = [f"expected more memory to read '{options.model}', but got none"]
    except OSError as error:
        lines = [f"cannot write '{options.output}': {error.strerror}"]
    for line in lines:
        print(f"blockscale-import: error: {escape(line)}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
