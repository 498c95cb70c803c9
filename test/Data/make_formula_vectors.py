#!/usr/bin/env python3
# ===- make_formula_vectors.py - Vectors of recipes without an oracle -----===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes formula/mslk.npz and formula/rceil_sat.npz beside this file.

No implementation of `mslk` and of `rceil_sat` with its rule for NaN runs
without a GPU, so these arrays hold what their formulas give, and prove no more
than that. They are written another way than the headers they test: rounding
looks up tables of float64 values where the headers work on bits.

  python3 make_formula_vectors.py            needs numpy

Arrays are indexed by the bf16 bit pattern of a block's amax, 0 .. 0x7FFF.
"""

import os

import numpy as np

F32 = np.float32
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "formula")

AMAX = (np.arange(0x8000, dtype=np.uint32) << 16).view(F32)

# Values of the E4M3 bytes 0 .. 0x7E: subnormals, then 15 binades of 8.
E4M3 = np.array(
    [m * 2.0**-9 for m in range(8)]
    + [(8 + m) * 2.0 ** (e - 10) for e in range(1, 16) for m in range(8)][:-1]
)
# Values of the E8M0 bytes 0 .. 254.
E8M0 = 2.0 ** np.arange(-127.0, 128.0)

MAX_FINITE = {
    "e2m1": 6,
    "e2m3": 7.5,
    "e3m2": 28,
    "e4m3": 448,
    "e5m2": 57344,
    "int8": 127 / 64,
}

# What is known of the global scale: nothing, a decode scale, or the tensor's amax.
GLOBALS = [
    ("absent", 1.0),
    ("decode", 1.0),
    ("decode", 2.0**-10),
    ("decode", 0.00123),
    ("decode", 1e-30),
    ("amax", 0.0),
    ("amax", 1e-9),
    ("amax", 0.515625),
    # Multiplying by 1/6, in place of dividing by 6, changes bytes at these two.
    ("amax", 1.75),
    ("amax", 2.1875),
    ("amax", 2688.0),
    ("amax", 1e30),
    ("amax", 3e38),
]


def to_e4m3(x):
    """Nearest byte, ties to even, of values in [0, 448]; NaN gives 0x7F."""
    middles = (E4M3[:-1] + E4M3[1:]) / 2
    nan = np.isnan(x)
    x = np.where(nan, 0, x).astype(np.float64)
    code = np.searchsorted(middles, x, side="left")
    tie = np.append(middles, np.inf)[code] == x
    code = code + (tie & (code % 2 == 1))
    return np.where(nan, 0x7F, code).astype(np.uint8)


def mslk_encode_scale(kind, value):
    """S of the formula."""
    value = F32(value)
    if kind == "amax":
        return F32(2688) / max(value, F32(1e-8))
    return F32(1) / value


def mslk_scale_bytes(encode):
    """e4m3(clamp((amax / 6) * S, 2^-9, 448))"""
    scale = (AMAX / F32(6)) * encode
    return to_e4m3(np.clip(scale, F32(2.0**-9), F32(448)))


def rceil_sat_bytes(max_finite):
    """amax * (1 / largest value), up to a power of two, at most 2^127."""
    scale = AMAX * (F32(1) / F32(max_finite))
    code = np.searchsorted(E8M0, scale.astype(np.float64), side="left")
    code = np.where(np.isnan(scale), 255, np.minimum(code, 254))
    return code.astype(np.uint8)


def main():
    mslk = {
        "in_is_amax": np.array([k == "amax" for k, _ in GLOBALS], np.uint8),
        "in_is_absent": np.array([k == "absent" for k, _ in GLOBALS], np.uint8),
        "in_value": np.array([v for _, v in GLOBALS], F32).view(np.uint32),
    }
    for i, (kind, value) in enumerate(GLOBALS):
        encode = mslk_encode_scale(kind, value)
        decode = F32(1) / encode if kind == "amax" else F32(value)
        mslk[f"out_decode_{i}"] = np.array([decode], F32).view(np.uint32)
        mslk[f"out_scale_{i}"] = mslk_scale_bytes(encode)
        # By scale byte; the recipe's floor leaves byte 0 unused.
        multipliers = encode / E4M3[1:].astype(F32)
        mslk[f"out_multiplier_{i}"] = multipliers.astype(F32).view(np.uint32)
    np.savez_compressed(os.path.join(FOLDER, "mslk.npz"), **mslk)

    rceil_sat = {f"out_{f}_scale": rceil_sat_bytes(m) for f, m in MAX_FINITE.items()}
    np.savez_compressed(os.path.join(FOLDER, "rceil_sat.npz"), **rceil_sat)


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main()
