# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels that quantize all members of a group in the emulator: rows of several
tensors, and columns of them or of their transforms, with or without the amaxes of both,
before or beside. All bytes are those of separate functions on the CPU (C5).

Usage: gpu_groups.py FOLDER [--seed SEED]
"""

import numpy as np

import values
from block_shapes import CODECS, MX_FORMS, MX_RECIPES, NVFP4_FORMS, NVFP4_RECIPES, tensor
from gpu_calls import Calls, Earlier
from sm100_kinds import TAKE_TAILS, mx, nvfp4

MEMBERS = 5
# Amaxes or not, of each set; a batch of calls has some sets as a whole.
SETS = (True, True, *(False,) * 4)

calls = Calls()
random = np.random.default_rng(calls.seed)


def pick(choices):
    return choices[random.integers(len(choices))]


def draw_kinds(is_nvfp4, source):
    """Makers of the kinds of a member, rows and others, given shape and what is dynamic."""
    column = pick([form for form in (NVFP4_FORMS if is_nvfp4 else MX_FORMS) if form[0][0] != 1])
    for block, transposed, scale_dim, any_layout in (
            ((1, 16 if is_nvfp4 else 32), False, "", True), column):
        options = {"block": block, "transposed": transposed, "scale_dim": scale_dim,
                   "swizzled": any_layout and random.random() < 0.6}
        recipe, data = pick(NVFP4_RECIPES if is_nvfp4 else MX_RECIPES), pick(tuple(CODECS))
        if is_nvfp4:
            yield lambda r=recipe, o=options, **more: nvfp4(r, source=source, **o, **more)
        else:
            yield lambda r=recipe, d=data, o=options, **more: mx(r, d, **o, **more)


def draw_set(number, has_amaxes):
    is_nvfp4 = random.random() < 0.7
    needs_amaxes = is_nvfp4 and has_amaxes and random.random() < 0.5
    source = "global_amax" if needs_amaxes else pick(("", "global_scale")) if is_nvfp4 else ""
    kinds = list(draw_kinds(is_nvfp4, source))
    transform = pick((None, "dim 0", f"dim 0 sign_mask {random.integers(1 << 16)}"))
    # What every target transforms in registers, or SM100 does not, or what has tails.
    tails = all(kind(shape=(1, 1)).recipe in TAKE_TAILS for kind in kinds) and not transform
    steps = (1, 1) if tails else pick(((128, 128), (32, 32)))
    k = -(-int(random.integers(1, 200)) // steps[1]) * steps[1]
    for _ in range(MEMBERS):
        shape = (-(-int(random.integers(0, 300)) // steps[0]) * steps[0], k)
        dynamic = (random.random() < 0.3, False)
        type = tensor((None if dynamic[0] else shape[0], k), "bf16")
        x = values.floats(random, shape, np.uint16, values.TAME)
        for of in (None, transform)[:2 * has_amaxes]:
            calls.add(f"amax {{0}} : {type} -> tensor<f32>", [type], ["tensor<f32>"], x,
                      transform=of)
        for name, kind, of in zip(("rows", "columns"), kinds, (None, transform)):
            kind = kind(shape=shape, dynamic=dynamic)
            _, *given = kind.arguments(random, shape)
            text, *types = kind.signature()
            op, function = text.rsplit(" : ", 1)
            text = f'{op} {{{{blockscale.group = "{name}{number}"}}}} : {function}'
            calls.add(text, *types, x, *([Earlier(2)] if needs_amaxes else given), transform=of)


for i, set_has_amaxes in enumerate(SETS * 2):
    draw_set(i, set_has_amaxes)
calls.check()
