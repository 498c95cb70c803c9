# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs that tell the rules of recipes apart: values at ties, zeros of both signs, numbers at the
ends of f32's range, infinities and NaN, each in a tensor of its own."""

import numpy as np

from blockscale_reference import from_bf16, to_bf16

#: The tensor whose K is no multiple of the block.
TAIL = "tail"
_SEED = 20260101
_COLUMNS = 128
_LARGEST_BF16 = 255 * 2.0**120
# Amaxes of tensors under which the amaxes of blocks tell all formulas of scales apart.
_TELLING_AMAXES = (4.375, 4.9375, 5.3125)


def tensors(of, x_type="bf16", block=None):
    """f32 matrices whose values are those of x_type, by what they hold, for a form."""
    random = np.random.default_rng(_SEED)
    rows = 32
    made = {
        "ordinary": random.standard_normal((rows, _COLUMNS)),
        "grid": random.integers(-48, 49, (rows, _COLUMNS)) / 8,
        "ties": _ties(random, of, rows),
        "wide": _signed(random, np.exp2(random.uniform(-40, 20, (rows, _COLUMNS)))),
        "rows": _signed(random, np.exp2(random.uniform(-4, 0, (rows, _COLUMNS))
                                        - np.arange(rows)[:, None])),
        "huge": _signed(random, np.exp2(random.uniform(100, 127.9, (rows, _COLUMNS)))),
        "tiny": _signed(random, np.exp2(random.uniform(-148, -100, (rows, _COLUMNS)))),
        "subnormal": _signed(random, np.exp2(random.uniform(-133, -126, (rows, _COLUMNS)))),
        "zeros": _zeros(random, rows),
        "negative": -np.abs(random.standard_normal((rows, _COLUMNS))),
        "infinity": _with_some(random, rows, (np.inf, -np.inf)),
        "nan": _with_some(random, rows, (np.nan,)),
    }
    if of.is_nvfp4:
        made |= {f"amaxes under {amax}": _amaxes(random, rows, amax) for amax in _TELLING_AMAXES}
    elif x_type == "f32":
        made["ulps"] = _ulps(random, of, rows)
    if of.takes_tails and block in (None, (1, of.block)):
        made[TAIL] = random.standard_normal((5, 40))
    made["huge"][0, 0] = _LARGEST_BF16
    with np.errstate(all="ignore"):
        return {name: _rounded(x.astype(np.float32), x_type) for name, x in made.items()}


def _signed(random, magnitudes):
    return magnitudes * random.choice([-1, 1], magnitudes.shape)


def _zeros(random, rows):
    x = random.standard_normal((rows, _COLUMNS)) * (random.random((rows, _COLUMNS)) < 0.4)
    x[: rows // 4] = 0
    x[rows // 8 : rows // 4] = -0.0
    # From below to zero, and -0 among numbers.
    x[rows // 2, ::3], x[rows // 2 + 1, ::2] = -1e-3, -0.0
    return x


def _with_some(random, rows, values):
    x = random.standard_normal((rows, _COLUMNS))
    x[::4, 5], x[1::8, 70] = values[0], values[-1]
    return x


def _ties(random, of, rows):
    """Numbers between two codes under scales that are powers of two, and their neighbours; amaxes
    whose quotients lie between two scales."""
    codes = np.arange(256).astype(np.uint8)
    numbers = of.element.decode(codes).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    between = (numbers[1:] + numbers[:-1]) / 2
    x = random.choice(between, (rows, _COLUMNS))
    x *= random.choice([1, 1, 1 + 2.0**-7, 1 - 2.0**-8], x.shape)
    if not of.is_nvfp4:
        # Amaxes around the largest value, and around 1.5 times and twice a power of two.
        largest = float(of.element.largest)
        ends = largest * np.array([0.5, 0.75, 1, 1 + 2.0**-7, 1.03125, 1.0625, 1.125, 1.5])
        x[:, ::32] = random.choice(ends, (rows, _COLUMNS // 32))
        return x * np.exp2(random.integers(-4, 5, (rows, 1)))
    # The global scale is 1, or 1.75.
    x[:, ::16] = 6
    x[0, 0] = 2688
    scales = np.unique(np.concatenate([np.arange(8, 16), np.arange(16, 32)])) / 8
    tied = (scales[1:] + scales[:-1]) / 2
    x[rows // 2 :, ::16] = 6 * random.choice(tied, (rows - rows // 2, _COLUMNS // 16))
    return x


def _amaxes(random, rows, largest):
    """Blocks of 16 with every mantissa of bf16 as amax, two times, at most the largest number."""
    amaxes = np.arange(256).reshape(2, 128) + 128
    amaxes = np.concatenate([amaxes[0], amaxes[1] / 2]) / 32
    amaxes = np.where(amaxes > largest, amaxes / 2, amaxes)
    amaxes[0] = largest
    x = random.uniform(-1, 1, (rows, _COLUMNS)) * np.repeat(amaxes, 16).reshape(rows, _COLUMNS)
    x[:, ::16] = amaxes.reshape(rows, -1)
    return x


def _ulps(random, of, rows):
    """Amaxes that are a few f32 numbers from the largest value times a power of two."""
    x = random.uniform(-1, 1, (rows, _COLUMNS))
    ends = np.full((rows, _COLUMNS // 32), of.element.largest, np.float32)
    steps = np.arange(ends.size).reshape(ends.shape) % 17 - 8
    x[:, ::32] = (ends.view(np.int32) + steps).astype(np.int32).view(np.float32)
    return x * np.exp2(np.arange(rows) % 40 - 20.0)[:, None]


def _rounded(x, x_type):
    if x_type == "bf16":
        return from_bf16(to_bf16(x))
    return x.astype(np.float16).astype(np.float32) if x_type == "f16" else x
