# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs products of two scaled operands, drawn at random, in the emulator, for sm_90a under
both schedules, and compares with numpy, within the bound. A is decoded to bf16 before the
product. Two fifths of the cases are grouped. Odd cases have a schedule of their own. There
must be enough cases of each property that only some products have (LEAST)."""

import dataclasses

import numpy as np

import even_scales
import random_cases
from products import Case, Op
from sm90_matmul import draw_fewest, draw_schedule, draw_shape
from sm100_matmul import KINDS, MX_DATA, POWERS, SMALL, add_odd_block, draw_ends

# Of each property of a case, how many cases have it at least; see `properties`.
LEAST = {"nvfp4": 12, "mx": 20, "mixed": 10, "mxfp8": 3, "mxfp6": 3, "mxfp4": 2, "batched": 5,
         "rows": 8, "columns": 8, "rows, grouped scales": 2, "columns, grouped scales": 3,
         "global a": 6, "global a of rows": 1, "global a of groups": 2,
         "dynamic": 30, "static": 3, "rows moved apart": 3}
KIND_OF = {"f8E4M3FN": "mxfp8", "f8E5M2": "mxfp8", "f6E2M3FN": "mxfp6", "f6E3M2FN": "mxfp6",
           "f4E2M1FN": "mxfp4"}


def draw_op(random, name, kind):
    def pick(*choices):
        return choices[random.integers(len(choices))]

    is_nvfp4 = random.random() < 0.4
    form = ("", "scalar", "rank_0", "each", *(("row",) * (kind == "mm"))) if is_nvfp4 else ("",)
    layouts = ("linear", "swizzled", "swizzled" if kind == "mm" else "grouped")
    data = "f4E2M1FN" if is_nvfp4 else pick(*MX_DATA)
    op = Op(name, kind, scale="f8E4M3FN" if is_nvfp4 else "f8E8M0FNU",
            a=data, b=data if is_nvfp4 else pick(data, data, data, *MX_DATA),
            result=pick("f32", "bf16", "f16"), layout_a=pick(*layouts),
            layout_b=pick(*(layouts[:2] if kind == "rows" else layouts)),
            global_a=pick(*form), global_b=pick(*form), bias=pick("", "f32", "bf16", "f16"),
            batch=pick(0, 0, 0, 1, 2),
            dynamic="".join(letter for letter in "BMNK" if random.random() < 0.5))
    if kind != "mm":
        op.batch = 0
        op.has_bias_each = random.random() < 0.5
    op.shape = draw_shape(random, op)
    return op


def draw_case(random, op):
    """Scales are far from the ends of E8M0's range, so that bf16 holds the values of A.
    Results of f16, and to which a bias of f16 is added, are in its range."""
    ends = () if op.kind == "mm" else draw_ends(random, op)
    lead = {"mm": op.shape["B"], "rows": (len(ends),), "columns": ()}[op.kind]
    cols = op.shape["K"] // op.block
    is_narrow = "f16" in (op.result, op.bias)
    is_mx = op.scale == "f8E8M0FNU"
    powers = range(-8, 1) if is_mx else SMALL if is_narrow else POWERS
    of_a = (*(lead if op.kind == "mm" else ()), op.shape["M"], cols)
    sa, sb = (even_scales.scales(random, op.scale, shape, powers)
              for shape in (of_a, (*lead, op.shape["N"], cols)))
    return Case(op, random, ends, sa=sa, sb=sb, typical=random.integers(0, 6) if is_mx else None,
                bias_share=2.0 ** random.integers(-4, 1))


def draw(seed, number):
    """An op, its case and the text of its function."""
    random = np.random.default_rng((seed, number))
    op = draw_op(random, "mm", KINDS[number % len(KINDS)])
    add_odd_block(op, seed, number)
    case = draw_case(random, op)
    text = op.text()
    if number % 2:
        # That of the product with A decoded.
        schedule, _ = draw_schedule(random, dataclasses.replace(op, a="bf16"),
                                    draw_fewest(seed, number))
        text = text.replace("\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
    return op, case, text


def properties(op, case):
    found = {"dynamic" if op.dynamic else "static", "batched" if op.batch else "",
             "global a" if op.global_a else "",
             "global a of rows" if op.global_a == "row" else "",
             "rows moved apart" if op.shape["K"] % 32 else ""}
    if op.scale == "f8E4M3FN":
        found.add("nvfp4")
    else:
        found |= {"mx", KIND_OF[op.a] if op.a == op.b else "mixed"}
    if op.kind != "mm" and case.legal[-1]:
        found |= {op.kind, f"{op.kind}, grouped scales" if op.layout_a == "grouped" else "",
                  "global a of groups" if op.global_a == "each" else ""}
    return found - {""}


def check(folder, seed, number, chip):
    """The case's op and properties, and the problem of each schedule."""
    op, case, text = draw(seed, number)
    problems = random_cases.find_problems(text, case, chip, folder / f"{number}")
    return op, properties(op, case), problems


if __name__ == "__main__":
    random_cases.main(__doc__, check, LEAST, 60, chips=["sm_90a"])
