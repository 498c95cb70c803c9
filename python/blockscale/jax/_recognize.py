# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX's MXFP8 quantizer, where a graph has it written out.

Nothing here knows its ops: jax.nn.scaled_dot_general is exported for the operand's shape
and dtype, and what it multiplies has to be computed in the graph by the same ops, with
the same attributes and types.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import export

from blockscale.jax import _graph, _reader
from blockscale.jax._graph import Graph, Node, Ref

#: The custom call of jax.nn.scaled_matmul.
BLOCK_SCALED_DOT = "__op$block_scaled_dot"
#: Dtypes of which JAX's bytes are those of recipe rceil, but for blocks with infinity or
#: NaN. In f16 JAX rounds scales in between.
_DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}


@dataclasses.dataclass(eq=False)
class Quantizer:
    """Nodes that quantize `x` [B, M, K]: the values that they make, and themselves."""

    x: Ref
    data: Ref
    scale: Ref
    nodes: set[Node]


@functools.cache
def _export(shape: tuple[int, int, int], element: str) -> tuple[Graph, Ref, Ref, Ref]:
    """A graph, and x, data and scales of JAX's quantizer in it."""
    batch, _, k = shape
    dtype = _DTYPES[element]
    configs = [jax.nn.get_scaled_dot_general_config("mxfp8")] * 3

    def product(x: Any, y: Any) -> Any:
        return jax.nn.scaled_dot_general(x, y, (((2,), (2,)), ((0,), (0,))), configs=configs)
    exported = export.export(
        jax.jit(product), platforms=("cuda",),
        disabled_checks=[export.DisabledSafetyCheck.custom_call(BLOCK_SCALED_DOT)])(
            jax.ShapeDtypeStruct(shape, dtype), jax.ShapeDtypeStruct((batch, 1, k), dtype))
    graph = _graph.flatten(_reader.deserialize(exported.mlir_module_serialized))
    node, = [node for node in graph.nodes if is_block_scaled_dot(node)]
    return graph, graph.arguments[0], node.operands[0], node.operands[2]


def is_block_scaled_dot(node: Node) -> bool:
    return node.title == f"stablehlo.custom_call @{BLOCK_SCALED_DOT}"


def _describe(node: Node) -> tuple[Any, ...]:
    """An op but for its operands and its place."""
    attributes = sorted((name, str(node.op.attributes[name])) for name in node.op.attributes)
    regions = [str(each.operation.name) for region in node.op.regions
               for block in region.blocks for each in block.operations]
    return node.name, attributes, regions, [str(ref.type) for ref in node.results]


class _Match:
    """Whether values of a graph are computed from `x` as those of a reference are."""

    def __init__(self, reference: Ref, x: Ref):
        self.found = {reference: x}
        self.nodes: set[Node] = set()

    def matches(self, wanted: Ref, ref: Ref) -> bool:
        if wanted in self.found:
            return self.found[wanted] is ref
        if wanted.node is None or ref.node is None or wanted.number != ref.number:
            return False
        if _describe(wanted.node) != _describe(ref.node):
            return False
        self.found[wanted] = ref
        if wanted.node.operands:  # Constants serve others, too.
            self.nodes.add(ref.node)
        return all(map(self.matches, wanted.node.operands, ref.node.operands))


def _find_inputs(ref: Ref) -> list[Ref]:
    """The values that `ref` is computed from, the nearest first."""
    found, seen = [ref], {ref}
    for each in found:
        for operand in (each.node.operands if each.node else []):
            if operand not in seen:
                seen.add(operand)
                found.append(operand)
    return found


def _is_read_by_products(ref: Ref, graph: Graph) -> bool:
    """Whether nothing else reads a value."""
    return ref not in graph.results and all(map(is_block_scaled_dot, ref.users))


def find_quantizer(data: Ref, scale: Ref, graph: Graph) -> Quantizer | None:
    """JAX's quantizer that made these operands of a product, if it did, and if nothing but
    products reads what it made: its bytes are another's in blocks with NaN and infinity, of
    which a product makes NaN in either case."""
    if data.element != "f8E4M3FN" or scale.element != "f8E8M0FNU" or len(data.shape) != 3:
        return None
    shape = data.shape
    for x in _find_inputs(data):
        if x.shape != shape or x.element not in _DTYPES:
            continue
        _, wanted, wanted_data, wanted_scale = _export(tuple(shape), x.element)
        match = _Match(wanted, x)
        if match.matches(wanted_data, data) and match.matches(wanted_scale, scale):
            if _is_read_by_products(data, graph) and _is_read_by_products(scale, graph):
                return Quantizer(x, data, scale, match.nodes)
            return None
    return None


def find_quantizers(graph: Graph) -> list[Quantizer]:
    """All quantizers of the products of a graph."""
    found: dict[tuple[Ref, Ref], Quantizer | None] = {}
    for node in filter(is_block_scaled_dot, graph.nodes):
        if len(node.operands) == 4:
            a, b, scale_a, scale_b = node.operands
            for key in ((a, scale_a), (b, scale_b)):
                if key not in found:
                    found[key] = find_quantizer(*key, graph)
    return [each for each in found.values() if each is not None]
