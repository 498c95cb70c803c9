# ===- golden.py - Expected arrays and their comparison -------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""What the reference's tests share: golden arrays, and what equal means.

Left open by the contract, and so not compared: NaN payloads, and codes that are
born of NaN (a NaN block scale, or a global scale that is NaN, zero or subnormal).
"""

import fnmatch
import os
import sys
import unittest

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))

import blockscale_reference as reference

GOLDEN = os.path.join(ROOT, "test", "Data", "golden")
FORMULA = os.path.join(ROOT, "test", "Data", "formula")
TRAINING = os.path.join(ROOT, "test", "Data", "training")

IS_NAN = {
    "e4m3": lambda codes: (codes & 0x7F) == 0x7F,
    "e5m2": lambda codes: (codes & 0x7F) > 0x7C,
    "e8m0": lambda codes: codes == 0xFF,
    "none": lambda codes: np.zeros(codes.shape, bool),
}


def load(name, folder=GOLDEN):
    with np.load(os.path.join(folder, name + ".npz")) as archive:
        return {key: archive[key] for key in archive.files}


def cases(glob):
    names = [f[:-4] for f in sorted(os.listdir(GOLDEN)) if f.endswith(".npz")]
    selected = fnmatch.filter(names, glob)
    assert selected, f"no golden case matches {glob}"
    return [(name, load(name)) for name in selected]


def floats(bits):
    """f32 values of bf16 or f32 bits."""
    return (
        reference.from_bf16(bits) if bits.dtype == np.uint16 else bits.view(np.float32)
    )


def newest(case, prefix, suffix):
    """The torchao main array where it differs from 0.18.0, else that of 0.18.0."""
    for version in ("aoaug26", "ao018"):
        key = f"out_{prefix}{version}_{suffix}"
        if key in case:
            return case[key]
    raise KeyError(suffix)


class GoldenTest(unittest.TestCase):
    def assertCodes(self, got, want, nan="none", where=None):
        """Equal codes, any NaN standing for any other; `where` masks elements."""
        self.assertEqual(got.shape, want.shape)
        differ = (got != want) & ~(IS_NAN[nan](got) & IS_NAN[nan](want))
        if where is not None:
            differ &= where
        self.assertEqual(int(differ.sum()), 0, f"first at {np.argwhere(differ)[:1]}")


def blocks_of_every_pattern(kind, size):
    """f32 [65536, size]: block i holds bf16 pattern i.

    "one" adds 1.0, -0 and the smallest subnormal, so that amax >= 1; "solo" adds
    the pattern without its low bits and -0, so that amax is the pattern's.
    """
    bits = np.zeros((65536, size), np.uint16)
    bits[:, 0] = np.arange(65536)
    bits[:, 2] = 0x8000
    if kind == "one":
        bits[:, 1], bits[:, 3] = 0x3F80, 0x0001
    else:
        second = bits[:, 0] & 0xFFF8
        bits[:, 1] = np.where((second & 0x7F80) == 0x7F80, 0, second)
    return reference.from_bf16(bits)


def blocks_of_every_amax(size):
    """f32 [32768, size]: blocks of one element, each non-negative bf16 pattern."""
    x = np.zeros((0x8000, size), np.float32)
    x[:, 0] = reference.from_bf16(np.arange(0x8000, dtype=np.uint16))
    return x
