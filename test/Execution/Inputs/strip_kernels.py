# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""As sm100_kernels.py, for quantizers in blocks of several rows."""

import itertools
from dataclasses import dataclass

import numpy as np

import sm100_kernels
from block_shapes import CODECS, MX_FORMS, MX_RECIPES, NVFP4_FORMS, NVFP4_RECIPES
from sm100_kinds import FOUR_OVER_SIX, TAKE_TAILS, Kind, mx, nvfp4

# K in blocks of 16 and of 32, and columns that are not whole blocks: what a warp has,
# more, less, and half of it, with rows that start at any byte.
WIDTHS = ((128, 128, 128), (176, 160, 200), (16, 32, 9), (64, 64, 83))
HEIGHTS = (1, 33, 130, 64)
MOST_ELEMENTS = 1 << 15  # of a matrix
GLOBALS = (("", "rank_0"), ("global_scale", "scalar"), ("global_amax", "rank_0"),
           ("global_amax", "each"), ("global_scale", "each"))


@dataclass
class StripKind(Kind):
    def refusal(self, chip):
        not_yet = f"is not supported on {chip} yet: expected "
        if "offsets" in self.extra and self.swizzled:
            return f"{not_yet}linear scales with offsets and blocks of several rows"
        return None


def bases():
    """Input, rank, which sizes are dynamic, and global operand, in turn."""
    for turn in itertools.count():
        is_batch, is_static, any_k = turn % 3 == 2, turn % 7 in (2, 5), turn % 5 == 3
        shape = (2,) * is_batch + (64, 96)
        source, form = GLOBALS[turn % (5 if is_batch else 3)]
        yield {"x": ("bf16", "f32")[turn % 11 in (1, 4, 7, 8)], "shape": shape, "source": source,
               "form": form, "dynamic": (not is_static,) * (len(shape) - 1) + (any_k,)}


def forms(of_format):
    for block, transposed, scale_dim, any_layout in of_format:
        for swizzled in (False, True)[:1 + any_layout]:
            if block[0] != 1:
                yield {"block": block, "transposed": transposed, "scale_dim": scale_dim,
                       "swizzled": swizzled}


def kinds():
    """Every form with a data type of each width, and with a recipe that takes tails and
    one that does not; all data types and recipes in turn."""
    in_turn, recipes = bases(), itertools.cycle(MX_RECIPES)
    column = {"block": (16, 1), "transposed": True}
    for turn, form in enumerate(forms(NVFP4_FORMS)):
        for recipe in NVFP4_RECIPES[turn % 2::2]:
            yield nvfp4(recipe, **form, **next(in_turn))
    for recipe, swizzled in itertools.product(FOUR_OVER_SIX, (False, True)):
        yield nvfp4(recipe, swizzled=swizzled, **column, **next(in_turn))
    for turn, form in enumerate(forms(MX_FORMS)):
        for bits in "468":
            data_types = [name for name in CODECS if name.startswith(f"f{bits}")]
            yield mx(next(recipes), data_types[turn % len(data_types)], **form,
                     **next(in_turn) | {"source": "", "form": "rank_0"})
    yield from kinds_with_operands()


def kinds_with_operands():
    """Every form rounded at random, and cut in groups of rows and of columns, with a
    global value for each; recipes, inputs and which sizes are dynamic in turn."""
    turns, recipes = itertools.count(), itertools.cycle(NVFP4_RECIPES)
    mx_recipes = itertools.cycle(MX_RECIPES)

    def base(shape=(64, 96)):
        turn = next(turns)
        return {"x": ("bf16", "f32")[turn % 2], "shape": shape,
                "dynamic": ((True, False), (True, True), (False, False))[turn % 3][-len(shape):]}

    def layouts(of_format):
        for form in forms(of_format):
            yield form
            if form["swizzled"]:
                yield form | {"swizzled": False, "grouped": True}

    for form in layouts(NVFP4_FORMS):
        if "grouped" not in form:
            yield nvfp4(next(recipes), **form, **base(), extra=("rng",))
        for group_dim, source in ((0, "global_scale"), (1, "global_amax")):
            yield nvfp4(next(recipes), **form, **base(), source=source, form="group",
                        extra=("offsets",), group_dim=group_dim)
        yield nvfp4(next(recipes), **form, **base(), source="global_amax",
                    extra=("rng", "offsets"), group_dim=next(turns) % 2)
    for recipe, group_dim in itertools.product(FOUR_OVER_SIX, (0, 1)):
        yield nvfp4(recipe, block=(16, 1), transposed=True, **base(), source="global_scale",
                    form="group", extra=("offsets",), group_dim=group_dim,
                    grouped=group_dim == (recipe == FOUR_OVER_SIX[0]))
    for form in layouts(MX_FORMS):
        if "grouped" not in form:
            yield mx(next(mx_recipes), "f4E2M1FN", **form, **base(), extra=("rng",))
        for group_dim in (0, 1):
            data = list(CODECS)[next(turns) % len(CODECS)]
            yield mx(next(mx_recipes), data, **form, **base(), extra=("offsets",),
                     group_dim=group_dim)


def strip_kinds(seed=None):
    for kind in kinds():
        yield StripKind(**vars(kind))


def draw_shape(random, seed, kind, number, turn):
    """Of the input of a call."""
    takes_tails = kind.recipe in TAKE_TAILS
    any_width = takes_tails or kind.block[1] == 1
    step, width = (1 if takes_tails else kind.block[0]), 1 if any_width else kind.block[1]
    if seed is None:
        m = -(-HEIGHTS[(turn + 2 * number + turn // 4) % 4] // step) * step
        k = WIDTHS[(turn + number) % 4][2 if any_width else width == 32]
        return *(2,) * (len(kind.shape) - 2), m, k
    lead = [int(size) for size in random.integers(1, 4, len(kind.shape) - 2)]
    m = int(random.integers(0, 8 if random.random() < 0.3 else 600))
    k = -(-int(random.integers(1, 600)) // width) * width
    return *lead, min(m, MOST_ELEMENTS // k) // step * step, k


def draw_calls(found, folder, seed):
    random = np.random.default_rng(seed or 0)
    inputs = sm100_kernels.Inputs(folder, random)
    return [[inputs.call(kind, draw_shape(random, seed, kind, number, turn))
             for number in range(2)] for turn, kind in enumerate(found)]


if __name__ == "__main__":
    sm100_kernels.main(strip_kinds, draw_calls)
