# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled products: the custom calls of XLA and the composite of jax.lax.scaled_dot."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import ml_dtypes
from jaxlib.mlir import ir

from blockscale import _ops
from blockscale._linalg import (
    Array,
    emit_convert,
    emit_reshape,
    emit_transpose,
    format_sizes,
    multiply,
)
from blockscale.jax._graph import Node, Ref
from blockscale.jax._importer import Codes, Importer, Known, Literal, get_sizes, handles
from blockscale.jax._recognize import BLOCK_SCALED_DOT

#: Element types of data by the type and the block of scales.
_FORMATS: dict[tuple[str, float], tuple[str, ...]] = {
    ("f8E4M3FN", 16): ("f4E2M1FN",),
    ("f8E8M0FNU", 32): ("f8E4M3FN", "f8E5M2", "f4E2M1FN"),
}


@dataclasses.dataclass(frozen=True)
class _Side:
    """An operand [B, M, K] of a product and its scales [B, M, K/B], or None."""

    data: Array
    scale: Array | None


def _why_not(data: Sequence[str], scales: Sequence[str], blocks: Sequence[int | float]) -> str:
    """Why a product is none of the dialect, or ''."""
    if len(set(scales)) > 1 or len(set(blocks)) > 1:
        return (f"expected both operands to have scales of one type and block, but got "
                f"{' and '.join(scales)}, {' and '.join(f'{each:g}' for each in blocks)}")
    known = _FORMATS.get((scales[0], blocks[0]))
    if known is None:
        return ("expected scales of f8E4M3FN for blocks of 16, or of f8E8M0FNU for blocks of 32, "
                f"but got {scales[0]} for blocks of {blocks[0]:g}")
    if data[0] not in known or len(set(data)) > 1:
        return (f"expected both operands to be {' or '.join(known)} for scales of {scales[0]}, "
                f"but got {' and '.join(data)}")
    return ""


def _emit(importer: Importer, a: _Side, b: _Side, dtype: str) -> Array:
    scales = (None if each.scale is None else each.scale.value for each in (a, b))
    y = _ops.scaled_mm(a.data.value, b.data.value, *scales, dtype=dtype)
    return Array(y, (*a.data.sizes[:-1], b.data.sizes[-2]))


# Custom calls.


@handles(f"stablehlo.custom_call @{BLOCK_SCALED_DOT}")
def import_block_scaled_dot(importer: Importer, node: Node) -> Array:
    if len(node.operands) != 4:
        importer.refuse("expected two operands with scales, but got "
                        f"{len(node.operands)} operands")
    a, b, scale_a, scale_b = node.operands
    result = importer.result
    sizes = [get_sizes(ref) for ref in node.operands]
    rank = len(sizes[0])
    for data, scale in (sizes[::2], sizes[1::2]):
        if len(data) != rank or rank not in (2, 3) or data[:-1] != scale[:-1]:
            importer.refuse("expected operands [M, K] or [B, M, K] with scales that differ from "
                            f"them in K alone, but got {format_sizes(data)} and "
                            f"{format_sizes(scale)}")
    if sizes[0][-1] != sizes[1][-1] or sizes[0][:-2] != sizes[1][:-2] or (
            list(get_sizes(result)) != [*sizes[0][:-1], sizes[1][-2]]):
        importer.refuse(f"expected a result [.., M, N] of [.., M, K] and [.., N, K], but got "
                        f"{result.type} of {a.type} and {b.type}")
    blocks = [data[-1] / max(scale[-1], 1) for data, scale in (sizes[::2], sizes[1::2])]
    reason = _why_not((a.element, b.element), (scale_a.element, scale_b.element), blocks)
    if reason:
        importer.refuse(reason)
    if result.element not in ("f32", "bf16", "f16"):
        importer.refuse(f"expected a result of f32, bf16 or f16, but got {result.element}")
    left, right = (_Side(_take(importer, data), importer.array(scale))
                   for data, scale in ((a, scale_a), (b, scale_b)))
    return _emit(importer, left, right, result.element)


def _take(importer: Importer, ref: Ref) -> Array:
    """Data of an operand, as codes."""
    known = importer.get(ref)
    if isinstance(known, Literal) and ref.element == "f4E2M1FN":
        known = Codes(known.sizes, numbers=importer.make(known), is_exact=True)
    return importer.pack(known) if isinstance(known, Codes) else importer.make(known)


@handles("stablehlo.custom_call @__op$quantize")
def import_quantize(importer: Importer, node: Node) -> Known:
    return importer.refuse(
        "expected a quantizer whose bytes are those of a recipe: XLA divides the amax of a block "
        "by the largest power of two of the data, rounds the quotient to nearest, and does not "
        "saturate; call blockscale.quantize, or jax.nn.scaled_dot_general, instead")


