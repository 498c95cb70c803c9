# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of JAX as modules of the dialect, and back as functions that JAX calls.

    import blockscale.jax

    exported = jax.export.export(jax.jit(function))(x)
    imported = blockscale.jax.from_export(exported)
    print(imported.module)                           # MLIR
    y = imported.compile()(x)

Needs jax: `pip install blockscale[jax]`. docs/Jax.md of the project says which ops there are.
"""

try:
    import jax as _jax  # noqa: F401
except ImportError as error:
    raise ImportError("expected jax to be installed for blockscale.jax; pip install jax") from error

from blockscale.jax._errors import UnsupportedError
from blockscale.jax._program import Function, Imported, from_export, from_stablehlo

__all__ = ["Function", "Imported", "UnsupportedError", "from_export", "from_stablehlo"]
