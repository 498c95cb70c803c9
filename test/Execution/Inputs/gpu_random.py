# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels of ops other than quantize in the emulator, on random shapes.

Usage: gpu_random.py FOLDER [--seed SEED]
"""

import numpy as np

from gpu_calls import Calls
from gpu_forms import BITS, DTYPES, Forms
from ops import SWIZZLED

COUNT = 40
RECIPES = ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse",
           "torchao_training")

calls = Calls()
random = np.random.default_rng(calls.seed)
forms = Forms(calls, random)


def size(most, unit=1):
    """Small ones more often than large ones, and 0 at times."""
    return int(unit * min(most // unit, np.floor(np.exp2(random.uniform(-0.5, np.log2(most))))))


def flip():
    return bool(random.integers(2))


def shape_of(rows=1, cols=1):
    """A matrix or a batch, whose sizes are multiples of `rows` and `cols`."""
    lead = (int(random.integers(0, 4)),) if flip() else ()
    m = size(300, rows)
    return (*lead, m, size(max(cols, 20000 // max(m, 8)), cols))


def dims_of(shape, kept=()):
    """Some of the dimensions; those in `kept`, which count from the last, never."""
    kept = [len(shape) + dim for dim in kept]
    return tuple(dim for dim in range(len(shape)) if flip() and dim not in kept)


def ends_of(extent, unit=1):
    """Offsets, multiples of `unit`, often up to the end."""
    ends = np.clip(np.sort(random.integers(-3, extent + 4, random.integers(1, 9))), 0, extent)
    ends = ends // unit * unit
    if flip():
        ends[-1] = extent // unit * unit
    return tuple(int(end) for end in ends)


def draw_amax():
    shape, element = shape_of(), random.choice(list(DTYPES))
    if len(shape) == 2 and flip():
        dim = int(random.integers(2))
        forms.group_amax(shape, element, dim, dims_of(shape), ends_of(shape[dim]))
    else:
        forms.amax(shape, element, int(random.integers(len(shape))), dims_of(shape))


def draw_swizzle():
    shape = shape_of()
    if len(shape) == 3 or flip():
        return forms.swizzle(shape, dims_of(shape))
    dim = int(random.integers(2))
    block = int(random.choice((16, 32))) if dim else 1
    forms.group_swizzle(shape, dim, block, ends_of(shape[dim] * block, block), dims_of(shape))
    return None


def draw_dequantize():
    recipe = random.choice((None, *RECIPES))
    data = "f4E2M1FN" if recipe else random.choice(list(BITS))
    side = 16 if recipe else 32
    block = ((1, side), (side, 1), (side, side))[random.integers(3)]
    takes_tails = recipe not in (None, "torchao", "mslk", "torchao_training")
    shape = shape_of(*((1, 1) if takes_tails else block))
    options = {"layout": SWIZZLED} if block[0] == 1 and flip() else {}
    if recipe and flip():
        of = ("scalar", "tensor", "batch", "row")[random.integers(4 if block[0] == 1 else 3)]
        options |= {"operand": random.choice(("global_scale", "global_amax")), "of": of}
    # Memory does not tell whether the size of packed rows is odd.
    kept = (-1,) if BITS[data] == 4 and (takes_tails or block[1] == 1) else ()
    forms.dequantize(shape, recipe, data, random.choice(("f32", "bf16", "f16")), block,
                     dims=dims_of(shape, kept), **options)


def draw_expand_scale():
    layout = SWIZZLED if flip() else None
    lead = (int(random.integers(0, 4)),) if flip() else ()
    forms.expand_scale(lead, size(600), size(40), int(random.choice((16, 32))),
                       random.choice(("k", "n")), layout, flip())


def draw_hadamard():
    dim = int(random.integers(2))
    shape = shape_of(*((1, 16) if dim else (16, 1)))
    forms.hadamard(shape, dim, dims_of(shape), int(random.integers(1 << 16)))


def draw_scale_sweep():
    shape = shape_of(cols=16)
    largest = np.exp2(random.uniform(-90, 90))
    x = forms.weights(shape, largest)
    global_amax = largest * np.exp2(random.uniform(-3, 3, shape[:-2] if flip() else ()))
    hessian = random.standard_normal((shape[-1] // 16, 16, 16)) if random.random() < 0.2 else None
    forms.scale_sweep(x, global_amax.astype(np.float32), random.choice(list(DTYPES)),
                      dims_of(shape), hessian)


DRAWS = (draw_amax, draw_swizzle, draw_dequantize, draw_dequantize, draw_hadamard,
         draw_expand_scale, draw_scale_sweep)
for _ in range(COUNT):
    DRAWS[random.integers(len(DRAWS))]()
calls.check()
