# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that a kernel of a product could have, planted into the values that it reads.

A fault takes a generator of random numbers and Operands, and gives other values of them,
or None where they are too small for it. Scales in memory are those of
another row, step, group or operand in most of them; the others drop or repeat data.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np

from products import BLOCKS, dequantized

BAND = 128  # rows of a scale tile, and of a CTA of a pair
COLS = 4  # columns of a scale tile
STEP = 128  # elements of K


@dataclass
class Operands:
    """Codes and scale bytes of a product's operands, A first, and the elements of each. `groups`:
    rows, columns (of K) or none; `bounds` are where groups begin, and the last one's end."""

    codes: list
    scales: list
    elements: list
    scale: str
    groups: str = ""
    bounds: list = field(default_factory=list)
    changes: tuple = (-8, 8)  # of a byte of E4M3

    def __post_init__(self):
        self.values = [self.decoded(i) for i in range(len(self.codes))]

    def decoded(self, i, codes=None, scales=None):
        return dequantized(self.codes[i] if codes is None else codes, self.elements[i],
                           self.scales[i] if scales is None else scales, self.scale)

    def replaced(self, i, values):
        """The values, operand i's being others."""
        return [*self.values[:i], values, *self.values[i + 1:]]

    def rescaled(self, i, change):
        """The values where operand i has scales that `change` has changed in place."""
        scales = self.scales[i].copy()
        change(scales)
        return self.replaced(i, self.decoded(i, scales=scales))

    def depth(self):
        return self.codes[0].shape[-1]

    def pick(self, random, fits):
        """An operand of those that fit, or None."""
        found = [i for i in range(len(self.codes)) if fits(i)]
        return found[random.integers(len(found))] if found else None


def scale_byte(random, operands):
    """The next scale byte, or that of the next power of two."""
    i = operands.pick(random, lambda i: operands.scales[i].size)
    if i is None:
        return None
    at = [random.integers(size) for size in operands.scales[i].shape]
    if operands.groups == "rows":
        # One that is multiplied: of a group that has rows, or of these rows.
        starts = np.array(operands.bounds)
        used = np.flatnonzero(np.diff(starts)) if i else np.arange(starts[-1])
        at[0] = random.choice(used) if used.size else 0
    at = tuple(at)
    byte = int(operands.scales[i][at])
    is_e8m0 = operands.scale == "f8E8M0FNU"
    change = int(random.choice((-1, 1) if is_e8m0 else operands.changes))
    change = change if 0 <= byte + change < (0xFF if is_e8m0 else 0x7F) else -change

    def plant(scales):
        scales[at] = byte + change
    return operands.rescaled(i, plant)


def swapped_bands(random, operands):
    """Each of two bands of rows has the scales of the other one."""
    i = operands.pick(random, lambda i: operands.scales[i].shape[-2] > BAND)
    if i is None:
        return None

    def plant(scales):
        rows = min(BAND, scales.shape[-2] - BAND)
        low = scales[..., :rows, :].copy()
        scales[..., :rows, :] = scales[..., BAND:BAND + rows, :]
        scales[..., BAND:BAND + rows, :] = low
    return operands.rescaled(i, plant)


def stale_scales(random, operands):
    """A tile of scales of K is that of the columns before."""
    i = operands.pick(random, lambda i: operands.scales[i].shape[-1] > COLS)
    if i is None:
        return None

    def plant(scales):
        at = COLS * int(random.integers(1, -(-scales.shape[-1] // COLS)))
        cols = min(COLS, scales.shape[-1] - at)
        scales[..., at:at + cols] = scales[..., at - COLS:at - COLS + cols]
    return operands.rescaled(i, plant)


def wrong_column(random, operands):
    """Scales of each column of a tile are those of the column beside it."""
    i = operands.pick(random, lambda i: operands.scales[i].shape[-1] > 1)
    if i is None:
        return None

    def plant(scales):
        even = scales[..., 0:2 * (scales.shape[-1] // 2):2].copy()
        scales[..., 0:2 * even.shape[-1]:2] = scales[..., 1::2]
        scales[..., 1::2] = even
    return operands.rescaled(i, plant)


def other_operand(random, operands):
    """A has the scales of B's rows."""
    rows = min(scales.shape[-2] for scales in operands.scales[:2])
    if not rows or not operands.depth():
        return None
    other = operands.scales[1]
    if other.ndim > operands.scales[0].ndim:
        other = other[0] if len(other) else None
    if other is None:
        return None

    def plant(scales):
        scales[..., :rows, :] = other[..., :rows, :]
    return operands.rescaled(0, plant)


def step_times(random, operands, factor):
    if not operands.depth():
        return None
    values = operands.values[0].copy()
    at = STEP * int(random.integers(-(-values.shape[-1] // STEP)))
    values[..., at:at + STEP] *= factor
    return operands.replaced(0, values)


def dropped_step(random, operands):
    """A step of K is not multiplied."""
    return step_times(random, operands, 0.0)


def doubled_step(random, operands):
    """A step of K is multiplied twice."""
    return step_times(random, operands, 2.0)


def half_of_peer(random, operands):
    """The second half of a tile of a pair is the first one: data and scales."""
    i = operands.pick(random, lambda i: operands.codes[i].shape[-2] > BAND)
    if i is None:
        return None
    values = operands.values[i].copy()
    rows = min(BAND, values.shape[-2] - BAND)
    values[..., BAND:BAND + rows, :] = values[..., :rows, :]
    return operands.replaced(i, values)


def scales_of_next_group(random, operands):
    """A group is multiplied by the scales that follow its own: those of the next matrix of
    B, or of the next rows or columns."""
    if not operands.groups:
        return None
    block = BLOCKS[operands.scale] if operands.groups == "columns" else 1
    bounds = [bound // block for bound in operands.bounds]
    groups = [(g, start, end) for g, (start, end) in enumerate(itertools.pairwise(bounds))
              if start < end and g + 2 < len(bounds)]
    if not groups:
        return None
    g, start, end = groups[random.integers(len(groups))]
    i = int(random.integers(len(operands.scales)))

    def plant(scales):
        if scales.ndim == 3:
            scales[g] = scales[g + 1]
            return
        along = scales if operands.groups == "rows" else scales.T
        following = along[end:end + end - start].copy()
        along[start:start + len(following)] = following
    return operands.rescaled(i, plant)


def gate_for_up(random, operands):
    """The second product of a pair has the scales of the first, or its data, too."""
    if len(operands.codes) < 3:
        return None
    codes = operands.codes[1] if random.integers(2) else operands.codes[2]
    return operands.replaced(2, operands.decoded(2, codes, operands.scales[1]))


FAULTS = {fault.__name__: fault for fault in (
    scale_byte, swapped_bands, stale_scales, wrong_column, other_operand, dropped_step,
    doubled_step, half_of_peer, scales_of_next_group, gate_for_up)}
