# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose operand with scales lies MN-major, with blocks across K, as the gradient of an
input has the weights of the forward product. Each place, the CPU and kernels of each chip in the
emulator, gives

* numpy's bytes, of operands whose sums are exact in f32, whose scales differ between matrices,
  rows and blocks, so that a scale of another block shows;
* results within the bound of docs/Numerics.md, of all codes and scales;
* each element that a scale of E8M0 makes, infinite and subnormal ones too;
* the bits of order chain, where it is asked for.

Kernels of Hopper decode prepacked data themselves, in tiles of all sizes.

Usage: mn_major_scales.py FOLDER
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import exact
from expect import Expectations, first_difference
from gpu_calls import ON_CPU, SCHEDULES, run_places
from products import PLAIN, Case, Op, table
from reference import tensor_core_sum, to_bf16

CHIPS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
MX = "f8E8M0FNU"


def make_op(kind="mm", b="f4E2M1FN", shape=(37, 160, 208), batch=(), **others):
    """Of M, N and K; K is no multiple of a stage or of the block of MX."""
    m, n, k = shape
    others = {"a": "bf16", "mn_major": "b", "dynamic": "", **others}
    return Op("mm", kind, b=b, batch=len(batch),
              shape=dict(B=batch, M=m, N=n, K=k, G=3), **others)


# Ends of groups, one of which is empty, and rows of none behind them.
ENDS = (9, 9, 61)
OPS = {
    "nvfp4, a global scale, a bias": make_op(layout_b="swizzled", global_b="rank_0", bias="f32",
                                             dynamic="MNK", result="bf16"),
    "nvfp4 beside f16, scales of each matrix": make_op(
        a="f16", result="f16", batch=(2,), shape=(19, 80, 96), global_b="each", dynamic="BM"),
    "nvfp4, elements scaled, each matrix": make_op(
        batch=(3,), shape=(20, 64, 80), global_b="each", scaling="in_elements"),
    "nvfp4, rows of x have a scale": make_op(global_a="row", global_b="scalar",
                                             scaling="after_rounding", result="bf16"),
    "nvfp4, prepacked": make_op(is_prepacked=True, shape=(40, 192, 144), dynamic="M"),
    "nvfp4 on the left": make_op(a="f4E2M1FN", b="bf16", mn_major="a", shape=(96, 45, 112),
                                 layout_a="swizzled", global_a="rank_0"),
    "mxfp4": make_op(scale=MX, layout_b="swizzled", dynamic="MNK"),
    "mxfp8": make_op(b="f8E4M3FN", scale=MX, batch=(2,), shape=(33, 96, 48)),
    "mxfp8 of E5M2": make_op(b="f8E5M2", scale=MX, shape=(7, 96, 304)),
    "mxfp6": make_op(b="f6E2M3FN", scale=MX, shape=(66, 64, 144)),
    "mxfp6 of E3M2": make_op(b="f6E3M2FN", scale=MX, result="bf16"),
    "groups of nvfp4": make_op("rows", shape=(70, 144, 176), layout_b="swizzled",
                               global_b="each", bias="f32", has_bias_each=True, dynamic="MG"),
    "groups of nvfp4, elements scaled": make_op("rows", shape=(70, 80, 144), global_b="each",
                                                scaling="in_elements", result="bf16"),
    "groups of mxfp4": make_op("rows", scale=MX, shape=(64, 160, 96), dynamic="MNK"),
    "no K": make_op(shape=(5, 32, 0), bias="f32"),
}
# Prepacked data, the tile of a kernel of Hopper, and its stages. N ends in a block of codes, and
# in a tile of scales; K in a stage, or in a band of scales.
PACKED = (
    (dict(shape=(300, 336, 208), global_b="rank_0", bias="f32", result="bf16"), 256, 128, 3),
    (dict(shape=(140, 192, 464)), 128, 128, 3),
    (dict(shape=(70, 144, 208), a="f16", result="f16", batch=(2,), global_b="each"), 64, 128, 2),
    (dict(shape=(70, 96, 592)), 32, 64, 4),
    (dict(shape=(20, 144, 1360)), 16, 64, 8),
    (dict(shape=(3, 80, 1360), dynamic="M"), 16, 64, 8),
    (dict(shape=(130, 160, 1040), scale=MX), 256, 128, 2),
    (dict(shape=(130, 96, 1040), scale=MX), 64, 64, 4),
    (dict(shape=(20, 160, 1360), scale=MX), 16, 64, 8),
    (dict(shape=(130, 288, 208), b="f8E4M3FN", scale=MX, batch=(2,)), 256, 128, 2),
    (dict(shape=(40, 96, 592), b="f8E4M3FN", scale=MX), 32, 64, 4),
    (dict(shape=(130, 160, 336), b="f8E5M2", scale=MX), 128, 128, 3),
    (dict(shape=(40, 160, 336), b="f6E2M3FN", scale=MX), 16, 128, 3),
    (dict(shape=(40, 160, 336), b="f6E3M2FN", scale=MX), 64, 128, 2),
    (dict(kind="rows", shape=(70, 336, 208), global_b="each", bias="f32", has_bias_each=True,
          dynamic="MG"), 256, 128, 2),
    (dict(kind="rows", shape=(70, 160, 144), scale=MX, dynamic="M"), 16, 64, 8),
    (dict(kind="rows", shape=(70, 160, 144), b="f8E4M3FN", scale=MX), 64, 128, 2),
    (dict(shape=(5, 32, 0), bias="f32"), 16, 64, 8),
)


