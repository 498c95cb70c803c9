# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops, whose passes are written out one behind the other. One that is left in a graph is refused:
_graph.py has written out all others."""

from __future__ import annotations

from blockscale.jax._graph import Node
from blockscale.jax._importer import Importer, Known, handles


@handles("stablehlo.while")
def import_while(importer: Importer, node: Node) -> Known:
    return importer.refuse("expected a loop whose number of passes is decided by constants, as "
                           "that of scan, and of fori_loop with numbers as limits, but got one "
                           "whose condition depends on inputs")
