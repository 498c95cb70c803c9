# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels that quantize one x in two ways in the emulator, on random shapes, some
of them after a transform of its columns: rows of x itself and columns of its transform
(C10), whose bytes are those of separate functions on the CPU (C12).

Usage: gpu_read_once.py FOLDER [--seed SEED]
"""

import numpy as np

from block_shapes import CODECS, MX_FORMS, MX_RECIPES, NVFP4_FORMS, NVFP4_RECIPES
from gpu_calls import Calls
from sm100_kinds import TAKE_TAILS, mx, nvfp4

PAIRS = 40
# A row of each, so that most pairs have one.
NVFP4 = (*NVFP4_FORMS, *(((1, 16), False, "", True),) * 4)
MX = (*MX_FORMS, *(((1, 32), False, "", True),) * 4)
SOURCES = (("", "rank_0"), ("global_scale", "scalar"), ("global_scale", "rank_0"),
           ("global_amax", "rank_0"), ("global_scale", "each"), ("global_amax", "each"))

calls = Calls()
random = np.random.default_rng(calls.seed)


def pick(values):
    return values[random.integers(len(values))]


def draw_kind(shape, dynamic):
    """Without its shape where there is none yet."""
    is_nvfp4 = random.random() < 0.6
    block, transposed, scale_dim, any_layout = pick(NVFP4 if is_nvfp4 else MX)
    form = {"block": block, "transposed": transposed, "scale_dim": scale_dim, "shape": shape,
            "swizzled": any_layout and random.random() < 0.6, "dynamic": dynamic}
    if not is_nvfp4:
        return mx(pick(MX_RECIPES), pick(tuple(CODECS)), **form)
    source, of = pick(SOURCES if len(shape) > 2 else SOURCES[:4])
    return nvfp4(pick(NVFP4_RECIPES), source=source, form=of, **form)


def draw_transform(kind):
    """Of the rows that blocks of several have, or none."""
    if kind.block[0] == 1 or random.random() < 0.5:
        return None
    return "dim 0" + pick(("", " sign_mask 0", f" sign_mask {random.integers(1 << 16)}"))


def draw_pair():
    batch = tuple(int(size) for size in random.integers(1, 4, random.integers(2)))
    dynamic = tuple(random.random() < 0.5 for _ in range(len(batch) + 1)) + (False,)
    kinds = [draw_kind((*batch, 0, 0), dynamic) for _ in range(2)]
    steps = [[1 if kind.recipe in TAKE_TAILS else step for step in kind.block] for kind in kinds]
    transforms = [draw_transform(kind) for kind in kinds]
    if any(transforms):
        # What every target computes in registers, or SM100 does not.
        steps.append(pick(((64, 128), (16, 16))))
    m, k = (-(-int(random.integers(1, most)) // max(step)) * max(step)
            for most, step in zip((300, 200), zip(*steps)))
    x = None
    for kind, transform in zip(kinds, transforms):
        kind.shape = (*batch, m, k)
        mine, *rest = kind.arguments(random, kind.shape)
        x = mine if x is None else x
        calls.add(*kind.signature(), x, *rest, transform=transform)


for _ in range(PAIRS):
    draw_pair()
calls.check()
