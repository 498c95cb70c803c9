# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of chosen sizes and scales: one row and column, parts of panels,
long sums, few rows, nothing, NaN and any E8M0 scales on both sides, groups that are empty; on
the baseline CPU and on this one, with parallel ranges of several sizes.

Usage: matmul_sizes.py FOLDER
"""

import sys
from pathlib import Path

import numpy as np

from expect import Expectations
from module import Module
from ops import CPUS, RANGE_SIZES
from products import Case, Op, scales

E4M3_PAIR = {"scale": "f8E8M0FNU", "a": "f8E4M3FN", "b": "f8E4M3FN"}
MIXED = {"scale": "f8E8M0FNU", "a": "f8E5M2", "b": "f4E2M1FN"}
MIXED_BACK = {"scale": "f8E8M0FNU", "a": "f4E2M1FN", "b": "f8E5M2"}

random = np.random.default_rng(13)
expect = Expectations()
calls = []  # ops, and the (sizes, options of the case) to call them with


def add(kind, sizes, cases=({},), batch=(), **options):
    """Of each of the sizes (M, N, K), with the options of each case."""
    op = Op(f"f{len(calls)}", kind, batch=len(batch), **options)
    shapes = [{"B": batch, **dict(zip("MNK", size))} for size in sizes]
    if kind != "mm":
        shapes = [{**shape, "G": len(cases[0]["ends"])} for shape in shapes]
    op.shape = shapes[0]
    calls.append((op, [(shape, case) for shape in shapes for case in cases]))


def with_nan(shape, scale):
    """Random scale bytes, but for the last one."""
    array = scales(random, scale, shape)
    array[..., -1, -1] = 0x7F if scale == "f8E4M3FN" else 0xFF
    return array


def of_any_size(shape):
    """E8M0 scales whose products may leave f32."""
    return random.integers(0, 255, shape, dtype=np.uint8)


def bf16_of_any_size(shape):
    """Finite bf16, whose products may leave f32."""
    magnitudes = random.integers(0, 0x7F80, shape, dtype=np.uint16)
    return magnitudes | (random.integers(0, 2, shape, dtype=np.uint16) << 15)


def ends(*groups):
    return [{"ends": group} for group in groups]


few_rows = [(1, 1, 96), (33, 17, 96), (70, 40, 96), (0, 3, 96), (3, 0, 96)]
add("mm", few_rows, layout_a="swizzled", dynamic="MN")
add("mm", [(5, 9, 1600)], batch=(2, 3), result="bf16", layout_b="swizzled", global_a="each",
    global_b="each", bias="f32", dynamic="")
add("mm", [(3, 11, 16)], result="f16", global_a="scalar", bias="bf16", dynamic="")
add("mm", [(4, 4, 48)], [{"sa": with_nan((4, 3), "f8E4M3FN")}], dynamic="")
add("mm", [(33, 17, 32), (40, 9, 416), (2, 3, 800), (3, 2, 0)], **E4M3_PAIR, layout_b="swizzled",
    bias="f16")
add("mm", [(17, 33, 96)], [{"sa": with_nan((3, 17, 3), "f8E8M0FNU")}], (3,), **MIXED,
    result="bf16", layout_a="swizzled", layout_b="swizzled", dynamic="")
add("mm", [(40, 40, 64)], [{"sa": of_any_size((40, 2)), "sb": of_any_size((40, 2))}], **MIXED_BACK,
    dynamic="")
# Values beyond the ends of bf16, which a plain operand beside them makes their type.
for element in ("f8E4M3FN", "f8E5M2", "f4E2M1FN"):
    add("mm", [(9, 40, 64)], [{"sb": of_any_size((40, 2))}], scale="f8E8M0FNU", a="bf16", b=element,
        dynamic="")
add("mm", [(9, 40, 64)], [{"sa": with_nan((9, 2), "f8E8M0FNU")}], scale="f8E8M0FNU",
    a="f8E4M3FN", b="bf16", result="bf16", dynamic="")
add("mm", [(33, 17, 1040)], [{"sb": with_nan((17, 65), "f8E4M3FN")}], a="f16", result="f16",
    layout_b="swizzled", global_b="row", bias="f32", dynamic="N")
# Several panels of 192 rows and 128 columns, the last ones of a row and a column.
add("mm", [(193, 129, 272), (385, 17, 16)], layout_b="swizzled")
add("mm", [(193, 129, 288), (198, 257, 544)], **E4M3_PAIR, layout_a="swizzled")
add("mm", [(193, 129, 288)], scale="f8E8M0FNU", a="bf16", b="f4E2M1FN", dynamic="")
# Few rows, whole steps of codes, parts of them and both; panels with few rows and with many.
few_rows = [(1, 5, 272), (2, 130, 256), (3, 9, 16), (196, 3, 32)]
add("mm", few_rows, layout_b="swizzled", global_b="row", bias="f32")
add("mm", few_rows, a="bf16", layout_b="swizzled", global_b="scalar")
add("mm", few_rows, a="f16", result="f16", dynamic="MNK")
few_rows = [(1, 5, 288), (2, 130, 256), (196, 3, 32)]
for element in ("f8E4M3FN", "f8E5M2", "f4E2M1FN"):
    add("mm", few_rows, scale="f8E8M0FNU", a="bf16", b=element, layout_b="swizzled")
    add("mm", [(1, 40, 288)], [{"a": bf16_of_any_size((1, 288)), "sb": of_any_size((40, 9))}],
        scale="f8E8M0FNU", a="bf16", b=element, dynamic="")
add("mm", few_rows, **E4M3_PAIR, layout_a="swizzled")
add("mm", [(3, 40, 96)], [{"sb": with_nan((40, 3), "f8E8M0FNU")}], scale="f8E8M0FNU", a="bf16",
    b="f8E4M3FN", dynamic="")
add("mm", [(2, 40, 160)], [{"sa": of_any_size((2, 5)), "sb": of_any_size((40, 5))}], **MIXED,
    dynamic="")
add("mm", [(1, 9, 512)], [{"a": bf16_of_any_size((1, 512))}], a="bf16", dynamic="")
rows = ends((20, 20, 75), (0, 75, 75), (10, 30, 50), (0, 0, 70))
add("rows", [(75, 20, 80)], rows, layout_a="grouped", layout_b="swizzled", global_a="each",
    dynamic="")
add("rows", [(75, 7, 64)], rows, **E4M3_PAIR, result="bf16", dynamic="")
add("rows", [(140, 9, 96)], ends((128, 139)), **MIXED, result="f16", layout_a="grouped", dynamic="")
add("rows", [(400, 20, 80)], ends((190, 191, 200, 390)), layout_a="grouped", dynamic="")
add("rows", [(75, 20, 80)], ends((1, 3, 6), (70, 72, 75)), layout_b="swizzled", dynamic="")
add("rows", [(75, 20, 80)], rows, a="bf16", layout_b="swizzled", global_b="each", dynamic="")
columns = ends((64, 64, 320), (16, 48, 320), (32, 32, 304), (0, 0, 0))
add("columns", [(35, 20, 320)], columns, layout_a="grouped", layout_b="grouped", global_b="each",
    dynamic="")
add("columns", [(35, 20, 320)], columns, b="f16", layout_a="grouped", global_a="each",
    dynamic="")
add("columns", [(5, 130, 320)], columns, result="bf16", layout_a="swizzled", dynamic="")
add("columns", [(200, 9, 640)], ends((32, 608)), **E4M3_PAIR, layout_a="grouped", dynamic="")
add("columns", [(130, 9, 160)], ends((32, 160)), **E4M3_PAIR, layout_b="grouped", dynamic="")

for cpu in CPUS:
    folder = Path(sys.argv[1]) / cpu
    folder.mkdir(parents=True, exist_ok=True)
    module = Module("".join(op.text() for op, _ in calls), folder, cpu=cpu)
    for op, cases in calls:
        for shape, options in cases:
            op.shape = shape
            case = Case(op, random, **options)
            for range_size in RANGE_SIZES:
                [got] = module.call(op.name, *case.arguments, range_size=range_size)
                expect.record(f"{cpu}: {op}, {range_size} items a range", case.problem(got))
expect.finish()
