# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that write elements at indices. Indices outside of a tensor are an error in PyTorch, and
are ignored here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockscale._linalg import (
    Array,
    Body,
    emit_broadcast,
    emit_convert,
    emit_elementwise,
    emit_full,
    emit_put,
    emit_reshape,
    emit_scatter,
    emit_select,
    emit_transpose,
    get_inner,
    multiply,
)
from blockscale._linalg._body import broadcast
from blockscale.torch._importer import Importer, handles

_INTEGERS = ("i8", "i16", "i32", "i64")


@handles("aten.index_put.default")
def import_index_put(importer: Importer, input: Any, indices: Sequence[Any], values: Any,
                     accumulate: bool) -> Array:
    """x[indices] = values, or += where they accumulate."""
    x, values = importer.tensor(input), importer.tensor(values, "values")
    known = {dim: importer.tensor(each, "index") for dim, each in enumerate(indices)
             if each is not None}
    values = emit_convert(importer, values, x.dtype)
    if [each.dtype for each in known.values()] == ["i1"]:
        return _emit_masked(importer, x, indices, known, values, accumulate)
    if any(each.dtype not in _INTEGERS for each in known.values()):
        importer.refuse("expected indices of integers, or one mask, but got "
                        f"{', '.join(each.dtype for each in known.values())}")
    dims = list(known)
    rest = [dim for dim in range(x.rank) if dim not in known]
    shape = broadcast(importer, *(each.sizes for each in known.values()))
    # Values have the sizes of x[indices]: those of the indices stand in place of their
    # dimensions where these are neighbours, else in front.
    first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0
    whole = [x.sizes[dim] for dim in rest]
    values = emit_broadcast(importer, values, (*whole[:first], *shape, *whole[first:]))
    count = len(shape)
    values = emit_transpose(importer, values, [
        *range(first, first + count), *range(first), *range(first + count, values.rank)])
    values = emit_reshape(importer, values, (multiply(shape), *whole))
    flat = [emit_reshape(importer, emit_broadcast(importer, each, shape), (multiply(shape),))
            for each in known.values()]
    order = [*dims, *rest]
    result = emit_put(importer, emit_transpose(importer, x, order), flat, values, adds=accumulate)
    return emit_transpose(importer, result, [order.index(dim) for dim in range(x.rank)])


def _emit_masked(importer: Importer, x: Array, indices: Sequence[Any], known: dict[int, Array],
                 values: Array, accumulate: bool) -> Array:
    (dim, mask), = known.items()
    if multiply(values.sizes) != 1 or accumulate:
        importer.refuse("expected one value for the elements that a mask chooses, but got "
                        f"{list(values.sizes)}")
    mask = emit_reshape(importer, mask, (*mask.sizes, *[1] * (x.rank - dim - mask.rank)))
    mask = emit_broadcast(importer, mask, x.sizes)
    return emit_select(importer, mask, emit_reshape(importer, values, ()), x, dtype=x.dtype)


def _to_values(importer: Importer, values: Any, indices: Array, dtype: str) -> Array:
    """Values of the sizes of indices, of which there may be one for all."""
    if not isinstance(values, (int, float)):
        return emit_convert(importer, importer.tensor(values, "values"), dtype)
    return emit_full(importer, indices.sizes, values, dtype)


@handles("aten.scatter.src", "aten.scatter.value", "aten.scatter_add.default")
def import_scatter(importer: Importer, input: Any, dim: int, index: Any, src: Any = None,
                   value: Any = None) -> Array:
    x, indices = importer.tensor(input), importer.tensor(index, "index")
    values = _to_values(importer, value if src is None else src, indices, x.dtype)
    return emit_scatter(importer, x, dim, indices, values,
                        adds="scatter_add" in str(importer.node.target))


@handles("aten.index_add.default", "aten.index_copy.default")
def import_index_add(importer: Importer, input: Any, dim: int, index: Any, source: Any,
                     alpha: Any = 1) -> Array:
    """x[.., index, ..] += alpha * source, or = source, along a dimension."""
    x, indices = importer.tensor(input), importer.tensor(index, "index")
    source = emit_convert(importer, importer.tensor(source, "source"), x.dtype)
    if not x.rank or indices.rank != 1 or source.rank != x.rank:
        importer.refuse("expected a tensor and a source of one rank and indices of rank 1, but got "
                        f"ranks {x.rank}, {source.rank} and {indices.rank}")
    dim %= x.rank
    if alpha != 1:
        inner = get_inner(x.dtype)
        source = emit_elementwise(
            importer, "scaled", [source], source.sizes, inner,
            lambda body, a: Body.mul(body, a, body.constant(alpha, inner), inner), inner=inner)
    order = [dim, *(each for each in range(x.rank) if each != dim)]
    result = emit_put(importer, emit_transpose(importer, x, order), [indices],
                      emit_transpose(importer, source, order),
                      adds="index_add" in str(importer.node.target))
    return emit_transpose(importer, result, [order.index(each) for each in range(x.rank)])
