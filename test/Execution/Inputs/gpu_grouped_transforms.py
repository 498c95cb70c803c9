# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels that transform the columns of x and quantize them in groups of rows or
columns (C4), with scales in one layout for all or one for each group, in the emulator:
ends of groups are those of the device. All bytes are those of separate functions on the
CPU.

Usage: gpu_grouped_transforms.py FOLDER [--seed SEED]
"""

import numpy as np

from block_shapes import CODECS, MX_FORMS, MX_RECIPES, NVFP4_FORMS, NVFP4_RECIPES
from gpu_calls import Calls
from sm100_kernels import draw_offsets
from sm100_kinds import GROUPS, mx, nvfp4

SETS = 20  # of two calls, which a batch of calls has as a whole

MX = [form for form in MX_FORMS if form[0][0] != 1]

calls = Calls()
random = np.random.default_rng(calls.seed)


def pick(choices):
    return choices[random.integers(len(choices))]


def draw_shape(step):
    """Of what every target transforms in registers, or SM100 does not."""
    steps = pick(((128, 128), (step, step)))
    return tuple(-(-int(random.integers(1, 260)) // step) * step for step in steps)


def draw_set():
    """A transform in groups; of x itself something in groups, too, or not."""
    is_nvfp4 = random.random() < 0.7
    shape = draw_shape(16 if is_nvfp4 else 32)
    dynamic = (random.random() < 0.5, False)
    x = None
    for transform in ("dim 0" + pick(("", " sign_mask 0")), None):
        block, transposed, scale_dim, any_layout = pick(NVFP4_FORMS if is_nvfp4 else MX)
        has_groups = transform or random.random() < 0.5
        options = {"block": block, "transposed": transposed, "scale_dim": scale_dim,
                   "shape": shape, "dynamic": dynamic}
        if has_groups:
            options |= {"extra": ("offsets",), "group_dim": int(random.integers(2)),
                        "grouped": any_layout and random.random() < 0.5}
        if is_nvfp4:
            source = pick(("", "global_scale", "global_amax"))
            form = "group" if source and has_groups else "rank_0"
            kind = nvfp4(pick(NVFP4_RECIPES), source=source, form=form, **options)
        else:
            kind = mx(pick(MX_RECIPES), pick(tuple(CODECS)), **options)
        draw = {"offsets": lambda: draw_offsets(
                    random, GROUPS, shape[kind.group_dim], kind.block[kind.group_dim]),
                kind.source: lambda: np.asarray(np.exp2(random.uniform(
                    -4, 8, (GROUPS,) if kind.form == "group" else ())), np.float32)}
        x = kind.arguments(random, shape)[0] if x is None else x
        calls.add(*kind.signature(), x, *(draw[name]() for name, _ in kind.operands(shape)),
                  transform=transform)


for _ in range(SETS):
    draw_set()
calls.check()
