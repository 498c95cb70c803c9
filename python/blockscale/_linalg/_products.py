# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of tensors of numbers, as linalg.matmul and linalg.batch_matmul.

Sums are in f32, of operands that are exact in it, and are rounded once. Integers are
multiplied and summed in their own type.
"""

from __future__ import annotations

from collections.abc import Sequence

from blockscale._linalg._body import broadcast, emit_elementwise, format_sizes, get_inner, is_float
from blockscale._linalg._builder import Array, Builder, Size, multiply
from blockscale._linalg._elementwise import emit_convert
from blockscale._linalg._reductions import emit_filled
from blockscale._linalg._shapes import emit_broadcast, emit_reshape, emit_transpose


def _emit_named(builder: Builder, a: Array, b: Array, transpose_a: bool,
                transpose_b: bool) -> Array:
    """A product of [B, M, K] and [B, K, N], or without B; each may have its last two exchanged."""
    batch, name = ("", "linalg.matmul") if a.rank == 2 else ("b, ", "linalg.batch_matmul")
    m, k_of_a = a.sizes[-2:][::-1] if transpose_a else a.sizes[-2:]
    k_of_b, n = b.sizes[-2:][::-1] if transpose_b else b.sizes[-2:]
    if k_of_a != k_of_b:
        builder.refuse(f"expected operands of the same size along the sum, but got "
                       f"{format_sizes(a.sizes)} and {format_sizes(b.sizes)}")
    sizes = (*a.sizes[:-2], m, n)
    dtype = get_inner(a.dtype, b.dtype)
    out = emit_filled(builder, sizes, 0, dtype)
    reads = ["k, m" if transpose_a else "m, k", "n, k" if transpose_b else "k, n", "m, n"]
    maps = ", ".join(f"affine_map<({batch}m, n, k) -> ({batch}{each})>" for each in reads)
    text = (f"indexing_maps = [{maps}] ins({a.value.name}, {b.value.name} : {a.value.spec}, "
            f"{b.value.spec}) outs({out.name} : {out.spec}) -> {out.spec}")
    return Array(builder.emit("product", name, [a.value, b.value, out], text, out.spec), sizes)


def emit_matmul(builder: Builder, a: Array, b: Array, *, transpose_a: bool = False,
                transpose_b: bool = False, bias: Array | None = None,
                dtype: str | None = None) -> Array:
    """numpy.matmul of a and b, each with its last two dimensions exchanged where so said.

    Args:
      a, b: [.., M, K] and [.., K, N], whose batches broadcast; a vector is [K].
      bias: is added before the one rounding, and broadcasts to the result.
      dtype: of the result; None for that of a and b.

    Batches of a alone are rows of one linalg.matmul; other batches make one
    linalg.batch_matmul.
    """
    dtype = dtype or (a.dtype if a.dtype == b.dtype else get_inner(a.dtype, b.dtype))
    if "i1" in (a.dtype, b.dtype) or is_float(a.dtype) != is_float(b.dtype):
        builder.refuse(f"expected operands that are both floating-point numbers or both "
                       f"integers, but got {a.dtype} and {b.dtype}")
    if not a.rank or not b.rank:
        builder.refuse("expected operands of rank 1 or more, but got "
                       f"{format_sizes(a.sizes)} and {format_sizes(b.sizes)}")
    dropped = []
    if a.rank == 1:
        a, transpose_a = emit_reshape(builder, a, (1, *a.sizes)), False
        dropped.append(-2)
    if b.rank == 1:
        b, transpose_b = emit_reshape(builder, b, (*b.sizes, 1)), False
        dropped.append(-1)
    if not is_float(a.dtype) and a.dtype != b.dtype:
        wide = get_inner(a.dtype, b.dtype)
        a, b = emit_convert(builder, a, wide), emit_convert(builder, b, wide)
    total = _emit_batches(builder, a, b, transpose_a, transpose_b)
    sizes = tuple(size for dim, size in enumerate(total.sizes, -total.rank)
                  if dim not in dropped)
    total = emit_reshape(builder, total, sizes)
    inner = get_inner(a.dtype, b.dtype)
    if bias is not None:
        return emit_elementwise(builder, "y", [total, bias], total.sizes, dtype,
                                lambda body, x, y: body.add(x, y, inner), inner=inner)
    return emit_convert(builder, total, dtype, base="y")


def _emit_batches(builder: Builder, a: Array, b: Array, transpose_a: bool,
                  transpose_b: bool) -> Array:
    batch_a, batch_b = a.sizes[:-2], b.sizes[:-2]
    if all(size == 1 for size in batch_b) and not (transpose_a and batch_a):
        # Every matrix of a is multiplied by the same matrix.
        rank = max(len(batch_a), len(batch_b))
        batch: tuple[Size, ...] = (*[1] * (rank - len(batch_a)), *batch_a)
        m, n = a.sizes[-1 if transpose_a else -2], b.sizes[-2 if transpose_b else -1]
        flat = a if a.rank == 2 else emit_reshape(builder, a, (multiply(a.sizes[:-1]),
                                                               a.sizes[-1]))
        matrix = emit_reshape(builder, b, b.sizes[-2:])
        return emit_reshape(builder, _emit_named(builder, flat, matrix, transpose_a,
                                                 transpose_b), (*batch, m, n))
    batch = broadcast(builder, batch_a, batch_b)
    flat_a, flat_b = (
        emit_reshape(builder, emit_broadcast(builder, each, (*batch, *each.sizes[-2:])),
                     (multiply(batch), *each.sizes[-2:])) for each in (a, b))
    total = _emit_named(builder, flat_a, flat_b, transpose_a, transpose_b)
    return emit_reshape(builder, total, (*batch, *total.sizes[-2:]))


def emit_linear(builder: Builder, x: Array, weight: Array, bias: Array | None = None,
                dtype: str | None = None) -> Array:
    """x [.., K] times the transpose of weight [N, K], and a bias [N]."""
    if weight.rank != 2:
        builder.refuse(f"expected a weight of rank 2, but got {format_sizes(weight.sizes)}")
    rows = emit_reshape(builder, x, (multiply(x.sizes[:-1]), x.sizes[-1]))
    y = emit_matmul(builder, rows, weight, transpose_b=True, bias=bias, dtype=dtype)
    return emit_reshape(builder, y, (*x.sizes[:-1], weight.sizes[0]))


def emit_dot_general(builder: Builder, a: Array, b: Array,
                     contracting: tuple[Sequence[int], Sequence[int]],
                     batch: tuple[Sequence[int], Sequence[int]] = ((), ()), *,
                     dtype: str | None = None) -> Array:
    """The sum over pairs of contracting dimensions of a and b for each of the pairs of batch
    dimensions. The result has the batch, then what is left of a, then what is left of b."""
    flat, left = [], []
    for array, summed, batched in zip((a, b), contracting, batch, strict=True):
        rest = [dim for dim in range(array.rank) if dim not in summed and dim not in batched]
        ordered = [*batched, *rest, *summed]
        if sorted(ordered) != list(range(array.rank)):
            builder.refuse(f"expected different dimensions of a tensor of rank {array.rank}, but "
                           f"got {list(batched)} and {list(summed)}")
        sizes = [[array.sizes[dim] for dim in dims] for dims in (batched, rest, summed)]
        # Matrices that only differ from the product's in their order are read as they are.
        is_exchanged = len(rest) == len(summed) == 1 and ordered != list(range(array.rank)) and (
            [*batched, *summed, *rest] == list(range(array.rank)))
        if not is_exchanged:
            array = emit_transpose(builder, array, ordered)
        shape = [multiply(sizes[1]), multiply(sizes[2])]
        shape = shape[::-1] if is_exchanged else shape
        whole = [multiply(sizes[0])] if batched else []
        flat.append((emit_reshape(builder, array, [*whole, *shape]), is_exchanged))
        left.append(sizes)
    if left[0][0] != left[1][0] or left[0][2] != left[1][2]:
        builder.refuse("expected operands of the same sizes along pairs of dimensions, but got "
                       f"{format_sizes(a.sizes)} and {format_sizes(b.sizes)}")
    y = emit_matmul(builder, flat[0][0], flat[1][0], transpose_a=flat[0][1],
                    transpose_b=not flat[1][1], dtype=dtype)
    return emit_reshape(builder, y, [*left[0][0], *left[0][1], *left[1][1]])
