# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs quantize and dequantize, every recipe and data type, on random sizes, and
compares every bit with the numpy reference."""

import argparse

import numpy as np

from expect import Expectations
from module import Module
from quantizers import CODECS, MX_RECIPES, NVFP4_RECIPES, TAKES_TAILS, Case, Op

SOURCES = ("", "scale", "amax", "computed_scale", "computed_amax")
RANGE_SIZES = (0, 1, 3)  # of parallel loops


def draw_ops(random, repeat):
    """Each recipe with each source of the global scale, or each data type, and
    all else at random; static dimensions get their sizes."""
    def pick(*choices):
        return choices[random.integers(len(choices))]

    kinds = [(recipe, "f4E2M1FN", source) for recipe in NVFP4_RECIPES for source in SOURCES]
    kinds += [(recipe, data, "") for recipe in MX_RECIPES for data in CODECS]
    for i, (recipe, data, source) in enumerate(kinds * repeat):
        forms = (*(() if source.startswith("computed") else ("scalar",)), "rank_0", "each")
        op = Op(f"f{i}", recipe, data, x=pick("f32", "bf16"), layout=pick("linear", "swizzled"),
                source=source, form=pick(*forms), values=pick("f32", "bf16", "f16"),
                batch=pick(0, 0, 1, 2),
                dynamic="".join(letter for letter in "BMK" if random.random() < 0.7))
        op.shape = draw_shape(random, op)
        yield op


def draw_shape(random, op):
    """Mostly small; sometimes more than a tile of scales, or nothing."""
    def size(limit):
        return int(random.choice((0, 1, limit), p=(0.03, 0.07, 0.9)) and random.integers(1, limit))

    large = random.random() < 0.2
    k = size(400 if large else 150)
    if op.recipe not in TAKES_TAILS:
        k = -(-k // op.block) * op.block
    return {"B": tuple(int(random.integers(1, 4)) for _ in range(op.batch)),
            "M": size(300 if large else 50), "K": k}


def run(folder, seed, repeat, shapes, cpu, expect):
    random = np.random.default_rng(seed)
    ops = list(draw_ops(random, repeat))
    module = Module("".join(op.text() for op in ops), folder, cpu=cpu)
    for op in ops:
        first = op.shape
        for _ in range(shapes):
            drawn = draw_shape(random, op)
            op.shape = {letter: drawn[letter] if letter in op.dynamic else size
                        for letter, size in first.items()}
            case = Case(op, random)
            got = module.call(op.name, *case.arguments,
                              range_size=RANGE_SIZES[random.integers(len(RANGE_SIZES))])
            expect.equal(f"seed {seed}: {op}", case.comparable(got),
                         case.comparable(case.results))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where to compile")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1, help="functions of each kind")
    parser.add_argument("--shapes", type=int, default=8, help="of each function")
    parser.add_argument("--cpu", default="host")
    options = parser.parse_args()
    expect = Expectations()
    run(options.folder, options.seed, options.repeat, options.shapes, options.cpu, expect)
    expect.finish()


if __name__ == "__main__":
    main()