@handles("stablehlo.custom_call @__op$dequantize")
def import_dequantize(importer: Importer, node: Node) -> Array:
    if len(node.operands) != 2:
        importer.refuse(f"expected data and scales, but got {len(node.operands)} operands")
    data, scale = node.operands
    sizes, scale_sizes, result = get_sizes(data), get_sizes(scale), importer.result
    block = sizes[-1] / max(scale_sizes[-1], 1) if sizes and scale_sizes else 0
    reason = _why_not((data.element,), (scale.element,), (block,))
    if reason or len(sizes) < 2 or sizes[:-1] != scale_sizes[:-1]:
        importer.refuse(reason or "expected data [.., M, K] with scales [.., M, K/B], but got "
                        f"{data.type} and {scale.type}")
    # XLA multiplies in the type of the result; the product is exact in f32 and bf16.
    if result.element not in ("f32", "bf16") or get_sizes(result) != sizes:
        importer.refuse(f"expected a result of f32 or bf16 of the data's shape, but got "
                        f"{result.type}")
    x = _ops.dequantize(_take(importer, data).value, importer.array(scale).value,
                        dtype=result.element)
    return Array(x, sizes)


# jax.lax.scaled_dot.


def _read_dimensions(attribute: Any) -> list[list[list[int]]]:
    """[[contracting of a, of b], [batch of a, of b]]."""
    return [[[ir.IntegerAttr(number).value for number in ir.ArrayAttr(dims)]
             for dims in ir.ArrayAttr(pair)] for pair in ir.ArrayAttr(attribute)]


def _is_one(known: Known) -> bool:
    return isinstance(known, Literal) and known.number == ml_dtypes.float8_e8m0fnu(1)


@handles("stablehlo.composite xla.scaled_dot")
def import_scaled_dot(importer: Importer, node: Node) -> Any:
    """The product of the dialect where it is one, else what the composite is made of."""
    made = _import_scaled_dot(importer, node)
    return import_composite(importer, node) if made is None else made


def _import_scaled_dot(importer: Importer, node: Node) -> Array | None:
    attributes = ir.DictAttr(node.attribute("composite_attributes"))
    if len(node.operands) != 4 or "dimension_numbers" not in attributes:
        importer.refuse("expected two operands with scales and dimension_numbers, but got "
                        f"{len(node.operands)} operands")
    result = importer.result
    (summed, batch) = _read_dimensions(attributes["dimension_numbers"])
    if any(len(dims) != 1 for dims in summed) or result.element not in ("f32", "bf16", "f16"):
        return None
    plan = []
    for number in (0, 1):
        data, scale = node.operands[number], node.operands[number + 2]
        k = summed[number][0]
        # jax.lax.scaled_dot gives an operand without scales one of 1.
        is_plain = _is_one(importer.get(scale)) and data.element in ("bf16", "f16", "f32")
        block = data.shape[k] / max(scale.shape[k], 1)
        plan.append((data, None if is_plain else scale, block, k, batch[number]))
    scaled = [(data, scale, block) for data, scale, block, *_ in plan if scale is not None]
    if not scaled:
        return None
    reason = _why_not([data.element for data, _, _ in scaled],
                      [scale.element for _, scale, _ in scaled], [block for *_, block in scaled])
    if reason or any(size == 0 for size in get_sizes(result)):
        return None
    a, b = (_arrange(importer, *each) for each in plan)
    return emit_reshape(importer, _emit(importer, a, b, result.element), get_sizes(result))


def _arrange(importer: Importer, data: Ref, scale: Ref | None, block: float, k: int,
             batch: Sequence[int]) -> _Side:
    """An operand as [B, M, K]."""
    rest = [dim for dim in range(len(data.shape)) if dim != k and dim not in batch]
    order = [*batch, *rest, k]

    def move(x: Array) -> Array:
        x = emit_transpose(importer, x, order)
        sizes = (multiply(x.sizes[:len(batch)]), multiply(x.sizes[len(batch):-1]), x.sizes[-1])
        return emit_reshape(importer, x, sizes)
    known = importer.get(data)
    if isinstance(known, Literal) and data.element == "f4E2M1FN":
        known = Codes(known.sizes, numbers=importer.make(known), is_exact=True)
    if isinstance(known, Codes):
        sizes = [known.sizes[dim] for dim in order]
        shape = (multiply(sizes[:len(batch)]), multiply(sizes[len(batch):-1]), sizes[-1])
        is_same = list(shape) == list(known.sizes) and order == sorted(order)
        array = importer.pack(known if is_same else importer.move_codes(known, shape, move))
    else:
        array = move(importer.make(known))
    if scale is None:
        # The composite rounds such an operand to bf16.
        return _Side(emit_convert(importer, array, "bf16"), None)
    return _Side(array, move(importer.array(scale)))


@handles("stablehlo.composite")
def import_composite(importer: Importer, node: Node) -> list[Known]:
    """What a composite is made of."""
    graph = node.decomposition
    assert graph is not None
    importer.values.update(zip(graph.arguments, [importer.get(ref) for ref in node.operands]))
    importer.import_graph(graph)
    return [importer.get(ref) for ref in graph.results]
