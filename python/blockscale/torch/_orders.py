# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that order elements, count them, or sum them up to a place."""

from __future__ import annotations

from typing import Any

from blockscale._linalg import (
    Array,
    emit_convert,
    emit_cumulative_sum,
    emit_extremum_index,
    emit_histogram,
    emit_reduce,
    emit_reshape,
    emit_search,
    emit_sort,
    multiply,
)
from blockscale.torch._importer import Importer, handles, sizes_of, to_size


def _get_kind(importer: Importer) -> str:
    return "max" if "max" in str(importer.node.target) else "min"


@handles("aten.argmax.default", "aten.argmin.default")
def import_argmax(importer: Importer, input: Any, dim: int | None, keepdim: bool) -> Array:
    x = importer.tensor(input)
    if dim is None or not x.rank:
        x, dim = emit_reshape(importer, x, (multiply(x.sizes),)), 0
    found = emit_extremum_index(importer, _get_kind(importer), x, dim)
    return emit_reshape(importer, found, sizes_of(importer.result))


@handles("aten.max.dim", "aten.min.dim")
def import_max_dim(importer: Importer, input: Any, dim: int, keepdim: bool
                   ) -> tuple[Array, Array]:
    """The extremum and its place."""
    x, kind = importer.tensor(input), _get_kind(importer)
    if not x.rank:
        x, dim = emit_reshape(importer, x, (1,)), 0
    results = (emit_reduce(importer, kind, x, [dim]), emit_extremum_index(importer, kind, x, dim))
    values, indices = (emit_reshape(importer, each, sizes_of(meta))
                       for each, meta in zip(results, importer.result))
    return values, indices


@handles("aten.sort.default", "aten.sort.stable")
def import_sort(importer: Importer, input: Any, dim: int, descending: bool, **_: Any
                ) -> tuple[Array, Array]:
    """Equal elements stay as they stand, whether that is asked for or not."""
    return _emit_sort(importer, input, dim, descending)


@handles("aten.argsort.default", "aten.argsort.stable")
def import_argsort(importer: Importer, input: Any, dim: int, descending: bool, **_: Any
                   ) -> Array:
    return _emit_sort(importer, input, dim, descending)[1]


def _emit_sort(importer: Importer, input: Any, dim: int, descending: bool, count: Any = None
               ) -> tuple[Array, Array]:
    x = importer.tensor(input)
    if not x.rank:
        importer.refuse("expected a tensor of rank 1 or more, but got a number")
    return emit_sort(importer, x, dim, descending=descending, count=count)


@handles("aten.topk.default")
def import_topk(importer: Importer, input: Any, k: Any, dim: int, largest: bool, sorted: bool
                ) -> tuple[Array, Array]:
    """The first ones of the order, also where PyTorch may have them in another one."""
    return _emit_sort(importer, input, dim, largest, to_size(k))


def _emit_search(importer: Importer, ordered: Any, x: Any, right: bool) -> Array:
    arrays = [importer.tensor(each, name)
              for each, name in ((ordered, "sorted_sequence"), (x, "input"))]
    if not arrays[0].rank:
        importer.refuse("expected a sorted_sequence of rank 1 or more, but got a number")
    return emit_search(importer, *arrays, right=right, dtype=importer.get_dtype())


@handles("aten.searchsorted.Tensor")
def import_searchsorted(importer: Importer, sorted_sequence: Any, input: Any, right: bool,
                        side: str | None, sorter: Any, **_: Any) -> Array:
    if sorter is not None:
        importer.refuse("expected a sequence that is sorted, but got one with a sorter")
    return _emit_search(importer, sorted_sequence, input, right or side == "right")


@handles("aten.bucketize.Tensor")
def import_bucketize(importer: Importer, input: Any, boundaries: Any, right: bool, **_: Any
                     ) -> Array:
    return _emit_search(importer, boundaries, input, right)


@handles("aten.cumsum.default")
def import_cumsum(importer: Importer, input: Any, dim: int, **_: Any) -> Array:
    x = emit_convert(importer, importer.tensor(input), importer.get_dtype())
    return emit_cumulative_sum(importer, x, dim) if x.rank else x


@handles("aten.histc.default")
def import_histc(importer: Importer, input: Any, bins: int, min: Any, max: Any) -> Array:
    if not min < max:
        importer.refuse("expected a minimum below the maximum, which are not taken from the "
                        f"elements, but got {min} and {max}")
    return emit_histogram(importer, importer.tensor(input), bins, min, max,
                          dtype=importer.get_dtype())
