# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops: ops of scf, whose regions are written by functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from blockscale._linalg._body import format_sizes
from blockscale._linalg._builder import INDEX, Array, Builder, Region, Size, get_spec
from blockscale._linalg._shapes import emit_cast, emit_reshape
from blockscale._trace import Value
from blockscale._types import Spec


def _format_types(arrays: Sequence[Array]) -> str:
    return ", ".join(str(array.value.spec) for array in arrays)


def _merge(builder: Builder, pairs: Sequence[tuple[Array, Array]]) -> list[tuple[Size | None, ...]]:
    """The sizes of results that two regions give, with None for those in which they differ."""
    merged: list[tuple[Size | None, ...]] = []
    for a, b in pairs:
        if a.dtype != b.dtype or a.rank != b.rank:
            builder.refuse("expected branches whose results have one type and rank, but got "
                           f"{format_sizes(a.sizes)} of {a.dtype} and {format_sizes(b.sizes)} of "
                           f"{b.dtype}")
        merged.append(tuple(size if size == other else None
                            for size, other in zip(a.sizes, b.sizes)))
    return merged


def emit_if(builder: Builder, condition: Array, then: Callable[[], Sequence[Array]],
            otherwise: Callable[[], Sequence[Array]]) -> list[Array]:
    """The results of one function or of another, as one truth value says. Their results have the
    same types and ranks, and may differ in sizes."""
    if condition.dtype != "i1":
        builder.refuse(f"expected a condition of truth values, but got {condition.dtype}")
    condition = emit_reshape(builder, condition, ())
    flag = builder.emit("flag", "tensor.extract", [condition.value],
                        f"{condition.value.name}[] : {condition.value.spec}", Spec((), "i1"))
    regions, found = [Region(), Region(" else ")], []
    for region, branch in zip(regions, (then, otherwise)):
        with builder.region(region):
            found.append(list(branch()))
    if len(found[0]) != len(found[1]):
        builder.refuse("expected branches of as many results, but got "
                       f"{len(found[0])} and {len(found[1])}")
    merged = _merge(builder, list(zip(*found)))
    operands: list[Value] = [flag]
    specs = [get_spec(sizes, array.dtype) for sizes, array in zip(merged, found[0])]
    for region, arrays in zip(regions, found):
        with builder.region(region):
            results = [emit_cast(builder, array.value, spec)
                       for array, spec in zip(arrays, specs)]
        operands += region.close(results)
    types = ", ".join(map(str, specs))
    values = builder.emit_regions("chosen", "scf.if", operands, f"{flag.name} -> ({types}) ",
                                  regions, specs)
    return [Array(value, tuple(builder.name_size("size", value, dim) if size is None else size
                               for dim, size in enumerate(sizes)))
            for value, sizes in zip(values, merged)]


def emit_loop(builder: Builder, count: Size, starts: Sequence[Array],
              step: Callable[[Size, list[Array]], Sequence[Array]]) -> list[Array]:
    """`arrays = step(number, arrays)` from `starts` on, with the numbers from 0 to `count` - 1.
    Arrays keep their types and sizes. Of one step there is no loop."""
    if count == 1:
        return list(step(0, list(starts)))
    zero, one, end = (builder.size(each) for each in (0, 1, count))
    number = Value(builder.trace, builder.trace.name("step"), INDEX)
    arguments = [Array(Value(builder.trace, builder.trace.name("kept"), each.value.spec),
                       each.sizes) for each in starts]
    region = Region("", [number, *(each.value for each in arguments)])
    with builder.region(region):
        position = builder.name_size("step", number, low=0)
        found = step(position, arguments)
        results = [emit_cast(builder, each.value, start.value.spec)
                   for each, start in zip(found, starts, strict=True)]
    pairs = ", ".join(f"{argument.value.name} = {start.value.name}"
                      for argument, start in zip(arguments, starts))
    operands = [zero, one, end, *(each.value for each in starts), *region.close(results)]
    values = builder.emit_regions(
        "kept", "scf.for", operands,
        f"{number.name} = {zero.name} to {end.name} step {one.name} iter_args({pairs}) -> "
        f"({_format_types(starts)}) ", [region], [each.value.spec for each in starts])
    return [Array(value, each.sizes) for value, each in zip(values, starts)]
