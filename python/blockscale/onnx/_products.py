# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MatMul and Gemm, of numbers or of what was dequantized."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from blockscale import _ops
from blockscale._linalg import Array, emit_binary, emit_matmul, emit_reshape, emit_transpose
from blockscale.onnx._importer import Importer, Operand, get_input, handles

#: Data and scales of formats in which a value in a type of 16 bits is what it is in f32.
_EXACT = {
    "f16": (("f4E2M1FN", "f8E4M3FN"),),
    "bf16": (("f4E2M1FN", "f8E4M3FN"), ("f4E2M1FN", "f8E8M0FNU"), ("f8E4M3FN", "f8E8M0FNU"),
             ("f8E5M2", "f8E8M0FNU"), ("f6E2M3FN", "f8E8M0FNU"), ("f6E3M2FN", "f8E8M0FNU")),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Decoded:
    """A value that was dequantized, or the transpose of its matrices.

    Attributes:
      data, scale: with blocks along the last dimension.
      rows: the same as matrices; None where it takes an op on codes that share bytes.
      g: the global scale, of rank 0; None for 1.0.
      wide: the value before the transpose.
      dtype: the type of the value.
      is_fused: whether the model is one of TensorRT's operators, whose products take data and
        scales, and never values that were rounded.
    """

    data: Array
    scale: Array
    rows: tuple[Array, Array] | None
    g: Array | None
    wide: Array
    dtype: str
    is_transposed: bool = False
    is_fused: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether no value was rounded to its type."""
        return self.dtype == "f32" or (
            self.g is None and (self.data.dtype, self.scale.dtype) in _EXACT[self.dtype])


@dataclasses.dataclass(frozen=True, eq=False)
class Transposed:
    """The transpose of the matrices of a tensor."""

    source: Array


def note_transpose(importer: Importer, result: Array, x: Array, order: Sequence[int]) -> Array:
    """Remembers what a transpose is."""
    rank = x.rank
    if rank < 2 or list(order) != [*range(rank - 2), rank - 1, rank - 2]:
        return result
    decoded = importer.get_origin(x, Decoded)
    origin: Any = Transposed(x)
    if decoded:
        origin = dataclasses.replace(decoded, is_transposed=not decoded.is_transposed)
    importer.origins[result.value.name] = origin
    return result


def _get_matrix(importer: Importer, operand: Operand) -> tuple[Array, bool]:
    """A tensor, and whether the operand is the transpose of its matrices."""
    decoded = importer.get_origin(operand, Decoded)
    if decoded:
        return decoded.wide, decoded.is_transposed
    transposed = importer.get_origin(operand, Transposed)
    if transposed:
        return transposed.source, True
    return importer.number(operand), False


def _find_pair(importer: Importer, a: Operand, b: Operand, flips: tuple[bool, bool]
               ) -> tuple[Decoded, Decoded] | None:
    """Both operands, if their product is a scaled_mm: blocks run along K, and no number was
    rounded that the product would not round."""
    pair = importer.get_origin(a, Decoded), importer.get_origin(b, Decoded)
    if not all(pair):
        return None
    x, y = pair
    if x.is_transposed != flips[0] or y.is_transposed == flips[1]:
        return None
    if (x.data.dtype, x.scale.dtype) != (y.data.dtype, y.scale.dtype):
        return None
    if not (x.is_fused or y.is_fused or (x.is_exact and y.is_exact)):
        return None
    k = x.data.sizes[-1]
    if k != y.data.sizes[-1] or not isinstance(k, int):
        return None
    if k % _ops.get_block(x.scale.dtype):
        return None
    return x, y


def _emit_scaled(importer: Importer, x: Decoded, y: Decoded, dtype: str, bias: Array | None
                 ) -> Array | None:
    """The product of data and scales, if its batches are those of one op."""
    lead, others = x.data.sizes[:-2], y.data.sizes[:-2]
    operands = (x.data, x.scale, y.data, y.scale)
    if all(size == 1 for size in others) and len(others) <= len(lead):
        if not x.rows or not y.rows:
            return None
        operands = (*x.rows, *y.rows)
    elif lead != others:
        return None
    m, n = x.data.sizes[-2], y.data.sizes[-2]
    a, scale_a, b, scale_b = (each.value for each in operands)
    scales = [None if each.g is None else each.g.value for each in (x, y)]
    value = _ops.scaled_mm(a, b, scale_a, scale_b, dtype=dtype, global_scale_a=scales[0],
                           global_scale_b=scales[1], bias=None if bias is None else bias.value)
    flat = (*operands[0].sizes[:-1], n)
    return emit_reshape(importer, Array(value, flat), (*lead, m, n))


@handles("MatMul")
def import_matmul(importer: Importer, inputs: Sequence[Operand], _: dict[str, Any]) -> Array:
    a, b = inputs
    importer.check_types((a, b))
    pair = _find_pair(importer, a, b, (False, False))
    scaled = pair and _emit_scaled(importer, *pair, a.dtype, None)
    if scaled:
        return scaled
    (x, flips_x), (y, flips_y) = _get_matrix(importer, a), _get_matrix(importer, b)
    return emit_matmul(importer, x, y, transpose_a=flips_x, transpose_b=flips_y)


@handles("Gemm")
def import_gemm(importer: Importer, inputs: Sequence[Operand], attributes: dict[str, Any]
                ) -> Array:
    a, b = inputs[:2]
    c = get_input(inputs, 2)
    flips = bool(attributes.get("transA", 0)), bool(attributes.get("transB", 0))
    alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    bias = None if c is None or beta == 0 else importer.number(c, "C")
    if bias is not None and beta != 1:
        bias = emit_binary(importer, "mul", bias, beta)
    pair = _find_pair(importer, a, b, flips)
    if pair:
        n = pair[1].data.sizes[-2]
        is_row = bias is not None and bias.sizes == (n,) and alpha == 1
        y = _emit_scaled(importer, *pair, a.dtype, bias if is_row else None)
        if y is not None:
            y = y if alpha == 1 else emit_binary(importer, "mul", y, alpha)
            return y if bias is None or is_row else emit_binary(importer, "add", y, bias)
    (x, flips_x), (y, flips_y) = _get_matrix(importer, a), _get_matrix(importer, b)
    flips_x, flips_y = flips_x != flips[0], flips_y != flips[1]
    if alpha != 1:
        product = emit_matmul(importer, x, y, transpose_a=flips_x, transpose_b=flips_y,
                              dtype="f32")
        scaled = emit_binary(importer, "mul", product, alpha, dtype=a.dtype)
        return scaled if bias is None else emit_binary(importer, "add", scaled, bias)
    return emit_matmul(importer, x, y, transpose_a=flips_x, transpose_b=flips_y, bias=bias,
                       dtype=a.dtype)


def transpose(importer: Importer, x: Array) -> Array:
    """The transpose of the matrices of x, which products see through."""
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    return note_transpose(importer, emit_transpose(importer, x, order), x, order)
