# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs matmul ops drawn at random on random sizes, and compares with numpy."""

import argparse

import numpy as np

from expect import Expectations
from module import Module
from products import PLAIN, Case, Op

MX_DATA = ("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")
RANGE_SIZES = (0, 1, 2)  # of parallel loops


def draw_op(random, name, kind):
    """Any op of a kind; static dimensions get their sizes. One operand may be plain."""
    def pick(*choices):
        return choices[random.integers(len(choices))]

    is_nvfp4 = random.random() < 0.4
    block = 16 if is_nvfp4 else 32
    form = ("", "scalar", "rank_0", "each") if is_nvfp4 else ("",)
    form += ("row",) * (is_nvfp4 and kind == "mm")
    layouts = ("linear", "swizzled") + ("grouped",) * (kind != "mm")
    types = ["f4E2M1FN" if is_nvfp4 else pick(*MX_DATA) for _ in range(2)]
    if random.random() < 0.4:
        types[pick(0, 0, 1)] = pick("bf16", "f16") if is_nvfp4 else "bf16"
    op = Op(name, kind, scale="f8E4M3FN" if is_nvfp4 else "f8E8M0FNU",
            a=types[0], b=types[1],
            result=pick("f32", "bf16", "f16"), layout_a=pick(*layouts),
            layout_b=pick(*(layouts if kind == "columns" else layouts[:2])),
            global_a=pick(*form), global_b=pick(*form),
            bias=pick("", "f32", "bf16", "f16"),
            has_bias_each=bool(kind != "mm" and random.random() < 0.5),
            batch=pick(0, 0, 1, 2) if kind == "mm" else 0,
            dynamic="".join(letter for letter in "BMNK" if random.random() < 0.7))
    op.shape = draw_shape(random, op, block, groups=int(random.integers(1, 5)))
    if kind == "mm":
        del op.shape["G"]
    elif "grouped" not in (op.layout_a, op.layout_b) and random.random() < 0.5:
        op.dynamic += "G"
    return op


def scale_elements(op, number):
    """Lets every second global scale that can do so multiply elements."""
    side = "b" if op.a in PLAIN else "a"
    form = getattr(op, f"global_{side}")
    if ((op.a in PLAIN) != (op.b in PLAIN) and form not in ("", "row")
            and np.random.default_rng((5, number)).random() < 0.5):
        op.scaling = "in_elements"
        op.global_a, op.global_b = (form, "") if side == "a" else ("", form)


def draw_shape(random, op, block, groups):
    """Mostly small; sometimes more than a tile of scales, or nothing."""
    def size(limit):
        return int(random.choice((0, 1, limit), p=(0.03, 0.07, 0.9)) and random.integers(1, limit))

    large = random.random() < 0.2
    return {"B": tuple(int(random.integers(1, 4)) for _ in range(op.batch)),
            "M": size(300 if large else 70), "N": size(150 if large else 50),
            "K": block * size(24 if large else 9), "G": groups}


def draw_ends(random, op):
    """Ends of groups; sometimes all groups are empty, sometimes many are, at both ends."""
    if op.kind == "mm":
        return ()
    extent, unit = (op.shape["M"], 1) if op.kind == "rows" else (op.shape["K"], op.block)
    count = op.shape["G"]
    kind = random.random()
    if kind < 0.1:
        return (0,) * count
    if kind < 0.3:
        ends = np.sort(random.integers(-extent - 5, 2 * extent + 5, count))
        return tuple((np.clip(ends, 0, extent) // unit * unit).tolist())
    return tuple((unit * np.sort(random.integers(0, extent // unit + 1, count))).tolist())


def run(folder, seed, functions, shapes, cpu, expect):
    random = np.random.default_rng(seed)
    ops = [draw_op(random, f"f{i}", ("mm", "mm", "rows", "columns")[i % 4])
           for i in range(functions)]
    for i, op in enumerate(ops):
        scale_elements(op, i)
    module = Module("".join(op.text() for op in ops), folder, cpu=cpu)
    for op in ops:
        first = dict(op.shape)
        for _ in range(shapes):
            drawn = draw_shape(random, op, op.block, first.get("G", 1))
            if "G" in op.dynamic:
                drawn["G"] = int(random.integers(1, 6))
            op.shape = {letter: drawn[letter] if letter in op.dynamic else size
                        for letter, size in first.items()}
            case = Case(op, random, draw_ends(random, op))
            [got] = module.call(op.name, *case.arguments,
                                range_size=RANGE_SIZES[random.integers(len(RANGE_SIZES))])
            expect.record(f"seed {seed}: {op}", case.problem(got))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where to compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--functions", type=int, default=24)
    parser.add_argument("--shapes", type=int, default=8, help="of each function")
    parser.add_argument("--cpu", default="host")
    options = parser.parse_args()
    expect = Expectations()
    run(options.folder, options.seed, options.functions, options.shapes, options.cpu, expect)
    expect.finish()


if __name__ == "__main__":
    main()
