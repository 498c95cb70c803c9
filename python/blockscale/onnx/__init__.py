# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of ONNX as modules of the dialect, and back.

    import blockscale.onnx

    imported = blockscale.onnx.from_model("model.onnx")
    print(imported.module)                           # MLIR
    y = imported.compile()(x)

    model = blockscale.onnx.export(module)           # of a function that was traced

Needs onnx: `pip install blockscale[onnx]`. docs/Onnx.md of the project says which ops there are.
"""

try:
    import onnx as _onnx  # noqa: F401
    import sympy as _sympy  # noqa: F401
except ImportError as error:
    raise ImportError("expected onnx and sympy to be installed for blockscale.onnx; "
                      "pip install blockscale[onnx]") from error

from blockscale._errors import UnsupportedError
from blockscale.onnx._export import export
from blockscale.onnx._program import Function, Imported, from_model

__all__ = ["Function", "Imported", "UnsupportedError", "export", "from_model"]
