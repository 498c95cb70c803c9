# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of rows with the matrices of their groups, as the experts of a model are."""

from __future__ import annotations

from typing import Any

from blockscale._linalg import (
    Along,
    Array,
    Body,
    emit_convert,
    emit_dot_general,
    emit_elementwise,
    emit_iota,
    emit_reads,
    emit_search,
)
from blockscale.torch._importer import Importer, handles


@handles("transformers.grouped_mm_fallback.default", "aten._grouped_mm.default")
def import_grouped_mm(importer: Importer, input: Any = None, weight: Any = None, offs: Any = None,
                      mat2: Any = None, bias: Any = None, **_: Any) -> Array:
    """Rows [M, K], of which group e ends before row offs[e], times the matrix of their group of
    [E, K, N]. Rows behind the last group are zeros.

    The product is one with the matrices of all groups, of which each row keeps the columns of its
    own: E times the multiplications, and the matrices are one weight, which a policy quantizes.
    """
    x = importer.array(input, "input")
    matrices = importer.array(mat2 if weight is None else weight, "weight")
    if offs is None or bias is not None or x.rank != 2 or matrices.rank != 3:
        importer.refuse("expected rows of rank 2, matrices of rank 3, offs and no bias, but got "
                        f"ranks {x.rank} and {matrices.rank}"
                        + ("" if bias is None else " and a bias")
                        + ("" if offs is not None else " and no offs"))
    ends = importer.tensor(offs, "offs")
    # The number of a row's group is how many groups end before it.
    rows = emit_iota(importer, (x.sizes[0],), 0, "i64")
    groups = emit_search(importer, ends, rows, right=True)
    everything = emit_dot_general(importer, x, matrices, ((1,), (1,)), dtype="f32")
    count, columns = matrices.sizes[0], matrices.sizes[2]
    last = importer.size(count)

    def place(body: Body, group: str) -> list[str]:
        most = body.op(f"arith.subi {body.capture(last)}, {body.op('arith.constant 1', 'index')}",
                       "index")
        number = body.op(f"arith.minsi {body.convert(group, 'i64', 'index')}, {most}", "index")
        return [body.index(0), number, body.index(1)]
    sizes = (x.sizes[0], columns)
    own = emit_reads(importer, "own", everything, sizes, [Along(groups, (0,))], place)

    def choose(body: Body, group: str, y: str) -> str:
        end = body.convert(body.capture(last), "index", "i64")
        return body.select(body.compare("lt", group, end, "i64"), y, body.constant(0))
    kept = emit_elementwise(importer, "kept", [Along(groups, (0,)), own], sizes, "f32", choose,
                            inner=("i64", "f32"), made="f32")
    return emit_convert(importer, kept, importer.get_dtype(), base="y")
