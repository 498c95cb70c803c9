# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""If: one of two graphs.

Where the condition is known at import, from constants, sizes or inputs that the caller fixed, the
graph that is not taken is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from blockscale._linalg import Array, emit_if
from blockscale.onnx._importer import FAILED, Failed, Importer, Operand, handles
from blockscale.onnx._operands import Constant


@handles("If", of_constants=True)
def import_if(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
              ) -> tuple[Operand, ...]:
    condition = inputs[0]
    graphs = attributes["then_branch"], attributes["else_branch"]
    if isinstance(condition, Constant):
        is_true = bool(importer.known_number(condition, "the condition"))
        return tuple(importer.import_graph(graphs[0 if is_true else 1]))

    def branch(graph: Any) -> Callable[[], list[Array]]:
        def emit() -> list[Array]:
            results = importer.import_graph(graph)
            if any(each is FAILED for each in results):
                raise Failed
            return [importer.array(each, "a result") for each in results]
        return emit
    return tuple(emit_if(importer, importer.array(condition, "condition"), *map(branch, graphs)))
