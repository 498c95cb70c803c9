# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels that take the amaxes of x and of a transform of its columns (C11) in the
emulator, on random shapes: in the pass that quantizes both (C10), under global scales
that are given, or in one before it, under scales that follow from the amaxes. All bytes
are those of separate functions on the CPU (C12).

Usage: gpu_amax_passes.py FOLDER [--seed SEED]
"""

import numpy as np

import values
from block_shapes import CODECS, MX_RECIPES, NVFP4_RECIPES, tensor
from gpu_calls import Calls, Earlier
from sm100_kinds import mx, nvfp4

SETS = 10  # of four calls, which a batch of calls has as a whole
COLUMNS = {16: (((16, 1), True, ""), ((16, 16), True, "k")),
           32: (((32, 1), True, ""), ((32, 1), False, ""), ((32, 32), False, "n"))}

calls = Calls()
random = np.random.default_rng(calls.seed)


def pick(choices):
    return choices[random.integers(len(choices))]


def draw_shape(step):
    """Of what every target transforms in registers, or SM100 does not."""
    batch = tuple(int(size) for size in random.integers(1, 4, random.integers(2)))
    steps = pick(((64, 128), (step, step)))
    m, k = (-(-int(random.integers(1, 260)) // step) * step for step in steps)
    return (*batch, m, k)


def draw_kinds(is_nvfp4, **options):
    """Rows, and columns or squares."""
    for block, transposed, scale_dim in (((1, 16 if is_nvfp4 else 32), False, ""),
                                         pick(COLUMNS[16 if is_nvfp4 else 32])):
        form = {"block": block, "transposed": transposed, "scale_dim": scale_dim,
                "swizzled": (transposed or block[0] == 1) and random.random() < 0.6, **options}
        yield (nvfp4(pick(NVFP4_RECIPES), **form) if is_nvfp4 else
               mx(pick(MX_RECIPES), pick(tuple(CODECS)), **form))


def draw_set():
    is_nvfp4 = random.random() < 0.8
    shape = draw_shape(16 if is_nvfp4 else 32)
    dynamic = (*(random.random() < 0.5 for _ in shape[:-1]), False)
    types = tuple(None if d else size for d, size in zip(dynamic, shape))
    form = pick(("rank_0", "each")) if len(shape) > 2 else "rank_0"
    needs_amaxes = is_nvfp4 and random.random() < 0.5
    source = "global_amax" if needs_amaxes else pick(("", "global_scale")) if is_nvfp4 else ""
    kinds = draw_kinds(is_nvfp4, source=source, form=form, shape=shape, dynamic=dynamic)
    # Not many have a NaN, next to which no amax shows anything else.
    x = values.floats(random, shape, np.uint16,
                      [*values.TAME, *pick(((), (), (), (values.infinite,), values.WILD))])
    mask = pick(("", " sign_mask 0", f" sign_mask {random.integers(1 << 16)}"))
    amax = (f"amax {{0}} : {tensor(types, 'bf16')} -> ",
            tensor(types[:-2] if form == "each" else (), "f32"))
    transforms = [None, "dim 0" + mask]
    for transform in transforms:
        calls.add("".join(amax), [tensor(types, "bf16")], [amax[1]], x, transform=transform)
    for kind, transform in zip(kinds, transforms):
        _, *given = kind.arguments(random, shape)
        calls.add(*kind.signature(), x, *([Earlier(2)] if needs_amaxes else given),
                  transform=transform)


for _ in range(SETS):
    draw_set()
calls.check()