def ends_of(op):
    return ENDS if op.kind == "rows" else ()


def exact_case(op, random):
    """Numbers whose sums have few digits."""
    given = {}
    for side, rows, lead in (("a", "M", op.shape["B"]),
                             ("b", "N", (3,) if op.kind == "rows" else op.shape["B"])):
        element, s = getattr(op, side), op.shape
        if element in PLAIN:
            shape = (*(() if op.kind == "rows" else s["B"]), s[rows], s["K"])
            drawn = random.choice((-1, 0, 0, 1), shape).astype(np.float32)
            given[side] = to_bf16(drawn) if element == "bf16" else drawn.astype(np.float16)
            continue
        shape = (*lead, s["K"], s[rows])
        values = np.abs(table(element)[:16 if element == "f4E2M1FN" else 256])
        codes = np.flatnonzero((values >= 0.5) & (values < 4))
        given[side] = random.choice(codes, shape).astype(np.uint8)
        given[f"s{side}"] = exact.scales(random, op.scale, (*shape[:-1], s[rows] // op.block))
    case = Case(op, random, ends_of(op), bias_share=0.5, **given)
    if op.scaling != "in_elements":
        pairs = [case.values] if op.kind == "mm" else [(case.values[0], b) for b in case.values[1]]
        for a, b in pairs:
            exact.demand(a, b)
    return case


def elements_case(random, **others):
    """Rows of X that have one element each: results are the elements of W."""
    op = make_op(scale=MX, shape=(16, 512, 16), **others)
    sb = random.permutation(256).reshape(16, 16).astype(np.uint8)
    sb[sb == 255] = 254  # NaN is that of the whole column
    codes = random.integers(0, 16, (16, 512)).astype(np.uint8)
    codes[:, ::32] = 2  # 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        return op, Case(op, random, a=to_bf16(np.eye(16, dtype=np.float32)), b=codes, sb=sb)


def main():
    folder, expect = Path(sys.argv[1]), Expectations()
    places = [list(ON_CPU), *(["--on=emulator", f"--target={chip}"] for chip in CHIPS)]

    def run(name, op, case, places):
        path = folder / name.replace(" ", "-").replace(",", "")
        for place, (said, results) in zip(
                places, run_places(op.text(), case.arguments, 1, path, places), strict=True):
            yield f"{name}, {place[-1]}", said, results

    for number, (name, op) in enumerate(OPS.items()):
        random = np.random.default_rng((7, number))
        case = exact_case(op, random)
        is_exact = op.scaling != "in_elements"
        wanted = case.results(case.sums(case.values).value)
        # The bound is that of one rounding of the whole.
        is_bounded = op.scaling != "after_rounding"
        for what, said, results in run(name, op, case, places):
            problem = first_difference([wanted], results) if not said and is_exact else None
            problem = said or problem or (case.problem(results[0]) if is_bounded else None)
            expect.record(what, problem)
        if is_bounded:
            case = Case(op, random, ends_of(op), bias_share=0.5)
            for what, said, results in run(f"{name}: all numbers", op, case, places[:1]):
                expect.record(what, said or case.problem(results[0]))
    hopper = [["--on=emulator", "--target=sm_90a", "--nan-scales", *each] for each in SCHEDULES]
    for number, (fields, rows, cols, stages) in enumerate(PACKED):
        op = make_op(is_prepacked=True, layout_b="swizzled", **{"dynamic": "", **fields})
        case = exact_case(op, np.random.default_rng((8, number)))
        wanted = case.results(case.sums(case.values).value)
        schedule = (f"#blockscale.gemm_schedule<rows = {rows}, cols = {cols}, stages = {stages}, "
                    "band = 2, ctas = 4>")
        text = op.text().replace(
            "\n      : ", f" {{blockscale.schedule = {schedule}}}\n      : ", 1)
        for place, (said, results) in zip(hopper, run_places(
                text, case.arguments, 1, folder / f"packed{number}", hopper), strict=True):
            expect.record(f"{fields}, {rows} x {cols}, {place[-1]}",
                          said or first_difference([wanted], results))
    for name, others, chips in (("elements", {}, places),
                                ("elements, prepacked", dict(is_prepacked=True), hopper)):
        op, case = elements_case(np.random.default_rng(2), **others)
        wanted = case.results(case.product.value)
        kinds = [np.isnan(wanted).any(), ((wanted != 0) & (np.abs(wanted) < 2.0**-126)).any()]
        expect.record(f"{name} of all kinds", None if all(kinds) else f"{kinds}")
        for what, said, results in run(name, op, case, chips):
            expect.record(what, said or first_difference([wanted], results))
    for name in ("nvfp4, a global scale, a bias", "groups of mxfp4"):
        op = replace(OPS[name], order="chain")
        case = Case(op, np.random.default_rng(3), ends_of(op), bias_share=0.5)
        how = tensor_core_sum("hopper", "mma.sync", op.a)
        for what, said, results in run(f"chain of {name}", op, case,
                                       [places[0], ["--on=emulator", "--target=sm_90a"]]):
            expect.record(what, said or case.chain_problem(results[0], how))
    expect.finish()


if __name__ == "__main__":
    main()
