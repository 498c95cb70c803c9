# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison rules between computed and expected arrays.

Everything is compared bit by bit, but for what the contract leaves open:
* NaN equals NaN (f32, bf16, f8, scale bytes), whatever its payload and sign;
* codes of elements without a NaN (4 and 6 bits, integers) whose scaled value is NaN, told by a NaN
  block scale, but for ModelOpt's; torchao's codes of tensors whose global scale is NaN, infinite,
  zero or subnormal;
* matmuls have the error bound of an f32 accumulation in any order;
* times of the cost model differ by at most 1e-12 of themselves;
* a group map compares over the common prefix of two upper-bound buffers;
* of the sweep, another winner is one where its loss is that of the best.
Masks name what is left out; a verdict says how many elements that were.
"""

from dataclasses import dataclass, field

import numpy as np

from cases import floats

NO_NAN = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "i8", "i32")
IS_NAN = {
    **{name: lambda b: np.zeros(b.shape, bool) for name in NO_NAN},
    "f8E4M3FN": lambda b: (b & 0x7F) == 0x7F,
    "f8E5M2": lambda b: (b & 0x7F) > 0x7C,
    "f8E8M0FNU": lambda b: b == 0xFF,
    "f32": lambda b: (b & 0x7FFFFFFF) > 0x7F800000,
    "bf16": lambda b: (b & 0x7FFF) > 0x7F80,
}


@dataclass
class Verdict:
    """Outcome for one array; `first` describes the first mismatch."""

    total: int
    mismatches: int = 0
    first: str = ""
    notes: list = field(default_factory=list)

    @property
    def equal(self):
        return self.mismatches == 0


def _verdict(differ, got, want, uncompared=()):
    verdict = Verdict(differ.size)
    for reason, mask in dict(uncompared).items():
        mask = np.broadcast_to(mask, differ.shape)
        if mask.any():
            verdict.notes.append(
                f"{mask.sum()} not compared ({reason}), "
                f"of which {(differ & mask).sum()} differ"
            )
            differ = differ & ~mask
    verdict.mismatches = int(differ.sum())
    if verdict.mismatches:
        at = tuple(int(i) for i in np.argwhere(differ)[0])
        verdict.first = f"at {at}: got {_show(got[at])}, expected {_show(want[at])}"
    return verdict


def _show(value):
    return f"{value:.9g}" if value.dtype.kind == "f" else f"{int(value):#x}"


def failure(size, reason):
    """The verdict for an array that was not computed."""
    return Verdict(size, max(size, 1), reason)


def compare_bits(got, want, element, uncompared=()):
    """Codes, scale bytes or float bits; one f4 code an array element."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return failure(want.size, _expected_shape(got, want))
    is_nan = IS_NAN[element]
    differ = (got != want) & ~(is_nan(got) & is_nan(want))
    return _verdict(differ, got, want, uncompared)


def _expected_shape(got, want):
    return (
        f"expected {want.dtype} of shape {want.shape}, "
        f"but got {got.dtype} of shape {got.shape}"
    )


def compare_map(got, want):
    """Upper-bound buffers: equal over the common prefix, padding (-1 or 0) after."""
    got, want = got.ravel(), want.ravel()
    common = min(got.size, want.size)
    rest = np.concatenate([got[common:], want[common:]])
    differ = np.concatenate([got[:common] != want[:common], (rest != -1) & (rest != 0)])
    padding = np.full(rest.size, 0 if want.dtype.kind == "u" else -1, want.dtype)
    return _verdict(
        differ,
        np.concatenate([got[:common], rest]),
        np.concatenate([want[:common], padding]),
    )


def compare_close(got, want, relative):
    """Numbers of which each is at most `relative` of itself away from `want`."""
    if got.shape != want.shape:
        return failure(want.size, _expected_shape(got, want))
    with np.errstate(invalid="ignore"):
        close = np.abs(got - want) <= relative * np.abs(want)
    return _verdict(~close & ~(np.isnan(got) & np.isnan(want)), got, want)


def product_bound(exact, absdot, k, bf16_result):
    """|got - exact| allowed to an f32-accumulating product over k elements."""
    bound = 1e-6 * max(1.0, k / 256) * absdot.astype(np.float64)
    return bound + np.abs(exact) * 2.0**-8 if bf16_result else bound


def compare_product(got, reference, bound):
    """A matmul result against `reference`, elementwise within `bound`."""
    if got.shape != reference.shape:
        return failure(reference.size, _expected_shape(got, reference))
    got, reference = got.astype(np.float64), reference.astype(np.float64)
    with np.errstate(invalid="ignore"):
        within = np.abs(got - reference) <= bound
    same = (got == reference) | (np.isnan(got) & np.isnan(reference))
    return _verdict(~(within | same), got, reference)


def compare_winners(got, want, x, best_loss):
    """Block amaxes of the sweep. Another winner is a tie where it loses no more
    than 1e-5 of the best loss, the bound of ModelOpt's own test."""
    if got.shape != want.shape:
        return failure(want.size, _expected_shape(got, want))
    other = got != want
    tied = other & (sweep_loss(x, got) <= best_loss.astype(np.float64) * (1 + 1e-5))
    verdict = _verdict(other & ~tied, got, want)
    if tied.any():
        verdict.notes.append(f"{tied.sum()} other winners whose loss is the same")
    return verdict


def sweep_loss(x, block_amax):
    """Squared error of each row of x to the nearest magnitudes under its amax."""
    scale = np.where(block_amax == 0, 1, block_amax / np.float32(6))
    values = scale.astype(np.float64)[:, None] * [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    distance = np.abs(np.abs(x.astype(np.float64))[..., None] - values[:, None])
    return (distance.min(-1) ** 2).sum(-1)


def degenerate(global_scale):
    """Global scales that leave the codes of their tensor undefined."""
    magnitude = np.abs(np.asarray(global_scale, np.float32))
    return ~np.isfinite(magnitude) | (magnitude < 2.0**-126)


def per_element(blocks, block, shape):
    """A mask of the blocks of a matrix as one of its elements."""
    rows, cols = shape[-2:]
    elements = np.repeat(np.repeat(blocks, block[0], axis=-2), block[1], axis=-1)
    return elements[..., :rows, :cols]


def edge_blocks(x, block, scale_bytes, rule, largest):
    """Blocks where torchao 0.18.0 and ModelOpt have rules of their own.

    These are blocks with Inf or NaN, with scale byte 0, with an amax that `even`
    may round to Inf, and f32 amaxes so little above largest * 2^k that the
    library logarithm in their `rceil` cannot tell.
    """
    *batch, rows, cols = scale_bytes.shape
    blocks = floats(x).reshape(*batch, rows, block[0], cols, block[1])
    with np.errstate(all="ignore"):
        amax = np.abs(blocks).max((-3, -1))
        fraction = np.frexp(amax.astype(np.float64) / largest)[0]
    edges = ~np.isfinite(amax) | (scale_bytes == 0)
    if rule == "even":
        edges |= amax >= 1.75 * 2.0**127
    if rule == "rceil" and x.dtype == np.uint32:
        edges |= (fraction > 0.5) & (fraction < 0.5 + 16 * 2.0**-24)
    return edges
